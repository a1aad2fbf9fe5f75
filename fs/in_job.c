/* in_job.c: a job that one request waits for, and what an operation remembers meanwhile. */
#include "in_file.h"

static void abandoned(struct sbx_waiters *waiters)
{
	sbx_job_cancel(waiters->data);
}

static void done(struct sbx_job *base)
{
	struct sbx_in_job *job = (struct sbx_in_job *)base;
	struct sbx_fs *fs = base->fs;
	struct sbx_error *err = base->result ? &base->err : NULL;
	if (job->finish)
		job->finish(job);
	sbx_waiters_resume(&job->waiters, base->result, err);
	if (job->file)
		sbx_in_file_unref(job->file);
	free(job->path);
	free(job->other);
	sbx_job_free(base);
	fs->in->jobs--;
	sbx_in_check_barrier(fs);
}

struct sbx_in_job *sbx_in_job_create(struct sbx_fs *fs, struct sbx_view *view,
	int (*run)(struct sbx_job *job, struct sbx_error *err), int64_t timeout_ms)
{
	struct sbx_in_job *job = sbx_job_create(fs, view, sizeof(*job), timeout_ms);
	job->job.run = run;
	job->job.done = done;
	return job;
}

void sbx_in_job_start(struct sbx_in_job *job)
{
	job->job.fs->in->jobs++;
	if (job->file)
		sbx_in_file_ref(job->file);
	sbx_job_start(&job->job);
}

void sbx_in_job_wait(
	struct sbx_in_job *job, struct sbx_request *request, bool cancel, sbx_resume_fn resume)
{
	job->waiters.data = &job->job;
	job->waiters.abandoned = cancel ? abandoned : NULL;
	sbx_request_park(request, &job->waiters, resume);
	sbx_in_job_start(job);
}

static int64_t bytes_to_move(const struct sbx_view *view)
{
	int64_t bytes = 0;
	for (struct sbx_in_file *file = sbx_in_home(view)->files; file; file = file->hh.next)
		bytes += sbx_in_file_dirty(file) || sbx_in_file_busy(file) ? file->size : 0;
	return bytes;
}

void sbx_in_wait_long(struct sbx_request *request)
{
	int64_t bytes = 0;
	struct sbx_view *view, *next;
	HASH_ITER(hh, request->fs->views.by_id, view, next)
	if (!request->node->view || request->node->view == view)
		bytes += bytes_to_move(view);
	request->deadline_ms = sbx_clock_ms() + sbx_in_upload_ms(bytes);
}

static void free_op(void *data)
{
	struct sbx_in_op *op = data;
	if (op->file)
		sbx_in_file_unref(op->file);
	if (op->new_parent)
		sbx_node_unpin(op->fs, op->new_parent);
	free(op->new_name);
	free(op->bytes);
	free(op);
}

struct sbx_in_op *sbx_in_op(struct sbx_request *request)
{
	if (!request->data) {
		struct sbx_in_op *op = sbx_alloc(sizeof(*op));
		op->fs = request->fs;
		request->data = op;
		request->data_free = free_op;
	}
	return request->data;
}
