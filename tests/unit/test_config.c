/* test_config.c: the config file: [limits], what it may not say, and what a run is held to by it.
 */
#include "directory.h"
#include "tools/tool.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static const struct sbx_ceilings unset, usual = { 64LL << 20, 256LL << 20, 256 };

/* What the file's text makes of the tool; the rest of it is freed. */
static int read_text(const char *text, struct sbx_limits *out, struct sbx_error *err)
{
	struct sbx_tool tool = { .config_path = "config.ini" };
	directory_enter();
	write_file("config.ini", text);
	int rc = sbx_tool_read_config(&tool, err);
	directory_leave();
	*out = tool.limits;
	sbx_rules_destroy(tool.rules);
	return rc;
}

static void same(const struct sbx_ceilings *got, const struct sbx_ceilings *wanted)
{
	ck_assert_int_eq(got->max_file_bytes, wanted->max_file_bytes);
	ck_assert_int_eq(got->max_total_bytes, wanted->max_total_bytes);
	ck_assert_int_eq(got->max_files, wanted->max_files);
}

/* MAF-07: for both directions by one key, for one of them by its own, later lines over earlier. */
START_TEST(limits_are_read)
{
	struct sbx_limits got;
	ck_assert_int_eq(read_text("", &got, NULL), 0);
	same(&got.in, &unset);
	same(&got.out, &unset);
	ck_assert_int_eq(
		read_text("[limits]\nmax_file = 1g\nmax_total=2g\nmax_files = 1000\n", &got, NULL),
		0);
	same(&got.in, &(struct sbx_ceilings){ 1LL << 30, 2LL << 30, 1000 });
	same(&got.out, &got.in);
	ck_assert_int_eq(
		read_text("[limits]\nmax_files = 1 ; a comment\nin_max_files = 2\nin_max_file = 3\n"
			  "out_max_total = 4\n",
			&got, NULL),
		0);
	same(&got.in, &(struct sbx_ceilings){ 3, 0, 2 });
	same(&got.out, &(struct sbx_ceilings){ 0, 4, 1 });
	/* A run has a ceiling in each place. */
	got = sbx_limits_fill(&got);
	same(&got.in, &(struct sbx_ceilings){ 3, usual.max_total_bytes, 2 });
	same(&got.out, &(struct sbx_ceilings){ usual.max_file_bytes, 4, 1 });
}
END_TEST

START_TEST(wrong_limits_are_refused)
{
	static const struct {
		const char *text, *says;
	} rows[] = { { "[limits]\nmax_file = 0\n", "max_file" },
		{ "[limits]\nmax_file = -1\n", "max_file" },
		{ "[limits]\nmax_file = lots\n", "a size such as 512m" },
		{ "[limits]\nmax_file =\n", "max_file" },
		{ "[limits]\nmax_total = 99999999999g\n", "max_total" },
		{ "[limits]\nmax_files = 1k\n", "a number" },
		{ "[limits]\nmax_files = 0\n", "a number" },
		{ "[limits]\nmax_speed = 1\n", "max_speed" },
		{ "[limits]\nin_max_speed = 1\n", "in_max_speed" },
		{ "[limits]\nin_out_max_file = 1\n", "in_out_max_file" },
		{ "[limits]\nout_ = 1\n", "out_" },
		{ "[limits]\nout_max_files = 0\n", "out_max_files" },
		{ "[engine]\ninsecure = maybe\n", "insecure" },
		{ "[limit]\nmax_file = 1\n", "[limit]" } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		struct sbx_limits got;
		ck_assert_msg(read_text(rows[i].text, &got, &err) == -EINVAL, "%s", rows[i].text);
		ck_assert_int_eq(err.kind, SBX_KIND_USAGE);
		ck_assert_msg(strstr(err.message, rows[i].says) != NULL, "%s", err.message);
		ck_assert_msg(strstr(err.message, "config.ini") != NULL, "%s", err.message);
		same(&got.in, &unset);
		same(&got.out, &unset);
	}
}
END_TEST

