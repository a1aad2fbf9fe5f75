/*
 * account_guard.h: keeps the engine from hanging on a guest's account files.
 *
 * For an archive GET Docker 20.10 and Podman look owner names up in the guest's own /etc/passwd and
 * /etc/group, and for a command its user. A guest that puts a fifo there makes them wait for ever,
 * with the container's lock held: not even its removal ends that, and Podman serves no container
 * any more. A HEAD reads neither file.
 */
#ifndef SBX_FILES_ACCOUNT_GUARD_H
#define SBX_FILES_ACCOUNT_GUARD_H

#include "walk.h"

/* Before any GET of, or command in, container id. Errors: EOPNOTSUPP when an account file is
 * neither a plain file of at most 16 MiB nor absent; else as sbx_archive_head. */
int sbx_account_guard(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err);

/* The same inside a walk, asked once in one window. */
int sbx_account_guard_walk(
	struct sbx_walk *walk, const struct sbx_call *call, struct sbx_error *err);

#endif
