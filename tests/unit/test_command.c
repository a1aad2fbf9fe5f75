/* test_command.c: words that would reach the guest as others are refused before an engine is asked:
 * there is none here to ask. And whose bound it was that passed. */
#include "scripted_server.h"
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

#define ANSWER(headers) "HTTP/1.1 200 OK\r\n" headers "Content-Length: 0\r\n\r\n"
/* {"name":"x","size":0,"mode":420,"mtime":"2024-01-01T00:00:00Z","linkTarget":""} */
#define FILE_STAT                                                                                  \
	"X-Docker-Container-Path-Stat: "                                                           \
	"eyJuYW1lIjoieCIsInNpemUiOjAsIm1vZGUiOjQyMCwibXRpbWUiOi"                                   \
	"IyMDI0LTAxLTAxVDAwOjAwOjAwWiIsImxpbmtUYXJnZXQiOiIifQ==\r\n"

/* MAF-134: an engine that moves no byte fails on its own account: 125, the sandbox not touched. The
 * caller's bound is far away. */
START_TEST(an_engine_that_stalls_is_not_late)
{
	static const char *const answers[] = { ANSWER("Api-Version: 1.41\r\n"),
		/* /etc/passwd and /etc/group are files. The exec is held. */
		ANSWER(FILE_STAT), ANSWER(FILE_STAT) };
	struct scripted_server server = { .hold = true };
	struct sbx_endpoint endpoint;
	struct sbx_engine *engine = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_command_result result;
	char id[65], url[600];
	memset(id, 'a', 64);
	id[64] = '\0';
	const struct sbx_sandbox sandbox = { .container = { .name = (char *)"box", .id = id },
		.workdir = (char *)"/work" };
	const struct sbx_command command = { .argv = argv, .stdin_fd = -1, .timeout_ms = 20000 };
	struct sbx_call call = sbx_call_within(20000, NULL);
	directory_enter();
	scripted_start(&server, answers, 3);
	(void)snprintf(url, sizeof(url), "unix://%s/engine.sock", directory); /* short enough */
	ck_assert_int_eq(sbx_endpoint_find(url, &endpoint, &err), 0);
	ck_assert_int_eq(sbx_engine_open(&endpoint, &call, &engine, &err), 0);
	call.idle_ms = 300;
	ck_assert_int_eq(
		sbx_command_run(engine, &sandbox, &command, &call, &result, &err), -ETIMEDOUT);
	ck_assert_msg(err.kind == SBX_KIND_ENGINE, "%s", err.message);
	ck_assert_int_eq(result.exit_code, 125);
	ck_assert(!result.timed_out && !result.sandbox_removed);
	ck_assert_msg(strstr(server.first_line, "/exec "), "%s", server.first_line);
	sbx_command_result_finish(&result);
	sbx_engine_close(engine);
	sbx_endpoint_finish(&endpoint);
	scripted_stop(&server);
	directory_leave();
}
END_TEST

UNIT_MAIN("command", a_command_is_utf8, so_is_a_runs, an_engine_that_stalls_is_not_late)
