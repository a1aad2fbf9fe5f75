/* test_outputs.c: a declaration is literal, inside the work dir, and without overlap. */
#include "sandbox/outputs.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static int parse(const char *first, const char *second, struct sbx_error *err)
{
	const char *texts[] = { first, second };
	struct sbx_output *outputs = NULL;
	size_t count = 0;
	int rc = sbx_outputs_parse("/work", "in", texts, second ? 2 : 1, &outputs, &count, err);
	sbx_outputs_free(outputs, count);
	return rc;
}

START_TEST(takes_files_and_directories)
{
	const char *texts[] = { "report.json", "out/", "*.png", "deep/er/f", "na\xc3\xafve" };
	struct sbx_output *outputs = NULL;
	size_t count = 0;
	ck_assert_int_eq(sbx_outputs_parse("/work", "in", texts, 5, &outputs, &count, NULL), 0);
	ck_assert_uint_eq(count, 5);
	ck_assert_str_eq(outputs[0].path, "report.json");
	ck_assert(!outputs[0].directory);
	ck_assert_str_eq(outputs[1].path, "out");
	ck_assert(outputs[1].directory);
	ck_assert_str_eq(outputs[2].path, "*.png"); /* no pattern: a file of that name */
	sbx_outputs_free(outputs, count);
}
END_TEST

START_TEST(refuses_each_bad_one_by_its_rule)
{
	static const struct {
		const char *first, *second;
		int errnum;
	} rows[] = { { "", NULL, EINVAL }, { "/", NULL, EXDEV }, { "/etc/passwd", NULL, EXDEV },
		{ "../x", NULL, EXDEV }, { "a/../b", NULL, EXDEV }, { "a//b", NULL, EINVAL },
		{ ".", NULL, EINVAL }, { "./a", NULL, EINVAL }, { "a/.", NULL, EINVAL },
		{ "in", NULL, EINVAL }, { "in/x", NULL, EINVAL }, { "in/", NULL, EINVAL },
		{ ".sbxfs", NULL, EINVAL }, { ".sbxfs/", NULL, EINVAL },
		{ ".sbxfs/x", NULL, EINVAL }, { "bad\xff", NULL, EILSEQ }, { "a", "a", EINVAL },
		{ "a", "a/", EINVAL }, { "a/", "a/b", EINVAL }, { "a/b", "a/", EINVAL },
		{ "a", "a/b", EINVAL } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		int rc = parse(rows[i].first, rows[i].second, &err);
		ck_assert_msg(rc == -rows[i].errnum, "'%s' '%s': %d %s", rows[i].first,
			rows[i].second ? rows[i].second : "", rc, err.message);
		ck_assert_msg(strstr(err.message, "output") != NULL, "%s", err.message);
	}
}
END_TEST

START_TEST(our_own_directory_is_no_in_dir)
{
	char *out = NULL;
	ck_assert_int_eq(sbx_in_dir_parse(".sbxfs", &out, NULL), -EINVAL);
	ck_assert_int_eq(sbx_in_dir_parse(".sbxfs/in/", &out, NULL), -EINVAL);
	ck_assert_ptr_null(out);
	ck_assert_int_eq(sbx_in_dir_parse(".sbxfsx/", &out, NULL), 0);
	ck_assert_str_eq(out, ".sbxfsx");
	free(out);
	ck_assert_int_eq(parse(".sbxfsx/", "a/.sbxfs", NULL), 0);
}
END_TEST

START_TEST(bounds_lengths)
{
	char part[257], path[4200];
	memset(part, 'a', 256);
	part[255] = '\0';
	ck_assert_int_eq(parse(part, NULL, NULL), 0);
	part[255] = 'a';
	part[256] = '\0';
	ck_assert_int_eq(parse(part, NULL, NULL), -ENAMETOOLONG);
	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 2 ? '/' : 'a';
	path[sizeof(path) - 2] = 'a';
	path[sizeof(path) - 1] = '\0';
	ck_assert_int_eq(parse(path, NULL, NULL), -ENAMETOOLONG);
}
END_TEST

START_TEST(knows_neighbours_from_parents)
{
	ck_assert_int_eq(parse("out", "out-2", NULL), 0);
	ck_assert_int_eq(parse("inside", "in.txt", NULL), 0);
	const char *parent[] = { "data/" };
	struct sbx_output *outputs = NULL;
	size_t count = 0;
	ck_assert_int_eq(
		sbx_outputs_parse("/work", "data/in", parent, 1, &outputs, &count, NULL), -EINVAL);
}
END_TEST

START_TEST(work_dir_is_absolute_and_below_the_root)
{
	static const struct {
		const char *text, *out;
	} rows[] = { { "/work", "/work" }, { "/work/", "/work" }, { "/a/b", "/a/b" }, { "/", NULL },
		{ "work", NULL }, { "", NULL }, { "/a/../b", NULL }, { "/a//b", NULL },
		{ "/a/./b", NULL }, { "/proc", NULL }, { "/proc/1/root", NULL }, { "/sys/x", NULL },
		{ "/dev/shm", NULL }, { "/process", "/process" }, { "//", NULL } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *out = NULL;
		struct sbx_error err = SBX_ERROR_INIT;
		int rc = sbx_workdir_parse(rows[i].text, &out, &err);
		ck_assert_msg((rc == 0) == (rows[i].out != NULL), "'%s': %d %s", rows[i].text, rc,
			err.message);
		if (rows[i].out)
			ck_assert_str_eq(out, rows[i].out);
		free(out);
	}
}
END_TEST

UNIT_MAIN("outputs", takes_files_and_directories, refuses_each_bad_one_by_its_rule,
	our_own_directory_is_no_in_dir, bounds_lengths, knows_neighbours_from_parents,
	work_dir_is_absolute_and_below_the_root)
