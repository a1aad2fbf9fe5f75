/* test_dir_archive.c: what an archive of a directory may cost, whatever sizes the guest's files
 * say.
 */
#include "files/dir_archive.h"
#include "unit.h"

static struct sbx_dir_budget left;

static void begin(void)
{
	left = (struct sbx_dir_budget){ .each = 100, .spare = 1000, .deeper = 2000, .total = 3000 };
}

START_TEST(a_child_pays_for_what_is_beyond_its_share)
{
	begin();
	ck_assert(sbx_dir_budget_pay(&left, 0, true));
	ck_assert(sbx_dir_budget_pay(&left, 100, true));
	ck_assert_int_eq(left.spare, 1000);
	ck_assert(sbx_dir_budget_pay(&left, 1000, true));
	ck_assert_int_eq(left.spare, 100);
	ck_assert(!sbx_dir_budget_pay(&left, 201, true));
	ck_assert(sbx_dir_budget_pay(&left, 200, true));
	ck_assert_int_eq(left.spare, 0);
	ck_assert_int_eq(left.deeper, 2000);
}
END_TEST

START_TEST(what_lies_deeper_pays_for_its_header_too)
{
	begin();
	ck_assert(sbx_dir_budget_pay(&left, 0, false));
	ck_assert_int_eq(left.deeper, 2000 - 512);
	ck_assert(!sbx_dir_budget_pay(&left, 2000 - 1024 + 1, false));
	ck_assert(sbx_dir_budget_pay(&left, 2000 - 1024, false));
	ck_assert_int_eq(left.deeper, 0);
	ck_assert(!sbx_dir_budget_pay(&left, 0, false));
	ck_assert_int_eq(left.spare, 1000);
}
END_TEST

/* A header says up to INT64_MAX (tar_number.c): under UBSan any sum with it would show. */
START_TEST(no_size_is_beyond_counting)
{
	static const int64_t sizes[] = { INT64_MAX, INT64_MAX - 1, INT64_MAX - 511, INT64_MAX / 2 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		begin();
		ck_assert(!sbx_dir_budget_pay(&left, sizes[i], true));
		ck_assert(!sbx_dir_budget_pay(&left, sizes[i], false));
		ck_assert_int_eq(left.spare, 1000);
		ck_assert_int_eq(left.deeper, 2000);
	}
}
END_TEST

START_TEST(nothing_is_larger_than_what_may_still_be_moved)
{
	begin();
	left.spare = left.deeper = INT64_MAX;
	ck_assert(!sbx_dir_budget_pay(&left, 3001, true));
	ck_assert(!sbx_dir_budget_pay(&left, 3001, false));
	ck_assert(sbx_dir_budget_pay(&left, 3000, true));
	ck_assert(sbx_dir_budget_pay(&left, 3000, false));
}
END_TEST

UNIT_MAIN("dir_archive", a_child_pays_for_what_is_beyond_its_share,
	what_lies_deeper_pays_for_its_header_too, no_size_is_beyond_counting,
	nothing_is_larger_than_what_may_still_be_moved)