/* What inih has no room for is neither cut nor read as the next line. */
START_TEST(long_lines_are_refused)
{
	struct sbx_limits got;
	struct sbx_error err = SBX_ERROR_INIT;
	char text[1024];
	(void)snprintf(text, sizeof(text), "[limits]\n; %0*d\nmax_files = 3\n", 500, 1);
	ck_assert_int_eq(read_text(text, &got, &err), 0);
	ck_assert_int_eq(got.in.max_files, 3);
	(void)snprintf(
		text, sizeof(text), "[limits]\n# %0*d max_file = 1\nmax_files = 3\n", 195, 1);
	ck_assert_int_eq(read_text(text, &got, &err), 0);
	ck_assert_int_eq(got.in.max_file_bytes, unset.max_file_bytes);
	(void)snprintf(
		text, sizeof(text), "[limits]\nmax_files = 3 ; %0*d\nmax_speed = 1\n", 300, 1);
	ck_assert_int_eq(read_text(text, &got, &err), -EINVAL);
	ck_assert_msg(strstr(err.message, "line 2: the line has"), "%s", err.message);
	(void)snprintf(text, sizeof(text), "[engine]\nurl = unix:///%0*d\n", 300, 1);
	ck_assert_int_eq(read_text(text, &got, &err), -EINVAL);
	ck_assert_msg(strstr(err.message, "at most"), "%s", err.message);
}
END_TEST

/* Of several mistakes the first is told, whoever finds it. */
START_TEST(the_first_mistake_is_told)
{
	static const struct {
		const char *text, *says;
	} rows[] = { { "[limits]\nmax_file = 0\nmax_files = x\n", "line 2: [limits] max_file " },
		{ "[limits]\nnonsense\nmax_files = x\n", "line 2: neither" },
		{ "[limits]\nmax_files = x\nnonsense\n", "line 2: [limits] max_files" } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		struct sbx_limits got;
		ck_assert_int_eq(read_text(rows[i].text, &got, &err), -EINVAL);
		ck_assert_msg(strstr(err.message, rows[i].says), "%s", err.message);
	}
}
END_TEST

/* MAF-07, MAF-106: equality is allowed, one more is not, field by field and in each direction;
 * nothing asked is the ceiling itself. */
START_TEST(what_is_asked_is_held_to_the_ceilings)
{
	struct sbx_spec spec;
	sbx_spec_init(&spec);
	spec.image = "tool:1";
	same(&spec.limits.in, &usual);
	same(&spec.limits.out, &usual);
	ck_assert_int_eq(sbx_spec_check(&spec, NULL), 0);
	struct sbx_ceilings *held[] = { &spec.limits.in, &spec.limits.out };
	int64_t *const asked[] = { &spec.asked.max_file_bytes, &spec.asked.max_total_bytes,
		&spec.asked.max_files };
	const int64_t ceilings[] = { usual.max_file_bytes, usual.max_total_bytes, usual.max_files };
	for (size_t i = 0; i < 6; i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		int64_t *field = asked[i % 3], ceiling = ceilings[i % 3];
		*held[i / 3 ? 0 : 1] = (struct sbx_ceilings){ 0 }; /* none in the other direction */
		*held[i / 3] = usual;
		*field = ceiling;
		ck_assert_int_eq(sbx_spec_check(&spec, NULL), 0);
		*field = ceiling + 1;
		ck_assert_int_eq(sbx_spec_check(&spec, &err), -EPERM);
		ck_assert_int_eq(err.kind, SBX_KIND_POLICY);
		ck_assert_msg(strstr(err.message, i / 3 ? "goes out" : "goes in") != NULL, "%s",
			err.message);
		*field = -1;
		ck_assert_int_eq(sbx_spec_check(&spec, NULL), -EINVAL);
		*field = 0;
	}
}
END_TEST

UNIT_MAIN("config", limits_are_read, wrong_limits_are_refused, long_lines_are_refused,
	the_first_mistake_is_told, what_is_asked_is_held_to_the_ceilings)
