/* test_changes.c: the change list is put in order, or refused. */
#include "api/changes.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct sbx_error err;

/* In pieces of so many bytes. */
static int read_list(const char *text, size_t piece, const char *near, struct sbx_changes *out)
{
	sbx_error_clear(&err);
	struct sbx_changes_reader reader = { .near = near, .err = &err };
	int result = 0;
	for (size_t at = 0, size = strlen(text); at < size && !result; at += piece)
		result =
			sbx_changes_feed(&reader, text + at, size - at < piece ? size - at : piece);
	result = result ? result : sbx_changes_end(&reader, out);
	sbx_changes_reader_finish(&reader);
	return result;
}

static int parse(const char *text, struct sbx_changes *out)
{
	return read_list(text, 1000, "/", out);
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
	static const char *const texts[] = { "{}", "\"x\"", "[1]", "[{}]", "", "nul", "nulll",
		"nu ll", "nu\rll", "nu[]", "null[]", "[", "[{\"Path\":\"/a\",\"Kind\":1}",
		"[{\"Path\":\"/a\",\"Kind\":1},]", "[{\"Path\":\"/a\",\"Kind\":1}{}]", "[,]",
		"[{\"Path\":\"/a\",\"Kind\":1}]]", "[{\"Path\":\"/a\",\"Kind\":1,}]", "[[]]",
		"[{\"Path\":\"/a\",\"Kind\":3}]", "[{\"Path\":\"a\",\"Kind\":1}]",
		"[{\"Path\":\"/a\",\"Kind\":\"1\"}]" };
	struct sbx_changes changes;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_int_eq(parse(texts[i], &changes), -EIO);
}
END_TEST

/* A quote, a brace or a bracket in a name ends nothing, wherever the pieces are cut. */
START_TEST(reads_any_name_in_any_pieces)
{
	static const char text[] = " [ {\"Path\":\"/w/}]\\\"{[,\\\\\",\"Kind\":1} ,\n"
				   "{\"Kind\":0,\"Path\":\"/w\"}]\n";
	struct sbx_changes changes;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		ck_assert_int_eq(read_list(text, piece, "/w", &changes), 0);
		ck_assert_uint_eq(changes.count, 2);
		ck_assert_str_eq(changes.rows[1].path, "/w/}]\"{[,\\");
		sbx_changes_finish(&changes);
	}
}
END_TEST

START_TEST(keeps_what_is_on_the_way_and_below)
{
	static const char text[] =
		"[{\"Path\":\"/\",\"Kind\":0},{\"Path\":\"/w\",\"Kind\":0},"
		"{\"Path\":\"/w/o\",\"Kind\":1},{\"Path\":\"/w/o/f\",\"Kind\":1},"
		"{\"Path\":\"/w/other\",\"Kind\":1},{\"Path\":\"/x\",\"Kind\":1}]";
	struct sbx_changes changes;
	ck_assert_int_eq(read_list(text, 7, "/w/o", &changes), 0);
	ck_assert_uint_eq(changes.count, 4);
	ck_assert_str_eq(changes.rows[2].path, "/w/o");
	ck_assert_str_eq(changes.rows[3].path, "/w/o/f");
	sbx_changes_finish(&changes);
}
END_TEST

/* The guest makes as many as it likes: elsewhere they cost nothing, below they are refused. */
START_TEST(a_flood_of_rows_is_refused_where_it_is_in_question)
{
	char row[64];
	struct sbx_changes_reader reader = { .near = "/w", .err = &err };
	int result = sbx_changes_feed(&reader, "[", 1);
	for (int i = 0; i < 200000 && !result; i++) {
		int size = snprintf(row, sizeof(row), "{\"Path\":\"/x/%06d\",\"Kind\":1},", i);
		result = sbx_changes_feed(&reader, row, (size_t)size);
	}
	ck_assert_int_eq(result, 0);
	ck_assert_uint_eq(reader.changes.count, 0);
	for (int i = 0; i < 1000000 && !result; i++) {
		int size = snprintf(row, sizeof(row), "{\"Path\":\"/w/%06d\",\"Kind\":1},", i);
		result = sbx_changes_feed(&reader, row, (size_t)size);
	}
	ck_assert_int_eq(result, -EFBIG);
	ck_assert_ptr_nonnull(strstr(err.message, "below /w"));
	sbx_changes_reader_finish(&reader);
}
END_TEST

UNIT_MAIN("changes", reads_any_name_in_any_pieces, keeps_what_is_on_the_way_and_below,
	a_flood_of_rows_is_refused_where_it_is_in_question, sorts_and_keeps_each_path_once,
	null_is_none, refuses_rows_that_are_none)
