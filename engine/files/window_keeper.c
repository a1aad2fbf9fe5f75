/*
 * window_keeper.c: the thread behind a frozen window. It sends the pause, keeps the window while it
 * is used, and stays until the engine has said that the container runs again.
 *
 * It must never resume what somebody else paused: a pause that was answered by "already paused" is
 * theirs, and so is one that is found after somebody broke our window.
 */
#include "freezer.h"
#include "guardian.h"
#include "window_inside.h"
#include "window_undo.h"

#include "../base/alloc.h"
#include "../base/log.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define UNPAUSE_MS 5000
#define NAP_MS 1000

static void write_record(struct sbx_windows *windows)
{
	struct sbx_error err = SBX_ERROR_INIT;
	sbx_window_record_promise(&windows->record, NAP_MS);
	if (sbx_window_record_write(windows->lock, &windows->record, &err) != 0)
		sbx_log(SBX_LOG_WARNING, "container %.12s: %s", windows->id, err.message);
}

/* Was the pause refused for certain, so that nothing is owed? Everything else may still happen. */
static bool surely_refused(const struct sbx_windows *windows, const struct sbx_error *err)
{
	if (err->kind == SBX_KIND_UNSUPPORTED) /* in whatever words: its cgroup knows better */
		return sbx_freezer_look(windows->engine, windows->id,
			       windows->record.container_pid) != SBX_FREEZER_FROZEN;
	return err->kind == SBX_KIND_CONFLICT || err->kind == SBX_KIND_ABSENT ||
	       err->kind == SBX_KIND_GONE ||
	       err->errnum == EHOSTDOWN; /* no connection: it was never sent */
}

static void explain(struct sbx_windows *windows, struct sbx_error *err)
{
	cleanup_free char *said = sbx_strdup(err->message);
	if (err->kind == SBX_KIND_UNSUPPORTED)
		(void)sbx_fail(err, EOPNOTSUPP,
			"this engine cannot pause container %.12s, so nothing is read or written "
			"while it runs; freeze=never does without the guarantee (%s)",
			windows->id, said);
	else if (err->kind == SBX_KIND_ABSENT || err->kind == SBX_KIND_GONE)
		(void)sbx_fail_kind(err, SBX_KIND_GONE, ESTALE, "container %.12s is gone (%s)",
			windows->id, said);
	else
		(void)sbx_wrap(err, "pausing container %.12s", windows->id); /* err is read below */
}

/* Returns false when there is no window; *owed says whether a resume is. */
static bool open_window(struct sbx_windows *windows, bool *owed)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(SBX_WINDOW_PAUSE_MS, windows->keeper_cancel);
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	windows->paused_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	sbx_guardian_watch();
	int result = sbx_window_lock_lost(windows->lock)
			     ? sbx_fail_kind(&err, SBX_KIND_CONFLICT, EBUSY, "it was suspended")
			     : sbx_container_pause(windows->engine, windows->id, &call, &err);
	*owed = result == 0 || !surely_refused(windows, &err);
	if (result == 0) {
		windows->record.owed = SBX_OWED_PAUSED;
		write_record(windows);
		windows->usage = sbx_freezer_usage(
			windows->engine, windows->id, windows->record.container_pid);
	} else if (err.http_status) {
		/* Answered, so nothing is on its way: the resume need not be watched for it. */
		windows->record.owed = SBX_OWED_PAUSED;
	}
	if (result != 0)
		explain(windows, &err);
	if (!err.errnum || err.kind == SBX_KIND_UNSUPPORTED)
		sbx_window_note_refusal(windows, &err);
	(void)pthread_mutex_lock(&windows->mutex);
	if (result == 0) {
		windows->phase = SBX_PHASE_OPEN;
		windows->opened_ms = windows->idle_ms = sbx_clock_ms();
		windows->serial++;
		windows->broken = windows->doubtful = windows->hurry = false;
	} else {
		windows->failed_attempt = windows->attempt;
		windows->failure = err;
		windows->phase = SBX_PHASE_CLOSING;
		windows->closing_ms = sbx_clock_ms();
	}
	(void)pthread_cond_broadcast(&windows->changed);
	(void)pthread_mutex_unlock(&windows->mutex);
	return result == 0;
}

/* Returns when the window has to close; the phase is then CLOSING. */
static void hold_window(struct sbx_windows *windows)
{
	(void)pthread_mutex_lock(&windows->mutex);
	for (;;) {
		int64_t now_ms = sbx_clock_ms();
		int64_t wait_ms = NAP_MS;
		if (windows->going_away)
			break;
		if (windows->inside == 0) {
			int64_t idle_left = windows->idle_ms + windows->limits.linger_ms - now_ms;
			int64_t hold_left =
				windows->opened_ms + windows->limits.max_hold_ms - now_ms;
			/* On a busy machine whoever it was opened for may come later than the
			 * linger. */
			if (windows->entering)
				idle_left = hold_left;
			wait_ms = idle_left < hold_left ? idle_left : hold_left;
			if (wait_ms <= 0 || windows->hurry || windows->broken)
				break;
		}
		sbx_windows_wait(windows, wait_ms < NAP_MS ? wait_ms : NAP_MS);
		/* What was promised to the guardian; a lost lock is for those inside to notice. */
		sbx_window_note_lost(windows);
		if (!sbx_window_lock_taken(windows->lock) &&
			windows->record.until_ms - sbx_clock_ms() < SBX_WINDOW_LATE_MS)
			write_record(windows);
	}
	windows->phase = SBX_PHASE_CLOSING;
	windows->closing_ms = sbx_clock_ms();
	(void)pthread_cond_broadcast(&windows->changed);
	(void)pthread_mutex_unlock(&windows->mutex);
}

