/* in_dir.c: making, changing and removing directories under in/; the guest hears of it at once. */
#include "in_file.h"

#include "base/text.h"

#include <time.h>

static struct sbx_in_made *find_made(const struct sbx_view *view, const char *path)
{
	struct sbx_in_made *made = NULL;
	HASH_FIND_STR(sbx_in_home(view)->made, path, made);
	return made;
}

bool sbx_in_was_made(const struct sbx_view *view, const char *path)
{
	return find_made(view, path);
}

static void add_made(struct sbx_in_view *home, char *path)
{
	struct sbx_in_made *made = sbx_alloc(sizeof(*made));
	made->path = path;
	HASH_ADD_KEYPTR(hh, home->made, made->path, strlen(made->path), made);
}

void sbx_in_made_move(struct sbx_in_view *home, const char *from, const char *to)
{
	struct sbx_in_made *made, *next;
	HASH_ITER(hh, home->made, made, next)
	{
		if (strcmp(made->path, from) != 0 && !sbx_in_below(made->path, from))
			continue;
		HASH_DEL(home->made, made);
		if (to)
			add_made(home, sbx_printf("%s%s", to, made->path + strlen(from)));
		free(made->path);
		free(made);
	}
}

static int run_put(struct sbx_job *base, struct sbx_error *err)
{
	struct sbx_in_job *job = (struct sbx_in_job *)base;
	struct sbx_plane *plane = base->view->plane;
	job->item.path = job->path;
	job->item.type = SBX_TYPE_DIR;
	job->item.fd = -1;
	return plane->ops->put(plane, &job->item, 1, &base->call, err);
}

static void made(struct sbx_in_job *job)
{
	struct sbx_view *view = job->job.view;
	struct sbx_stat st = {
		.type = SBX_TYPE_DIR,
		.mode = job->item.mode,
		.mtime_s = job->item.mtime_s,
		.mtime_ns = job->item.mtime_ns,
	};
	sbx_view_changed(view, job->path);
	if (!job->job.result && job->item.kept) {
		sbx_in_names_drop(view, job->path); /* they did not know of it */
		job->job.result = sbx_fail(&job->job.err, EEXIST, "%s: \"%s\" is there already",
			view->sandbox.container.name, job->path);
	}
	if (job->job.result)
		return;
	sbx_in_names_note(view, job->path, NULL);
	sbx_in_passed(view, job->path);
	if (!find_made(view, job->path))
		add_made(sbx_in_home(view), sbx_strdup(job->path));
	(void)sbx_in_guest_node(view, job->path, &st, sbx_clock_ms(), 0); /* found by its path */
}

static void mkdir_done(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_view *view = request->node->view;
	cleanup_free char *path = sbx_path_join(request->node->path, request->name);
	struct sbx_node *node = sbx_node_find(request->fs, view, path);
	if (result || !node)
		sbx_answer_failure(request, result ? result : -EIO, err);
	else
		sbx_answer_entry(request, node);
}

static void mkdir_admitted(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	struct sbx_in_job *job =
		sbx_in_job_create(request->fs, view, run_put, request->fs->options->deadline_ms);
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	job->path = sbx_path_join(request->node->path, request->name);
	job->item.mode = sbx_in_op(request)->mode & 0777;
	job->item.mtime_s = now.tv_sec;
	job->item.mtime_ns = (int32_t)(now.tv_nsec / 1000 * 1000);
	job->finish = made;
	sbx_in_job_wait(job, request, false, mkdir_done);
}

/* A trash directory would turn a deletion into an upload: refused, file managers then offer to
 * delete (fuse-guide §7). */
void sbx_in_mkdir(struct sbx_request *request, mode_t mode)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *path = sbx_path_join(request->node->path, request->name);
	int result = sbx_guest_path_check(path, false, &err);
	sbx_in_op(request)->mode = mode;
	if (result)
		sbx_answer_failure(request, result, &err);
	else if (sbx_text_has_prefix(request->name, ".Trash"))
		sbx_answer_error(request, EPERM);
	else
		sbx_in_admit(request->node->view, request, mkdir_admitted);
}

