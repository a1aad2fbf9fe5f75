/*
 * window_inside.h: the inside of struct sbx_windows, shared by the files that make a window:
 * window.c (who may enter), window_keeper.c (pauses, and owes the resume), window_check.c and
 * window_events.c (did it hold), window_registry.c (all of this process).
 *
 * A frozen window belongs to its keeper, a thread that lives as long as the window: whatever
 * happens to the callers, the thread that sent the pause stays until the resume is known.
 */
#ifndef SBX_FILES_WINDOW_INSIDE_H
#define SBX_FILES_WINDOW_INSIDE_H

#include "window.h"
#include "window_lock.h"

#include <sbx/events.h>
#include <pthread.h>

#define SBX_WINDOW_PAUSE_MS 30000 /* Docker lets a pause wait for a transfer of somebody else's */

enum sbx_phase {
	SBX_PHASE_CLOSED,
	SBX_PHASE_OPENING, /* one caller takes the lock, then the keeper pauses */
	SBX_PHASE_OPEN,
	SBX_PHASE_CLOSING /* the keeper resumes, and goes on until it is known */
};

struct sbx_windows {
	struct sbx_engine *engine;
	char *id;
	struct sbx_plane_limits limits;
	struct sbx_windows *next;	  /* guarded by the registry's mutex */
	struct sbx_cancel *keeper_cancel; /* fired only to give the resume over to the guardian */

	pthread_mutex_t mutex; /* guards all that follows; never held across an engine request */
	pthread_cond_t changed;
	enum sbx_phase phase;
	uint64_t serial; /* of what open tickets rely on; a change ends their guarantee */
	unsigned inside;
	unsigned entering; /* on their way in: a window must not close before its opener is there */
	bool hurry;	   /* close as soon as nobody is inside, let nobody join */
	bool broken;	   /* somebody else resumed it */
	bool doubtful; /* … as far as its processor time or one inspect shows, no more is known */
	int64_t usage; /* that time when the pause was answered (freezer.h) */
	bool going_away;   /* destroy: close whoever is inside */
	int64_t opened_ms; /* sbx_clock_ms; since when it holds */
	int64_t idle_ms;   /* since when nobody is inside */
	int64_t closing_ms;

	/* The keeper's, while there is one. */
	pthread_t keeper;
	bool has_keeper; /* to be joined */
	int lock;
	struct sbx_window_record record;
	int64_t paused_ns; /* CLOCK_REALTIME before the pause was sent */

	/* Why the last opening came to nothing, for those who waited for it. */
	uint64_t attempt, failed_attempt;
	struct sbx_error failure;
	char *refusal; /* the last one of an engine that cannot pause; NULL: none */

	/* What was seen of a container that is not frozen by us. */
	enum sbx_state seen_state;
	char *seen_started;

	/* Checks that the open window still holds; one serves everybody who asked before it began.
	 */
	uint64_t checks_begun, checks_good;
	bool checking;
};

/* The mutex is held: sleeps until something changes, at most a little while. */
void sbx_windows_wait(struct sbx_windows *windows, int64_t at_most_ms);

/* The mutex is held, the phase OPENING, lock and record are filled and "owed asked" is written:
 * starts the keeper, which takes both over. On failure nothing was paused. */
int sbx_window_keeper_start(struct sbx_windows *windows, struct sbx_error *err);

/* Why nothing can be paused, for sbx_windows_refusal; an empty error: it can. The mutex is not
 * held.
 */
void sbx_window_note_refusal(struct sbx_windows *windows, const struct sbx_error *err);
/* Has the lock's file gone? Then the window does not hold any more, and whose a pause at its end
 * is, is in doubt. The mutex is held. */
void sbx_window_note_lost(struct sbx_windows *windows);
/* Inspects the container; one that is not there any more is ESTALE kind GONE. */
int sbx_window_look(struct sbx_windows *windows, const struct sbx_call *call,
	struct sbx_container *container, struct sbx_error *err);
/* Notes what inspect said: a change ends the guarantee of earlier tickets. The mutex is held. */
void sbx_window_note_state(struct sbx_windows *windows, const struct sbx_container *container);
/* Has anybody resumed it since our pause was sent? We must not have. 0, 1, 2 when it was paused
 * again after that, or -errno where that is not to be known. */
int sbx_window_resumed_since(
	struct sbx_windows *windows, const struct sbx_call *call, struct sbx_error *err);

/* What the events of one container since a time show, in their order; an sbx_event_fn. */
struct sbx_window_recall {
	const char *id;
	int64_t since_ns;
	bool paused, resumed;
	bool ended, again; /* a pause was seen to end, and another after it */
};
int sbx_window_recall(void *data, const struct sbx_event *event);

/* The registry: every sbx_windows of this process. */
void sbx_window_registry_add(struct sbx_windows *windows);
void sbx_window_registry_remove(struct sbx_windows *windows);
/* Asks every window of this process on that container to close early. */
void sbx_window_registry_hurry(const char *engine_key, const char *id);
bool sbx_window_registry_idle(void); /* no window is open or owed */

/* Counters of this process. */
void sbx_window_count_frozen(int64_t held_ms);
void sbx_window_count_joined(void);
void sbx_window_count_refused(void);

#endif
