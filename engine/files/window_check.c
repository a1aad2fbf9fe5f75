/*
 * window_check.c: did a window hold? Somebody may resume a container that we paused, start one that
 * was exited, or resume one that was theirs; what was read meanwhile must then be thrown away.
 *
 * Witnesses: at the end the container's cgroup where the engine is on this host, else the engine's
 * inspect, shared by all who leave at once; and for a resume that was followed by another pause the
 * cgroup's processor time, which stands still while nothing runs; where it moved, the events that
 * the engine remembers decide. Of an engine elsewhere there is the inspect alone. That our own lock
 * was taken over, since we were suspended, is seen by the lock.
 */
#include "freezer.h"
#include "window_inside.h"

#include "../base/alloc.h"
#include "../base/json.h"
#include "../base/log.h"

#include <errno.h>
#include <string.h>

#define CHECK_MS 10000

void sbx_window_note_state(struct sbx_windows *windows, const struct sbx_container *container)
{
	const cJSON *state = sbx_json_get(container->json, "State");
	const char *started = state ? sbx_json_string(state, "StartedAt") : NULL;
	if (!started)
		started = "";
	if (windows->seen_started && windows->seen_state == container->state &&
		strcmp(windows->seen_started, started) == 0)
		return;
	free(windows->seen_started);
	windows->seen_started = sbx_strdup(started);
	windows->seen_state = container->state;
	windows->serial++;
}

static int changed(struct sbx_windows *windows, struct sbx_error *err)
{
	return sbx_fail_kind(err, SBX_KIND_CHANGED, ESTALE,
		"container %.12s was resumed by somebody else, or changed its state, while it was "
		"being read or written",
		windows->id);
}

void sbx_window_note_lost(struct sbx_windows *windows)
{
	if (windows->broken || !sbx_window_lock_lost(windows->lock))
		return;
	windows->broken = windows->doubtful = true;
}

int sbx_window_look(struct sbx_windows *windows, const struct sbx_call *call,
	struct sbx_container *container, struct sbx_error *err)
{
	struct sbx_call bounded = sbx_call_shorter(call, CHECK_MS);
	int result = sbx_container_inspect(windows->engine, windows->id, &bounded, container, err);
	if (result != 0 && err && err->kind == SBX_KIND_ABSENT) {
		err->kind = SBX_KIND_GONE;
		err->errnum = ESTALE;
		return -ESTALE;
	}
	return result;
}

/* Processor time has moved since the pause. A task that is slow to fall asleep does that, too,
 * after the engine has called it frozen, so the engine's events decide. The mutex is held before
 * and after. */
static void find_out(struct sbx_windows *windows, int64_t usage, const struct sbx_call *call)
{
	struct sbx_call bounded = sbx_call_shorter(call, CHECK_MS);
	struct sbx_error err = SBX_ERROR_INIT;
	uint64_t serial = windows->serial;
	(void)pthread_mutex_unlock(&windows->mutex);
	int resumed = sbx_window_resumed_since(windows, &bounded, &err);
	(void)pthread_mutex_lock(&windows->mutex);
	sbx_log(SBX_LOG_DEBUG, "container %.12s had processor time in a freeze window: %s",
		windows->id,
		resumed > 0    ? "it was resumed"
		: resumed == 0 ? "it was not resumed"
			       : err.message);
	if (windows->serial != serial)
		return;
	if (resumed == 0) {
		windows->usage = usage;
		return;
	}
	windows->broken = true;
	windows->doubtful = resumed != 2; /* so far: asked again at the end */
}

/* Where the engine is on this host its cgroup says it for nothing. The mutex is held before and
 * after. */
static bool cgroup_says(struct sbx_windows *windows, const struct sbx_call *call)
{
	int64_t pid = windows->record.container_pid;
	/* In this order: what ran before the first look is in the second. */
	enum sbx_freezer state = sbx_freezer_look(windows->engine, windows->id, pid);
	int64_t usage = sbx_freezer_usage(windows->engine, windows->id, pid);
	if (state == SBX_FREEZER_THAWED)
		windows->broken = true;
	if (!windows->broken && usage >= 0 && windows->usage >= 0 && usage != windows->usage)
		find_out(windows, usage, call);
	return state != SBX_FREEZER_UNKNOWN;
}

