/* fetch_read.c: see fetch_read.h. */
#include "fetch_read.h"

#include "../base/alloc.h"

#include <sbx/sha256.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Beside what is planned an archive has headers, and what came since. */
#define SPARE_BYTES (INT64_C(16) << 20)
#define ITEM_BYTES (INT64_C(4) << 10)

/* One file on its way into its staged file. */
struct sink {
	struct sbx_fetch *fetch;
	struct sbx_fetch_item *item;
	int fd;
	struct sbx_sha256 sha256;
	struct timespec mtime;
	struct sbx_error err; /* set when a callback ends the transfer */
};

/* Sizes are the guest's word: any two of them may be too much together. */
static int64_t sum(int64_t one, int64_t other)
{
	return other <= INT64_MAX - one ? one + other : INT64_MAX;
}

/* The file may have grown since it was counted: the ceilings hold for what arrives (OUT-06). */
static int sink_begin(void *data, const struct sbx_stat *st)
{
	struct sink *sink = data;
	struct sbx_fetch_item *item = sink->item;
	struct sbx_fetch_plan *plan = &sink->fetch->plan;
	int64_t others = plan->bytes > item->st.size ? plan->bytes - item->st.size : 0;
	int64_t total = sum(others, st->size);
	int result = sbx_fetch_cap(&sink->fetch->options->ceilings, item->path, st->size, total,
		plan->entries, &sink->err);
	if (result < 0)
		return result;
	plan->bytes = total;
	item->st.size = st->size;
	sink->mtime = (struct timespec){ .tv_sec = st->mtime_s,
		.tv_nsec = st->mtime_ns > 0 ? st->mtime_ns : 0 };
	sink->fd = sbx_landing_stage(&sink->fetch->landing, st->mode, &item->number, &sink->err);
	return sink->fd < 0 ? sink->fd : 0;
}

static int sink_bytes(void *data, const void *bytes, size_t size)
{
	struct sink *sink = data;
	struct sbx_fetch *fetch = sink->fetch;
	sbx_sha256_update(&sink->sha256, bytes, size);
	const char *next = bytes;
	for (size_t left = size; left;) {
		ssize_t written = write(sink->fd, next, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return sbx_fail_host(
				&sink->err, errno, "%s cannot be written to", fetch->landing.dest);
		next += written;
		left -= (size_t)written;
	}
	sink->item->size += (int64_t)size;
	fetch->read_bytes += (int64_t)size;
	if (fetch->progress && fetch->progress->tick)
		fetch->progress->tick(fetch->progress->data, fetch->read_bytes, fetch->read_files);
	return 0;
}

static int sink_finish(struct sink *sink, struct sbx_error *err)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, sink->mtime };
	/* A time the host's file system cannot hold is no reason to refuse the bytes. */
	(void)futimens(sink->fd, times);
	int closed = close(steal_fd(&sink->fd));
	if (closed < 0)
		return sbx_fail_host(
			err, errno, "%s cannot be written to", sink->fetch->landing.dest);
	sbx_sha256_final(&sink->sha256, sink->item->sha256);
	sink->item->staged = true;
	sink->fetch->read_files++;
	return 0;
}

/* A kept content goes through the same two functions as a transfer. */
static int read_content(struct sink *sink)
{
	struct sbx_fetch_item *item = sink->item;
	int result = sink_begin(sink, &item->st);
	if (result == 0 && item->st.size)
		result = sink_bytes(sink, item->content, (size_t)item->st.size);
	return result;
}

/* What concerns this one entry of a directory and says nothing about the others. */
static bool entry_only(const struct sbx_fetch_item *item, const struct sbx_error *err)
{
	return !item->named &&
	       (err->kind == SBX_KIND_ABSENT || err->kind == SBX_KIND_CONFINED ||
		       err->kind == SBX_KIND_NOT_DIRECTORY || err->kind == SBX_KIND_NOT_REGULAR ||
		       err->kind == SBX_KIND_CHANGED);
}

static int read_item(struct sbx_fetch *fetch, struct sbx_fetch_item *item, struct sbx_error *err)
{
	struct sink sink = { .fetch = fetch, .item = item, .fd = -1 };
	sbx_sha256_init(&sink.sha256);
	struct sbx_reader reader = { .begin = sink_begin, .bytes = sink_bytes, .data = &sink };
	struct sbx_error why = SBX_ERROR_INIT;
	int result = item->content ? read_content(&sink)
				   : fetch->plane->ops->read(
					     fetch->plane, item->path, fetch->call, &reader, &why);
	if (result == 0 && sink.fd < 0)
		result = sbx_fail(&why, EIO, "\"%s\" was read without a beginning", item->path);
	if (result == 0)
		result = sink_finish(&sink, &why);
	if (sink.fd >= 0)
		(void)close(sink.fd); /* its failure is known already */
	free(steal(&item->content));
	if (result == 0)
		return 0;
	if (sink.err.errnum)
		why = sink.err;
	if (entry_only(item, &why)) {
		sbx_fetch_refuse(item, &why);
		return 0;
	}
	*err = why;
	return -why.errnum;
}

