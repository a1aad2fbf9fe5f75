/* test_change_names.c: what follows for one directory from the engine's change list. */
#include "base/alloc.h"
#include "files/change_names.h"
#include "unit.h"

#include <string.h>

static void select_from(
	struct sbx_change *rows, size_t count, const char *directory, struct sbx_change_names *out)
{
	struct sbx_changes changes = { rows, count };
	sbx_change_names_select(&changes, directory, out);
}

START_TEST(takes_direct_children_only)
{
	struct sbx_change rows[] = {
		{ (char *)"/work", 0 },
		{ (char *)"/work/out", 0 },
		{ (char *)"/work/out/a", 1 },
		{ (char *)"/work/out/b", 2 }, /* Podman says so of what was made anew, too */
		{ (char *)"/work/out/c/deep", 1 },
		{ (char *)"/work/outside", 1 },
	};
	struct sbx_change_names names;
	select_from(rows, 6, "/work/out", &names);
	ck_assert_uint_eq(names.count, 2);
	ck_assert_str_eq(names.rows[0], "a");
	ck_assert_str_eq(names.rows[1], "b");
	ck_assert(!names.lossy && !names.added);
	sbx_change_names_finish(&names);
}
END_TEST

START_TEST(knows_when_the_image_has_nothing_there)
{
	struct sbx_change rows[] = { { (char *)"/work", 1 }, { (char *)"/work/out", 1 } };
	struct sbx_change_names names;
	select_from(rows, 2, "/work/out/deep", &names);
	ck_assert(names.added);
	sbx_change_names_finish(&names);
	rows[0].kind = rows[1].kind = 0;
	select_from(rows, 2, "/work/out", &names);
	ck_assert(!names.added);
	sbx_change_names_finish(&names);
	select_from(rows, 2, "/", &names);
	ck_assert_uint_eq(names.count, 1);
	sbx_change_names_finish(&names);
}
END_TEST

START_TEST(names_that_cannot_be_asked_for)
{
	struct sbx_change rows[] = {
		{ (char *)"/w/bad\xef\xbf\xbd", 1 },
		{ (char *)"/w/gone\xef\xbf\xbd", 2 },
	};
	struct sbx_change_names names;
	select_from(rows, 2, "/w", &names);
	ck_assert(names.lossy);
	ck_assert_uint_eq(names.count, 1);
	sbx_change_names_finish(&names);
	select_from(rows, 0, "/w\xff", &names);
	ck_assert(names.lossy);
	sbx_change_names_finish(&names);
	cleanup_free char *spelled = sbx_change_names_spell("a\xff\xfe\xc3\xaf");
	ck_assert_str_eq(spelled, "a\xef\xbf\xbd\xef\xbf\xbd\xc3\xaf");
}
END_TEST

UNIT_MAIN("change_names", takes_direct_children_only, knows_when_the_image_has_nothing_there,
	names_that_cannot_be_asked_for)
