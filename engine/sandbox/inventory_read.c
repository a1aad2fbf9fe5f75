/*
 * inventory_read.c: the event stream's thread. It does nothing but hand events on, so that the
 * stream never waits for an inspect; and it owns the reconnecting.
 */
#include "inventory_inside.h"

#include <errno.h>
#include <time.h>

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000

static void connected(void *data)
{
	struct sbx_inventory *inventory = data;
	pthread_mutex_lock(&inventory->lock);
	/* Again, for a line that could not be read: a little later, or a stream of rubbish would be
	 * one of listings. */
	if (!inventory->streaming)
		inventory->relist_due_ms = 0;
	else if (!inventory->relist)
		inventory->relist_due_ms = sbx_clock_ms() + SBX_RELIST_MS;
	inventory->streaming = true;
	inventory->relist = true;
	pthread_cond_broadcast(&inventory->change);
	pthread_mutex_unlock(&inventory->lock);
}

static int event(void *data, const struct sbx_event *said)
{
	struct sbx_inventory *inventory = data;
	pthread_mutex_lock(&inventory->lock);
	bool stop = inventory->stopping;
	if (sbx_event_queue_add(&inventory->queue, said, sbx_clock_ms()))
		pthread_cond_broadcast(&inventory->change);
	pthread_mutex_unlock(&inventory->lock);
	return stop ? -ECANCELED : 0;
}

static void disconnected(struct sbx_inventory *inventory, const struct sbx_error *err)
{
	inventory->streaming = false;
	inventory->relist = false;
	inventory->down = *err;
	pthread_cond_broadcast(&inventory->change);
}

/* With the lock held; ends early when stop is asked for. */
static void back_off(struct sbx_inventory *inventory, int64_t wait_ms)
{
	int64_t until_ms = sbx_clock_ms() + wait_ms;
	struct timespec until = { .tv_sec = until_ms / 1000,
		.tv_nsec = (until_ms % 1000) * 1000000 };
	while (!inventory->stopping && sbx_clock_ms() < until_ms) {
		if (pthread_cond_timedwait(&inventory->change, &inventory->lock, &until) ==
			ETIMEDOUT)
			break;
	}
}

void *sbx_inventory_read(void *data)
{
	struct sbx_inventory *inventory = data;
	int64_t wait_ms = BACKOFF_MIN_MS;
	for (;;) {
		struct sbx_call call = { .cancel = inventory->cancel };
		struct sbx_error err = SBX_ERROR_INIT;
		unsigned malformed = 0;
		int rc = sbx_events_stream(
			inventory->engine, &call, connected, event, inventory, &malformed, &err);
		if (rc == 0)
			(void)sbx_fail(&err, EHOSTDOWN, "the engine ended its event stream");
		pthread_mutex_lock(&inventory->lock);
		if (inventory->streaming)
			wait_ms = BACKOFF_MIN_MS;
		disconnected(inventory, &err);
		back_off(inventory, wait_ms);
		bool stop = inventory->stopping;
		pthread_mutex_unlock(&inventory->lock);
		if (stop)
			return NULL;
		wait_ms = wait_ms * 2 < BACKOFF_MAX_MS ? wait_ms * 2 : BACKOFF_MAX_MS;
	}
}
