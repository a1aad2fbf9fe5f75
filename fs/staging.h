/*
 * staging.h: the store on disk for what was written under in/ and has not landed in its sandbox
 * yet.
 *
 * A store is one private directory (0700) under the staging root, held by one process through a
 * lock: STORE/lock, STORE/about.json (which mount and engine), and for each staged file NUMBER.data
 * (0600, the bytes) and NUMBER.json (its record; one that need not outlive the host may be the
 * attribute user.sbxfs.record of NUMBER.data instead). No file name holds text that a guest or a
 * user chose. Bytes without a record were never acknowledged and are dropped at the next opening; a
 * record is replaced whole or not at all. Functions are safe from many threads; those that sync
 * block.
 */
#ifndef SBX_FS_STAGING_H
#define SBX_FS_STAGING_H

#include <sbx/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_staging;

/* One record. Strings are owned. */
struct sbx_staged {
	uint64_t sequence;  /* the number in its file names; never used twice by one store */
	char *sandbox_id;   /* 64 hex digits */
	char *sandbox_name; /* as it was called when this was written */
	char *path;	    /* relative to the work dir, any bytes but NUL */
	uint32_t mode;	    /* permission bits */
	int64_t mtime_s;
	int32_t mtime_ns;
	int64_t size;	   /* of the data file when the record was written */
	bool local;	   /* a temporary name: kept here until it gets its final one */
	bool only_new;	   /* replaces nothing that the guest has */
	bool open;	   /* being written since: the bytes may be half of what is meant */
	unsigned attempts; /* uploads that failed */
	int errnum;	   /* of the last failure, 0 if none */
	char *reason;	   /* its sentence, or NULL */
	bool damaged;	   /* found on opening: the record or the data is not what was written */
};
void sbx_staged_finish(struct sbx_staged *staged);

struct sbx_staged_list {
	struct sbx_staged *rows; /* by sequence */
	size_t count;
};
void sbx_staged_list_finish(struct sbx_staged_list *list);

/* The root that stores live under: option if not NULL, /var/lib/sbxfs/staging for root,
 * $XDG_STATE_HOME/sbxfs/staging or ~/.local/state/sbxfs/staging. malloc'd. Reads the environment.
 * NULL with ENOENT when there is no home. */
char *sbx_staging_root(const char *option, struct sbx_error *err);

/* Opens (and makes) the store of one mount point on one engine. engine_key: sbx_engine_key.
 * mount_dir: absolute. Errors: EBUSY kind CONFLICT (a live process holds it), EPERM (root or store
 * is not a directory of ours, or is a link), EACCES, ENOSPC, EIO. */
int sbx_staging_open(const char *root, const char *engine_key, const char *engine_url,
	const char *mount_dir, struct sbx_staging **out, struct sbx_error *err);
/* An existing store by its directory name, for `sbxfs pending`. ENOENT when it is not there. */
int sbx_staging_open_existing(
	const char *root, const char *name, struct sbx_staging **out, struct sbx_error *err);
/* Releases the lock. A store without records is removed from disk. NULL is fine. */
void sbx_staging_close(struct sbx_staging *staging);

/* The mount point of a store that another process may hold, "" if unknown; malloc'd. */
char *sbx_staging_peek_mount_dir(const char *root, const char *name);

/* Where a store belongs; owned by the store, "" where about.json could not be read. */
const char *sbx_staging_mount_dir(const struct sbx_staging *staging);
const char *sbx_staging_engine_key(const struct sbx_staging *staging);
const char *sbx_staging_engine_url(const struct sbx_staging *staging);

/* What a former process left: every record, damaged ones marked. Data without a record and
 * unfinished records are removed. Call it once, before anything is created. */
int sbx_staging_recover(
	struct sbx_staging *staging, struct sbx_staged_list *out, struct sbx_error *err);

/* A new empty data file; fd is read-write and the caller's. ENOSPC, EDQUOT, EMFILE, EIO. */
int sbx_staging_create(
	struct sbx_staging *staging, uint64_t *sequence, int *fd, struct sbx_error *err);
/* The data file of a record again. ENOENT when it is missing. */
int sbx_staging_reopen(
	struct sbx_staging *staging, uint64_t sequence, int *fd, struct sbx_error *err);
/* Claims room for size_bytes without changing the length, so that ENOSPC comes now. A file system
 * that cannot reserve is no error. */
int sbx_staging_reserve(int fd, int64_t size_bytes, struct sbx_error *err);
/* Writes or replaces the record of staged->sequence. durable: bytes (of fd), record and directory
 * are synced when it returns 0, so that a close may be acknowledged. fd: its data file; -1
 * only where it is not durable. */
int sbx_staging_record(struct sbx_staging *staging, const struct sbx_staged *staged, int fd,
	bool durable, struct sbx_error *err);
/* The bytes have landed or were discarded: removes the record, then the data. What is not there is
 * no error. */
int sbx_staging_forget(struct sbx_staging *staging, uint64_t sequence, struct sbx_error *err);
/* The same of a data file that nobody has open or ever will, fd its own or -1: emptied, it is the
 * next that sbx_staging_create gives out, on whose thread this is called. */
int sbx_staging_recycle(
	struct sbx_staging *staging, uint64_t sequence, int fd, struct sbx_error *err);
/* The record alone: the data stays as a cache for as long as its owner has it open. fd: the data
 * file, -1 if it is not at hand. */
int sbx_staging_forget_record(
	struct sbx_staging *staging, uint64_t sequence, int fd, struct sbx_error *err);

#endif