static void changed(struct sbx_in_job *job)
{
	struct sbx_node *node = sbx_node_find(job->job.fs, job->job.view, job->path);
	sbx_view_changed(job->job.view, job->path);
	if (job->job.result || !node)
		return;
	node->st.mode = job->item.mode;
	node->st.mtime_s = job->item.mtime_s;
	node->st.mtime_ns = job->item.mtime_ns;
	node->verified_ms = sbx_clock_ms();
}

static void setattr_done(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result)
		sbx_answer_failure(request, result, err);
	else
		sbx_answer_attr(request, request->node);
}

static void setattr_admitted(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	const struct sbx_in_op *op = sbx_in_op(request);
	struct sbx_in_job *job = sbx_in_job_create(
		request->fs, node->view, run_put, request->fs->options->deadline_ms);
	struct timespec at = { .tv_sec = node->st.mtime_s, .tv_nsec = node->st.mtime_ns };
	if (op->to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW))
		at = sbx_in_wanted_time(op);
	job->path = sbx_strdup(node->path);
	job->item.attributes = true;
	job->item.mode = op->to_set & FUSE_SET_ATTR_MODE ? op->attr.st_mode & 0777 : node->st.mode;
	job->item.mtime_s = at.tv_sec;
	job->item.mtime_ns = at.tv_nsec < 0 ? 0 : (int32_t)at.tv_nsec;
	job->finish = changed;
	sbx_in_job_wait(job, request, false, setattr_done);
}

/* A directory's entry in an archive carries an owner too. One that we made is the guest's; any
 * other may not be, and keeps what it has, as chown changes nothing. */
void sbx_in_setattr_directory(struct sbx_request *request)
{
	if (sbx_in_op(request)->to_set & FUSE_SET_ATTR_SIZE)
		sbx_answer_error(request, EISDIR);
	else if (!find_made(request->node->view, request->node->path))
		sbx_answer_attr(request, request->node);
	else
		sbx_in_admit(request->node->view, request, setattr_admitted);
}

bool sbx_in_any_below(const struct sbx_view *view, const char *path)
{
	for (struct sbx_in_file *file = sbx_in_home(view)->files; file; file = file->hh.next)
		if (sbx_in_below(file->path, path))
			return true;
	return false;
}

static int run_rmdir(struct sbx_job *base, struct sbx_error *err)
{
	struct sbx_in_job *job = (struct sbx_in_job *)base;
	struct sbx_plane *plane = base->view->plane;
	return plane->ops->remove_dir(plane, job->path, &base->call, err);
}

static void removed(struct sbx_in_job *job)
{
	struct sbx_view *view = job->job.view;
	sbx_view_changed(view, job->path);
	struct sbx_node *node = sbx_node_find(view->fs, view, job->path);
	if (job->job.result)
		return;
	sbx_in_names_drop(view, job->path);
	sbx_facts_drop_below(view, job->path);
	sbx_in_made_move(sbx_in_home(view), job->path, NULL);
	if (node)
		sbx_node_detach(view->fs, node);
}

static void answer(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result)
		sbx_answer_failure(request, result, err);
	else
		sbx_answer_error(request, 0);
}

static void rmdir_admitted(struct sbx_request *request)
{
	struct sbx_in_job *job = sbx_in_job_create(
		request->fs, request->node->view, run_rmdir, request->fs->options->deadline_ms);
	job->path = sbx_path_join(request->node->path, request->name);
	job->finish = removed;
	sbx_in_job_wait(job, request, false, answer);
}

void sbx_in_rmdir(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	cleanup_free char *path = sbx_path_join(request->node->path, request->name);
	if (sbx_in_any_below(view, path)) {
		sbx_answer_error(request, ENOTEMPTY);
		return;
	}
	sbx_in_admit(view, request, rmdir_admitted);
}
