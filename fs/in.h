/*
 * in.h: what the mount asks of in/, the one place that takes writes (fs/in_*.c).
 *
 * Every function runs on the loop's thread, never blocks, and ends its request with one sbx_answer
 * function, at once or later. Node kinds SBX_NODE_IN_* and the `in` fields of views, nodes and
 * handles belong to this side.
 */
#ifndef SBX_FS_IN_H
#define SBX_FS_IN_H

#include "context.h"

/* Before the daemon confines itself, with the engine open: makes the staging directory, finds what
 * an earlier daemon left. */
int sbx_in_init(struct sbx_fs *fs, struct sbx_error *err);
/* After all handles, before nodes and views: files that have landed, or are on record, are let go,
 * or they would hold their sandbox's plane, and its open window, beyond the engine's end. */
void sbx_in_leave(struct sbx_fs *fs);
void sbx_in_finish(struct sbx_fs *fs); /* after all handles, nodes and views */
/* The staging directory's path for confinement (absolute), or NULL if there is none. */
const char *sbx_in_staging_path(const struct sbx_fs *fs);

void sbx_in_view_added(struct sbx_view *view);
void sbx_in_view_gone(struct sbx_view *view); /* the sandbox was removed from the engine */
void sbx_in_view_free(struct sbx_view *view);
void sbx_in_node_free(struct sbx_node *node);
void sbx_in_handle_free(struct sbx_fs *fs, struct sbx_handle *handle);

/* NULL: in/ takes writes. Else why not, one sentence, owned by the view until it changes. */
const char *sbx_in_refusal(struct sbx_view *view);
/* .sbxfs/pending: what waits for upload or failed, JSON lines; malloc'd. */
char *sbx_in_pending_text(struct sbx_view *view, size_t *size);
/* The same of all sandboxes, those that are gone too, for the root's .sbxfs/pending. */
char *sbx_in_pending_all_text(struct sbx_fs *fs, size_t *size);
/* Opening the root's .sbxfs/sync: resume comes with 0 when all that was acknowledged has landed, or
 * with the first failure. */
void sbx_in_sync(struct sbx_request *request, sbx_resume_fn resume);
/* Counters for stats.json, or NULL; owned by the caller. */
struct cJSON *sbx_in_stats(struct sbx_fs *fs);

/* The loop calls it when it wakes; returns when it wants to be called again, INT64_MAX for never.
 */
int64_t sbx_in_sweep(struct sbx_fs *fs, int64_t now_ms);
/* The mount ends: upload or keep what is dirty. busy: something is still on its way. */
void sbx_in_drain(struct sbx_fs *fs);
bool sbx_in_busy(struct sbx_fs *fs);

/* The in dir itself, asked for by name in its parent; request->node is that parent. */
void sbx_in_lookup_root(struct sbx_request *request, struct sbx_view *view);
/* An upload to the path has landed: each directory above it was seen to be one. For a while that is
 * as good as asking for them by name, each by a window of its own. */
void sbx_in_passed(struct sbx_view *view, const char *path);
/* Whether what the node is known to be still holds. */
bool sbx_in_holds(const struct sbx_node *node);

/* The node of a path at or below the in dir, by what the guest was found to have at when_ms
 * (sbx_clock_ms), asked for at asked_s (the engine's clock): the one there is if it still fits,
 * else a new one. NULL st: it has nothing there, and NULL is returned unless we have something
 * newer. NULL is also what comes of a time to the second that cannot say whether the guest changed
 * a file of ours.
 */
struct sbx_node *sbx_in_guest_node(struct sbx_view *view, const char *path,
	const struct sbx_stat *st, int64_t when_ms, int64_t asked_s);
/* For a listing of the parent: the current node of the in dir, without asking the engine; NULL: the
 * kernel looks it up. */
struct sbx_node *sbx_in_root_node(struct sbx_view *view);

/* request->node is the node (or parent, with request->name), request->handle the open file. */
void sbx_in_lookup(struct sbx_request *request);
void sbx_in_getattr(struct sbx_request *request);
void sbx_in_setattr(struct sbx_request *request, const struct stat *attr, int to_set);
void sbx_in_opendir(struct sbx_request *request);
void sbx_in_readdirplus(struct sbx_request *request);		   /* offset, size */
void sbx_in_open(struct sbx_request *request);			   /* fi */
void sbx_in_create(struct sbx_request *request, mode_t mode);	   /* name, fi */
void sbx_in_read(struct sbx_request *request);			   /* offset, size */
void sbx_in_write(struct sbx_request *request, const char *bytes); /* offset, size */
void sbx_in_flush(struct sbx_request *request);
void sbx_in_fsync(struct sbx_request *request);
/* The last close: answers, and later calls sbx_handle_release. */
void sbx_in_release(struct sbx_request *request);
void sbx_in_mkdir(struct sbx_request *request, mode_t mode); /* name */
void sbx_in_unlink(struct sbx_request *request);	     /* name */
void sbx_in_rmdir(struct sbx_request *request);		     /* name */
/* request->node and name to new_parent and new_name; both parents are in/ of the same sandbox. */
void sbx_in_rename(struct sbx_request *request, struct sbx_node *new_parent, const char *new_name,
	unsigned flags);

#endif
