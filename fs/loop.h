/*
 * loop.h: the one thread that owns the mount's state: FUSE requests, timers, signals and what
 * workers post.
 */
#ifndef SBX_FS_LOOP_H
#define SBX_FS_LOOP_H

#include <sbx/error.h>
#include <stdbool.h>
#include <stdint.h>

struct sbx_fs;
struct sbx_loop;

/* Something to run on the loop's thread; embedded in what it belongs to. */
struct sbx_post {
	void (*run)(struct sbx_post *post);
	struct sbx_post *next; /* guarded by the loop's post_lock while queued */
	bool queued;	       /* guarded by it, too; until just before it is run */
};

/* Blocks SIGTERM, SIGINT and SIGHUP for good in the calling thread: before any other is made. */
int sbx_loop_create(struct sbx_fs *fs, struct sbx_loop **out, struct sbx_error *err);
void sbx_loop_destroy(struct sbx_loop *loop); /* posts still queued are run first */

/* From any thread. One that is queued already is run once. What a post belongs to may be freed by
 * another that is posted later by the same thread: posts run in their order. */
void sbx_loop_post(struct sbx_loop *loop, struct sbx_post *post);

/* The loop wakes at when_ms at the latest (sbx_clock_ms) and sweeps requests, spools, listings and
 * in/. */
void sbx_loop_wake_at(struct sbx_loop *loop, int64_t when_ms);

/* Serves until the mount is gone, or SIGTERM or SIGINT came (uploads of in/ are then given a
 * bounded time). Returns 0 or -errno of the session. */
int sbx_loop_run(struct sbx_loop *loop, struct sbx_error *err);
/* Runs what is posted until `busy` says false or until_ms has passed: for the end. */
void sbx_loop_drain(struct sbx_loop *loop, bool (*busy)(struct sbx_fs *fs), int64_t until_ms);

#endif