/* The files of one directory that are still to be read, sorted by path. */
struct tree {
	struct sbx_fetch_item **wanted;
	size_t count;
	int64_t wanted_bytes, bytes; /* of those, and of all files in it */
	size_t files;
	struct sink sink; /* of the file that is arriving; fd -1: none */
};

static int by_path(const void *a, const void *b)
{
	return strcmp((*(struct sbx_fetch_item *const *)a)->path,
		(*(struct sbx_fetch_item *const *)b)->path);
}

static int by_key(const void *key, const void *item)
{
	return strcmp(key, (*(struct sbx_fetch_item *const *)item)->path);
}

static void tree_collect(struct sbx_fetch_plan *plan, const char *root, struct tree *tree)
{
	size_t length = strlen(root);
	tree->wanted = sbx_alloc_array(plan->count, sizeof(struct sbx_fetch_item *));
	for (size_t i = 0; i < plan->count; i++) {
		struct sbx_fetch_item *item = &plan->items[i];
		if (item->directory || strncmp(item->path, root, length) != 0 ||
			item->path[length] != '/')
			continue;
		tree->files++;
		if (item->result)
			continue; /* a header without a body */
		tree->bytes = sum(tree->bytes, item->st.size);
		if (item->content || item->staged)
			continue;
		tree->wanted[tree->count++] = item;
		tree->wanted_bytes = sum(tree->wanted_bytes, item->st.size);
	}
	qsort(tree->wanted, tree->count, sizeof(struct sbx_fetch_item *), by_path);
}

/* A part is never delivered. */
static void drop_part(struct sink *sink)
{
	if (sink->fd < 0)
		return;
	(void)close(steal_fd(&sink->fd)); /* it will be removed */
	sink->fetch->read_bytes -= sink->item->size;
	sink->item->size = 0;
}

static void tree_again(void *data)
{
	struct tree *tree = data;
	struct sbx_fetch *fetch = tree->sink.fetch;
	drop_part(&tree->sink);
	for (size_t i = 0; i < tree->count; i++) {
		struct sbx_fetch_item *item = tree->wanted[i];
		fetch->read_files -= item->staged;
		fetch->read_bytes -= item->size;
		item->staged = false;
		item->size = 0;
	}
}

static int tree_begin(void *data, const char *path, const struct sbx_stat *st)
{
	struct tree *tree = data;
	struct sbx_fetch_item *const *found =
		bsearch(path, tree->wanted, tree->count, sizeof(struct sbx_fetch_item *), by_key);
	if (!found)
		return 1;
	struct sbx_fetch_item *item = *found;
	tree->sink.item = item;
	if (item->staged)
		return sbx_fail(
			&tree->sink.err, EIO, "the engine's archive holds \"%s\" twice", path);
	struct sbx_stat now = *st;
	/* An archive may have whole seconds only. */
	if (now.mtime_ns < 0 && now.mtime_s == item->st.mtime_s && now.size == item->st.size)
		now.mtime_ns = item->st.mtime_ns;
	sbx_sha256_init(&tree->sink.sha256);
	return sink_begin(&tree->sink, &now);
}

static int tree_bytes(void *data, const void *bytes, size_t size)
{
	struct tree *tree = data;
	return sink_bytes(&tree->sink, bytes, size);
}

static int tree_end(void *data)
{
	struct tree *tree = data;
	return sink_finish(&tree->sink, &tree->sink.err);
}

/* Worth it when most of what would be moved is wanted. */
static int read_tree(struct sbx_fetch *fetch, const char *root, struct sbx_error *err)
{
	struct tree tree = { .sink = { .fetch = fetch, .fd = -1 } };
	struct sbx_plane *plane = fetch->plane;
	const struct sbx_tree_reader reader = { tree_again, tree_begin, tree_bytes, tree_end,
		&tree };
	int result = 0;
	tree_collect(&fetch->plan, root, &tree);
	if (plane->ops->read_tree && tree.count > 1 && !fetch->options->match_count &&
		tree.wanted_bytes >= tree.bytes - tree.wanted_bytes)
		result = plane->ops->read_tree(plane, root,
			sum(tree.bytes, (int64_t)tree.files * ITEM_BYTES + SPARE_BYTES),
			fetch->call, &reader, err);
	drop_part(&tree.sink);
	if (result < 0 && tree.sink.err.errnum) {
		*err = tree.sink.err;
		result = -err->errnum;
	} else if (result < 0 && err->kind == SBX_KIND_CHANGED) {
		tree_again(&tree); /* file by file, what still can be had is had */
		sbx_error_clear(err);
		result = 0;
	}
	free(tree.wanted);
	return result < 0 ? result : 0;
}

int sbx_fetch_read(struct sbx_fetch *fetch, struct sbx_error *err)
{
	int result = 0;
	for (size_t i = 0; result == 0 && i < fetch->plan.count; i++) {
		struct sbx_fetch_item *item = &fetch->plan.items[i];
		if (!item->result && item->directory && item->named)
			result = read_tree(fetch, item->path, err);
	}
	for (size_t i = 0; result == 0 && i < fetch->plan.count; i++) {
		struct sbx_fetch_item *item = &fetch->plan.items[i];
		if (!item->result && !item->directory && !item->staged)
			result = read_item(fetch, item, err);
	}
	return result;
}
