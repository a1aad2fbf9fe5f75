/*
 * in_rename.c: renames within in/.
 *
 * Savers write a temporary file and rename it: its bytes are then sent under the final name, and
 * rename reports how that went; when it failed nothing is renamed, as POSIX has it. What only the
 * guest has is moved by the guest's own mv. The engine cannot replace and remove in one step, so a
 * changed file that also exists under its old name is first sent under the new one, then removed
 * under the old.
 */
#include "in_file.h"

#include <stdio.h>

struct move {
	struct sbx_job job; /* first */
	struct sbx_waiters waiters;
	struct sbx_in_file *file; /* referenced; NULL: only the guest has it */
	char *from, *to;
	bool send, remove, move; /* the steps */
	bool only_new;		 /* RENAME_NOREPLACE */
	struct sbx_put_item item;
	uint64_t version;
};

/* The kernel looked too, but maybe a while ago. */
static int check_absent(struct move *move, struct sbx_error *err)
{
	struct sbx_plane *plane = move->job.view->plane;
	struct sbx_stat st = { 0 };
	int result = plane->ops->stat(plane, move->to, &move->job.call, &st, err);
	sbx_stat_finish(&st);
	if (!result)
		return sbx_fail(err, EEXIST, "%s: \"%s\" is there already",
			move->job.view->sandbox.container.name, move->to);
	if (result != -ENOENT)
		return result;
	sbx_error_clear(err);
	return 0;
}

/* The rename has failed, and what it was to replace is replaced all the same. */
static int tell_replaced(const struct move *move, struct sbx_error *err)
{
	cleanup_free char *said = sbx_strdup(err->message);
	return sbx_fail_kind(err, err->kind, err->errnum,
		"%s; \"%s\" holds the new content already, \"%s\" is still there", said, move->to,
		move->from);
}

static int run(struct sbx_job *base, struct sbx_error *err)
{
	struct move *move = (struct move *)base;
	struct sbx_plane *plane = base->view->plane;
	int result = 0;
	if (move->move && move->only_new)
		result = check_absent(move, err);
	if (move->send) {
		move->item.path = move->to;
		result = plane->ops->put(plane, &move->item, 1, &base->call, err);
	}
	if (!result && move->remove &&
		plane->ops->remove(plane, move->from, false, &base->call, err))
		result = tell_replaced(move, err);
	if (!result && move->move)
		result = plane->ops->rename(plane, move->from, move->to, &base->call, err);
	return result;
}

/* Whatever was known as `to` is replaced. */
static void drop_target(struct sbx_view *view, const char *to)
{
	struct sbx_in_file *file = sbx_in_file_find(view, to);
	struct sbx_node *node = sbx_node_find(view->fs, view, to);
	if (file)
		sbx_in_file_unlink(file);
	else if (node)
		sbx_node_detach(view->fs, node);
}

static char *moved_path(const char *path, const char *from, const char *to)
{
	return sbx_printf("%s%s", to, path + strlen(from));
}

/* All that is known by a path at or below from: files first, each with its node, then other nodes.
 */
static void move_tree(struct sbx_view *view, const char *from, const char *to)
{
	struct sbx_in_file *file, *next_file;
	HASH_ITER(hh, sbx_in_home(view)->files, file, next_file)
	{
		if (!sbx_in_below(file->path, from) && strcmp(file->path, from) != 0)
			continue;
		cleanup_free char *path = moved_path(file->path, from, to);
		sbx_in_file_move(file, path);
	}
	struct sbx_node *node, *next_node;
	HASH_ITER(hh_path, view->by_path, node, next_node)
	{
		if (!sbx_in_below(node->path, from) && strcmp(node->path, from) != 0)
			continue;
		cleanup_free char *path = moved_path(node->path, from, to);
		sbx_node_move(view->fs, node, path);
	}
}

/* The records of all that is staged at or below from name the new paths: before what is replaced is
 * dropped, so that a crash in between loses neither. */
