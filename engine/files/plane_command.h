/* plane_command.h: the guest-side commands that other files of the plane need. */
#ifndef SBX_FILES_PLANE_COMMAND_H
#define SBX_FILES_PLANE_COMMAND_H

#include "plane_archive.h"

/* Runs argv in the guest as its user, with "/" as its directory and LC_ALL=C. Never called inside a
 * window. what: for errors, e.g. "removing \"in/x\"". Errors: EOPNOTSUPP (the image has no such
 * command, or nothing runs), EBUSY (paused), and what the command said: EACCES, EPERM, ENOTEMPTY,
 * EROFS, ENOSPC, ENOTDIR, EISDIR, ENOENT, EINVAL (touch: no such date), EIO. */
int sbx_plane_guest_command(struct sbx_plane_archive *plane, const char *const *argv,
	const char *what, const struct sbx_call *call, struct sbx_error *err);

/* A walk without a window, and what is at its end; out is to be finished. op: for the audit, or
 * NULL. */
int sbx_plane_look(struct sbx_plane_archive *plane, const char *op, const char *path,
	const struct sbx_call *call, struct sbx_stat *out, struct sbx_error *err);

#endif