static bool is_paused(struct sbx_windows *windows)
{
	struct sbx_container container = { 0 };
	struct sbx_call call = sbx_call_within(UNPAUSE_MS, windows->keeper_cancel);
	struct sbx_error err = SBX_ERROR_INIT;
	int result = sbx_container_inspect(windows->engine, windows->id, &call, &container, &err);
	bool paused = result == 0 && container.state == SBX_STATE_PAUSED;
	sbx_container_finish(&container);
	return paused;
}

/* Somebody resumed it in our window. If the container is paused now, is that pause theirs? */
static bool paused_by_another(struct sbx_windows *windows)
{
	(void)pthread_mutex_lock(&windows->mutex);
	bool broken = windows->broken;
	bool doubtful = windows->doubtful;
	(void)pthread_mutex_unlock(&windows->mutex);
	if (!broken || !is_paused(windows))
		return false;
	/* Of a guest that is slow to fall asleep the processor time moves as well, and an inspect
	 * may deny our own pause for a moment: nobody is left frozen for that. */
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(UNPAUSE_MS, windows->keeper_cancel);
	if (doubtful && sbx_window_resumed_since(windows, &call, &err) != 2)
		return false;
	sbx_log(SBX_LOG_INFO,
		"container %.12s was resumed and paused again by somebody else during our window: "
		"left paused",
		windows->id);
	return true;
}

/* We were suspended and our debt taken over. Only a pause that was carried out after the taker had
 * looked for it is still ours to end: one that nobody has resumed since. */
static void resume_lost(struct sbx_windows *windows)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(UNPAUSE_MS, windows->keeper_cancel);
	sbx_log(SBX_LOG_WARNING,
		"container %.12s was resumed by another process of sbxfs while this one was "
		"suspended",
		windows->id);
	if (is_paused(windows) && sbx_window_resumed_since(windows, &call, &err) == 0 &&
		sbx_container_unpause(windows->engine, windows->id, &call, &err) != 0)
		sbx_log(SBX_LOG_WARNING, "container %.12s: %s", windows->id, err.message);
}

/* 0 when it is known to run, or is none of ours any more. */
static int resume(struct sbx_windows *windows)
{
	if (sbx_window_lock_taken(windows->lock)) {
		resume_lost(windows);
		return 0;
	}
	(void)pthread_mutex_lock(&windows->mutex);
	sbx_window_note_lost(windows);
	(void)pthread_mutex_unlock(&windows->mutex);
	if (paused_by_another(windows))
		return 0;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(0, windows->keeper_cancel);
	int result = sbx_window_undo(
		windows->engine, windows->id, windows->lock, &windows->record, &call, &err);
	if (result != 0)
		sbx_log(SBX_LOG_ERROR,
			"container %.12s may still be paused by us, the guardian goes on: %s",
			windows->id, err.message);
	return result;
}

static void close_window(struct sbx_windows *windows, bool held, bool resumed)
{
	int64_t now_ms = sbx_pace_now_ms();
	int64_t held_ms = now_ms - windows->record.since_ms;
	if (resumed) {
		windows->record.owed = SBX_OWED_NOTHING;
		if (held) {
			sbx_pace_add(&windows->record.pace, windows->limits.max_duty_percent,
				now_ms, held_ms);
			sbx_window_count_frozen(held_ms);
		}
		write_record(windows);
	}
	(void)pthread_mutex_lock(&windows->mutex);
	int lock = windows->lock;
	windows->lock = -1;
	(void)pthread_mutex_unlock(&windows->mutex);
	(void)close(lock); /* releases the lock; the record is already written */
	if (!resumed)
		sbx_guardian_sweep();
	(void)pthread_mutex_lock(&windows->mutex);
	windows->phase = SBX_PHASE_CLOSED;
	windows->hurry = false;
	(void)pthread_cond_broadcast(&windows->changed);
	(void)pthread_mutex_unlock(&windows->mutex);
}

static void *keeper_main(void *data)
{
	struct sbx_windows *windows = data;
	bool owed = false;
	bool held = open_window(windows, &owed);
	if (held)
		hold_window(windows);
	bool resumed = !owed || resume(windows) == 0;
	close_window(windows, held, resumed);
	return NULL;
}

int sbx_window_keeper_start(struct sbx_windows *windows, struct sbx_error *err)
{
	if (windows->has_keeper)
		(void)pthread_join(
			windows->keeper, NULL); /* it has closed its window: it ends now */
	windows->has_keeper = false;
	/* Signals are the main thread's. */
	sigset_t all;
	sigset_t before;
	(void)sigfillset(&all);				   /* cannot fail */
	(void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with a valid set */
	int result = pthread_create(&windows->keeper, NULL, keeper_main, windows);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result != 0)
		return sbx_fail_errno(err, result, "starting the thread of a freeze window");
	windows->has_keeper = true;
	return 0;
}