static int note_tree(struct sbx_view *view, const char *from, const char *to, struct sbx_error *err)
{
	for (struct sbx_in_file *file = sbx_in_home(view)->files; file; file = file->hh.next) {
		bool moves = !strcmp(file->path, from) || sbx_in_below(file->path, from);
		cleanup_free char *path = moves ? moved_path(file->path, from, to) : NULL;
		if (!moves || !sbx_in_file_dirty(file))
			continue;
		int result = sbx_in_note_path(file, path, err);
		if (result)
			return result;
	}
	return 0;
}

static void rename_here(struct sbx_view *view, const char *from, const char *to)
{
	drop_target(view, to);
	move_tree(view, from, to);
	sbx_in_made_move(sbx_in_home(view), from, to);
	sbx_in_names_drop(view, from);
	sbx_in_names_drop(view, to);
	sbx_facts_drop_below(view, from);
	sbx_facts_drop_below(view, to);
	sbx_view_changed(view, from);
	sbx_view_changed(view, to);
}

static void done(struct sbx_job *base)
{
	struct move *move = (struct move *)base;
	struct sbx_in_file *file = move->file;
	struct sbx_view *view = base->view;
	struct sbx_fs *fs = base->fs;
	struct sbx_error err = SBX_ERROR_INIT;
	int result = base->result;
	sbx_in_home(view)->moves--;
	if (file)
		file->moving = false;
	bool sent = !result && file && move->send;
	if (sent) {
		if (sbx_staging_forget_record(fs->in->staging, file->sequence, file->fd, &err))
			sbx_log(SBX_LOG_WARNING, "%s", err.message);
		file->recorded = false;
		file->landed_version = move->version;
	}
	if (!result && note_tree(view, move->from, move->to, &err))
		sbx_log(SBX_LOG_WARNING, "%s: what is staged below %s is on record as that: %s",
			view->sandbox.container.name, move->from, err.message);
	if (!result)
		rename_here(view, move->from, move->to);
	sbx_view_changed(view, move->from);
	sbx_view_changed(view, move->to);
	if (sent)
		sbx_in_sent(file, move->version, 0, NULL);
	sbx_waiters_resume(&move->waiters, result, result ? &base->err : NULL);
	if (file) {
		sbx_in_file_freed(file);
		sbx_in_file_unref(file);
	}
	sbx_in_pump(sbx_in_home(view));
	free(move->from);
	free(move->to);
	sbx_job_free(base);
	fs->in->jobs--;
	sbx_in_check_barrier(fs);
}

static void answer(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result)
		sbx_answer_failure(request, result, err);
	else
		sbx_answer_error(request, 0);
}

static void start(struct sbx_request *request, struct sbx_in_file *file, char *from, char *to,
	bool send, bool only_new)
{
	struct sbx_view *view = request->node->view;
	struct move *move = sbx_job_create(request->fs, view, sizeof(*move), 0);
	move->job.from_turn_ms = sbx_in_upload_ms(file ? file->size : 0);
	move->job.run = run;
	move->job.done = done;
	move->job.length = send ? SBX_JOB_LONG : SBX_JOB_SHORT;
	move->file = file;
	move->from = from;
	move->to = to;
	move->send = send;
	move->remove = send && file->landed != SBX_LANDED_NO;
	move->move = !send;
	move->only_new = only_new;
	if (file) {
		sbx_in_file_ref(file);
		file->moving = true;
		move->version = file->version;
		sbx_in_put_item(file, &move->item);
		move->item.only_new = only_new;
	}
	sbx_in_home(view)->moves++;
	request->fs->in->jobs++;
	sbx_in_wait_long(request);
	sbx_request_park(request, &move->waiters, answer);
	sbx_job_start(&move->job);
}

static void go_on(struct sbx_request *request)
{
	struct sbx_in_op *op = sbx_in_op(request);
	cleanup_free char *name = op->new_name;
	struct sbx_node *parent = op->new_parent;
	struct sbx_fs *fs = request->fs;
	op->new_name = NULL;
	op->new_parent = NULL;
	sbx_in_rename(request, parent, name, op->flags);
	sbx_node_unpin(fs, parent); /* the request may be answered and gone */
}

static void again(struct sbx_request *request, int result, const struct sbx_error *err)
{
	go_on(request);
}

/* For a later go_on. */
static void remember(struct sbx_request *request, struct sbx_node *new_parent, const char *new_name,
	unsigned flags)
{
	struct sbx_in_op *op = sbx_in_op(request);
	op->new_parent = new_parent;
	op->new_name = sbx_strdup(new_name);
	op->flags = flags;
	sbx_node_pin(new_parent);
}

