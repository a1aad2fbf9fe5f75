/* test_command.c: words that would reach the guest as others are refused before an engine is asked:
 * there is none here to ask. */
#include "unit.h"

#include <sbx/run.h>
#include <errno.h>
#include <string.h>

#define ODD "caf\xe9"

static const char *const argv[] = { "true", NULL };
static const char *const odd[] = { "x", ODD, NULL };

static void refused(int result, const struct sbx_error *err, const char *word)
{
	ck_assert_int_eq(result, -EILSEQ);
	ck_assert_int_eq(err->kind, SBX_KIND_USAGE);
	ck_assert_msg(
		strstr(err->message, word) && strstr(err->message, "UTF-8"), "%s", err->message);
}

START_TEST(a_command_is_utf8)
{
	const struct {
		struct sbx_command command;
		const char *word;
	} rows[] = {
		{ { .argv = odd }, "command" },
		{ { .argv = argv, .env = odd }, "environment" },
		{ { .argv = argv, .workdir = ODD }, "directory" },
	};
	const struct sbx_sandbox sandbox = { .container.name = (char *)"box" };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		struct sbx_command_result result;
		refused(sbx_command_run(NULL, &sandbox, &rows[i].command, NULL, &result, &err),
			&err, rows[i].word);
	}
}
END_TEST

START_TEST(so_is_a_runs)
{
	struct sbx_run run = { .argv = odd };
	struct sbx_run_result result;
	struct sbx_error err = SBX_ERROR_INIT;
	sbx_spec_init(&run.spec);
	run.spec.image = "tool:1";
	refused(sbx_run(NULL, &run, NULL, &result, &err), &err, "command");
}
END_TEST

UNIT_MAIN("command", a_command_is_utf8, so_is_a_runs)
