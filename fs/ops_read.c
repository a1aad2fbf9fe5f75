/*
 * ops_read.c: opening, reading and closing.
 *
 * An open ends with a version that was confirmed at most the entry timeout ago: by a listing, by a
 * stat, or by the transfer that the open itself started. A node of another version answers ESTALE,
 * and the kernel looks the name up once more.
 */
#include "ops.h"

#include "control.h"
#include "passthrough.h"
#include "transfer.h"
#include "tree.h"

#include <fcntl.h>

enum {
	READ_MAX = 1 << 20,
	/* Below two pages libfuse does not splice, and what it then does is slow. */
	SPLICE_MIN = 8192,
};

/* A small content goes into the kernel's pages with the open, so that no READ comes for it. Only
 * where nobody has the file open: a READ that waits for us holds the pages, and the kernel would
 * let us wait for them (fuse-guide §2). What it does not take, it asks for. */
static void fill_pages(const struct sbx_request *request, const struct sbx_spool *spool)
{
	struct sbx_fs *fs = request->fs;
	const struct sbx_node *node = request->node;
	if (node->kind != SBX_NODE_OUTPUT_FILE || node->served || node->spools || !spool->memory ||
		!spool->complete || !spool->size)
		return;
	struct fuse_bufvec bytes = FUSE_BUFVEC_INIT((size_t)spool->size);
	bytes.buf[0].mem = spool->memory;
	int rc = fuse_lowlevel_notify_store(fs->session, node->id, 0, &bytes, FUSE_BUF_NO_SPLICE);
	if (rc)
		sbx_log(SBX_LOG_DEBUG, "pages for the kernel: %s", strerror(-rc));
	else
		fs->counters.bytes_read += (uint64_t)spool->size;
}

static void opened(struct sbx_request *request, struct sbx_spool *spool)
{
	fill_pages(request, spool);
	struct sbx_handle *handle = sbx_handle_create(request->fs, request->node);
	handle->spool = spool;
	request->node->spools++;
	request->node->served = true;
	request->fi.noflush = 1;
	request->fi.keep_cache =
		!sbx_passthrough_open(request, handle); /* a version never changes */
	sbx_answer_open(request, handle);
}

static struct sbx_spool *find_spool(const struct sbx_node *node)
{
	struct sbx_spools *spools = node->view->fs->spools;
	const char *id = node->view->sandbox.container.id;
	cleanup_free char *key = sbx_spool_key(id, node->path, &node->st);
	struct sbx_spool *spool = sbx_spool_find(spools, key);
	if (!spool && node->st.size == 0) {
		sbx_spool_seed(spools, sbx_strdup(key), "", 0);
		spool = sbx_spool_find(spools, key);
	}
	return spool;
}

static void stale(struct sbx_request *request)
{
	request->fs->counters.stale_opens++;
	sbx_answer_error(request, ESTALE);
}

/* The path's fact holds: is it the version that was opened? */
static bool still_current(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	struct sbx_view *view = node->view;
	const struct sbx_fact *fact = sbx_fact_fresh(view, node->path);
	if (!fact) {
		/* The answer took longer than it holds, or the sandbox went away. */
		sbx_answer_error(request, view->gone ? ENOENT : ETIMEDOUT);
		return false;
	}
	if (fact->result) {
		sbx_answer_error(request, sbx_request_errno(fact->result, NULL));
		return false;
	}
	struct sbx_node *now =
		sbx_tree_node(view, node->path, &fact->st, fact->when_ms, fact->asked_s);
	bool same = now == node;
	if (!same) {
		sbx_node_release(view->fs, now);
		stale(request);
	}
	return same;
}

static void transfer_begun(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result) {
		sbx_answer_failure(request, result, err);
		return;
	}
	if (!still_current(request))
		return;
	struct sbx_spool *spool = find_spool(request->node);
	if (spool)
		opened(request, spool);
	else
		stale(request);
}

static void version_asked(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_node *node = request->node;
	if (result) {
		sbx_answer_failure(request, result, err);
		return;
	}
	if (!still_current(request))
		return;
	struct sbx_spool *spool = find_spool(node);
	if (spool)
		opened(request, spool);
	else
		sbx_transfer_wait(request, node->view, node->path, transfer_begun);
}

/* After a listing: the version it saw, if it is certain which. */
static void directory_glanced(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_node *node = request->node;
	struct sbx_node *now = sbx_directory_node_now(request);
	(void)result; /* what it did not tell is asked for by itself */
	(void)err;
	struct sbx_spool *spool = NULL;
	if (now && now != node) {
		sbx_node_release(request->fs, now);
		stale(request);
		return;
	}
	if (sbx_tree_fresh(request->fs, node->verified_ms))
		spool = find_spool(node);
	if (spool)
		opened(request, spool);
	else
		sbx_fact_wait(request, node->view, node->path, version_asked);
}

