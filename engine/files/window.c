/*
 * window.c: who may enter a freeze window and who waits: joining, opening, leaving (window.h).
 *
 * Users that move bytes keep a window open for as long as they need: an engine holds the
 * container's lock for the whole transfer anyway. Only new users are held off after max_hold_ms.
 */
#include "freezer.h"
#include "guardian.h"
#include "wait.h"
#include "window_inside.h"
#include "window_undo.h"

#include "../base/alloc.h"
#include "../base/log.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define STALE_MS 2000	 /* how long an engine may take to see what it did itself */
#define SLICE_MS 20	 /* a waiting caller looks at its cancel token this often */
#define LATE_MS 500	 /* a resume that takes longer is asked about */
#define STUCK_MS 5000	 /* a resume that takes longer is trouble that callers are told about */
#define DESTROY_MS 10000 /* how long destroy waits for a resume before the guardian gets it */
#define CONFLICT_TRIES 8 /* pauses of others that may come between inspect and pause */

struct sbx_windows *sbx_windows_create(
	struct sbx_engine *engine, const char *id, const struct sbx_plane_limits *limits)
{
	struct sbx_windows *windows = sbx_alloc(sizeof(*windows));
	windows->engine = engine;
	windows->id = sbx_strdup(id);
	windows->limits = *limits;
	windows->keeper_cancel = sbx_cancel_create();
	windows->lock = -1;
	pthread_condattr_t attributes;
	(void)pthread_condattr_init(&attributes); /* these cannot fail on Linux */
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&windows->changed, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	(void)pthread_mutex_init(&windows->mutex, NULL);
	sbx_window_registry_add(windows);
	return windows;
}

