/*
 * spool.h: contents read from sandboxes, in unlinked files or, when small, in memory, kept for the
 * next open within a budget, and of files a quarter of the descriptors that this process may have.
 *
 * A spool holds one version of one file: its key is (sandbox id, path, size, mtime). It fills from
 * one transfer; a reader waits only for the bytes it needs.
 */
#ifndef SBX_FS_SPOOL_H
#define SBX_FS_SPOOL_H

#include "request.h"

#include "base/table.h"

#include <pthread.h>
#include <sbx/archive.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SBX_SPOOL_MEMORY_MAX = 64 * 1024,
	SBX_SPOOL_MEMORY_BUDGET = 16 * 1024 * 1024,
	SBX_SPOOL_TAIL = 256 * 1024,
};

struct sbx_spools;
struct sbx_transfer;

struct sbx_spool {
	char *key; /* malloc'd; NULL while it cannot be found */
	int64_t size;
	int fd; /* -1: in memory */
	char *memory;
	/* Bytes from the start that can be read, and of these the ones in the file. The worker
	 * moves both. */
	_Atomic int64_t available, written;
	char *tail; /* the bytes from `written` to `available`; NULL: in memory, or all written */
	pthread_mutex_t tail_lock; /* guards `tail` and that it begins at `written` */
	bool complete;		   /* all bytes are there, and known to be of one version */
	bool is_void;		   /* of more than one, as far as can be told: none may be read */
	uint64_t charge; /* in the budget; with what is around the bytes, which bounds how many
			  * small ones are kept */
	int error;	 /* errno of a transfer that failed, 0 while all is well */
	unsigned refs;
	struct sbx_waiters readers;
	struct sbx_transfer *transfer;	 /* that fills it, NULL if none */
	struct sbx_spool *newer, *older; /* of those that only the cache holds */
	UT_hash_handle hh;
};

/* Opens the directory, made 0700 if it is not there. */
int sbx_spools_create(
	const char *cache_dir, int64_t budget, struct sbx_spools **out, struct sbx_error *err);
/* All references must be gone. */
void sbx_spools_destroy(struct sbx_spools *spools);

/* malloc'd. */
char *sbx_spool_key(const char *sandbox_id, const char *path, const struct sbx_stat *st);

/* Referenced, or NULL. */
struct sbx_spool *sbx_spool_find(struct sbx_spools *spools, const char *key);
/* Empty, referenced, not yet found by anybody. */
struct sbx_spool *sbx_spool_create(void);
/* Makes room for size bytes; on the worker that will fill it. -errno of the disk. */
int sbx_spool_prepare(
	struct sbx_spools *spools, struct sbx_spool *spool, int64_t size, struct sbx_error *err);
/* Found under this key (taken) from now on, in place of one that was. */
void sbx_spool_register(struct sbx_spools *spools, struct sbx_spool *spool, char *key);
/* A whole small content under the key (taken), if none is found there. */
void sbx_spool_seed(struct sbx_spools *spools, char *key, const char *content, size_t size);
/* Found no more; those who hold it may still read. */
void sbx_spool_drop(struct sbx_spools *spools, struct sbx_spool *spool);
/* All of a sandbox that was removed. */
void sbx_spools_forget(struct sbx_spools *spools, const char *sandbox_id);
void sbx_spool_ref(struct sbx_spools *spools, struct sbx_spool *spool);
void sbx_spool_unref(struct sbx_spools *spools, struct sbx_spool *spool);

/* Appends; by the one worker that fills it. -errno of the disk; what came before can be read still.
 */
int sbx_spool_append(struct sbx_spool *spool, const void *bytes, size_t size);
/* How many bytes from the start may be handed out: the last one only when the spool is complete, so
 * that nobody gets a whole file that was not. */
int64_t sbx_spool_readable(const struct sbx_spool *spool);
/* Bytes read, or -errno. The range must be available. */
int64_t sbx_spool_read(struct sbx_spool *spool, void *buffer, size_t size, int64_t offset);
/* Whether spool->fd has every byte before `end`. */
bool sbx_spool_in_file(const struct sbx_spool *spool, int64_t end);

struct sbx_spool_counts {
	uint64_t file_bytes, memory_bytes, kept, evicted;
};
void sbx_spools_counts(const struct sbx_spools *spools, struct sbx_spool_counts *out);

#endif
