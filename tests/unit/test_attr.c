/* test_attr.c: which stats are one version, and the number that goes with it. */
#include "attr.h"
#include "unit.h"

static struct sbx_stat file(int64_t size, int64_t second, int32_t ns)
{
	return (struct sbx_stat){
		.type = SBX_TYPE_FILE, .size = size, .mtime_s = second, .mtime_ns = ns
	};
}

START_TEST(knows_a_version_by_what_both_know)
{
	struct sbx_stat exact = file(5, 100, 600000000), other = file(5, 100, 600000001);
	struct sbx_stat cut = file(5, 100, -1), rounded = file(5, 101, -1),
			longer = file(6, 100, -1);
	ck_assert(sbx_same_version(&exact, &exact, false));
	ck_assert(!sbx_same_version(&exact, &other, false));
	ck_assert(sbx_same_version(&exact, &cut, false));
	ck_assert(!sbx_same_version(&exact, &rounded, false));
	ck_assert(sbx_same_version(&exact, &rounded, true));
	ck_assert(!sbx_same_version(&exact, &longer, false));
}
END_TEST

START_TEST(numbers_stay_with_the_content)
{
	struct sbx_stat exact = file(5, 100, 3), listed = file(5, 100, -1), next = file(5, 101, 3);
	uint64_t number = sbx_ino("id", "out/f", &exact, false);
	ck_assert_uint_eq(number, sbx_ino("id", "out/f", &listed, false));
	ck_assert_uint_ne(number, sbx_ino("id", "out/f", &next, false));
	ck_assert_uint_ne(number, sbx_ino("id", "out/g", &exact, false));
	ck_assert_uint_ne(number, sbx_ino("other", "out/f", &exact, false));
	ck_assert_uint_ne(number, sbx_ino_exact("id", "out/f", &exact));
	ck_assert_uint_eq(sbx_ino("", "", NULL, false), 1);
}
END_TEST

UNIT_MAIN("attr", knows_a_version_by_what_both_know, numbers_stay_with_the_content)
