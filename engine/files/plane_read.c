/*
 * plane_read.c: one regular file, one version, or an error.
 *
 * Walk, stat and bytes share one window. Small files are held back until the window is confirmed;
 * larger ones stream to the reader as they come, at the engine's speed, each piece after a look
 * whether we still own the window, and end with ESTALE when the window did not hold. Files over
 * max_frozen_bytes are moved while the guest runs and given out only when the walk and the stat,
 * made again afterwards, agree with those before.
 */
#include "../base/alloc.h"
#include "../base/buffer.h"
#include "../base/temporary.h"
#include "account_guard.h"
#include "file_body.h"
#include "guest_path.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { HOLD_BACK_BYTES = 4 << 20, PIECE = 256 * 1024 };

struct reading {
	struct sbx_plane_archive *plane;
	const char *path;
	const struct sbx_reader *reader;
	struct sbx_walk *walk; /* while inside */
	struct sbx_stat st;
	bool begun;		/* the reader has been given something */
	bool outside;		/* too large to be moved in the window */
	struct sbx_buffer held; /* a small file's bytes */
	int spool;		/* a large one's, moved outside; -1: none */
};

static bool same_version(const struct sbx_stat *a, const struct sbx_stat *b)
{
	return a->type == b->type && a->mode == b->mode && a->size == b->size &&
	       a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
}

/* The reader's own no: what it returned is the result. */
static int reader_ended(int result, struct sbx_error *err)
{
	return sbx_fail_kind(err, SBX_KIND_CANCELLED, result < 0 ? -result : ECANCELED,
		"the reader ended the transfer");
}

static int give(struct reading *reading, const void *bytes, size_t size, struct sbx_error *err)
{
	const struct sbx_reader *reader = reading->reader;
	int result = 0;
	if (!reading->begun) {
		reading->begun = true;
		result = reader->begin ? reader->begin(reader->data, &reading->st) : 0;
	}
	if (!result && size)
		result = reader->bytes(reader->data, bytes, size);
	return result ? reader_ended(result, err) : 0;
}

static int stream(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct reading *reading = data;
	int result = sbx_walk_holds(reading->walk, err);
	return result ? result : give(reading, bytes, size, err);
}

static int hold(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct reading *reading = data;
	if (!sbx_buffer_append(&reading->held, bytes, size))
		return sbx_fail(err, EIO, "more bytes than the file has");
	return 0;
}

static int spool(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct reading *reading = data;
	return sbx_temporary_write(reading->spool, bytes, size, err);
}

static int get(struct reading *reading, sbx_body_fn body, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_plane_archive *plane = reading->plane;
	cleanup_free char *whole = sbx_guest_path_join(plane->workdir, reading->path);
	struct sbx_file_body file = { plane->engine, plane->container.id, whole, &reading->st, body,
		reading };
	int result = sbx_file_body_get(&file, call, err);
	return result < 0 && err->errnum ? sbx_wrap(err, "%s", plane->container.name) : result;
}

/* The file as it is now, if it may be read at all. */
static int describe(struct sbx_walk *walk, struct reading *reading, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err)
{
	const struct sbx_plane_limits *limits = &reading->plane->limits;
	int result = sbx_walk_stat(walk, reading->path, call, out, err);
	if (result < 0)
		return result;
	if (out->type != SBX_TYPE_FILE)
		result = sbx_walk_refuse_type(walk, reading->path, out, err);
	else if (out->size > limits->max_file_bytes)
		result = sbx_fail(err, EFBIG,
			"%s: \"%s\" has %lld bytes, and the ceiling is %lld (a mount's "
			"max_file_bytes, --max-file of get and run)",
			reading->plane->container.name, reading->path, (long long)out->size,
			(long long)limits->max_file_bytes);
	if (result < 0)
		sbx_stat_finish(out);
	return result;
}

