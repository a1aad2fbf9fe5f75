/* test_changes.c: the change list is put in order, or refused. */
#include "api/changes.h"
#include "unit.h"

#include <errno.h>

static int parse(const char *text, struct sbx_changes *out)
{
	cleanup_json cJSON *json = cJSON_Parse(text);
	ck_assert_ptr_nonnull(json);
	return sbx_changes_parse(json, out, NULL);
}

START_TEST(sorts_and_keeps_each_path_once)
{
	struct sbx_changes changes;
	ck_assert_int_eq(
		parse("[{\"Path\":\"/work/out\",\"Kind\":1},{\"Path\":\"/work\",\"Kind\":0},"
		      "{\"Path\":\"/work/out\",\"Kind\":2},"
		      "{\"Path\":\"/work/a\\nb\",\"Kind\":1}]",
			&changes),
		0);
	ck_assert_uint_eq(changes.count, 3);
	ck_assert_str_eq(changes.rows[0].path, "/work");
	ck_assert_str_eq(changes.rows[1].path, "/work/a\nb");
	ck_assert_str_eq(changes.rows[2].path, "/work/out");
	ck_assert_int_eq(changes.rows[2].kind, 1);
	sbx_changes_finish(&changes);
}
END_TEST

START_TEST(null_is_none)
{
	struct sbx_changes changes;
	ck_assert_int_eq(parse("null", &changes), 0);
	ck_assert_uint_eq(changes.count, 0);
	sbx_changes_finish(&changes);
	ck_assert_int_eq(parse("[]", &changes), 0);
	sbx_changes_finish(&changes);
}
END_TEST

START_TEST(refuses_rows_that_are_none)
{
	static const char *const texts[] = { "{}", "\"x\"", "[1]", "[{}]",
		"[{\"Path\":\"/a\",\"Kind\":3}]", "[{\"Path\":\"a\",\"Kind\":1}]",
		"[{\"Path\":\"/a\",\"Kind\":\"1\"}]" };
	struct sbx_changes changes;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_int_eq(parse(texts[i], &changes), -EIO);
}
END_TEST

UNIT_MAIN("changes", sorts_and_keeps_each_path_once, null_is_none, refuses_rows_that_are_none)
