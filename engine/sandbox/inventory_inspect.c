/*
 * inventory_inspect.c: the inventory's requests, each on a short-lived thread of its own: one that
 * does not answer (its container's lock is held) costs two seconds of nobody else's time. Repeats
 * have few places, so that any number of wedged containers cannot take them all.
 */
#include "inspect_many.h"
#include "inventory_inside.h"

#include "../base/alloc.h"
#include "../files/window_undo.h"

#include <string.h>

#define LIST_MS 30000
#define PLACES 8
#define REPEAT_PLACES 2

static void *inspect(void *data)
{
	struct sbx_inspection *inspection = data;
	struct sbx_inventory *inventory = inspection->inventory;
	struct sbx_call call = sbx_call_within(SBX_INSPECT_BOUND_MS, inventory->cancel);
	/* Whether it is a freeze window that paused it has to be seen on either side of the look.
	 */
	bool ours = sbx_window_has(inventory->engine, inspection->id);
	inspection->result = sbx_container_inspect(
		inventory->engine, inspection->id, &call, &inspection->container, &inspection->err);
	if (inspection->result == 0 && inspection->container.state == SBX_STATE_PAUSED &&
		(ours || sbx_window_has(inventory->engine, inspection->id)))
		inspection->container.state = SBX_STATE_RUNNING;
	pthread_mutex_lock(&inventory->lock);
	inspection->next = inventory->done;
	inventory->done = inspection;
	pthread_cond_broadcast(&inventory->change);
	/* Stop frees the inventory once it has seen the last of these: nothing after this unlock.
	 */
	pthread_mutex_unlock(&inventory->lock);
	return NULL;
}

static bool start_thread(void *(*run)(void *), void *data)
{
	pthread_attr_t detached;
	pthread_t thread;
	(void)pthread_attr_init(&detached); /* neither can fail on Linux */
	(void)pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	int rc = pthread_create(&thread, &detached, run, data);
	(void)pthread_attr_destroy(&detached);
	return rc == 0;
}

static void *list(void *data)
{
	struct sbx_inventory *inventory = data;
	struct sbx_container_list rows = { 0 };
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(LIST_MS, inventory->cancel);
	struct sbx_unanswered unanswered;
	int rc = sbx_list_around(inventory->engine, NULL, &call, &rows, &unanswered, &err);
	pthread_mutex_lock(&inventory->lock);
	inventory->list = rows;
	inventory->unlisted = unanswered;
	inventory->list_result = rc;
	inventory->list_err = err;
	inventory->listing = SBX_LISTING_DONE;
	pthread_cond_broadcast(&inventory->change);
	pthread_mutex_unlock(&inventory->lock); /* nothing after this, as in inspect */
	return NULL;
}

void sbx_inventory_list(struct sbx_inventory *inventory)
{
	struct sbx_entry_state *entry, *after;
	HASH_ITER(hh, inventory->queue.entries, entry, after)
	{
		entry->touched = false;
	}
	inventory->relist_due_ms = sbx_clock_ms() + 100;
	if (!start_thread(list, inventory))
		return; /* no thread now: asked again then */
	inventory->relist = false;
	inventory->listing = SBX_LISTING_ASKED;
}

static bool start_one(struct sbx_inventory *inventory, struct sbx_entry_state *entry)
{
	struct sbx_inspection *inspection = sbx_alloc(sizeof(*inspection));
	inspection->inventory = inventory;
	memcpy(inspection->id, entry->id, sizeof(inspection->id));
	inspection->repeat = entry->failures > 0;
	if (!start_thread(inspect, inspection)) {
		free(inspection);
		return false;
	}
	entry->busy = true;
	entry->dirty = false;
	inventory->inspecting++;
	inventory->retrying += inspection->repeat;
	return true;
}

int64_t sbx_inventory_inspect_due(struct sbx_inventory *inventory, int64_t now_ms)
{
	int64_t next_ms = 0;
	struct sbx_entry_state *entry, *after;
	HASH_ITER(hh, inventory->queue.entries, entry, after)
	{
		if (!entry->dirty || entry->busy || entry->removed)
			continue;
		bool room = inventory->inspecting < PLACES &&
			    (entry->failures == 0 || inventory->retrying < REPEAT_PLACES);
		/* Without room, the end of one under way is what wakes us. */
		if (entry->due_ms <= now_ms && room && !start_one(inventory, entry))
			entry->due_ms = now_ms + 100;
		if (entry->dirty && entry->due_ms > now_ms && (!next_ms || entry->due_ms < next_ms))
			next_ms = entry->due_ms;
	}
	return next_ms;
}
