/*
 * plane_archive.h: the inside of the archive plane, shared by the files that implement its
 * operations.
 *
 * Every operation has the same frame: the lexical rule, a walk (walk.h) that opens the freeze
 * window, the requests, and the end of the walk, which says whether the window held. What moves
 * bytes does so in the lane: one at a time for one sandbox, after the short requests, under a call
 * that rest() can cancel.
 */
#ifndef SBX_FILES_PLANE_ARCHIVE_H
#define SBX_FILES_PLANE_ARCHIVE_H

#include "window.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sbx/plane.h>

struct sbx_walked;	/* walked.h */
struct sbx_image_names; /* image_names.c: what the image itself put into a directory */

/* One byte-moving operation at a time; short requests go first. */
struct sbx_lane {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t change;
	bool busy;		  /* a transfer runs */
	unsigned stats;		  /* short operations under way */
	struct sbx_cancel *epoch; /* parent of every transfer's token: rest() fires and renews it */
};

struct sbx_plane_archive {
	struct sbx_plane base; /* first: a sbx_plane is one of these */
	struct sbx_engine *engine;
	struct sbx_container container; /* a copy, without json */
	char *workdir;			/* absolute, normal form */
	struct sbx_plane_limits limits;
	const struct sbx_plane_host *host;
	struct sbx_windows *windows;
	struct sbx_lane lane;
	struct sbx_walked *walked;
	struct sbx_image_names *image_names;
	_Atomic int64_t changes_dear_ms; /* when the list of changes took long; 0: never */
	atomic_bool touch_cuts;		 /* the guest's touch is known to take whole seconds only */
};

static inline struct sbx_plane_archive *sbx_plane_archive_of(struct sbx_plane *plane)
{
	return (struct sbx_plane_archive *)plane;
}

void sbx_lane_init(struct sbx_lane *lane);
void sbx_lane_finish(struct sbx_lane *lane);
/* Every transfer under way or waiting ends with ECANCELED; later ones are not touched. */
void sbx_lane_cancel(struct sbx_lane *lane);
/* Enters the lane. moving is the call to use for the transfer: as call, and cancelled by rest().
 * Errors: ETIMEDOUT, ECANCELED. Every 0 is paired with sbx_lane_leave. Enter the lane before the
 * window: never wait for the lane while the guest is frozen. */
int sbx_lane_enter(struct sbx_plane_archive *plane, const struct sbx_call *call,
	struct sbx_call *moving, struct sbx_error *err);
void sbx_lane_leave(struct sbx_plane_archive *plane, struct sbx_call *moving);
/* Around a short operation (stats): transfers that have not begun wait for it. Never blocks. */
void sbx_lane_stat_enter(struct sbx_plane_archive *plane);
void sbx_lane_stat_leave(struct sbx_plane_archive *plane);

/* The operations, each in its own file; see struct sbx_plane_ops. */
int sbx_plane_stat(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err);
bool sbx_plane_absent(struct sbx_plane *plane, const char *path, const struct sbx_call *call);
int sbx_plane_stat_many(struct sbx_plane *plane, const char *const *paths, size_t count,
	const struct sbx_call *call, struct sbx_stat *out, int *results, struct sbx_error *errors,
	struct sbx_error *err);
int sbx_plane_list(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err);
int sbx_plane_glance(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err);
int sbx_plane_read(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	const struct sbx_reader *reader, struct sbx_error *err);
/* plane_tree.c */
int sbx_plane_read_tree(struct sbx_plane *plane, const char *path, int64_t most_bytes,
	const struct sbx_call *call, const struct sbx_tree_reader *reader, struct sbx_error *err);
/* plane_put.c */
int sbx_plane_put(struct sbx_plane *plane, struct sbx_put_item *items, size_t count,
	const struct sbx_call *call, struct sbx_error *err);
/* plane_command.c */
int sbx_plane_remove(struct sbx_plane *plane, const char *path, bool recursive,
	const struct sbx_call *call, struct sbx_error *err);
int sbx_plane_remove_dir(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_error *err);
int sbx_plane_rename(struct sbx_plane *plane, const char *from, const char *to,
	const struct sbx_call *call, struct sbx_error *err);
/* plane_attributes.c */
int sbx_plane_set_attributes(struct sbx_plane *plane, const char *path,
	const struct sbx_attributes *want, const struct sbx_call *call, struct sbx_stat *before,
	struct sbx_stat *after, struct sbx_error *err);

#endif
