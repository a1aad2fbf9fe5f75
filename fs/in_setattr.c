/*
 * in_setattr.c: size, mode and times of what is under in/. They travel with the bytes, but for
 * large files that have landed (in_attributes.c). Owners are the guest's by design, so chown
 * succeeds and changes nothing. A value that is held already is no change (vim sets the same mode
 * after its fsync).
 */
#include "in_file.h"

#include <time.h>

static void apply(struct sbx_request *request);

static void apply_again(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result)
		sbx_answer_failure(request, result, err);
	else
		apply(request);
}

struct timespec sbx_in_wanted_time(const struct sbx_in_op *op)
{
	struct timespec at = op->attr.st_mtim;
	if (op->to_set & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec = at.tv_nsec / 1000 * 1000; /* what every engine keeps */
	return at;
}

/* Whether anything of it differs from the node. */
static bool changes(const struct sbx_in_op *op, const struct sbx_stat *st)
{
	struct timespec at = sbx_in_wanted_time(op);
	if ((op->to_set & FUSE_SET_ATTR_SIZE) && op->attr.st_size != st->size)
		return true;
	if ((op->to_set & FUSE_SET_ATTR_MODE) && (op->attr.st_mode & 0777) != (st->mode & 0777))
		return true;
	return (op->to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) &&
	       (at.tv_sec != st->mtime_s || (int32_t)at.tv_nsec != st->mtime_ns);
}

static int change(struct sbx_in_file *file, const struct sbx_in_op *op, struct sbx_error *err)
{
	bool resize = (op->to_set & FUSE_SET_ATTR_SIZE) && op->attr.st_size != file->size;
	int result = sbx_in_file_change(file, resize, err);
	if (!result && resize && ftruncate(file->fd, op->attr.st_size) < 0)
		result = sbx_fail_errno(err, errno, "cannot resize %s", file->path);
	if (result)
		return result;
	if (resize) {
		file->size = op->attr.st_size;
		file->blank = file->blank && !file->size;
		file->spoiled = file->size ? file->spoiled : 0;
	}
	if (op->to_set & FUSE_SET_ATTR_MODE)
		file->mode = op->attr.st_mode & 0777;
	if (op->to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) {
		struct timespec at = sbx_in_wanted_time(op);
		file->mtime_s = at.tv_sec;
		file->mtime_ns = (int32_t)at.tv_nsec;
	}
	sbx_in_file_show(file);
	return 0;
}

static void answer_attr(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_in_op *op = sbx_in_op(request);
	if (result && op->file->landed_version < op->version)
		sbx_answer_failure(request, result, err);
	else
		sbx_answer_attr(request, request->node);
}

/* Nobody has it open for writing, so no close will come to send it. */
static void send(struct sbx_request *request, struct sbx_in_file *file)
{
	struct sbx_in_op *op = sbx_in_op(request);
	bool local = file->temporary || request->fs->options->async;
	op->version = file->version;
	if (!op->file) {
		op->file = file;
		sbx_in_file_ref(file);
	}
	struct sbx_error err = SBX_ERROR_INIT;
	if (local) {
		int result = sbx_in_note(file, &err);
		answer_attr(request, result, &err);
		if (!result && !file->temporary)
			sbx_in_upload_soon(file);
		return;
	}
	sbx_in_wait_long(request);
	sbx_request_park(request, &file->settled, answer_attr);
	sbx_in_upload(file);
}

static bool begins_anew(const struct sbx_in_op *op)
{
	return (op->to_set & FUSE_SET_ATTR_SIZE) && !op->attr.st_size;
}

/* On staged bytes that nothing else touches now. */
static void apply_staged(struct sbx_request *request, struct sbx_in_file *file)
{
	struct sbx_in_op *op = sbx_in_op(request);
	struct sbx_error err = SBX_ERROR_INIT;
	if (file->spoiled && !begins_anew(op)) {
		sbx_answer_error(request, file->spoiled);
		return;
	}
	int result = sbx_in_file_open(file, &err);
	if (!result)
		result = change(file, op, &err);
	if (result)
		sbx_answer_failure(request, result, &err);
	else if (file->writers || !file->linked)
		sbx_answer_attr(request, request->node);
	else
		send(request, file);
}

/* The bytes are the guest's: they are fetched to be sent again, unless they are cut off anyway. */
static void fetch(struct sbx_request *request)
{
	struct sbx_in_op *op = sbx_in_op(request);
	struct sbx_node *node = request->node;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_in_file *file;
	bool nothing_left = begins_anew(op);
	if (!node->current || node->view->gone) {
		sbx_answer_error(request, ESTALE);
		return;
	}
	int result = sbx_in_file_create(node->view, node->path, node->st.mode, &file, &err);
	if (result) {
		sbx_answer_failure(request, result, &err);
		return;
	}
	file->landed = SBX_LANDED_YES;
	if (nothing_left) {
		sbx_in_file_bind(file, node);
		apply_staged(request, file);
		return;
	}
	file->size = node->st.size;
	file->mtime_s = node->st.mtime_s;
	file->mtime_ns = node->st.mtime_ns;
	sbx_in_file_bind(file, node);
	sbx_in_wait_long(request);
	sbx_in_fetch(file);
	sbx_request_park(request, &file->settled, apply_again);
}

static void set_in_guest(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (sbx_in_guest_cannot(result)) {
		sbx_in_op(request)->resend = true;
		apply(request);
	} else if (result) {
		sbx_answer_failure(request, result, err);
	} else if (!request->node->current) {
		sbx_answer_error(request, ESTALE); /* another version: the kernel looks again */
	} else {
		sbx_answer_attr(request, request->node);
	}
}

static void apply(struct sbx_request *request)
{
	struct sbx_in_op *op = sbx_in_op(request);
	struct sbx_in_file *file = request->node->in;
	if (file && sbx_in_file_busy(file))
		sbx_request_park(request, &file->free, apply_again);
	else if (!changes(op, &request->node->st))
		sbx_answer_attr(request, request->node);
	else if (sbx_in_sets_in_guest(request, op))
		sbx_in_set_in_guest(request, set_in_guest);
	else if (!file)
		fetch(request);
	else
		apply_staged(request, file);
}

void sbx_in_setattr(struct sbx_request *request, const struct stat *attr, int to_set)
{
	struct sbx_in_op *op = sbx_in_op(request);
	int64_t max = request->fs->options->max_in_bytes;
	op->attr = *attr;
	op->to_set = to_set;
	if ((to_set & FUSE_SET_ATTR_SIZE) && attr->st_size > max)
		sbx_answer_error(request, EFBIG);
	else if (!changes(op, &request->node->st))
		sbx_answer_attr(request, request->node);
	else if (request->node->kind != SBX_NODE_IN_FILE)
		sbx_in_setattr_directory(request);
	else
		sbx_in_admit(request->node->view, request, apply);
}
