/*
 * inventory.c: the live set of sandboxes. The stream is opened first and the listing made after, so
 * that nothing falls between; what a listing found and what events said go the same way, by an
 * inspect, to the listener. Nothing is polled: while nothing happens every thread sleeps without a
 * timeout.
 */
#include "inventory_inside.h"

#include "../base/alloc.h"
#include "../base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

void sbx_inventory_first(struct sbx_inventory *inventory, int result, const struct sbx_error *err)
{
	if (inventory->first_done)
		return;
	inventory->first_done = true;
	inventory->first_result = result;
	if (err)
		inventory->first_err = *err;
	(void)eventfd_write(inventory->first_fd, 1); /* the only write to it: cannot block */
}

/* true when something was told: the lock was given up for it. */
static bool tell_connection(struct sbx_inventory *inventory)
{
	bool up = inventory->streaming;
	struct sbx_error err = inventory->down;
	if (inventory->told_any && inventory->told_up == up)
		return false;
	/* Not before the first listing: until then start itself reports. */
	if (!inventory->first_done || (!up && !inventory->down.errnum))
		return false;
	inventory->told_any = true;
	inventory->told_up = up;
	pthread_mutex_unlock(&inventory->lock);
	if (inventory->listener.connection)
		inventory->listener.connection(inventory->listener.data, up, up ? NULL : &err);
	pthread_mutex_lock(&inventory->lock);
	return true;
}

static void tell_gone(struct sbx_inventory *inventory, const char *id)
{
	pthread_mutex_unlock(&inventory->lock);
	if (inventory->listener.gone)
		inventory->listener.gone(inventory->listener.data, id);
	pthread_mutex_lock(&inventory->lock);
}

static void forget_known(struct sbx_inventory *inventory, struct sbx_entry_state *entry)
{
	char id[65];
	memcpy(id, entry->id, sizeof(id));
	bool known = entry->known;
	sbx_event_queue_drop(&inventory->queue, entry);
	if (known)
		tell_gone(inventory, id);
}

/* Entries that ask for a word to the listener rather than for an inspect. The lock is given up for
 * each word, and the reader may add entries meanwhile, so the search begins anew after each. */
static bool tell_one(struct sbx_inventory *inventory)
{
	struct sbx_entry_state *entry, *after;
	HASH_ITER(hh, inventory->queue.entries, entry, after)
	{
		char id[65];
		memcpy(id, entry->id, sizeof(id));
		if (entry->removed && !entry->busy) {
			forget_known(inventory, entry);
			return true;
		}
	}
	return false;
}

static void tell_present(
	struct sbx_inventory *inventory, const char *id, struct sbx_container *container)
{
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_error err = SBX_ERROR_INIT;
	pthread_mutex_unlock(&inventory->lock);
	int rc = sbx_sandbox_recognise(container, inventory->rules, &sandbox, &err);
	if (rc == 1 && inventory->listener.present)
		inventory->listener.present(inventory->listener.data, &sandbox);
	sbx_sandbox_finish(&sandbox);
	pthread_mutex_lock(&inventory->lock);
	struct sbx_entry_state *entry = sbx_event_queue_entry(&inventory->queue, id);
	if (rc == 1)
		entry->known = true;
	else if (!entry->dirty && !entry->removed) /* not one (any more) */
		forget_known(inventory, entry);
}

static void take_inspection(struct sbx_inventory *inventory, struct sbx_inspection *inspection)
{
	struct sbx_entry_state *entry = sbx_event_queue_entry(&inventory->queue, inspection->id);
	inventory->inspecting--;
	inventory->retrying -= inspection->repeat;
	entry->busy = false;
	entry->first = false; /* answered or not, the first listing waits no longer for it */
	if (entry->removed)
		return; /* told as gone by tell_one */
	if (inspection->result == 0) {
		entry->failures = 0;
		tell_present(inventory, inspection->id, &inspection->container);
	} else if (inspection->err.kind == SBX_KIND_ABSENT) {
		forget_known(inventory, entry);
	} else {
		if (entry->failures == 0)
			sbx_log(SBX_LOG_WARNING, "%s", inspection->err.message);
		sbx_event_queue_retry(entry, sbx_clock_ms());
	}
}

static bool take_inspections(struct sbx_inventory *inventory)
{
	struct sbx_inspection *inspection = inventory->done;
	if (!inspection)
		return false;
	inventory->done = inspection->next;
	take_inspection(inventory, inspection);
	sbx_container_finish(&inspection->container);
	free(inspection);
	return true;
}

