/* test_event_queue.c: events become flags of a container: bounded, settled, and retried later. */
#include "sandbox/event_queue.h"
#include "unit.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static bool add(
	struct sbx_event_queue *queue, enum sbx_event_type type, const char *id, int64_t now_ms)
{
	struct sbx_event event = { .type = type, .id = id, .name = "" };
	return sbx_event_queue_add(queue, &event, now_ms);
}

START_TEST(a_flood_is_one_entry)
{
	struct sbx_event_queue queue = { 0 };
	for (int i = 0; i < 1000; i++)
		ck_assert(add(&queue, SBX_EVENT_START, ID_A, 10 + i));
	ck_assert(add(&queue, SBX_EVENT_CREATE, ID_B, 10));
	ck_assert(!add(&queue, SBX_EVENT_OTHER, ID_A, 10));
	ck_assert(!add(&queue, SBX_EVENT_START, "short", 10));
	ck_assert_uint_eq(HASH_COUNT(queue.entries), 2);
	ck_assert_int_eq(sbx_event_queue_entry(&queue, ID_A)->due_ms, 10);
	sbx_event_queue_finish(&queue);
}
END_TEST

START_TEST(pauses_are_looked_at_once_they_rest)
{
	struct sbx_event_queue queue = { 0 };
	add(&queue, SBX_EVENT_PAUSE, ID_A, 100);
	add(&queue, SBX_EVENT_UNPAUSE, ID_A, 600);
	struct sbx_entry_state *entry = sbx_event_queue_entry(&queue, ID_A);
	ck_assert(entry->dirty);
	ck_assert_int_eq(entry->due_ms, 1600);
	add(&queue, SBX_EVENT_DIE, ID_A, 700); /* what matters is not put off */
	ck_assert_int_eq(entry->due_ms, 700);
	add(&queue, SBX_EVENT_UNPAUSE, ID_A, 800);
	ck_assert_int_eq(entry->due_ms, 700);
	sbx_event_queue_finish(&queue);
}
END_TEST

START_TEST(failures_wait_longer_each_time)
{
	struct sbx_event_queue queue = { 0 };
	struct sbx_entry_state *entry = sbx_event_queue_entry(&queue, ID_A);
	int64_t last = 0;
	for (int i = 0; i < 20; i++) {
		entry->dirty = false;
		sbx_event_queue_retry(entry, 0);
		ck_assert_int_ge(entry->due_ms, last);
		last = entry->due_ms;
	}
	ck_assert_int_eq(last, 30000);
	add(&queue, SBX_EVENT_START, ID_A, 5); /* news ends the waiting */
	ck_assert_int_eq(entry->due_ms, 5);
	ck_assert_uint_eq(entry->failures, 0);
	sbx_event_queue_finish(&queue);
}
END_TEST

UNIT_MAIN("event_queue", a_flood_is_one_entry, pauses_are_looked_at_once_they_rest,
	failures_wait_longer_each_time)
