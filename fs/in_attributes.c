/*
 * in_attributes.c: chmod and utimens of a large file that the guest has, by its own chmod and
 * touch.
 *
 * No engine call sets attributes alone. A small file is sent again with the new ones: one archive
 * in one short window is less than the start of a command, keeps the nanoseconds and works in any
 * image and state. A large one costs its bytes twice, with the guest frozen meanwhile. Its size
 * decides the way only, not the outcome: where the guest cannot, the bytes are sent after all. What
 * remains is that a busybox guest keeps whole seconds of a time; stat says what it kept.
 *
 * Nothing is gathered: the kernel sends the changes of one file one by one, each with somebody
 * waiting, and mode and time take a command each anyway. Those made before the file has landed cost
 * no command at all, they are in its archive.
 *
 * Until the command has ended the path is held by a file, which is busy: a handle that is opened
 * meanwhile could otherwise send the old attributes again.
 */
#include "in_file.h"

#include "attr.h"

bool sbx_in_sets_in_guest(const struct sbx_request *request, const struct sbx_in_op *op)
{
	const struct sbx_node *node = request->node;
	const struct sbx_in_file *file = node->in;
	return !op->resend && !(op->to_set & FUSE_SET_ATTR_SIZE) &&
	       node->st.size > SBX_IN_RESEND_BYTES && node->current && !node->view->gone &&
	       (!file || (file->linked && file->landed == SBX_LANDED_YES &&
				 !sbx_in_file_dirty(file)));
}

static int run(struct sbx_job *base, struct sbx_error *err)
{
	struct sbx_in_job *job = (struct sbx_in_job *)base;
	struct sbx_plane *plane = base->view->plane;
	return plane->ops->set_attributes(
		plane, job->path, &job->attributes, &base->call, &job->before, &job->after, err);
}

static void adopt(struct sbx_in_file *file, const struct sbx_in_job *job)
{
	file->mode = job->after.mode & 0777;
	file->mtime_s = job->after.mtime_s;
	if (job->after.mtime_ns >= 0)
		file->mtime_ns = job->after.mtime_ns;
	sbx_in_file_show(file);
	file->idle_since_ms = sbx_clock_ms();
	if (file->node)
		file->node->verified_ms = file->idle_since_ms;
}

/* Whether what the node shows was changed by us alone, as far as stats tell. */
static bool is_ours(const struct sbx_in_job *job, const struct sbx_in_file *file)
{
	struct sbx_stat known = sbx_in_file_stat(file);
	bool podman = job->job.fs->podman;
	bool kept = job->attributes.set_mtime ? job->before.size == job->after.size
					      : sbx_same_version(&job->before, &job->after, podman);
	return kept && sbx_same_version(&known, &job->before, podman) &&
	       (!file->node || sbx_tree_certain(file->node, &job->before, 0));
}

static void finish(struct sbx_in_job *job)
{
	struct sbx_view *view = job->job.view;
	struct sbx_in_file *file = job->file;
	int result = job->job.result;
	bool same = !result && is_ours(job, file);
	bool only_held = file->loading;
	file->loading = file->moving = false;
	sbx_view_changed(view, job->path);
	if (same)
		adopt(file, job);
	if (only_held && !result && !same)
		sbx_in_file_unlink(file); /* and its node, if it was not certain either */
	else if (only_held && file->linked)
		sbx_in_file_retire(file, true);
	if (!view->gone && ((!result && !same) || result == -ENOENT))
		(void)sbx_in_guest_node(view, job->path, result ? NULL : &job->after,
			sbx_clock_ms(), 0); /* the guest's own is the newest now */
	sbx_waiters_resume(&file->settled, 0, NULL);
	sbx_in_file_freed(file);
}

/* A file that only holds the path; its bytes are the guest's. */
static int hold(struct sbx_node *node, struct sbx_in_file **out, struct sbx_error *err)
{
	int result = sbx_in_file_create(node->view, node->path, node->st.mode, out, err);
	if (result)
		return result;
	struct sbx_in_file *file = *out;
	file->landed = SBX_LANDED_YES;
	file->landed_version = file->version;
	file->blank = false;
	file->size = node->st.size;
	file->mtime_s = node->st.mtime_s;
	file->mtime_ns = node->st.mtime_ns;
	sbx_in_file_bind(file, node);
	return 0;
}

void sbx_in_set_in_guest(struct sbx_request *request, sbx_resume_fn resume)
{
	struct sbx_in_op *op = sbx_in_op(request);
	struct sbx_node *node = request->node;
	struct sbx_in_file *file = node->in;
	struct sbx_error err = SBX_ERROR_INIT;
	bool only_held = !file;
	int result = file ? 0 : hold(node, &file, &err);
	if (result) {
		sbx_answer_failure(request, result, &err);
		return;
	}
	struct sbx_in_job *job =
		sbx_in_job_create(request->fs, node->view, run, request->fs->options->deadline_ms);
	struct timespec at = sbx_in_wanted_time(op);
	job->path = sbx_strdup(node->path);
	job->file = file;
	job->finish = finish;
	job->attributes = (struct sbx_attributes){
		.set_mode = op->to_set & FUSE_SET_ATTR_MODE,
		.set_mtime = op->to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW),
		.now = op->to_set & FUSE_SET_ATTR_MTIME_NOW,
		.mode = op->attr.st_mode & 0777,
		.mtime_s = at.tv_sec,
		.mtime_ns = (int32_t)at.tv_nsec,
	};
	file->loading = only_held;
	file->moving = !only_held;
	/* Whether the bytes must be sent is known when the command has ended. */
	sbx_in_wait_long(request);
	sbx_in_job_wait(job, request, false, resume);
}

bool sbx_in_guest_cannot(int result)
{
	switch (-result) {
	case EOPNOTSUPP: /* it has no such command, or does not run */
	case EBUSY:	 /* somebody paused it */
	case EPERM:	 /* the file is not its own */
	case EACCES:
	case EINVAL: /* its touch takes no such date */
	case EIO:    /* the command failed otherwise */
		return true;
	default:
		return false;
	}
}
