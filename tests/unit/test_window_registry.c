/* test_window_registry.c: is anything open or owed by this process? The guardian goes only when
 * nothing is. Each test is a process of its own. */
#include "files/window_inside.h"
#include "unit.h"

static struct sbx_windows windows_in(enum sbx_phase phase, enum sbx_owed owed)
{
	return (struct sbx_windows){
		.phase = phase, .record.owed = owed, .mutex = PTHREAD_MUTEX_INITIALIZER
	};
}

START_TEST(it_is_idle_while_every_window_is_closed)
{
	ck_assert(sbx_window_registry_idle());
	struct sbx_windows one = windows_in(SBX_PHASE_CLOSED, SBX_OWED_NOTHING);
	struct sbx_windows other = windows_in(SBX_PHASE_CLOSED, SBX_OWED_NOTHING);
	sbx_window_registry_add(&one);
	sbx_window_registry_add(&other);
	ck_assert(sbx_window_registry_idle());
	static const enum sbx_phase phases[] = { SBX_PHASE_OPENING, SBX_PHASE_OPEN,
		SBX_PHASE_CLOSING };
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		one.phase = phases[i];
		ck_assert(!sbx_window_registry_idle());
		one.phase = SBX_PHASE_CLOSED;
		ck_assert(sbx_window_registry_idle());
	}
	sbx_window_registry_remove(&one);
	sbx_window_registry_remove(&other);
	ck_assert(sbx_window_registry_idle());
}
END_TEST

/* The keeper gave up, and its window is gone: only the guardian can still resume the container. */
static void go_owed(enum sbx_owed owed)
{
	struct sbx_windows gone = windows_in(SBX_PHASE_CLOSED, owed);
	struct sbx_windows later = windows_in(SBX_PHASE_CLOSED, SBX_OWED_NOTHING);
	sbx_window_registry_add(&gone);
	sbx_window_registry_remove(&gone);
	ck_assert(!sbx_window_registry_idle());
	sbx_window_registry_add(&later);
	sbx_window_registry_remove(&later);
	ck_assert(!sbx_window_registry_idle());
}

START_TEST(what_went_paused_is_never_forgotten)
{
	go_owed(SBX_OWED_PAUSED);
}
END_TEST

START_TEST(what_went_asked_for_is_never_forgotten)
{
	go_owed(SBX_OWED_ASKED);
}
END_TEST

START_TEST(counters_add_up_and_keep_the_longest)
{
	struct sbx_window_counters counters;
	sbx_window_count_frozen(40);
	sbx_window_count_frozen(70);
	sbx_window_count_frozen(-3); /* the clock was set: counted as none */
	sbx_window_count_joined();
	sbx_window_count_refused();
	sbx_window_counters(&counters);
	ck_assert_uint_eq(counters.windows, 3);
	ck_assert_uint_eq(counters.frozen_ms, 110);
	ck_assert_uint_eq(counters.longest_ms, 70);
	ck_assert_uint_eq(counters.joined, 1);
	ck_assert_uint_eq(counters.refused, 1);
}
END_TEST

UNIT_MAIN("window_registry", it_is_idle_while_every_window_is_closed,
	counters_add_up_and_keep_the_longest, what_went_paused_is_never_forgotten,
	what_went_asked_for_is_never_forgotten)