void sbx_open_guest_file(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	struct sbx_view *view = node->view;
	if (!node->current) {
		stale(request);
		return;
	}
	struct sbx_spool *spool = find_spool(node);
	if (!spool) {
		sbx_transfer_wait(request, view, node->path, transfer_begun);
	} else if (sbx_tree_fresh(request->fs, node->verified_ms)) {
		request->fs->counters.spool_hits++;
		opened(request, spool);
	} else {
		sbx_spool_unref(request->fs->spools, spool);
		if (!sbx_directory_glance_above(request, directory_glanced))
			sbx_fact_wait(request, view, node->path, version_asked);
	}
}

static void refuse(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	struct sbx_view *view = node->view;
	cleanup_free char *component = sbx_printf("%s/%s", view->sandbox.workdir, node->path);
	sbx_audit_add(&view->audit, view->sandbox.container.name, "open", node->path, component,
		sbx_type_name(node->st.type));
	sbx_answer_error(request, sbx_tree_refusal(node));
}

/* Which ceiling it was, and that it is an option's, no errno tells. */
static void refuse_size(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	cleanup_free char *why =
		sbx_printf("%s: \"%s\" has %lld bytes, and the ceiling is %lld (the mount option "
			   "max_file_bytes)",
			node->view->sandbox.container.name, node->path, (long long)node->st.size,
			(long long)request->fs->options->max_file_bytes);
	sbx_refused_reason(node->view, node->path, why);
	sbx_answer_error(request, EFBIG);
}

void sbx_op_open(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	bool writes = (request->fi.flags & O_ACCMODE) != O_RDONLY || request->fi.flags & O_TRUNC;
	if (sbx_node_gone(node))
		sbx_answer_error(request, ENOENT);
	else if (node->kind == SBX_NODE_REFUSED)
		refuse(request);
	else if (writes)
		sbx_answer_error(request, EROFS);
	else if (node->kind == SBX_NODE_CONTROL_FILE)
		sbx_control_open(request);
	else if (node->kind != SBX_NODE_OUTPUT_FILE)
		sbx_answer_error(request, EISDIR);
	else if (node->st.size > request->fs->options->max_file_bytes)
		refuse_size(request);
	else
		sbx_open_guest_file(request);
}

/* The range is available. */
static void answer_range(struct sbx_request *request, struct sbx_spool *spool, size_t size)
{
	struct sbx_fs *fs = request->fs;
	int64_t offset = request->offset;
	fs->counters.bytes_read += size;
	if (spool->memory) {
		sbx_answer_bytes(request, spool->memory + offset, size);
	} else if (fs->splices && size >= SPLICE_MIN &&
		   sbx_spool_in_file(spool, offset + (int64_t)size)) {
		sbx_answer_file(request, spool->fd, offset, size);
	} else {
		if (!fs->read_buffer)
			fs->read_buffer = sbx_alloc(READ_MAX);
		int64_t count = sbx_spool_read(spool, fs->read_buffer, size, offset);
		if (count < 0)
			sbx_answer_error(request, EIO);
		else
			sbx_answer_bytes(request, fs->read_buffer, (size_t)count);
	}
}

static void read_spool(struct sbx_request *request);

static void bytes_came(struct sbx_request *request, int result, const struct sbx_error *err)
{
	(void)result; /* the spool says what is there and what failed */
	(void)err;
	read_spool(request);
}

static void read_spool(struct sbx_request *request)
{
	struct sbx_spool *spool = request->handle->spool;
	int64_t end = request->offset + (int64_t)request->size;
	if (request->size > READ_MAX)
		end = request->offset + READ_MAX;
	if (end > spool->size)
		end = spool->size;
	if (request->offset >= end) {
		sbx_answer_bytes(request, NULL, 0);
		return;
	}
	bool readable = sbx_spool_readable(spool) >= end;
	if (!readable && spool->error)
		sbx_answer_error(request, spool->error);
	else if (readable || sbx_transfer_want(spool, end))
		answer_range(request, spool, (size_t)(end - request->offset));
	else
		sbx_request_park(request, &spool->readers, bytes_came);
}

void sbx_op_read(struct sbx_request *request)
{
	const struct sbx_handle *handle = request->handle;
	if (handle->spool) {
		read_spool(request);
	} else if (handle->text) {
		size_t at = (size_t)request->offset;
		size_t left = at < handle->text_size ? handle->text_size - at : 0;
		sbx_answer_bytes(request, left ? handle->text + at : NULL,
			left < request->size ? left : request->size);
	} else {
		sbx_answer_error(request, EISDIR);
	}
}

void sbx_op_release(struct sbx_request *request)
{
	if (request->handle->spool)
		sbx_transfer_left(request->handle->spool);
	sbx_handle_release(request->fs, request->handle);
	sbx_answer_error(request, 0);
}
