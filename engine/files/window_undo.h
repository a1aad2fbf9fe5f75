/*
 * window_undo.h: resuming a container that a window of ours left, or may have left, paused.
 *
 * Used by the window itself when its resume met trouble, by whoever takes a lock and finds it owed,
 * and by the guardian. The caller holds the container's lock exclusively.
 */
#ifndef SBX_FILES_WINDOW_UNDO_H
#define SBX_FILES_WINDOW_UNDO_H

#include "window_lock.h"

#include <sbx/engine.h>

/* Repeats unpause, with growing sleeps, until the container is known to run, not to run or not to
 * exist. The engine's "not paused" is believed at once where its cgroup agrees, else after 2 s; a
 * pause whose answer was lost (SBX_OWED_ASKED) is watched for 2 s in any case, since an engine
 * carries it out after its client has gone. Where the engine says nothing for 5 s the cgroup is
 * thawed directly. The record of the lock is renewed before each attempt; with the lock taken over
 * (window_lock.h) the debt is the taker's, which is success here. Returns 0, or ETIMEDOUT/ECANCELED
 * by the call. */
int sbx_window_undo(struct sbx_engine *engine, const char *id, int lock,
	struct sbx_window_record *record, const struct sbx_call *call, struct sbx_error *err);

/* Undoes what the record of a lock just taken says is owed, logs it and clears the record, which is
 * left as the caller should see it. Nothing owed is success. */
int sbx_window_settle(struct sbx_engine *engine, const char *id, int descriptor,
	struct sbx_window_record *record, const struct sbx_call *call, struct sbx_error *err);

/* Settles every record of this engine whose lock is free or overdue. *pending (may be NULL): how
 * many remain owed by owners that are dead. One whose engine is silent about it is left for the
 * next sweep after 6 s, so that it keeps nobody else frozen. Returns how many containers were
 * resumed, or -errno. */
int sbx_window_sweep(struct sbx_engine *engine, const char *directory, const struct sbx_call *call,
	unsigned *pending, struct sbx_error *err);

/* How many windows of this engine are open, anybody's, and how many of them are overdue. Takes no
 * lock. */
unsigned sbx_window_open(const char *directory, const char *key, unsigned *overdue);

/* Has anybody's window that container now, or just about? Then "paused" says nothing of its guest.
 */
bool sbx_window_has(const struct sbx_engine *engine, const char *id);

/* How many containers of this engine are owed a resume by somebody who does not hold the lock any
 * more, is dead or overdue. No engine call. */
unsigned sbx_window_owed(const char *directory, const char *key);

#endif