void sbx_windows_wait(struct sbx_windows *windows, int64_t at_most_ms)
{
	struct timespec until;
	(void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
	if (at_most_ms < 1)
		at_most_ms = 1;
	until.tv_sec += at_most_ms / 1000;
	until.tv_nsec += at_most_ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	/* Whether it timed out or was woken: the caller looks again. */
	(void)pthread_cond_timedwait(&windows->changed, &windows->mutex, &until);
}

/* Waits for the phase to be CLOSED, at most so long. The mutex is held. */
static bool wait_closed(struct sbx_windows *windows, int64_t at_most_ms)
{
	int64_t until_ms = sbx_clock_ms() + at_most_ms;
	while (windows->phase != SBX_PHASE_CLOSED) {
		int64_t left_ms = until_ms - sbx_clock_ms();
		if (left_ms <= 0)
			return false;
		sbx_windows_wait(windows, left_ms);
	}
	return true;
}

void sbx_windows_destroy(struct sbx_windows *windows)
{
	if (!windows)
		return;
	(void)pthread_mutex_lock(&windows->mutex);
	windows->going_away = true;
	(void)pthread_cond_broadcast(&windows->changed);
	bool closed = wait_closed(windows, DESTROY_MS);
	(void)pthread_mutex_unlock(&windows->mutex);
	if (!closed)
		sbx_cancel_fire(windows->keeper_cancel);
	if (windows->has_keeper)
		(void)pthread_join(windows->keeper, NULL); /* a valid, joinable thread */
	sbx_window_registry_remove(windows);
	sbx_cancel_unref(windows->keeper_cancel);
	(void)pthread_cond_destroy(&windows->changed); /* nobody waits any more */
	(void)pthread_mutex_destroy(&windows->mutex);
	free(windows->refusal);
	free(windows->seen_started);
	free(windows->id);
	free(windows);
}

static bool freezes(const struct sbx_windows *windows, enum sbx_window_kind kind)
{
	return windows->limits.freeze == SBX_FREEZE_ALWAYS ||
	       (windows->limits.freeze == SBX_FREEZE_READS && kind == SBX_WINDOW_READ);
}

static bool joinable(const struct sbx_windows *windows)
{
	return windows->phase == SBX_PHASE_OPEN && !windows->hurry && !windows->broken &&
	       !windows->going_away && !sbx_window_lock_lost(windows->lock) &&
	       sbx_clock_ms() - windows->opened_ms < windows->limits.max_hold_ms;
}

static void nudge(void *data)
{
	struct sbx_windows *windows = data;
	sbx_window_registry_hurry(sbx_engine_key(windows->engine), windows->id);
}

/* Takes the container's lock, with nothing owed and the guest's share of time respected. While the
 * share is waited for the lock is free: commands may start, others may open. */
static int take_lock(struct sbx_windows *windows, const struct sbx_call *call,
	struct sbx_window_record *record, struct sbx_error *err)
{
	char directory[256];
	int result = sbx_window_directory_of(
		sbx_engine_endpoint(windows->engine), directory, sizeof(directory), NULL, err);
	if (result != 0)
		return result;
	const struct sbx_window_nudge asking = { .fn = nudge, .data = windows };
	for (;;) {
		cleanup_close int lock = sbx_window_lock_take(directory,
			sbx_engine_key(windows->engine), windows->id, true, &asking, call, err);
		if (lock < 0)
			return lock;
		sbx_window_record_read(lock, record);
		result = sbx_window_settle(windows->engine, windows->id, lock, record, call, err);
		if (result != 0)
			return result;
		int64_t wait_ms = sbx_pace_wait_ms(
			&record->pace, windows->limits.max_duty_percent, sbx_pace_now_ms());
		if (wait_ms <= 0)
			return steal_fd(&lock);
		(void)close(steal_fd(&lock)); /* releases the lock */
		result = sbx_wait_ms(call, wait_ms, "the sandbox's own share of time", err);
		if (result != 0)
			return result;
	}
}

/* "owed" is on record before the pause is sent; the keeper sends it. */
static int start_keeper(struct sbx_windows *windows, int lock, struct sbx_window_record *record,
	int container_pid, struct sbx_error *err)
{
	record->owed = SBX_OWED_ASKED;
	record->since_ms = sbx_pace_now_ms();
	record->container_pid = container_pid;
	sbx_window_record_promise(record, SBX_WINDOW_PAUSE_MS);
	sbx_window_owner_self(record);
	const char *url = sbx_engine_endpoint(windows->engine)->url;
	(void)snprintf(record->endpoint, sizeof(record->endpoint), "%.200s", url); /* shown only */
	int result = sbx_window_record_write(lock, record, err);
	if (result == 0) {
		(void)pthread_mutex_lock(&windows->mutex);
		windows->lock = lock;
		windows->record = *record;
		result = sbx_window_keeper_start(windows, err);
		(void)pthread_mutex_unlock(&windows->mutex);
	}
	if (result != 0) {
		struct sbx_error second = SBX_ERROR_INIT;
		record->owed = SBX_OWED_NOTHING;
		if (sbx_window_record_write(lock, record, &second) != 0)
			sbx_log(SBX_LOG_WARNING, "container %.12s: %s", windows->id,
				second.message);
		windows->lock = -1;
	}
	return result;
}

/* Does what the engine says of "paused" hold? It may be stale for a moment after a window, whose
 * events the engine handles late: an open file read as "somebody else's pause" would then be read
 * while the guest runs. */
static bool state_holds(struct sbx_windows *windows, const struct sbx_container *container,
	const struct sbx_window_record *record)
{
	bool paused = container->state == SBX_STATE_PAUSED;
	if (!paused && container->state != SBX_STATE_RUNNING)
		return true;
	int64_t since_ms = sbx_pace_now_ms() - record->pace.ended_ms;
	switch (sbx_freezer_look(windows->engine, windows->id, container->pid)) {
	case SBX_FREEZER_FROZEN:
		return paused;
	case SBX_FREEZER_THAWED:
		return !paused;
	case SBX_FREEZER_UNKNOWN:
		break;
	}
	return !paused || since_ms < 0 || since_ms > STALE_MS;
}

/* The container as it is, once the engine's word for it can be believed. */
static int inspect_settled(struct sbx_windows *windows, const struct sbx_call *call,
	const struct sbx_window_record *record, struct sbx_container *out, struct sbx_error *err)
{
	int64_t until_ms = sbx_clock_ms() + STALE_MS + SLICE_MS;
	for (;;) {
		int result = sbx_window_look(windows, call, out, err);
		if (result != 0 || state_holds(windows, out, record))
			return result;
		sbx_container_finish(out);
		*out = (struct sbx_container){ 0 };
		if (sbx_clock_ms() >= until_ms)
			return sbx_fail(err, EBUSY,
				"the engine and the cgroup of container %.12s do not agree whether "
				"it is paused",
				windows->id);
		result = sbx_wait_ms(call, SLICE_MS, "the engine to know the sandbox's state", err);
		if (result != 0)
			return result;
	}
}

/* Opens a window, or finds that none is needed. Returns 1 when the keeper has it, 0 when ticket
 * says what the container is instead, or -errno. The phase is OPENING and ours. */
static int open_window(struct sbx_windows *windows, const struct sbx_call *call,
	struct sbx_window_ticket *ticket, struct sbx_error *err)
{
	if (!sbx_guardian_guards(windows->engine))
		return sbx_fail(err, EOPNOTSUPP,
			"sandboxes are paused only where sbx_guardian_start has been called first, "
			"for their engine");
	if (sbx_guardian_lost()) {
		int refused = sbx_fail(err, EOPNOTSUPP,
			"container %.12s is not paused: the guardian of this sbxfs was killed, and "
			"nothing would resume it if this process were, too; start it again",
			windows->id);
		if (err)
			sbx_window_note_refusal(windows, err);
		return refused;
	}
	struct sbx_window_record record;
	cleanup_close int lock = take_lock(windows, call, &record, err);
	if (lock < 0)
		return lock;
	struct sbx_container container cleanup_with(sbx_container_finish) = { 0 };
	int result = inspect_settled(windows, call, &record, &container, err);
	if (result != 0)
		return result;
	(void)pthread_mutex_lock(&windows->mutex);
	sbx_window_note_state(windows, &container);
	ticket->serial = windows->serial;
	(void)pthread_mutex_unlock(&windows->mutex);
	ticket->foreign = container.state == SBX_STATE_PAUSED;
	ticket->usage = ticket->foreign
				? sbx_freezer_usage(windows->engine, windows->id, container.pid)
				: -1;
	ticket->still = container.state == SBX_STATE_CREATED || container.state == SBX_STATE_EXITED;
	if (ticket->foreign || ticket->still)
		return 0;
	/* Neither of these and not running: dead, or being removed. */
	if (container.state != SBX_STATE_RUNNING)
		return sbx_fail_kind(err, SBX_KIND_GONE, ESTALE, "container %.12s is being removed",
			windows->id);
	result = start_keeper(windows, lock, &record, container.pid, err);
	if (result != 0)
		return result;
	(void)steal_fd(&lock); /* the keeper's now */
	return 1;
}

/* The caller's own attempt. Returns 1 when the ticket is filled, 0 to look again for what became of
 * *attempt, or -errno. The mutex is held before and after. */
static int attempt_open(struct sbx_windows *windows, const struct sbx_call *call,
	struct sbx_window_ticket *ticket, uint64_t *attempt, struct sbx_error *err)
{
	windows->phase = SBX_PHASE_OPENING;
	*attempt = ++windows->attempt;
	(void)pthread_mutex_unlock(&windows->mutex);
	*ticket = (struct sbx_window_ticket){ 0 };
	int result = open_window(windows, call, ticket, err);
	(void)pthread_mutex_lock(&windows->mutex);
	if (result == 1)
		return 0; /* wait for the keeper like everybody else */
	windows->phase = SBX_PHASE_CLOSED;
	(void)pthread_cond_broadcast(&windows->changed);
	return result == 0 ? 1 : result;
}

/* A resume that takes its time: is there an engine to do it? The mutex is held before and after. */
static bool resume_has_nobody(struct sbx_windows *windows)
{
	if (windows->phase != SBX_PHASE_CLOSING || sbx_clock_ms() - windows->closing_ms < LATE_MS)
		return false;
	(void)pthread_mutex_unlock(&windows->mutex);
	bool there = sbx_engine_reachable(windows->engine);
	(void)pthread_mutex_lock(&windows->mutex);
	return !there;
}

/* Bounded waiting for what others do. The mutex is held before and after. */
static int wait_for_change(
	struct sbx_windows *windows, const struct sbx_call *call, struct sbx_error *err)
{
	if (sbx_cancel_fired(call ? call->cancel : NULL))
		return sbx_fail(err, ECANCELED,
			"cancelled while waiting for a freeze window on container %.12s",
			windows->id);
	int64_t left_ms = sbx_call_left_ms(call);
	if (left_ms <= 0)
		return sbx_fail(err, ETIMEDOUT,
			"no time left while waiting for a freeze window on container %.12s",
			windows->id);
	if (resume_has_nobody(windows))
		return sbx_fail(err, EHOSTDOWN,
			"the engine is gone and has not resumed container %.12s after the last "
			"freeze window; sbxfs keeps trying",
			windows->id);
	if (windows->phase == SBX_PHASE_CLOSING && sbx_clock_ms() - windows->closing_ms > STUCK_MS)
		return sbx_fail(err, ETIMEDOUT,
			"the engine has not resumed container %.12s after the last freeze window; "
			"sbxfs keeps trying",
			windows->id);
	sbx_windows_wait(windows, left_ms < SLICE_MS ? left_ms : SLICE_MS);
	return 0;
}

/* The loop of enter. The mutex is held before and after. */
static int enter_locked(struct sbx_windows *windows, const struct sbx_call *call,
	struct sbx_window_ticket *ticket, struct sbx_error *err)
{
	uint64_t waited_for = 0;
	unsigned conflicts = 0;
	bool opener = false;
	bool held_off = false;
	for (;;) {
		if (joinable(windows)) {
			windows->inside++;
			*ticket = (struct sbx_window_ticket){ .frozen = true,
				.serial = windows->serial };
			if (!opener)
				sbx_window_count_joined();
			return 0;
		}
		/* What ended an attempt we waited for ends ours, except a state that has changed:
		 * then the next look says what it is now. */
		if (waited_for && windows->failed_attempt == waited_for) {
			bool conflict = windows->failure.kind == SBX_KIND_CONFLICT;
			if (!conflict || ++conflicts >= CONFLICT_TRIES) {
				if (err)
					*err = windows->failure;
				return -windows->failure.errnum;
			}
			waited_for = 0;
		}
		if (windows->going_away)
			return sbx_fail(err, ECANCELED, "the sandbox's windows are being closed");
		if (windows->phase == SBX_PHASE_CLOSED) {
			int result = attempt_open(windows, call, ticket, &waited_for, err);
			if (result != 0)
				return result == 1 ? 0 : result;
			opener = true;
			continue;
		}
		if (windows->phase == SBX_PHASE_OPENING)
			waited_for = windows->attempt;
		if (windows->phase == SBX_PHASE_OPEN && !held_off) {
			held_off = true;
			sbx_window_count_refused();
		}
		int result = wait_for_change(windows, call, err);
		if (result != 0)
			return result;
	}
}

int sbx_window_enter(struct sbx_windows *windows, enum sbx_window_kind kind,
	const struct sbx_call *call, struct sbx_window_ticket *ticket, struct sbx_error *err)
{
	*ticket = (struct sbx_window_ticket){ 0 };
	if (!freezes(windows, kind))
		return 0;
	(void)pthread_mutex_lock(&windows->mutex);
	windows->entering++;
	int result = enter_locked(windows, call, ticket, err);
	if (--windows->entering == 0 && windows->inside == 0)
		(void)pthread_cond_broadcast(
			&windows->changed); /* the keeper waits for nobody now */
	(void)pthread_mutex_unlock(&windows->mutex);
	return result;
}

int sbx_window_leave(struct sbx_windows *windows, const struct sbx_window_ticket *ticket,
	bool confirm, const struct sbx_call *call, struct sbx_error *err)
{
	int result = confirm ? sbx_window_check(windows, ticket, call, err) : 0;
	if (!ticket->frozen)
		return result;
	(void)pthread_mutex_lock(&windows->mutex);
	if (--windows->inside == 0) {
		windows->idle_ms = sbx_clock_ms();
		(void)pthread_cond_broadcast(&windows->changed);
	}
	(void)pthread_mutex_unlock(&windows->mutex);
	return result;
}

bool sbx_windows_joinable(struct sbx_windows *windows)
{
	(void)pthread_mutex_lock(&windows->mutex);
	bool open = joinable(windows);
	(void)pthread_mutex_unlock(&windows->mutex);
	return open;
}

void sbx_windows_rest(struct sbx_windows *windows)
{
	(void)pthread_mutex_lock(&windows->mutex);
	if (windows->phase == SBX_PHASE_OPEN) {
		windows->hurry = true;
		(void)pthread_cond_broadcast(&windows->changed);
	}
	/* With nobody inside the resume is under way: whoever rests wants it done. */
	if (windows->inside == 0)
		(void)wait_closed(windows, STUCK_MS); /* the keeper goes on if it takes longer */
	(void)pthread_mutex_unlock(&windows->mutex);
}

void sbx_window_note_refusal(struct sbx_windows *windows, const struct sbx_error *err)
{
	(void)pthread_mutex_lock(&windows->mutex);
	free(windows->refusal);
	windows->refusal = err->errnum ? sbx_strdup(err->message) : NULL;
	(void)pthread_mutex_unlock(&windows->mutex);
}

char *sbx_windows_refusal(struct sbx_windows *windows)
{
	(void)pthread_mutex_lock(&windows->mutex);
	char *refusal = windows->refusal ? sbx_strdup(windows->refusal) : NULL;
	(void)pthread_mutex_unlock(&windows->mutex);
	return refusal;
}
