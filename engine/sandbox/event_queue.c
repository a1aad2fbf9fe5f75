/* event_queue.c: see event_queue.h. */
#include "event_queue.h"

#include "../base/alloc.h"

#include <string.h>

/* Windows of ours pause and resume a sandbox at every read, and an inspect in between would wait
 * for the transfer on Docker: a state is looked at once it has been left alone for this long. */
#define SETTLE_MS 1000
#define RETRY_MIN_MS 250
#define RETRY_MAX_MS 30000

struct sbx_entry_state *sbx_event_queue_entry(struct sbx_event_queue *queue, const char *id)
{
	struct sbx_entry_state *entry = NULL;
	if (strlen(id) != 64)
		return NULL;
	HASH_FIND_STR(queue->entries, id, entry);
	if (!entry) {
		entry = sbx_alloc(sizeof(*entry));
		memcpy(entry->id, id, 65);
		HASH_ADD_STR(queue->entries, id, entry);
	}
	return entry;
}

/* A look that is already due sooner stays as it is. */
static void look_at(struct sbx_entry_state *entry, int64_t due_ms)
{
	if (!entry->dirty || due_ms < entry->due_ms)
		entry->due_ms = due_ms;
	entry->dirty = true;
	entry->failures = 0;
}

/* A look because of a pause moves on with the pauses, unless it is due for another reason. */
static void look_when_settled(struct sbx_entry_state *entry, int64_t now_ms)
{
	if (entry->dirty && entry->due_ms <= now_ms)
		return;
	entry->dirty = true;
	entry->due_ms = now_ms + SETTLE_MS;
}

bool sbx_event_queue_add(
	struct sbx_event_queue *queue, const struct sbx_event *event, int64_t now_ms)
{
	if (event->type == SBX_EVENT_OTHER)
		return false;
	struct sbx_entry_state *entry = sbx_event_queue_entry(queue, event->id);
	if (!entry)
		return false;
	entry->touched = true;
	switch (event->type) {
	case SBX_EVENT_REMOVE:
		entry->removed = true;
		break;
	case SBX_EVENT_UNPAUSE:
	case SBX_EVENT_PAUSE:
		look_when_settled(entry, now_ms);
		break;
	default:
		look_at(entry, now_ms);
	}
	return true;
}

void sbx_event_queue_retry(struct sbx_entry_state *entry, int64_t now_ms)
{
	int64_t wait_ms = RETRY_MIN_MS;
	for (unsigned i = 0; i < entry->failures && wait_ms < RETRY_MAX_MS; i++)
		wait_ms *= 2;
	if (wait_ms > RETRY_MAX_MS)
		wait_ms = RETRY_MAX_MS;
	entry->failures++;
	/* Something newer may have asked for an earlier look meanwhile. */
	if (!entry->dirty || entry->due_ms > now_ms + wait_ms)
		entry->due_ms = now_ms + wait_ms;
	entry->dirty = true;
}

void sbx_event_queue_drop(struct sbx_event_queue *queue, struct sbx_entry_state *entry)
{
	HASH_DEL(queue->entries, entry);
	free(entry);
}

void sbx_event_queue_finish(struct sbx_event_queue *queue)
{
	struct sbx_entry_state *entry = queue->entries, *next;
	HASH_CLEAR(hh, queue->entries); /* the table only; the entries keep their order */
	for (; entry; entry = next) {
		next = entry->hh.next;
		free(entry);
	}
}