/* Walk and stat once more: what was moved without a window counts only if they agree. */
static int verify(
	struct sbx_walk *walk, void *data, const struct sbx_call *call, struct sbx_error *err)
{
	struct reading *reading = data;
	struct sbx_stat now;
	int result = describe(walk, reading, call, &now, err);
	if (result < 0)
		return result;
	bool same = same_version(&now, &reading->st);
	sbx_stat_finish(&now);
	return same ? 0
		    : sbx_fail(err, ESTALE, "%s: \"%s\" changed while it was read",
			      reading->plane->container.name, reading->path);
}

static int read_inside(
	struct sbx_walk *walk, void *data, const struct sbx_call *call, struct sbx_error *err)
{
	struct reading *reading = data;
	const struct sbx_plane_limits *limits = &reading->plane->limits;
	if (reading->begun)
		return sbx_fail(err, ESTALE,
			"%s: while \"%s\" was read, somebody resumed the sandbox",
			reading->plane->container.name, reading->path);
	sbx_stat_finish(&reading->st);
	sbx_buffer_clear(&reading->held);
	int result = describe(walk, reading, call, &reading->st, err);
	if (!result)
		result = sbx_account_guard_walk(walk, call, err);
	if (result < 0)
		return result;
	int64_t size = reading->st.size;
	bool frozen = walk->ticket.frozen;
	reading->outside = frozen && limits->max_frozen_bytes && size > limits->max_frozen_bytes;
	if (reading->outside)
		return 0;
	reading->held.limit = HOLD_BACK_BYTES;
	reading->walk = walk;
	result = get(reading, size <= HOLD_BACK_BYTES ? hold : stream, call, err);
	/* With freeze=never the guest ran meanwhile: then this is all that can be said. */
	if (!result && !frozen && !walk->ticket.still && !walk->ticket.foreign)
		result = verify(walk, reading, call, err);
	return result;
}

static int read_outside(struct reading *reading, const struct sbx_call *call, struct sbx_error *err)
{
	reading->spool = sbx_temporary_open(err);
	if (reading->spool < 0)
		return reading->spool;
	/* Not in the walk's lingering window: the resume would wait for the whole transfer. */
	sbx_windows_rest(reading->plane->windows);
	int result = get(reading, spool, call, err);
	return result ? result : sbx_walk_run(reading->plane, "read", verify, reading, call, err);
}

static int give_spool(struct reading *reading, struct sbx_error *err)
{
	cleanup_free char *piece = sbx_alloc(PIECE);
	for (int64_t offset = 0; offset < reading->st.size;) {
		ssize_t got = pread(reading->spool, piece, PIECE, offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return sbx_fail_errno(
				err, got ? errno : EIO, "reading the spool file on this host");
		int result = give(reading, piece, (size_t)got, err);
		if (result)
			return result;
		offset += got;
	}
	return 0;
}

int sbx_plane_read(struct sbx_plane *base, const char *path, const struct sbx_call *call,
	const struct sbx_reader *reader, struct sbx_error *err)
{
	struct reading reading = {
		.plane = sbx_plane_archive_of(base), .path = path, .reader = reader, .spool = -1
	};
	struct sbx_error local = SBX_ERROR_INIT;
	struct sbx_call moving;
	int result = *path ? sbx_guest_path_check(path, false, &local) : 0;
	if (!result)
		result = sbx_lane_enter(reading.plane, call, &moving, &local);
	if (!result) {
		result =
			sbx_walk_run(reading.plane, "read", read_inside, &reading, &moving, &local);
		if (!result && reading.outside)
			result = read_outside(&reading, &moving, &local);
		sbx_lane_leave(reading.plane, &moving);
	}
	/* Held-back bytes are given without the lane: a slow reader keeps nobody waiting. */
	if (!result && reading.outside)
		result = give_spool(&reading, &local);
	else if (!result && !reading.begun)
		result = give(&reading, reading.held.data, reading.held.size, &local);
	sbx_stat_finish(&reading.st);
	sbx_buffer_finish(&reading.held);
	if (reading.spool >= 0)
		(void)close(reading.spool); /* unlinked and done with */
	if (result < 0 && err)
		*err = local;
	return result;
}