/* What the listing shows is to be inspected; what was known and is not in it is gone, unless an
 * event since says that there is more to know. */
static void apply_list(struct sbx_inventory *inventory)
{
	const struct sbx_container_list *list = &inventory->list;
	int64_t now_ms = sbx_clock_ms();
	struct sbx_event_queue listed = { 0 };
	for (size_t i = 0; i < list->count; i++) {
		struct sbx_entry_state *entry;
		(void)sbx_event_queue_entry(&listed, list->rows[i].id);
		if (!sbx_sandbox_candidate(&list->rows[i], inventory->rules) ||
			!(entry = sbx_event_queue_entry(&inventory->queue, list->rows[i].id)))
			continue;
		entry->dirty = true;
		entry->due_ms = now_ms;
		entry->failures = 0;
		entry->first = !inventory->first_done;
	}
	struct sbx_entry_state *entry, *after, *found;
	HASH_ITER(hh, inventory->queue.entries, entry, after)
	{
		HASH_FIND_STR(listed.entries, entry->id, found);
		bool settled = entry->known && !entry->touched && !entry->dirty && !entry->busy;
		if (!found && settled && !sbx_unanswered_has(&inventory->unlisted, entry->id))
			entry->removed = true;
	}
	sbx_event_queue_finish(&listed);
}

static void take_listing(struct sbx_inventory *inventory)
{
	inventory->listing = SBX_LISTING_NONE;
	if (inventory->list_result == 0) {
		apply_list(inventory);
	} else if (inventory->streaming) {
		/* The stream stands and the listing failed: once more, a little later. */
		sbx_inventory_first(inventory, inventory->list_result, &inventory->list_err);
		sbx_log(SBX_LOG_WARNING, "%s", inventory->list_err.message);
		inventory->relist = true;
		inventory->relist_due_ms = sbx_clock_ms() + SBX_RELIST_MS;
	}
	sbx_container_list_finish(&inventory->list);
}

/* The first listing has been told in full when nothing of it is left to be answered. */
static void check_first(struct sbx_inventory *inventory)
{
	if (inventory->first_done || inventory->relist || inventory->listing != SBX_LISTING_NONE)
		return;
	if (!inventory->streaming) {
		if (inventory->down.errnum)
			sbx_inventory_first(inventory, -inventory->down.errnum, &inventory->down);
		return;
	}
	struct sbx_entry_state *entry, *after;
	HASH_ITER(hh, inventory->queue.entries, entry, after)
	{
		if (entry->first && !entry->removed)
			return;
	}
	sbx_inventory_first(inventory, 0, NULL);
}

static void wait_for_change(struct sbx_inventory *inventory, int64_t due_ms)
{
	if (!due_ms) {
		pthread_cond_wait(&inventory->change, &inventory->lock);
		return;
	}
	struct timespec until = { .tv_sec = due_ms / 1000, .tv_nsec = (due_ms % 1000) * 1000000 };
	/* Woken or timed out: the loop looks at everything again either way. */
	(void)pthread_cond_timedwait(&inventory->change, &inventory->lock, &until);
}

void *sbx_inventory_tell(void *data)
{
	struct sbx_inventory *inventory = data;
	pthread_mutex_lock(&inventory->lock);
	/* After stop, until the last answer is in: its thread still uses the inventory. */
	while (!inventory->stopping || inventory->inspecting ||
		inventory->listing == SBX_LISTING_ASKED) {
		if (take_inspections(inventory))
			continue;
		if (inventory->stopping) {
			wait_for_change(inventory, 0);
			continue;
		}
		if (inventory->listing == SBX_LISTING_DONE) {
			take_listing(inventory);
			continue;
		}
		int64_t now_ms = sbx_clock_ms();
		bool may_list = inventory->relist && inventory->listing == SBX_LISTING_NONE;
		if (may_list && inventory->relist_due_ms <= now_ms) {
			sbx_inventory_list(inventory);
			continue;
		}
		if (tell_one(inventory))
			continue;
		int64_t due_ms = sbx_inventory_inspect_due(inventory, now_ms);
		check_first(inventory);
		if (tell_connection(inventory))
			continue;
		if (may_list && (!due_ms || inventory->relist_due_ms < due_ms))
			due_ms = inventory->relist_due_ms;
		/* Held since the looks above: nothing can have come between them and the wait. */
		wait_for_change(inventory, due_ms);
	}
	pthread_mutex_unlock(&inventory->lock);
	return NULL;
}
