/* test_pace.c: windows take their share of a guest's time and no more. */
#include "files/pace.h"
#include "unit.h"

START_TEST(first_window_waits_for_nothing)
{
	struct sbx_pace pace = { 0 };
	ck_assert_int_eq(sbx_pace_wait_ms(&pace, 50, 1000), 0);
}
END_TEST

START_TEST(half_the_time_means_a_pause_as_long_as_the_window)
{
	struct sbx_pace pace = { 0 };
	sbx_pace_add(&pace, 50, 10000, 1000);
	ck_assert_int_eq(sbx_pace_wait_ms(&pace, 50, 10000), 1000 - SBX_PACE_BURST_MS);
	ck_assert_int_eq(sbx_pace_wait_ms(&pace, 50, 10500), 500 - SBX_PACE_BURST_MS);
	ck_assert_int_eq(sbx_pace_wait_ms(&pace, 50, 11000), 0);
}
END_TEST

START_TEST(a_burst_of_short_windows_does_not_wait)
{
	struct sbx_pace pace = { 0 };
	sbx_pace_add(&pace, 50, 1000, 60);
	ck_assert_int_eq(sbx_pace_wait_ms(&pace, 50, 1000), 0);
	sbx_pace_add(&pace, 50, 1060, 60);
	ck_assert_int_gt(sbx_pace_wait_ms(&pace, 50, 1060), 0);
}
END_TEST

START_TEST(other_shares)
{
	struct sbx_pace pace = { 0 };
	sbx_pace_add(&pace, 20, 10000, 600);
	ck_assert_int_eq(
		sbx_pace_wait_ms(&pace, 20, 10000), (INT64_C(600) - SBX_PACE_BURST_MS) * 4);
	ck_assert_int_eq(sbx_pace_wait_ms(&pace, 100, 10000), 0);
	/* 0 and more than 100 are taken as the nearest share there is. */
	ck_assert_int_eq(
		sbx_pace_wait_ms(&pace, 0, 10000), (INT64_C(600) - SBX_PACE_BURST_MS) * 99);
	ck_assert_int_eq(sbx_pace_wait_ms(&pace, 900, 10000), 0);
}
END_TEST

START_TEST(a_busy_reader_gets_its_share_in_the_long_run)
{
	struct sbx_pace pace = { 0 };
	int64_t now = 5000;
	int64_t frozen = 0;
	for (int i = 0; i < 1000; i++) {
		now += sbx_pace_wait_ms(&pace, 30, now);
		now += 70;
		frozen += 70;
		sbx_pace_add(&pace, 30, now, 70);
	}
	int64_t share = frozen * 1000 / (now - 5000);
	ck_assert_int_ge(share, 290);
	ck_assert_int_le(share, 302);
}
END_TEST

START_TEST(odd_clocks_bind_nobody)
{
	struct sbx_pace future = { .ended_ms = INT64_MAX / 2, .debt_ms = 1000 };
	ck_assert_int_eq(sbx_pace_wait_ms(&future, 50, 1000), 0);
	struct sbx_pace old = { .ended_ms = 1, .debt_ms = 1000 };
	ck_assert_int_eq(sbx_pace_wait_ms(&old, 99, INT64_MAX - 1), 0);
	struct sbx_pace negative = { .ended_ms = 1000, .debt_ms = -5 };
	ck_assert_int_eq(sbx_pace_wait_ms(&negative, 50, 1000), 0);
	sbx_pace_add(&negative, 50, 1000, -20);
	ck_assert_int_eq(negative.debt_ms, 0);
}
END_TEST

UNIT_MAIN("pace", first_window_waits_for_nothing, half_the_time_means_a_pause_as_long_as_the_window,
	a_burst_of_short_windows_does_not_wait, other_shares,
	a_busy_reader_gets_its_share_in_the_long_run, odd_clocks_bind_nobody)
