/*
 * plane_tree.c: the files below one directory by one archive in one window, streamed.
 *
 * Read one by one, each is a walk and a request; on a paused Podman that is 70 ms a component. What
 * the archive holds is only offered: the reader knows which paths it wants, and no name out of the
 * archive is more than a key to look one of those up.
 */
#include "../base/alloc.h"
#include "account_guard.h"
#include "guest_path.h"
#include "mounts.h"
#include "plane_archive.h"
#include "tar_read.h"
#include "walk.h"

#include <errno.h>
#include <string.h>

enum { CUT = 1 };

struct tree_reading {
	struct sbx_plane_archive *plane;
	const char *path;
	char *whole; /* absolute */
	const struct sbx_tree_reader *reader;
	int64_t most, left; /* bytes of the archive */
	struct sbx_tar *tar;
	char *top;   /* the directory's own name in the archive */
	bool taking; /* the current entry's bytes are wanted */
	struct sbx_error err;
};

/* The archive begins with the directory itself; all else lies below that name. NULL: not below. */
static const char *below(const struct tree_reading *reading, const struct sbx_tar_entry *entry)
{
	size_t top = strlen(reading->top);
	bool inside = strncmp(entry->name, reading->top, top) == 0 && entry->name[top] == '/';
	return inside && entry->name[top + 1] ? entry->name + top + 1 : NULL;
}

static int begin_top(
	struct tree_reading *reading, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	size_t length = strlen(entry->name);
	while (length && entry->name[length - 1] == '/')
		length--;
	if (entry->type != '5' || !length || memchr(entry->name, '/', length))
		return sbx_fail(
			err, EIO, "the engine's archive does not begin with the directory itself");
	reading->top = sbx_strndup(entry->name, length);
	return 0;
}

static int reader_ended(int result, struct sbx_error *err)
{
	return sbx_fail_kind(err, SBX_KIND_CANCELLED, result < 0 ? -result : ECANCELED,
		"the reader ended the transfer");
}

static int on_entry(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	struct tree_reading *reading = data;
	const struct sbx_tree_reader *reader = reading->reader;
	reading->taking = false;
	if (!reading->top)
		return begin_top(reading, entry, err);
	const char *name = below(reading, entry);
	if (!name)
		return sbx_fail(err, EIO,
			"the engine's archive of the directory holds \"%s\", which is not in it",
			entry->name);
	/* Not begun to be moved: what is too much for a tree may still be read by itself. */
	if (entry->size > reading->left)
		return CUT;
	if (entry->type != '0')
		return 0;
	cleanup_free char *path = sbx_guest_path_join(reading->path, name);
	cleanup_free char *whole = sbx_guest_path_join(reading->whole, name);
	struct sbx_error refused = SBX_ERROR_INIT; /* reading the file by itself says it */
	if (sbx_mounts_check(&reading->plane->container, whole, &refused) < 0)
		return 0;
	const struct sbx_stat st = { .type = SBX_TYPE_FILE,
		.mode = entry->mode,
		.size = entry->size,
		.mtime_s = entry->mtime_s,
		.mtime_ns = entry->mtime_ns };
	int result = reader->begin(reader->data, path, &st);
	reading->taking = result == 0;
	return result < 0 ? reader_ended(result, err) : 0;
}

static int on_body(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct tree_reading *reading = data;
	if (!reading->taking)
		return 0;
	int result = reading->reader->bytes(reading->reader->data, bytes, size);
	return result ? reader_ended(result, err) : 0;
}

static int on_entry_end(void *data, struct sbx_error *err)
{
	struct tree_reading *reading = data;
	if (!reading->taking)
		return 0;
	reading->taking = false;
	int result = reading->reader->end(reading->reader->data);
	return result ? reader_ended(result, err) : 0;
}

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct tree_reading *reading = data;
	reading->left -= (int64_t)size;
	return reading->left < 0 ? CUT : sbx_tar_feed(reading->tar, bytes, size, &reading->err);
}

static int get(struct tree_reading *reading, const struct sbx_call *call, struct sbx_error *err)
{
	static const struct sbx_tar_events events = { on_entry, on_body, on_entry_end };
	struct sbx_plane_archive *plane = reading->plane;
	sbx_error_clear(&reading->err);
	free(steal(&reading->top));
	reading->left = reading->most;
	reading->tar = sbx_tar_create(&events, reading);
	int result = sbx_archive_get(
		plane->engine, plane->container.id, reading->whole, call, on_bytes, reading, err);
	if (!result)
		result = sbx_tar_finish(reading->tar, &reading->err);
	if (!result && !reading->top)
		result = sbx_fail(&reading->err, EIO, "the engine's archive is empty");
	sbx_tar_destroy(reading->tar);
	/* A failure of ours has its sentence in reading, one of the request's in err. */
	if (result < 0 && reading->err.errnum) {
		*err = reading->err;
		return sbx_wrap(err, "%s: %s", plane->container.name, reading->whole);
	}
	return result;
}

/* The directory is not one any more: each file read by itself says what became of it. */
static bool says_where(const struct sbx_error *err)
{
	return err->kind == SBX_KIND_ABSENT || err->kind == SBX_KIND_CONFINED ||
	       err->kind == SBX_KIND_NOT_DIRECTORY;
}

static int read_inside(
	struct sbx_walk *walk, void *data, const struct sbx_call *call, struct sbx_error *err)
{
	struct tree_reading *reading = data;
	const struct sbx_plane_limits *limits = &reading->plane->limits;
	const struct sbx_window_ticket *ticket = &walk->ticket;
	reading->reader->again(reading->reader->data);
	/* While the guest runs, one stat can vouch for one file, and for no tree. */
	if (!ticket->frozen && !ticket->still && !ticket->foreign)
		return CUT;
	if (ticket->frozen && limits->max_frozen_bytes && reading->most > limits->max_frozen_bytes)
		return CUT;
	struct sbx_stat st;
	int result = sbx_walk_stat(walk, reading->path, call, &st, err);
	if (result < 0 && says_where(err)) {
		sbx_error_clear(err);
		return CUT;
	}
	if (result < 0)
		return result;
	bool directory = st.type == SBX_TYPE_DIR;
	sbx_stat_finish(&st);
	if (!directory)
		return CUT;
	result = sbx_account_guard_walk(walk, call, err);
	return result < 0 ? result : get(reading, call, err);
}

int sbx_plane_read_tree(struct sbx_plane *base, const char *path, int64_t most_bytes,
	const struct sbx_call *call, const struct sbx_tree_reader *reader, struct sbx_error *err)
{
	struct tree_reading reading = { .plane = sbx_plane_archive_of(base),
		.path = path,
		.reader = reader,
		.most = most_bytes };
	struct sbx_error local = SBX_ERROR_INIT;
	struct sbx_call moving;
	int result = sbx_guest_path_check(path, false, &local);
	if (!result)
		result = sbx_lane_enter(reading.plane, call, &moving, &local);
	if (!result) {
		reading.whole = sbx_guest_path_join(reading.plane->workdir, path);
		result =
			sbx_walk_run(reading.plane, "read", read_inside, &reading, &moving, &local);
		sbx_lane_leave(reading.plane, &moving);
	}
	free(reading.whole);
	free(reading.top);
	if (result < 0 && err)
		*err = local;
	return result;
}
