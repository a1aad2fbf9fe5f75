/*
 * in_remove.c: unlink under in/. What never left the host is dropped here; what the guest has goes
 * through its own rm, and the name vanishes here only when it did there.
 */
#include "in_file.h"

static int run(struct sbx_job *base, struct sbx_error *err)
{
	struct sbx_in_job *job = (struct sbx_in_job *)base;
	struct sbx_plane *plane = base->view->plane;
	return plane->ops->remove(plane, job->path, false, &base->call, err);
}

static void finish(struct sbx_in_job *job)
{
	struct sbx_view *view = job->job.view;
	struct sbx_in_file *file = job->file;
	if (file)
		file->moving = false;
	if (!job->job.result) {
		struct sbx_node *node = sbx_node_find(view->fs, view, job->path);
		if (file)
			sbx_in_file_unlink(file);
		else if (node)
			sbx_node_detach(view->fs, node);
		sbx_refused_forget(view, job->path);
		sbx_in_names_removed(view, job->path);
	}
	sbx_view_changed(view, job->path);
	if (file)
		sbx_in_file_freed(file);
}

static void answer(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result)
		sbx_answer_failure(request, result, err);
	else
		sbx_answer_error(request, 0);
}

static void again(struct sbx_request *request, int result, const struct sbx_error *err)
{
	sbx_in_unlink(request);
}

/* What the guest has. */
static void remove_admitted(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	char *path = sbx_path_join(request->node->path, request->name);
	struct sbx_in_file *file = sbx_in_file_find(view, path);
	struct sbx_in_job *job =
		sbx_in_job_create(request->fs, view, run, request->fs->options->deadline_ms);
	job->path = path;
	job->file = file;
	job->finish = finish;
	if (file)
		file->moving = true;
	sbx_in_job_wait(job, request, false, answer);
}

void sbx_in_unlink(struct sbx_request *request)
{
	struct sbx_in_op *op = sbx_in_op(request);
	struct sbx_view *view = request->node->view;
	cleanup_free char *path = sbx_path_join(request->node->path, request->name);
	struct sbx_in_file *file = sbx_in_file_find(view, path);
	if (file && sbx_in_file_busy(file)) {
		sbx_in_wait_long(request);
		sbx_request_park(request, &file->free, again);
		return;
	}
	if (file && file->landed == SBX_LANDED_NO) {
		sbx_in_file_unlink(file);
		sbx_answer_error(request, 0);
		sbx_in_check_barrier(view->fs);
		return;
	}
	if (view->gone) {
		sbx_answer_error(request, ENOENT);
		return;
	}
	if (op->asked) {
		remove_admitted(request);
		return;
	}
	op->asked = true;
	sbx_in_admit(view, request, sbx_in_unlink);
}
