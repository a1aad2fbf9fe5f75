/*
 * pending.h: uploads that no running mount looks after, for `sbxfs pending`, and the barrier of
 * `sbxfs sync`.
 *
 * A mount that ends with uploads undone keeps them in its store (staging.h). These calls lock each
 * store for as long as they work on it, so a mount that holds one keeps it: its files are listed in
 * DIR/.sbxfs/pending instead, and DIR is given back in `live`.
 */
#ifndef SBX_FS_PENDING_H
#define SBX_FS_PENDING_H

#include "staging.h"

#include <sbx/sandbox.h>

/* One file. Strings are owned. */
struct sbx_pending_row {
	char *store;	  /* the store's directory name */
	char *mount_dir;  /* where it was mounted; "" if unknown */
	char *engine_key; /* sbx_engine_key of its engine; "" if unknown */
	char *engine_url;
	struct sbx_staged staged; /* path, size, attempts, reason …; damaged: never sent unasked */
};
struct sbx_pending {
	struct sbx_pending_row *rows;
	size_t count;
	char **live; /* mount points whose mount runs (or another process works on their store) */
	size_t live_count;
};
void sbx_pending_finish(struct sbx_pending *pending);

/* Which ones: NULL is any. sandbox: a name, or an id of at least 12 hex digits. mount_dir:
 * absolute. */
struct sbx_pending_filter {
	const char *sandbox;
	const char *mount_dir;
};

/* All that match under root (sbx_staging_root). A root that does not exist is an empty list. filter
 * may be NULL. Errors: EACCES, EPERM, EIO. */
int sbx_pending_list(const char *root, const struct sbx_pending_filter *filter,
	struct sbx_pending *out, struct sbx_error *err);

/* Told for each file what became of it. failure: NULL when it was done. */
typedef void (*sbx_pending_fn)(
	void *data, const struct sbx_pending_row *row, const struct sbx_error *failure);

/* The rest return how many files were done; -EIO kind PARTIAL when one was not, -errno when nothing
 * could be tried. tell may be NULL. */

/* Copies each to directory/SANDBOX/PATH with its mode and time. Never replaces a file (EEXIST),
 * follows no link below directory, leaves no part of a file; the staged bytes stay. */
int sbx_pending_save(const char *root, const struct sbx_pending_filter *filter,
	const char *directory, sbx_pending_fn tell, void *data, struct sbx_error *err);

/* Removes them for good. */
int sbx_pending_discard(const char *root, const struct sbx_pending_filter *filter,
	sbx_pending_fn tell, void *data, struct sbx_error *err);

/* Uploads those of this engine to the very sandbox (by id) they were written for, owned by its
 * guest, and forgets what landed. Files of another engine are failures that name it. rules may be
 * NULL. */
int sbx_pending_retry(const char *root, const struct sbx_pending_filter *filter,
	struct sbx_engine *engine, const struct sbx_rules *rules, const struct sbx_call *call,
	sbx_pending_fn tell, void *data, struct sbx_error *err);

/* Waits until everything acknowledged on the mount at directory has landed, or reports the first
 * failure (its errno; the sentence names the file where DIR/.sbxfs/pending lists it). ENOENT when
 * no sbxfs is mounted there. Interruptible by a signal (EINTR). */
int sbx_sync(const char *directory, struct sbx_error *err);

#endif
