/*
 * event_queue.h: what the event stream said and nobody has looked at yet, one entry per container.
 *
 * Events only say that something about a container may have changed; what it is now, an inspect
 * says. So they need not be kept in order or in number: an entry is a set of flags, and memory is
 * bounded by the number of containers, however fast events come. Not thread-safe: the inventory's
 * lock guards it.
 */
#ifndef SBX_SANDBOX_EVENT_QUEUE_H
#define SBX_SANDBOX_EVENT_QUEUE_H

#include "../base/table.h"

#include <sbx/events.h>

struct sbx_entry_state {
	char id[65];
	bool known;	   /* the listener was told that it is present */
	bool dirty;	   /* to be inspected, not before due_ms */
	bool busy;	   /* being inspected */
	bool removed;	   /* the engine said so: no inspect is needed or could help */
	bool touched;	   /* by an event since the last listing was asked for */
	bool first;	   /* belongs to the first listing, which start waits for */
	unsigned failures; /* inspects that failed in a row */
	int64_t due_ms;
	UT_hash_handle hh;
};
struct sbx_event_queue {
	struct sbx_entry_state *entries; /* by id */
};

/* The entry of a container, made if it is new. NULL for what is not an id. */
struct sbx_entry_state *sbx_event_queue_entry(struct sbx_event_queue *queue, const char *id);
/* true when it gave the queue's reader something to do, now or at a time that may be earlier. */
bool sbx_event_queue_add(
	struct sbx_event_queue *queue, const struct sbx_event *event, int64_t now_ms);
/* An inspect failed: again later, after 250 ms, 500 ms, … 30 s. */
void sbx_event_queue_retry(struct sbx_entry_state *entry, int64_t now_ms);
void sbx_event_queue_drop(struct sbx_event_queue *queue, struct sbx_entry_state *entry);
void sbx_event_queue_finish(struct sbx_event_queue *queue);

#endif