/* The engine says that the container is not paused. For a reader that is enough; but Docker denies
 * for a moment a pause that it made, so a pause found later may be our own. The mutex is held. */
static void break_by_inspect(struct sbx_windows *windows, enum sbx_state state)
{
	if (!windows->broken && state == SBX_STATE_RUNNING)
		windows->doubtful = true;
	windows->broken = true;
}

/* The mutex is held before and after. */
static int check_frozen(struct sbx_windows *windows, const struct sbx_window_ticket *ticket,
	const struct sbx_call *call, struct sbx_error *err)
{
	uint64_t needed = windows->checks_begun + 1;
	bool said = cgroup_says(windows, call);
	for (;;) {
		sbx_window_note_lost(windows);
		if (windows->serial != ticket->serial || windows->broken)
			return changed(windows, err);
		if (said || windows->checks_good >= needed)
			return 0;
		if (windows->checking) {
			/* Whoever checks is bounded by CHECK_MS; nobody waits longer than its own
			 * call all the same. */
			if (sbx_cancel_fired(call ? call->cancel : NULL))
				return sbx_fail(err, ECANCELED,
					"cancelled while a freeze window on container %.12s was "
					"checked",
					windows->id);
			if (sbx_call_left_ms(call) <= 0)
				return sbx_fail(err, ETIMEDOUT,
					"no time left while a freeze window on container %.12s was "
					"checked",
					windows->id);
			sbx_windows_wait(windows, 20);
			continue;
		}
		windows->checking = true;
		uint64_t mine = ++windows->checks_begun;
		(void)pthread_mutex_unlock(&windows->mutex);
		struct sbx_container container = { 0 };
		int result = sbx_window_look(windows, call, &container, err);
		(void)pthread_mutex_lock(&windows->mutex);
		windows->checking = false;
		if (result == 0 && container.state == SBX_STATE_PAUSED)
			windows->checks_good = mine;
		else if (result == 0)
			break_by_inspect(windows, container.state);
		(void)pthread_cond_broadcast(&windows->changed);
		sbx_container_finish(&container);
		if (result != 0)
			return result;
	}
}

static int check_other(struct sbx_windows *windows, const struct sbx_window_ticket *ticket,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_container container cleanup_with(sbx_container_finish) = { 0 };
	int result = sbx_window_look(windows, call, &container, err);
	if (result != 0)
		return result;
	(void)pthread_mutex_lock(&windows->mutex);
	sbx_window_note_state(windows, &container);
	bool held = windows->serial == ticket->serial;
	if (held && ticket->foreign) {
		int64_t usage = sbx_freezer_usage(windows->engine, windows->id, container.pid);
		held = sbx_freezer_look(windows->engine, windows->id, container.pid) !=
			       SBX_FREEZER_THAWED &&
		       (usage < 0 || ticket->usage < 0 || usage == ticket->usage);
	}
	(void)pthread_mutex_unlock(&windows->mutex);
	return held ? 0 : changed(windows, err);
}

int sbx_window_check(struct sbx_windows *windows, const struct sbx_window_ticket *ticket,
	const struct sbx_call *call, struct sbx_error *err)
{
	if (ticket->foreign || ticket->still)
		return check_other(windows, ticket, call, err);
	if (!ticket->frozen)
		return 0; /* freeze=never: nothing was promised */
	(void)pthread_mutex_lock(&windows->mutex);
	int result = check_frozen(windows, ticket, call, err);
	(void)pthread_mutex_unlock(&windows->mutex);
	return result;
}

bool sbx_window_holds(struct sbx_windows *windows, const struct sbx_window_ticket *ticket)
{
	if (!ticket->frozen)
		return true;
	(void)pthread_mutex_lock(&windows->mutex);
	sbx_window_note_lost(windows);
	bool holds = windows->serial == ticket->serial && !windows->broken;
	(void)pthread_mutex_unlock(&windows->mutex);
	return holds;
}
