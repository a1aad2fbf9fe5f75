/*
 * walk.h: the component walk (MAF-82) and the freeze window it happens in.
 *
 * A guest path is only safe to hand to an engine when every component from "/" down has been seen
 * to be a directory, not a link, while nothing in the guest can run. A walk is therefore one stay
 * in a window; what that very window has shown is not asked for again.
 */
#ifndef SBX_FILES_WALK_H
#define SBX_FILES_WALK_H

#include "plane_archive.h"

struct sbx_walk {
	struct sbx_plane_archive *plane;
	struct sbx_window_ticket ticket;
	uint64_t key;	/* names what may be remembered from this walk */
	bool remembers; /* whole stats, too: nothing runs, and the walk is not there to write */
	const char *op; /* for the audit: "stat", "read", "list", "put"; NULL: not for it, what is
			   refused is asked for again */
	unsigned lists; /* how many lists of changes it asked for (walk_changes.h) */
};

/* What to do inside one window: may be called twice, the second time after the first window did not
 * hold. */
typedef int (*sbx_walk_fn)(
	struct sbx_walk *walk, void *data, const struct sbx_call *call, struct sbx_error *err);

/* The frame of every reading operation: enters a window, calls fn, has the window confirmed, and
 * does all of it once more when that fails. A refusal counts only when confirmed, too: a name is
 * not absent because the guest was just renaming it. Errors: fn's; as sbx_window_enter; ESTALE kind
 * CHANGED when the second window did not hold either. */
int sbx_walk_run(struct sbx_plane_archive *plane, const char *op, sbx_walk_fn fn, void *data,
	const struct sbx_call *call, struct sbx_error *err);

/* Enters the window. Errors as sbx_window_enter. Every 0 is paired with sbx_walk_end. */
int sbx_walk_begin(struct sbx_walk *walk, struct sbx_plane_archive *plane,
	enum sbx_window_kind kind, const char *op, const struct sbx_call *call,
	struct sbx_error *err);

/* Describes path (relative to the work dir, lexically checked by the caller; "" is the work dir)
 * after walking all its parents. Errors: ELOOP for a link among the parents (audited), ENOTDIR for
 * another non-directory there, ENOENT only as the engine said so, EILSEQ for what Podman cannot be
 * asked for, EOPNOTSUPP for a mount on the way or at the end (mounts.h). The last component is
 * described whatever it is; a directory at the end is remembered. out is filled on 0 only. */
int sbx_walk_stat(struct sbx_walk *walk, const char *path, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err);

/* 0, or ESTALE kind CHANGED when it is known already that the window does not hold
 * (sbx_window_holds). */
int sbx_walk_holds(struct sbx_walk *walk, struct sbx_error *err);
/* As sbx_walk_end confirms, without leaving: before something that cannot be taken back. */
int sbx_walk_confirm(struct sbx_walk *walk, const struct sbx_call *call, struct sbx_error *err);

/* Leaves the window; with confirm, ESTALE kind CHANGED when it did not hold: then nothing that was
 * read counts. */
int sbx_walk_end(
	struct sbx_walk *walk, bool confirm, const struct sbx_call *call, struct sbx_error *err);

/* The same walk to one child of a directory that walk_stat has just described, without the check
 * for mounts: a listing names a mount point, too. directory is absolute. */
int sbx_walk_child(struct sbx_walk *walk, const char *directory, const char *name,
	const struct sbx_call *call, struct sbx_stat *out, struct sbx_error *err);

/* The error of an object that cannot be read as a file: ELOOP (audited), EISDIR or ENXIO. */
int sbx_walk_refuse_type(
	struct sbx_walk *walk, const char *path, const struct sbx_stat *st, struct sbx_error *err);

#endif
