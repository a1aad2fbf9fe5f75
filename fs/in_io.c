/*
 * in_io.c: reading, writing, flush and fsync of files under in/.
 *
 * When a close may be acknowledged (fuse-guide §5): FLUSH comes once per close of each duplicate,
 * and the first one before anything was written where a shell redirects; so what is still blank is
 * left to RELEASE, and what is not dirty is acknowledged at once.
 */
#include "in_file.h"

#include "ops.h"

#include <inttypes.h>

static void read_staged(struct sbx_request *request, struct sbx_in_file *file)
{
	cleanup_free char *buffer = sbx_alloc(request->size);
	size_t used = 0;
	while (used < request->size) {
		ssize_t n = pread(file->fd, buffer + used, request->size - used,
			request->offset + (int64_t)used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			sbx_answer_error(request, errno);
			return;
		}
		if (!n)
			break;
		used += (size_t)n;
	}
	request->fs->counters.bytes_read += used;
	sbx_answer_bytes(request, buffer, used);
}

/* The node's pages are shared by all who have it open: while there are staged bytes, every reader
 * gets those, also one that opened what the guest had. */
void sbx_in_read(struct sbx_request *request)
{
	struct sbx_in_handle *mine = request->handle->in;
	struct sbx_in_file *file = mine ? mine->file : request->node->in;
	struct sbx_error err = SBX_ERROR_INIT;
	if (file && !file->loading && sbx_in_file_open(file, &err))
		sbx_answer_failure(request, -err.errnum, &err);
	else if (file && !file->loading)
		read_staged(request, file);
	else if (request->handle->spool && request->node->overwritten)
		sbx_answer_error(request, ESTALE);
	else if (request->handle->spool)
		sbx_op_read(request);
	else
		sbx_answer_error(request, EIO);
}

/* As much as fits; -errno when nothing did. */
static int64_t put_bytes(struct sbx_in_file *file, const char *bytes, size_t size, int64_t offset)
{
	size_t done = 0;
	while (done < size) {
		ssize_t n = pwrite(file->fd, bytes + done, size - done, offset + (int64_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done ? (int64_t)done : -errno;
		done += (size_t)n;
	}
	return (int64_t)done;
}

static int64_t write_staged(struct sbx_in_file *file, const struct sbx_request *request,
	const char *bytes, struct sbx_error *err)
{
	int64_t max = request->fs->options->max_in_bytes;
	int64_t size = (int64_t)request->size;
	if (size > max || request->offset > max - size)
		return sbx_fail(err, EFBIG,
			"%s is larger than a file under in/ may be, %" PRId64
			" bytes (the mount option max_in_bytes)",
			file->path, max);
	int result = sbx_in_file_change(file, true, err);
	if (result)
		return result;
	int64_t done = put_bytes(file, bytes, request->size, request->offset);
	return done < 0 ? sbx_fail_errno(err, (int)-done, "cannot stage %s", file->path) : done;
}

static void write_again(struct sbx_request *request, int result, const struct sbx_error *err)
{
	cleanup_free char *bytes = sbx_in_op(request)->bytes;
	sbx_in_op(request)->bytes = NULL;
	sbx_in_write(request, bytes);
}

void sbx_in_write(struct sbx_request *request, const char *bytes)
{
	struct sbx_in_handle *mine = request->handle->in;
	struct sbx_in_file *file = mine ? mine->file : NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	if (!file) {
		sbx_answer_error(request, EBADF);
		return;
	}
	if (file->lost) { /* no place is left where the bytes could be kept or sent */
		sbx_answer_error(request, ESTALE);
		return;
	}
	if (sbx_in_file_busy(file)) { /* an upload reads it: what it sends must be one version */
		char *copy = sbx_alloc(request->size);
		memcpy(copy, bytes, request->size);
		sbx_in_op(request)->bytes = copy;
		sbx_in_wait_long(request);
		sbx_request_park(request, &file->free, write_again);
		return;
	}
	int64_t done = write_staged(file, request, bytes, &err);
	if (done < 0) {
		if (sbx_in_file_dirty(file))
			sbx_in_file_spoil(file, &err);
		sbx_answer_failure(request, (int)done, &err);
		return;
	}
	file->blank = false;
	if (request->offset + done > file->size)
		file->size = request->offset + done;
	sbx_in_file_show(file);
	sbx_answer_written(request, (size_t)done);
}

static void kept(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_in_op *op = sbx_in_op(request);
	if (op->file->kept_version >= op->version || op->file->landed_version >= op->version) {
		sbx_answer_error(request, 0);
	} else if (!op->file->linked) {
		sbx_answer_error(request, op->file->lost ? ESTALE : 0);
	} else if (result) {
		sbx_answer_failure(request, result, err);
	} else if (op->file->moving) { /* its record would name a path of the past */
		sbx_request_park(request, &op->file->free, kept);
	} else {
		sbx_request_park(request, &op->file->settled, kept);
		sbx_in_keep(op->file);
	}
}

static void answer_when_kept(struct sbx_request *request, struct sbx_in_file *file)
{
	struct sbx_in_op *op = sbx_in_op(request);
	op->file = file;
	op->version = file->version;
	sbx_in_file_ref(file);
	kept(request, 0, NULL);
}

static void settle(struct sbx_request *request, bool barrier);

static void settle_again(struct sbx_request *request, int result, const struct sbx_error *err)
{
	settle(request, false); /* what made it wait is over, however it ended */
}

/* A close that uploads nothing. */
static void answer_when_noted(struct sbx_request *request, struct sbx_in_file *file)
{
	struct sbx_error err = SBX_ERROR_INIT;
	if (file->noted_version != file->version && sbx_in_file_busy(file)) {
		sbx_in_wait_long(request);
		sbx_request_park(request, &file->free, settle_again);
		return;
	}
	int result = file->noted_version == file->version ? 0 : sbx_in_note(file, &err);
	if (result) {
		sbx_answer_failure(request, result, &err);
		return;
	}
	if (!file->temporary)
		sbx_in_upload_soon(file);
	sbx_answer_error(request, 0);
}

/* What a flush or fsync has to wait for, if anything. */
static void settle(struct sbx_request *request, bool barrier)
{
	struct sbx_in_handle *mine = request->handle->in;
	struct sbx_in_file *file = mine ? mine->file : NULL;
	if (!file && barrier) /* it was opened before the file was ours */
		file = request->node->in;
	if (!file || !sbx_in_file_dirty(file) || (!barrier && !mine->writes)) {
		sbx_answer_error(request, 0);
		return;
	}
	bool waits = barrier || file->temporary;
	if (!file->linked)
		sbx_answer_error(request, file->lost ? ESTALE : 0);
	else if (file->spoiled)
		sbx_answer_error(request, file->spoiled);
	else if (!waits && file->blank)
		sbx_answer_error(request, 0);
	else if (!barrier && (file->temporary || request->fs->options->async))
		answer_when_noted(request, file);
	else if (file->temporary)
		answer_when_kept(request, file);
	else
		sbx_in_answer_when_landed(request, file);
}

void sbx_in_flush(struct sbx_request *request)
{
	settle(request, false);
}

void sbx_in_fsync(struct sbx_request *request)
{
	settle(request, true);
}
