/*
 * window_registry.c: all windows of this process, and their counters.
 *
 * The one piece of process-wide state in engine/files: a command's start must be able to ask a
 * lingering window of the same process to close, whichever plane it belongs to. Lock order: the
 * registry's mutex, then a windows' mutex.
 */
#include "window_inside.h"

#include <sbx/plane.h>
#include <stdatomic.h>
#include <string.h>

static struct {
	pthread_mutex_t mutex; /* guards first, the list and left_owed */
	struct sbx_windows *first;
	bool left_owed; /* windows went that could not be resumed: the guardian has work left */
	atomic_uint_fast64_t windows, frozen_ms, longest_ms, joined, refused;
} registry = { .mutex = PTHREAD_MUTEX_INITIALIZER };

void sbx_window_registry_add(struct sbx_windows *windows)
{
	(void)pthread_mutex_lock(&registry.mutex); /* cannot fail on a default mutex */
	windows->next = registry.first;
	registry.first = windows;
	(void)pthread_mutex_unlock(&registry.mutex);
}

void sbx_window_registry_remove(struct sbx_windows *windows)
{
	(void)pthread_mutex_lock(&registry.mutex);
	struct sbx_windows **at = &registry.first;
	while (*at && *at != windows)
		at = &(*at)->next;
	if (*at)
		*at = windows->next;
	if (windows->record.owed != SBX_OWED_NOTHING)
		registry.left_owed = true;
	(void)pthread_mutex_unlock(&registry.mutex);
}

void sbx_window_registry_hurry(const char *engine_key, const char *id)
{
	(void)pthread_mutex_lock(&registry.mutex);
	for (struct sbx_windows *at = registry.first; at; at = at->next) {
		if (strcmp(at->id, id) != 0 || strcmp(sbx_engine_key(at->engine), engine_key) != 0)
			continue;
		(void)pthread_mutex_lock(&at->mutex);
		if (at->phase == SBX_PHASE_OPEN && !at->hurry) {
			at->hurry = true;
			(void)pthread_cond_broadcast(&at->changed);
		}
		(void)pthread_mutex_unlock(&at->mutex);
	}
	(void)pthread_mutex_unlock(&registry.mutex);
}

bool sbx_window_registry_idle(void)
{
	(void)pthread_mutex_lock(&registry.mutex);
	bool idle = !registry.left_owed;
	for (struct sbx_windows *at = registry.first; at && idle; at = at->next) {
		(void)pthread_mutex_lock(&at->mutex);
		idle = at->phase == SBX_PHASE_CLOSED;
		(void)pthread_mutex_unlock(&at->mutex);
	}
	(void)pthread_mutex_unlock(&registry.mutex);
	return idle;
}

void sbx_window_count_frozen(int64_t held_ms)
{
	uint64_t held = held_ms > 0 ? (uint64_t)held_ms : 0;
	atomic_fetch_add(&registry.windows, 1);
	atomic_fetch_add(&registry.frozen_ms, held);
	uint_fast64_t longest = atomic_load(&registry.longest_ms);
	while (held > longest &&
		!atomic_compare_exchange_weak(&registry.longest_ms, &longest, held))
		;
}

void sbx_window_count_joined(void)
{
	atomic_fetch_add(&registry.joined, 1);
}

void sbx_window_count_refused(void)
{
	atomic_fetch_add(&registry.refused, 1);
}

void sbx_window_counters(struct sbx_window_counters *out)
{
	*out = (struct sbx_window_counters){
		.windows = atomic_load(&registry.windows),
		.frozen_ms = atomic_load(&registry.frozen_ms),
		.longest_ms = atomic_load(&registry.longest_ms),
		.joined = atomic_load(&registry.joined),
		.refused = atomic_load(&registry.refused),
	};
}
