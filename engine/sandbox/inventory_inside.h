/* inventory_inside.h: the live inventory's state, shared by its three kinds of threads. */
#ifndef SBX_SANDBOX_INVENTORY_INSIDE_H
#define SBX_SANDBOX_INVENTORY_INSIDE_H

#include "event_queue.h"
#include "list_around.h"

#include <pthread.h>
#include <sbx/sandbox.h>

#define SBX_RELIST_MS 1000 /* after a listing that failed, or an event that could not be read */

/* An inspect that has ended, on its way to the inventory's thread. */
struct sbx_inspection {
	struct sbx_inspection *next;
	struct sbx_inventory *inventory;
	char id[65];
	bool repeat; /* the one before failed */
	struct sbx_container container;
	int result;
	struct sbx_error err;
};

struct sbx_inventory {
	struct sbx_engine *engine;
	const struct sbx_rules *rules;
	struct sbx_inventory_listener listener;
	struct sbx_cancel *cancel; /* fired by stop: ends every request */
	pthread_t reader, teller;  /* reads the stream; calls the listener */
	int first_fd;		   /* eventfd: the first listing is complete, or has failed */

	pthread_mutex_t lock;  /* guards all below */
	pthread_cond_t change; /* CLOCK_MONOTONIC: something below changed */
	bool stopping;
	bool streaming;	       /* the engine has answered the stream */
	bool relist;	       /* a gap: what happened before the stream opened is not in it */
	int64_t relist_due_ms; /* not before; after a listing that failed */
	bool first_done;       /* no more to be told through first_fd */
	bool told_up;	       /* what the listener was told last */
	bool told_any;
	struct sbx_error down; /* why it does not stream */
	enum { SBX_LISTING_NONE, SBX_LISTING_ASKED, SBX_LISTING_DONE } listing;
	struct sbx_container_list list; /* these four when it is DONE */
	struct sbx_unanswered unlisted;
	int list_result;
	struct sbx_error list_err;
	int first_result;
	struct sbx_error first_err;
	struct sbx_event_queue queue;
	struct sbx_inspection *done;   /* finished, in any order */
	unsigned inspecting, retrying; /* threads under way; those of a repeated inspect */
};

/* The stream's thread: connects, hands events to the queue, connects again after a pause. */
void *sbx_inventory_read(void *inventory);
/* The inventory's own thread: listings, inspects' answers, every word to the listener. */
void *sbx_inventory_tell(void *inventory);
/* Starts the inspects that are due, as far as there is room; called with the lock held. The time of
 * the next one that is not due yet, 0 for none. */
int64_t sbx_inventory_inspect_due(struct sbx_inventory *inventory, int64_t now_ms);
/* Asks for a listing on a thread of its own: on Podman one container whose lock is held holds up
 * the whole list, and events are to be told meanwhile. With the lock held. */
void sbx_inventory_list(struct sbx_inventory *inventory);
/* The first listing has ended; result as of sbx_inventory_start. With the lock held. */
void sbx_inventory_first(struct sbx_inventory *inventory, int result, const struct sbx_error *err);

#endif
