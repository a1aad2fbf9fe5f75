/* test_command_budget.c: exactly the budget is fine, one byte more is not. */
#include "sandbox/command_budget.h"

#include "unit.h"

START_TEST(all_of_the_budget_is_output)
{
	struct sbx_budget budget = { .left = 10 };
	ck_assert_uint_eq(sbx_budget_take(&budget, 4), 4);
	ck_assert_uint_eq(sbx_budget_take(&budget, 6), 6);
	ck_assert(!budget.over);
	ck_assert_uint_eq(sbx_budget_take(&budget, 0), 0);
	ck_assert(!budget.over);
	ck_assert_uint_eq(sbx_budget_take(&budget, 1), 0);
	ck_assert(budget.over);
}
END_TEST

START_TEST(what_fits_of_the_last_piece_is_kept)
{
	struct sbx_budget budget = { .left = 10 };
	ck_assert_uint_eq(sbx_budget_take(&budget, 64), 10);
	ck_assert(budget.over);
	ck_assert_int_eq(budget.left, 0);
	ck_assert_uint_eq(sbx_budget_take(&budget, 5), 0);
}
END_TEST

START_TEST(a_piece_larger_than_any_budget_does_not_wrap)
{
	struct sbx_budget budget = { .left = INT64_MAX };
	ck_assert_uint_eq(sbx_budget_take(&budget, SIZE_MAX), (size_t)INT64_MAX);
	ck_assert(budget.over);
	ck_assert_int_eq(budget.left, 0);
}
END_TEST

UNIT_MAIN("command_budget", all_of_the_budget_is_output, what_fits_of_the_last_piece_is_kept,
	a_piece_larger_than_any_budget_does_not_wrap)
