/*
 * in_open.c: opening and closing files under in/.
 *
 * Whoever may write gets the staged bytes: new and empty, or the guest's fetched first. Whoever
 * only reads gets them if there are any, else what the guest has, as outputs are read.
 */
#include "in_file.h"

#include "ops.h"

static bool writes(const struct sbx_request *request)
{
	return (request->fi.flags & O_ACCMODE) != O_RDONLY || (request->fi.flags & O_TRUNC);
}

static struct sbx_handle *open_file(struct sbx_request *request, struct sbx_in_file *file)
{
	struct sbx_handle *handle = sbx_handle_create(request->fs, sbx_in_file_node(file));
	struct sbx_in_handle *mine = sbx_alloc(sizeof(*mine));
	mine->file = file;
	mine->writes = writes(request);
	sbx_in_file_ref(file);
	file->handles++;
	file->writers += mine->writes;
	handle->in = mine;
	/* The node is the file's for as long as we have its newest bytes: its pages stay right. */
	request->fi.keep_cache = 1;
	return handle;
}

/* The mount ends under a writer: what there is may be half of what is meant, so it is kept for
 * `sbxfs pending` and never sent by itself. What was acknowledged is on record as it was. */
static void keep_part(struct sbx_in_file *file)
{
	struct sbx_fs *fs = file->home->view->fs;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_staged staged;
	if (file->recorded || file->blank)
		return;
	sbx_in_file_describe(file, &staged);
	staged.open = true;
	if (sbx_staging_record(fs->in->staging, &staged, -1, false, &err))
		sbx_log(SBX_LOG_WARNING, "%s", err.message);
	sbx_log(SBX_LOG_WARNING, "%s: %s was being written when the mount ended",
		staged.sandbox_name, staged.path);
	sbx_staged_finish(&staged);
}

/* Whether its writers may still be in the middle. After an unmount there are none, only a RELEASE
 * that was lost; it is needed for a file that nothing was written to. */
static bool cut_short(const struct sbx_in_file *file)
{
	const struct sbx_fs *fs = file->home->view->fs;
	return fs->leaving && !(file->blank && fuse_session_exited(fs->session));
}

/* The last chance to send what was written after the last FLUSH, by mmap for one. */
static void last_writer_left(struct sbx_in_file *file)
{
	if (!file->linked || !sbx_in_file_dirty(file) || file->spoiled)
		return;
	if (cut_short(file)) {
		keep_part(file);
		return;
	}
	bool async = file->home->view->fs->options->async;
	struct sbx_error err = SBX_ERROR_INIT;
	if ((file->temporary || async) && file->noted_version != file->version &&
		!sbx_in_file_busy(file) && sbx_in_note(file, &err))
		sbx_log(SBX_LOG_WARNING, "%s", err.message); /* RELEASE has nobody to tell */
	if (file->temporary || file->retry_at_ms)	     /* one that failed has its turn */
		return;
	if (async)
		sbx_in_upload_soon(file);
	else
		sbx_in_upload(file);
}

void sbx_in_handle_free(struct sbx_fs *fs, struct sbx_handle *handle)
{
	struct sbx_in_handle *mine = handle->in;
	if (!mine)
		return;
	struct sbx_in_file *file = mine->file;
	handle->in = NULL;
	file->handles--;
	file->writers -= mine->writes;
	if (!file->handles)
		file->idle_since_ms = sbx_clock_ms();
	if (mine->writes && !file->writers)
		last_writer_left(file);
	if (!file->handles && !file->linked)
		sbx_in_file_unbind(file);
	sbx_in_file_close(file);
	sbx_loop_wake_at(fs->loop, sbx_clock_ms() + fs->options->entry_timeout_ms + 1);
	sbx_in_file_unref(file);
	free(mine);
}

void sbx_in_release(struct sbx_request *request)
{
	if (request->handle->spool)
		sbx_op_release(request);
	else {
		sbx_handle_release(request->fs, request->handle); /* goes with the answer */
		sbx_answer_error(request, 0);
	}
}

