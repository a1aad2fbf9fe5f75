/*
 * spool.c: see spool.h.
 *
 * A spool file never has a name that another process could open: it is made with O_TMPFILE, or
 * unlinked before a byte is in it. Room is not reserved in advance: a reader of a large file's head
 * must not need a disk for all of it. A disk that is full is ENOSPC to the reader that needs the
 * byte.
 */
#include "spool.h"

#include "descriptors.h"
#include "base/alloc.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Of those that only the cache holds, in the order of their last use. */
struct list {
	struct sbx_spool *newest, *oldest;
};

struct sbx_spools {
	int directory;
	int64_t budget;
	struct sbx_spool *by_key;
	struct list in_memory, in_files;
	uint64_t open_files, most_open_files; /* in the list, and as many as are kept open */
	struct sbx_spool_counts counts;
};

/* mkdir -p, each new directory private. */
static int make_directory(const char *path, struct sbx_error *err)
{
	cleanup_free char *part = sbx_strdup(path);
	for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return sbx_fail_errno(err, errno, "cache directory %s", part);
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* The rest is for what is open, staged, and asked of engines; of 64 all is needed for these. */
static uint64_t share_of_descriptors(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 256;
	return files.rlim_cur <= 64 ? 0 : (files.rlim_cur - 64) / 4;
}

int sbx_spools_create(
	const char *cache_dir, int64_t budget, struct sbx_spools **out, struct sbx_error *err)
{
	int rc = make_directory(cache_dir, err);
	if (rc)
		return rc;
	int directory = open(cache_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return sbx_fail_errno(err, errno, "cache directory %s", cache_dir);
	/* Better now than at the first read: a spool must be possible here. */
	int probe = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (probe < 0 && (errno == EROFS || errno == EACCES)) {
		rc = sbx_fail_errno(err, errno, "cache directory %s", cache_dir);
		(void)close(directory); /* only looked up in */
		return rc;
	}
	if (probe >= 0)
		(void)close(probe); /* nothing was written */
	struct sbx_spools *spools = sbx_alloc(sizeof(*spools));
	spools->directory = directory;
	spools->budget = budget;
	spools->most_open_files = share_of_descriptors();
	*out = spools;
	return 0;
}

static struct list *list_of(struct sbx_spools *spools, const struct sbx_spool *spool)
{
	return spool->memory ? &spools->in_memory : &spools->in_files;
}

static void list_remove(struct list *list, struct sbx_spool *spool)
{
	if (list->newest == spool)
		list->newest = spool->older;
	else
		spool->newer->older = spool->older;
	if (list->oldest == spool)
		list->oldest = spool->newer;
	else
		spool->older->newer = spool->newer;
	spool->newer = spool->older = NULL;
}

static void list_add(struct sbx_spools *spools, struct sbx_spool *spool)
{
	struct list *list = list_of(spools, spool);
	spool->older = list->newest;
	spool->newer = NULL;
	if (list->newest)
		list->newest->newer = spool;
	else
		list->oldest = spool;
	list->newest = spool;
	spools->counts.kept++;
	spools->open_files += spool->fd >= 0;
}

static void take_from_list(struct sbx_spools *spools, struct list *list, struct sbx_spool *spool)
{
	list_remove(list, spool);
	spools->counts.kept--;
	spools->open_files -= spool->fd >= 0;
}

static uint64_t *account(struct sbx_spools *spools, const struct sbx_spool *spool)
{
	return spool->memory ? &spools->counts.memory_bytes : &spools->counts.file_bytes;
}

static void free_spool(struct sbx_spools *spools, struct sbx_spool *spool)
{
	if (spool->key)
		HASH_DEL(spools->by_key, spool);
	*account(spools, spool) -= spool->charge;
	if (spool->fd >= 0)
		(void)close(spool->fd); /* unlinked: nothing that could fail to be kept */
	free(spool->memory);
	free(spool->tail);
	(void)pthread_mutex_destroy(&spool->tail_lock);
	free(spool->key);
	free(spool);
}

static void evict_oldest(struct sbx_spools *spools, struct list *list)
{
	struct sbx_spool *spool = list->oldest;
	take_from_list(spools, list, spool);
	free_spool(spools, spool);
	spools->counts.evicted++;
}

/* Oldest first, until all budgets hold again; what is in use is never taken. */
static void evict(struct sbx_spools *spools)
{
	struct sbx_spool_counts *counts = &spools->counts;
	while (spools->in_memory.oldest && counts->memory_bytes > SBX_SPOOL_MEMORY_BUDGET)
		evict_oldest(spools, &spools->in_memory);
	while (spools->in_files.oldest && (counts->file_bytes > (uint64_t)spools->budget ||
						  spools->open_files > spools->most_open_files))
		evict_oldest(spools, &spools->in_files);
}

void sbx_spools_destroy(struct sbx_spools *spools)
{
	if (!spools)
		return;
	struct sbx_spool *spool, *next;
	HASH_ITER(hh, spools->by_key, spool, next)
	free_spool(spools, spool);
	(void)close(spools->directory); /* a directory opened for reading */
	free(spools);
}

char *sbx_spool_key(const char *sandbox_id, const char *path, const struct sbx_stat *st)
{
	return sbx_printf("%s/%s/%" PRId64 "/%" PRId64 ".%" PRId32, sandbox_id, path, st->size,
		st->mtime_s, st->mtime_ns);
}

void sbx_spool_ref(struct sbx_spools *spools, struct sbx_spool *spool)
{
	if (!spool->refs++)
		take_from_list(spools, list_of(spools, spool), spool);
}

void sbx_spool_unref(struct sbx_spools *spools, struct sbx_spool *spool)
{
	if (--spool->refs)
		return;
	if (!spool->key || !spool->complete || spool->error) {
		free_spool(spools, spool);
		return;
	}
	list_add(spools, spool);
	evict(spools);
}

struct sbx_spool *sbx_spool_find(struct sbx_spools *spools, const char *key)
{
	struct sbx_spool *spool = NULL;
	HASH_FIND_STR(spools->by_key, key, spool);
	if (spool)
		sbx_spool_ref(spools, spool);
	return spool;
}

struct sbx_spool *sbx_spool_create(void)
{
	struct sbx_spool *spool = sbx_alloc(sizeof(*spool));
	spool->fd = -1;
	spool->refs = 1;
	(void)pthread_mutex_init(&spool->tail_lock, NULL); /* cannot fail without attributes */
	return spool;
}

static int open_unlinked(int directory)
{
	int fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	uint64_t number;
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -1;
	cleanup_free char *name = sbx_printf(".spool-%016" PRIx64, number);
	fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && unlinkat(directory, name, 0) < 0) {
		int saved = errno;
		(void)close(fd); /* the failed unlink is what is reported */
		errno = saved;
		return -1;
	}
	return fd;
}

int sbx_spool_prepare(
	struct sbx_spools *spools, struct sbx_spool *spool, int64_t size, struct sbx_error *err)
{
	spool->size = size;
	if (size <= SBX_SPOOL_MEMORY_MAX) {
		spool->memory = sbx_alloc((size_t)size);
		return 0;
	}
	spool->fd = sbx_descriptor_spared(open_unlinked(spools->directory));
	if (spool->fd < 0)
		return sbx_fail_errno(err, errno, "a spool file in the cache directory");
	spool->tail = sbx_alloc(SBX_SPOOL_TAIL);
	return 0;
}

void sbx_spool_register(struct sbx_spools *spools, struct sbx_spool *spool, char *key)
{
	struct sbx_spool *old = NULL;
	HASH_FIND_STR(spools->by_key, key, old);
	if (old && old != spool)
		sbx_spool_drop(spools, old);
	if (spool->key)
		HASH_DEL(spools->by_key, spool);
	free(spool->key);
	spool->key = key;
	HASH_ADD_KEYPTR(hh, spools->by_key, spool->key, strlen(spool->key), spool);
	*account(spools, spool) -= spool->charge;
	spool->charge = (uint64_t)spool->size + sizeof(*spool) + strlen(key);
	*account(spools, spool) += spool->charge;
	evict(spools);
}

void sbx_spool_seed(struct sbx_spools *spools, char *key, const char *content, size_t size)
{
	struct sbx_spool *old = NULL;
	HASH_FIND_STR(spools->by_key, key, old);
	if (old || size > SBX_SPOOL_MEMORY_MAX) {
		free(key);
		return;
	}
	struct sbx_spool *spool = sbx_spool_create();
	spool->size = (int64_t)size;
	spool->memory = sbx_alloc(size);
	if (size)
		memcpy(spool->memory, content, size);
	atomic_store(&spool->available, (int64_t)size);
	spool->complete = true;
	sbx_spool_register(spools, spool, key);
	sbx_spool_unref(spools, spool);
}

void sbx_spool_drop(struct sbx_spools *spools, struct sbx_spool *spool)
{
	if (!spool->key)
		return;
	HASH_DEL(spools->by_key, spool);
	free(spool->key);
	spool->key = NULL;
	if (!spool->refs) {
		take_from_list(spools, list_of(spools, spool), spool);
		free_spool(spools, spool);
	}
}

void sbx_spools_forget(struct sbx_spools *spools, const char *sandbox_id)
{
	cleanup_free char *prefix = sbx_printf("%s/", sandbox_id);
	struct sbx_spool *spool, *next;
	HASH_ITER(hh, spools->by_key, spool, next)
	if (sbx_text_has_prefix(spool->key, prefix))
		sbx_spool_drop(spools, spool);
}

void sbx_spools_counts(const struct sbx_spools *spools, struct sbx_spool_counts *out)
{
	*out = spools->counts;
}
