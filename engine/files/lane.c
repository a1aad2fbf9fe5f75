/*
 * lane.c: who may move bytes now (plane_archive.h).
 *
 * Docker serves one archive call of a container at a time and every other request of that container
 * waits for it, so a second transfer gains nothing and a stat that comes just before one is worth
 * waiting for. A transfer waits for stats a bounded time only: a busy reader must not starve it.
 */
#include "plane_archive.h"

#include "../base/alloc.h"

#include <errno.h>
#include <time.h>

enum {
	WAIT_SLICE_MS = 20,  /* how soon a cancel is noticed: a condition has no descriptor */
	STATS_FIRST_MS = 100 /* how long stats may go first */
};

static void wait_slice(struct sbx_lane *lane)
{
	struct timespec until;
	(void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail for this clock */
	until.tv_nsec += WAIT_SLICE_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	(void)pthread_cond_timedwait(
		&lane->change, &lane->lock, &until); /* the caller looks anew */
}

void sbx_lane_init(struct sbx_lane *lane)
{
	pthread_condattr_t monotonic;
	(void)pthread_mutex_init(&lane->lock, NULL); /* none of these can fail on Linux */
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&lane->change, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	lane->epoch = sbx_cancel_create();
}

void sbx_lane_finish(struct sbx_lane *lane)
{
	sbx_cancel_unref(lane->epoch);
	(void)pthread_cond_destroy(&lane->change);
	(void)pthread_mutex_destroy(&lane->lock);
}

static int wait_turn(
	struct sbx_plane_archive *plane, const struct sbx_call *moving, struct sbx_error *err)
{
	struct sbx_lane *lane = &plane->lane;
	int64_t stats_until = 0;
	for (;;) {
		if (sbx_cancel_fired(moving->cancel))
			return sbx_fail(err, ECANCELED, "cancelled while waiting for %s",
				plane->container.name);
		if (!sbx_call_left_ms(moving))
			return sbx_fail(err, ETIMEDOUT,
				"another transfer of %s did not end in time",
				plane->container.name);
		if (!lane->busy && !stats_until)
			stats_until = sbx_clock_ms() + STATS_FIRST_MS;
		if (!lane->busy && (!lane->stats || sbx_clock_ms() >= stats_until))
			break;
		wait_slice(lane);
	}
	lane->busy = true;
	return 0;
}

int sbx_lane_enter(struct sbx_plane_archive *plane, const struct sbx_call *call,
	struct sbx_call *moving, struct sbx_error *err)
{
	struct sbx_lane *lane = &plane->lane;
	*moving = call ? *call : (struct sbx_call){ 0 };
	(void)pthread_mutex_lock(&lane->lock);
	moving->cancel = sbx_cancel_create_child(moving->cancel, lane->epoch);
	int result = wait_turn(plane, moving, err);
	(void)pthread_mutex_unlock(&lane->lock);
	if (result < 0)
		sbx_cancel_unref(moving->cancel);
	return result;
}

void sbx_lane_leave(struct sbx_plane_archive *plane, struct sbx_call *moving)
{
	struct sbx_lane *lane = &plane->lane;
	sbx_cancel_unref(moving->cancel);
	moving->cancel = NULL;
	(void)pthread_mutex_lock(&lane->lock);
	lane->busy = false;
	(void)pthread_cond_signal(&lane->change);
	(void)pthread_mutex_unlock(&lane->lock);
}

void sbx_lane_stat_enter(struct sbx_plane_archive *plane)
{
	(void)pthread_mutex_lock(&plane->lane.lock);
	plane->lane.stats++;
	(void)pthread_mutex_unlock(&plane->lane.lock);
}

void sbx_lane_stat_leave(struct sbx_plane_archive *plane)
{
	(void)pthread_mutex_lock(&plane->lane.lock);
	plane->lane.stats--;
	(void)pthread_cond_broadcast(&plane->lane.change);
	(void)pthread_mutex_unlock(&plane->lane.lock);
}

void sbx_lane_cancel(struct sbx_lane *lane)
{
	(void)pthread_mutex_lock(&lane->lock);
	struct sbx_cancel *fired = lane->epoch;
	lane->epoch = sbx_cancel_create();
	(void)pthread_mutex_unlock(&lane->lock);
	sbx_cancel_fire(fired);
	sbx_cancel_unref(fired);
}