static void create_admitted(struct sbx_request *request)
{
	struct sbx_in_op *op = sbx_in_op(request);
	struct sbx_view *view = request->node->view;
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *path = sbx_path_join(request->node->path, request->name);
	struct sbx_in_file *file = sbx_in_file_find(view, path);
	const struct sbx_fact *fact = sbx_fact_fresh(view, path);
	bool known = sbx_in_names_created(view, path) || (fact && fact->result == -ENOENT);
	bool made = !file;
	int result = file ? 0 : sbx_in_file_create(view, path, op->mode, &file, &err);
	if (result) {
		sbx_answer_failure(request, result, &err);
		return;
	}
	/* Appending to a file that the guest has after all would replace it by the tail. */
	if (made)
		file->unsure = !known && !(request->fi.flags & O_TRUNC);
	struct sbx_handle *handle = open_file(request, file);
	sbx_answer_create(request, handle->node, handle);
}

void sbx_in_create(struct sbx_request *request, mode_t mode)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *path = sbx_path_join(request->node->path, request->name);
	int result = sbx_guest_path_check(path, false, &err);
	if (result) {
		sbx_answer_failure(request, result, &err);
		return;
	}
	sbx_in_op(request)->mode = mode;
	sbx_in_admit(request->node->view, request, create_admitted);
}

static void open_for_writing(struct sbx_request *request);

static void retry_open(struct sbx_request *request, int result, const struct sbx_error *err)
{
	open_for_writing(request); /* what made it wait is over, however it ended */
}

static void fetched(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_in_file *file = sbx_in_op(request)->file;
	if (result)
		sbx_answer_failure(request, result, err);
	else if (!request->node->in && request->node->current)
		sbx_in_open(request); /* it was only held while the guest changed it */
	else if (!file->linked || request->node->in != file)
		sbx_answer_error(request, ESTALE); /* another version: the kernel looks again */
	else
		sbx_answer_open(request, open_file(request, file));
}

/* What it waits for; a request may come here again. */
static void remember(struct sbx_request *request, struct sbx_in_file *file)
{
	struct sbx_in_op *op = sbx_in_op(request);
	sbx_in_file_ref(file);
	if (op->file)
		sbx_in_file_unref(op->file);
	op->file = file;
}

/* Nothing is staged: starts with nothing, or with what the guest has. */
static void stage(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_in_file *file;
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
	if (request->fi.flags & O_TRUNC) {
		sbx_in_file_bind(file, node);
		sbx_answer_open(request, open_file(request, file));
		return;
	}
	file->size = node->st.size;
	file->mtime_s = node->st.mtime_s;
	file->mtime_ns = node->st.mtime_ns;
	sbx_in_file_bind(file, node);
	remember(request, file);
	sbx_in_wait_long(request);
	sbx_in_fetch(file);
	sbx_request_park(request, &file->settled, fetched);
}

static void open_for_writing(struct sbx_request *request)
{
	struct sbx_in_file *file = request->node->in;
	struct sbx_error err = SBX_ERROR_INIT;
	if (!file) {
		stage(request);
		return;
	}
	if (sbx_in_file_busy(file)) {
		sbx_request_park(request, &file->free, retry_open);
		return;
	}
	int result = sbx_in_file_open(file, &err);
	if (!result && (request->fi.flags & O_TRUNC) && (file->size || file->spoiled)) {
		result = sbx_in_file_change(file, true, &err);
		if (!result && ftruncate(file->fd, 0) < 0)
			result = sbx_fail_errno(&err, errno, "cannot cut %s", file->path);
		if (!result) {
			file->size = 0;
			file->blank = true;
			file->spoiled = 0;
			sbx_in_file_show(file);
		}
	}
	if (result)
		sbx_answer_failure(request, result, &err);
	else
		sbx_answer_open(request, open_file(request, file));
}

void sbx_in_open(struct sbx_request *request)
{
	struct sbx_in_file *file = request->node->in;
	struct sbx_error err = SBX_ERROR_INIT;
	if (writes(request)) {
		sbx_in_admit(request->node->view, request, open_for_writing);
		return;
	}
	if (!file) {
		sbx_open_guest_file(request);
		return;
	}
	if (file->loading) {
		remember(request, file);
		sbx_request_park(request, &file->settled, fetched);
		return;
	}
	int result = sbx_in_file_open(file, &err);
	if (result)
		sbx_answer_failure(request, result, &err);
	else
		sbx_answer_open(request, open_file(request, file));
}