/* Any file at or below one of both paths that may not be touched now. */
static struct sbx_in_file *busy_file(struct sbx_view *view, const char *from, const char *to)
{
	for (struct sbx_in_file *file = sbx_in_home(view)->files; file; file = file->hh.next) {
		bool concerned = !strcmp(file->path, from) || !strcmp(file->path, to) ||
				 sbx_in_below(file->path, from);
		if (concerned && sbx_in_file_busy(file))
			return file;
	}
	return NULL;
}

/* Whether the rename is ours alone: nothing of it is in the guest and nothing needs to be yet. */
static bool is_local(const struct sbx_in_file *file, const char *to)
{
	const struct sbx_fs_options *options = file->home->view->fs->options;
	const char *slash = strrchr(to, '/');
	if (file->landed != SBX_LANDED_NO)
		return false;
	return options->async || (file->writers && !file->temporary) ||
	       sbx_in_name_temporary(options->temporary_names, slash ? slash + 1 : to);
}

static void rename_local(struct sbx_request *request, struct sbx_in_file *file, const char *from,
	const char *to, bool only_new)
{
	struct sbx_view *view = request->node->view;
	struct sbx_error err = SBX_ERROR_INIT;
	bool send = request->fs->options->async;
	bool unsure = file->unsure;
	file->unsure = only_new; /* else a rename replaces */
	int result = note_tree(view, from, to, &err);
	if (result) {
		file->unsure = unsure;
		sbx_answer_failure(request, result, &err);
		return;
	}
	rename_here(view, from, to);
	sbx_answer_error(request, 0);
	if (send && !file->temporary && !file->writers)
		sbx_in_upload_soon(file);
}

/* Before the target is replaced. Whether the image has an rm turns out later only. */
static int check_removable(const struct sbx_in_file *file, struct sbx_error *err)
{
	const struct sbx_container *container = &file->home->view->sandbox.container;
	bool runs = container->state != SBX_STATE_EXITED && container->state != SBX_STATE_CREATED;
	if (file->landed != SBX_LANDED_YES || runs)
		return 0;
	return sbx_fail(err, EOPNOTSUPP,
		"%s: renaming \"%s\" needs the guest's own rm, and the sandbox does not run",
		container->name, file->path);
}

void sbx_in_rename(struct sbx_request *request, struct sbx_node *new_parent, const char *new_name,
	unsigned flags)
{
	struct sbx_view *view = request->node->view;
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *from = sbx_path_join(request->node->path, request->name);
	cleanup_free char *to = sbx_path_join(new_parent->path, new_name);
	struct sbx_in_file *file = sbx_in_file_find(view, from);
	struct sbx_in_file *busy = busy_file(view, from, to);
	bool only_new = flags & RENAME_NOREPLACE;
	int result = sbx_guest_path_check(to, false, &err);
	if (flags & ~(unsigned)RENAME_NOREPLACE) {
		sbx_answer_error(request, EINVAL);
	} else if (result) {
		sbx_answer_failure(request, result, &err);
	} else if (busy) {
		remember(request, new_parent, new_name, flags);
		sbx_in_wait_long(request);
		sbx_request_park(request, &busy->free, again);
	} else if (sbx_in_any_below(view, to)) {
		sbx_answer_error(request, ENOTEMPTY);
	} else if (file && file->spoiled) {
		sbx_answer_error(request, file->spoiled);
	} else if (file && is_local(file, to)) {
		rename_local(request, file, from, to, only_new);
	} else if (!sbx_in_op(request)->asked) {
		sbx_in_op(request)->asked = true;
		remember(request, new_parent, new_name, flags);
		sbx_in_admit(view, request, go_on);
	} else if (file && sbx_in_file_dirty(file)) {
		result = sbx_in_file_open(file, &err);
		if (!result)
			result = check_removable(file, &err);
		if (result)
			sbx_answer_failure(request, result, &err);
		else
			start(request, file, steal(&from), steal(&to), true, only_new);
	} else {
		start(request, file, steal(&from), steal(&to), false, only_new);
	}
}
