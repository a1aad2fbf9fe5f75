/* walked.c: see walked.h. A hash of paths under one lock, bounded so that a listing of many
 * directories cannot grow it. */
#include "walked.h"

#include "../base/table.h"

#include <pthread.h>

enum { WALKED_MAX = 4096 };

struct path {
	UT_hash_handle hh;
	bool described; /* st is known, else only that it is a directory */
	struct sbx_stat st;
	char text[];
};

struct sbx_walked {
	pthread_mutex_t lock; /* guards all below */
	uint64_t key;
	uint64_t private_keys;
	uint64_t generation; /* counts what was forgotten */
	struct path *paths;
};

struct sbx_walked *sbx_walked_create(void)
{
	struct sbx_walked *walked = sbx_alloc(sizeof(*walked));
	(void)pthread_mutex_init(&walked->lock, NULL); /* cannot fail without attributes */
	return walked;
}

static void clear(struct sbx_walked *walked)
{
	struct path *path = walked->paths;
	HASH_CLEAR(hh, walked->paths); /* frees its own table; the rows stay linked */
	while (path) {
		struct path *next = path->hh.next;
		free(path);
		path = next;
	}
}

void sbx_walked_destroy(struct sbx_walked *walked)
{
	if (!walked)
		return;
	clear(walked);
	(void)pthread_mutex_destroy(&walked->lock);
	free(walked);
}

uint64_t sbx_walked_key(struct sbx_walked *walked)
{
	(void)pthread_mutex_lock(&walked->lock);
	/* Windows are counted up from 0: the top bit keeps the two apart. */
	uint64_t key = ++walked->private_keys | UINT64_C(1) << 63;
	(void)pthread_mutex_unlock(&walked->lock);
	return key;
}

static struct path *find(struct sbx_walked *walked, uint64_t key, const char *path)
{
	struct path *found = NULL;
	if (walked->key == key)
		HASH_FIND_STR(walked->paths, path, found);
	return found;
}

bool sbx_walked_has(struct sbx_walked *walked, uint64_t key, const char *path)
{
	(void)pthread_mutex_lock(&walked->lock);
	const struct path *found = find(walked, key, path);
	bool directory = found && found->st.type == SBX_TYPE_DIR;
	(void)pthread_mutex_unlock(&walked->lock);
	return directory;
}

bool sbx_walked_stat(
	struct sbx_walked *walked, uint64_t key, const char *path, struct sbx_stat *out)
{
	(void)pthread_mutex_lock(&walked->lock);
	const struct path *found = find(walked, key, path);
	bool described = found && found->described;
	if (described)
		*out = found->st;
	(void)pthread_mutex_unlock(&walked->lock);
	return described;
}

uint64_t sbx_walked_generation(struct sbx_walked *walked)
{
	(void)pthread_mutex_lock(&walked->lock);
	uint64_t generation = walked->generation;
	(void)pthread_mutex_unlock(&walked->lock);
	return generation;
}

static struct path *row_of(const char *path, const struct sbx_stat *st, bool described)
{
	size_t length = strlen(path);
	struct path *row = sbx_alloc(sizeof(*row) + length + 1);
	memcpy(row->text, path, length + 1);
	row->described = described;
	row->st = *st;
	row->st.link_target = NULL;
	return row;
}

/* The lock is held. Owns row. */
static void add(struct sbx_walked *walked, uint64_t key, struct path *row)
{
	struct path *old = NULL;
	if (walked->key != key || HASH_COUNT(walked->paths) >= WALKED_MAX)
		clear(walked);
	walked->key = key;
	HASH_REPLACE_STR(walked->paths, text, row, old);
	free(old);
}

void sbx_walked_add(struct sbx_walked *walked, uint64_t key, const char *path)
{
	const struct sbx_stat directory = { .type = SBX_TYPE_DIR };
	struct path *row = row_of(path, &directory, false);
	(void)pthread_mutex_lock(&walked->lock);
	add(walked, key, row);
	(void)pthread_mutex_unlock(&walked->lock);
}

void sbx_walked_add_stat(struct sbx_walked *walked, uint64_t key, uint64_t generation,
	const char *path, const struct sbx_stat *st)
{
	if (st->type != SBX_TYPE_DIR && st->type != SBX_TYPE_FILE)
		return;
	struct path *row = row_of(path, st, true);
	(void)pthread_mutex_lock(&walked->lock);
	if (walked->generation == generation)
		add(walked, key, steal(&row));
	(void)pthread_mutex_unlock(&walked->lock);
	free(row);
}

void sbx_walked_forget(struct sbx_walked *walked, uint64_t key)
{
	(void)pthread_mutex_lock(&walked->lock);
	walked->generation++;
	if (walked->key == key)
		clear(walked);
	(void)pthread_mutex_unlock(&walked->lock);
}

void sbx_walked_forget_stats(struct sbx_walked *walked, uint64_t key)
{
	struct path *path, *next;
	(void)pthread_mutex_lock(&walked->lock);
	walked->generation++;
	if (walked->key != key)
		clear(walked);
	HASH_ITER(hh, walked->paths, path, next)
	{
		path->described = false;
		if (path->st.type == SBX_TYPE_DIR)
			continue;
		HASH_DEL(walked->paths, path);
		free(path);
	}
	(void)pthread_mutex_unlock(&walked->lock);
}
