/* dir_archive.c: see dir_archive.h. */
#include "dir_archive.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "dir_tree.h"
#include "listing.h"
#include "tar_read.h"

#include <errno.h>
#include <string.h>

/* Of all contents kept for one listing. */
enum { CONTENT_TOTAL = 8 << 20, HEADER_BYTES = 512 };

struct reading {
	struct sbx_dir_budget left;
	struct sbx_dir_tree *tree;
	struct sbx_tar *tar;
	char *top; /* the directory's own name in the archive */
	int64_t kept;
	struct sbx_entry *keeping; /* the current entry where its content is kept */
	struct sbx_buffer content;
	struct sbx_error *err;
};

/* What of a path in the archive lies below the directory; NULL: not below it. */
static const char *below(const struct reading *reading, const char *path)
{
	size_t top = strlen(reading->top);
	if (strncmp(path, reading->top, top) != 0 || path[top] != '/')
		return NULL;
	return path + top + 1;
}

/* The entry's name below the directory, without a directory's trailing slash; NULL: not below it.
 */
static char *name_of(const struct reading *reading, const struct sbx_tar_entry *entry)
{
	const char *rest = below(reading, entry->name);
	if (!rest)
		return NULL;
	char *name = sbx_strdup(rest);
	size_t length = strlen(name);
	if (entry->type == '5' && length && name[length - 1] == '/')
		name[length - 1] = '\0';
	return name;
}

static int begin_directory(
	struct reading *reading, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	size_t length = strlen(entry->name);
	while (length && entry->name[length - 1] == '/')
		length--;
	if (entry->type != '5')
		return sbx_fail(err, ESTALE, "the engine's archive is not that of a directory");
	if (!length || memchr(entry->name, '/', length))
		return sbx_fail(err, EIO,
			"the engine's archive of the directory begins with the name \"%s\"",
			entry->name);
	reading->top = sbx_strndup(entry->name, length);
	return 0;
}

static enum sbx_type type_of(char tar_type)
{
	switch (tar_type) {
	case '2':
		return SBX_TYPE_LINK;
	case '3':
	case '4':
		return SBX_TYPE_DEVICE;
	case '5':
		return SBX_TYPE_DIR;
	case '6':
		return SBX_TYPE_FIFO;
	default:
		return SBX_TYPE_FILE;
	}
}

bool sbx_dir_budget_pay(struct sbx_dir_budget *left, int64_t size, bool child)
{
	/* Sizes are the guest's word, up to INT64_MAX: nothing may be added to them. */
	int64_t beyond = child && size > left->each ? size - left->each : 0;
	if (beyond > left->spare || size > left->total ||
		(!child && size > left->deeper - HEADER_BYTES))
		return false;
	left->spare -= beyond;
	if (!child)
		left->deeper -= HEADER_BYTES + size;
	return true;
}

static int add(struct reading *reading, const char *name, const struct sbx_tar_entry *entry,
	struct sbx_error *err)
{
	const char *first = entry->type == '1' ? below(reading, entry->link) : NULL;
	struct sbx_entry *row;
	struct sbx_stat st = {
		.type = type_of(entry->type),
		.mode = entry->mode,
		.size = entry->type == '1' ? -1 : entry->size,
		.mtime_s = entry->mtime_s,
		.mtime_ns = entry->mtime_ns,
		.link_target = entry->type == '2' ? sbx_strdup(entry->link) : NULL,
	};
	int result = sbx_dir_tree_add(reading->tree, name, &st, first, &row, err);
	if (result < 0) {
		sbx_stat_finish(&st);
		return result;
	}
	if (row && entry->type == '0' && entry->size <= reading->left.content &&
		entry->size <= CONTENT_TOTAL - reading->kept)
		reading->keeping = row;
	return 0;
}

static int on_entry(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	struct reading *reading = data;
	reading->keeping = NULL;
	if (!reading->top)
		return begin_directory(reading, entry, err);
	cleanup_free char *name = name_of(reading, entry);
	if (!name)
		return sbx_fail(err, EIO,
			"the engine's archive of the directory holds \"%s\", which is not in it",
			entry->name);
	bool child = !strchr(name, '/');
	int result = add(reading, name, entry, err);
	if (!result && !sbx_dir_budget_pay(&reading->left, entry->size, child))
		return SBX_DIR_CUT;
	return result;
}

static int on_body(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct reading *reading = data;
	if (reading->keeping && !sbx_buffer_append(&reading->content, bytes, size))
		return sbx_fail(err, EIO, "a small file has more bytes than its size");
	return 0;
}

static int on_entry_end(void *data, struct sbx_error *err)
{
	struct reading *reading = data;
	if (!reading->keeping)
		return 0;
	reading->keeping->content =
		sbx_strndup(sbx_buffer_text(&reading->content), reading->content.size);
	reading->kept += (int64_t)reading->content.size;
	sbx_buffer_clear(&reading->content);
	return 0;
}

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct reading *reading = data;
	reading->left.total -= (int64_t)size;
	if (reading->left.total < 0)
		return SBX_DIR_CUT;
	return sbx_tar_feed(reading->tar, bytes, size, reading->err);
}

int sbx_dir_archive_get(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_dir_budget *budget, const struct sbx_call *call,
	struct sbx_listing *listing, struct sbx_error *err)
{
	static const struct sbx_tar_events events = { on_entry, on_body, on_entry_end };
	struct sbx_error own = SBX_ERROR_INIT;
	struct reading reading = {
		.left = *budget,
		.err = &own,
	};
	reading.content.limit = budget->content ? (size_t)budget->content : 1;
	reading.tree = sbx_dir_tree_create(listing, budget->deep, budget->max_entries);
	reading.tar = sbx_tar_create(&events, &reading);
	int result = sbx_archive_get(engine, id, path, call, on_bytes, &reading, err);
	if (!result)
		result = sbx_tar_finish(reading.tar, &own);
	if (!result && !reading.top)
		result = sbx_fail(&own, EIO, "the engine's archive is empty");
	if (result >= 0 && sbx_dir_tree_close(reading.tree, result == 0,
				   CONTENT_TOTAL - reading.kept, &own) < 0)
		result = -own.errnum;
	sbx_tar_destroy(reading.tar);
	sbx_dir_tree_destroy(reading.tree);
	sbx_buffer_finish(&reading.content);
	free(reading.top);
	/* A failure of ours has its sentence in own, one of the request's in err. */
	if (result < 0 && own.errnum) {
		(void)sbx_wrap(&own, "%s", path); /* returns the same result */
		if (err)
			*err = own;
	}
	return result;
}
