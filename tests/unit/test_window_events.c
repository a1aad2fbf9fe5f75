/* test_window_events.c: whose is the pause at the end of a window, as far as events can tell. */
#include "files/window_inside.h"
#include "unit.h"

#define PAUSE SBX_EVENT_PAUSE
#define UNPAUSE SBX_EVENT_UNPAUSE

static void tell(
	struct sbx_window_recall *seen, const char *id, enum sbx_event_type type, int64_t time_ns)
{
	const struct sbx_event event = { .type = type, .id = id, .name = "", .time_ns = time_ns };
	ck_assert_int_eq(sbx_window_recall(seen, &event), 0);
}

START_TEST(only_a_pause_after_a_resume_of_ours_is_somebody_elses)
{
	static const struct {
		enum sbx_event_type types[4];
		bool resumed, again;
	} rows[] = {
		{ { PAUSE }, false, false },
		{ { PAUSE, UNPAUSE }, true, false },
		{ { PAUSE, UNPAUSE, PAUSE }, true, true },
		{ { PAUSE, UNPAUSE, PAUSE, UNPAUSE }, true, true },
		/* A window before ours, by an engine whose clock is ahead: the pause is ours. */
		{ { UNPAUSE, PAUSE }, true, false },
		{ { PAUSE, PAUSE }, false, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_window_recall seen = { .id = "a", .since_ns = 1000 };
		/* SBX_EVENT_CREATE, which is 0, stands for nothing. */
		for (size_t j = 0; j < 4; j++)
			tell(&seen, "a", rows[i].types[j], 1000 + (int64_t)j);
		ck_assert(seen.paused);
		ck_assert_int_eq(seen.resumed, rows[i].resumed);
		ck_assert_int_eq(seen.again, rows[i].again);
	}
}
END_TEST

START_TEST(what_was_before_or_is_anothers_counts_for_nothing)
{
	struct sbx_window_recall seen = { .id = "a", .since_ns = 1000 };
	tell(&seen, "a", PAUSE, 999);
	tell(&seen, "a", UNPAUSE, 999);
	tell(&seen, "b", PAUSE, 1000);
	tell(&seen, "b", UNPAUSE, 1001);
	ck_assert(!seen.paused && !seen.resumed);
	tell(&seen, "a", PAUSE, 1002);
	ck_assert(seen.paused && !seen.resumed && !seen.again);
}
END_TEST

UNIT_MAIN("window_events", only_a_pause_after_a_resume_of_ours_is_somebody_elses,
	what_was_before_or_is_anothers_counts_for_nothing)
