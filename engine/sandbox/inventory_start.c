/* inventory_start.c: the life of an inventory: its threads, its first listing, its end. */
#include "inventory_inside.h"

#include "../base/alloc.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

static struct sbx_inventory *inventory_create(struct sbx_engine *engine,
	const struct sbx_rules *rules, const struct sbx_inventory_listener *listener)
{
	struct sbx_inventory *inventory = sbx_alloc(sizeof(*inventory));
	inventory->engine = engine;
	inventory->rules = rules;
	inventory->listener = *listener;
	inventory->cancel = sbx_cancel_create();
	inventory->first_fd = eventfd(0, EFD_CLOEXEC);
	pthread_condattr_t monotonic;
	(void)pthread_condattr_init(&monotonic); /* none of these can fail on Linux */
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&inventory->change, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	(void)pthread_mutex_init(&inventory->lock, NULL);
	return inventory;
}

static void inventory_destroy(struct sbx_inventory *inventory)
{
	sbx_event_queue_finish(&inventory->queue);
	sbx_container_list_finish(&inventory->list);
	(void)pthread_mutex_destroy(&inventory->lock); /* unlocked, no thread is left */
	(void)pthread_cond_destroy(&inventory->change);
	sbx_cancel_unref(inventory->cancel);
	if (inventory->first_fd >= 0)
		(void)close(inventory->first_fd); /* an eventfd has nothing to flush */
	free(inventory);
}

static void ask_to_stop(struct sbx_inventory *inventory)
{
	pthread_mutex_lock(&inventory->lock);
	inventory->stopping = true;
	pthread_cond_broadcast(&inventory->change);
	pthread_mutex_unlock(&inventory->lock);
	sbx_cancel_fire(inventory->cancel);
}

static int start_threads(struct sbx_inventory *inventory, struct sbx_error *err)
{
	int rc = pthread_create(&inventory->teller, NULL, sbx_inventory_tell, inventory);
	if (rc != 0)
		return sbx_fail_errno(err, rc, "the inventory's thread cannot be started");
	rc = pthread_create(&inventory->reader, NULL, sbx_inventory_read, inventory);
	if (rc != 0) {
		ask_to_stop(inventory);
		(void)pthread_join(inventory->teller, NULL); /* joinable and ours */
		return sbx_fail_errno(err, rc, "the inventory's thread cannot be started");
	}
	return 0;
}

static int wait_for_first(
	struct sbx_inventory *inventory, const struct sbx_call *call, struct sbx_error *err)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = inventory->first_fd, .events = POLLIN },
			{ .fd = sbx_cancel_fd(call->cancel), .events = POLLIN } };
		int64_t left_ms = sbx_call_left_ms(call);
		int ready = poll(fds, 2, left_ms < 60000 ? (int)left_ms : 60000);
		if (ready < 0 && errno != EINTR)
			return sbx_fail_errno(err, errno, "poll");
		if (sbx_cancel_fired(call->cancel))
			return sbx_fail(err, ECANCELED,
				"cancelled while waiting for the first list of containers");
		if (ready > 0 && fds[0].revents)
			break;
		if (sbx_call_left_ms(call) == 0)
			return sbx_fail(err, ETIMEDOUT,
				"the engine did not list its containers within the deadline");
	}
	pthread_mutex_lock(&inventory->lock);
	int rc = inventory->first_result;
	if (rc < 0 && err)
		*err = inventory->first_err;
	pthread_mutex_unlock(&inventory->lock);
	return rc;
}

int sbx_inventory_start(struct sbx_engine *engine, const struct sbx_rules *rules,
	const struct sbx_inventory_listener *listener, const struct sbx_call *call,
	struct sbx_inventory **out, struct sbx_error *err)
{
	struct sbx_inventory *inventory = inventory_create(engine, rules, listener);
	if (inventory->first_fd < 0 || sbx_cancel_fd(inventory->cancel) < 0) {
		inventory_destroy(inventory);
		return sbx_fail_errno(err, EMFILE, "the inventory cannot be started");
	}
	int rc = start_threads(inventory, err);
	if (rc < 0) {
		inventory_destroy(inventory);
		return rc;
	}
	const struct sbx_call unbounded = { 0 };
	rc = wait_for_first(inventory, call ? call : &unbounded, err);
	if (rc < 0) {
		sbx_inventory_stop(inventory);
		return rc;
	}
	*out = inventory;
	return 0;
}

void sbx_inventory_stop(struct sbx_inventory *inventory)
{
	if (!inventory)
		return;
	ask_to_stop(inventory);
	(void)pthread_join(inventory->reader, NULL); /* joinable and ours: cannot fail */
	(void)pthread_join(inventory->teller, NULL);
	inventory_destroy(inventory);
}
