/* test_call.c: a child token fires with either parent, and a parent outlives its children. A token
 * has a descriptor only where somebody asks for it. */
#include "tree.h"
#include "unit.h"

#include <sbx/call.h>

#include <limits.h>
#include <poll.h>
#include <pthread.h>

START_TEST(a_child_fires_with_either_parent)
{
	for (unsigned which = 0; which < 2; which++) {
		struct sbx_cancel *parents[2] = { sbx_cancel_create(), sbx_cancel_create() };
		struct sbx_cancel *child = sbx_cancel_create_child(parents[0], parents[1]);
		struct sbx_cancel *grandchild = sbx_cancel_create_child(NULL, child);
		ck_assert(!sbx_cancel_fired(child));
		sbx_cancel_fire(parents[which]);
		ck_assert(sbx_cancel_fired(child) && sbx_cancel_fired(grandchild));
		ck_assert(!sbx_cancel_fired(parents[!which]));
		sbx_cancel_unref(parents[0]);
		sbx_cancel_unref(parents[1]);
		sbx_cancel_unref(child);
		sbx_cancel_unref(grandchild);
	}
}
END_TEST

START_TEST(a_bound_past_the_end_of_the_clock_ends_there)
{
	struct sbx_call call = sbx_call_within(INT64_MAX, NULL);
	ck_assert_int_eq(call.deadline_ms, INT64_MAX);
	ck_assert_int_gt(sbx_call_left_ms(&call), 0);
	struct sbx_call shorter = sbx_call_shorter(NULL, INT64_MAX - 1);
	ck_assert_int_eq(shorter.deadline_ms, INT64_MAX);
	shorter = sbx_call_shorter(&call, 1000);
	ck_assert_int_le(sbx_call_left_ms(&shorter), 1000);
}
END_TEST

START_TEST(a_child_alone_harms_nobody)
{
	struct sbx_cancel *parent = sbx_cancel_create();
	struct sbx_cancel *child = sbx_cancel_create_child(parent, NULL);
	sbx_cancel_fire(child);
	ck_assert(!sbx_cancel_fired(parent));
	sbx_cancel_unref(child);
	sbx_cancel_fire(parent);
	child = sbx_cancel_create_child(parent, NULL);
	ck_assert(sbx_cancel_fired(child));
	sbx_cancel_unref(child);
	sbx_cancel_unref(parent);
}
END_TEST

static bool readable(struct sbx_cancel *cancel, int wait_ms)
{
	struct pollfd fd = { .fd = sbx_cancel_fd(cancel), .events = POLLIN };
	ck_assert_int_ge(fd.fd, 0);
	return poll(&fd, 1, wait_ms) == 1;
}

START_TEST(a_token_nobody_polls_takes_no_descriptor)
{
	struct sbx_cancel *parent = sbx_cancel_create(), *children[50];
	int before = tree_entries("/proc/self/fd", NULL);
	for (size_t i = 0; i < 50; i++)
		children[i] = sbx_cancel_create_child(parent, NULL);
	ck_assert_int_eq(tree_entries("/proc/self/fd", NULL), before);
	(void)sbx_cancel_fd(children[7]);
	ck_assert_int_eq(sbx_cancel_fd(children[7]), sbx_cancel_fd(children[7]));
	ck_assert_int_eq(tree_entries("/proc/self/fd", NULL), before + 1);
	for (size_t i = 0; i < 50; i++)
		sbx_cancel_unref(children[i]);
	sbx_cancel_unref(parent);
	ck_assert_int_eq(tree_entries("/proc/self/fd", NULL), before);
	ck_assert_int_eq(sbx_cancel_fd(NULL), -1);
}
END_TEST

START_TEST(a_descriptor_tells_whenever_it_was_made)
{
	struct sbx_cancel *parent = sbx_cancel_create();
	struct sbx_cancel *early = sbx_cancel_create_child(parent, NULL);
	struct sbx_cancel *late = sbx_cancel_create_child(parent, NULL);
	ck_assert(!readable(early, 0));
	sbx_cancel_fire(parent);
	ck_assert(readable(early, 0));
	ck_assert(readable(late, 0));
	ck_assert(readable(late, 0)); /* and goes on telling */
	sbx_cancel_unref(early);
	sbx_cancel_unref(late);
	sbx_cancel_unref(parent);
}
END_TEST

static void *fire(void *data)
{
	sbx_cancel_fire(data);
	return NULL;
}

/* Made while it fires: no wake-up is lost. */
START_TEST(a_descriptor_made_meanwhile_tells)
{
	for (int i = 0; i < 2000; i++) {
		struct sbx_cancel *cancel = sbx_cancel_create();
		pthread_t thread;
		ck_assert_int_eq(pthread_create(&thread, NULL, fire, cancel), 0);
		ck_assert(readable(cancel, 10000));
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		sbx_cancel_unref(cancel);
	}
}
END_TEST

UNIT_MAIN("call", a_child_fires_with_either_parent, a_child_alone_harms_nobody,
	a_token_nobody_polls_takes_no_descriptor, a_descriptor_tells_whenever_it_was_made,
	a_descriptor_made_meanwhile_tells, a_bound_past_the_end_of_the_clock_ends_there)
