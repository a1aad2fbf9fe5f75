/*
 * in_life.c: the beginning and the end: staged files that an earlier daemon left, sandboxes that
 * come and go, retries, and the unmount.
 */
#include "in_file.h"

static void add_orphan(struct sbx_in *in, const struct sbx_staged *staged)
{
	struct sbx_staged_list *list = &in->orphans;
	list->rows = sbx_realloc_array(list->rows, list->count + 1, sizeof(*list->rows));
	list->rows[list->count++] = *staged;
}

int sbx_in_init(struct sbx_fs *fs, struct sbx_error *err)
{
	struct sbx_in *in = sbx_alloc(sizeof(*in));
	in->root = sbx_staging_root(fs->options->staging_dir, err);
	int result = in->root ? 0 : -ENOENT;
	if (!result)
		result = sbx_staging_open(in->root, sbx_engine_key(fs->engine),
			sbx_engine_endpoint(fs->engine)->url, fs->options->mountpoint, &in->staging,
			err);
	if (!result)
		result = sbx_staging_recover(in->staging, &in->orphans, err);
	if (result) {
		sbx_staging_close(in->staging);
		free(in->root);
		free(in);
		return result;
	}
	if (in->orphans.count)
		sbx_log(SBX_LOG_INFO, "%zu files of an earlier mount have not landed yet",
			in->orphans.count);
	fs->in = in;
	return 0;
}

const char *sbx_in_staging_path(const struct sbx_fs *fs)
{
	return fs->in ? fs->in->root : NULL;
}

/* Their uploads begin when the mount serves: nobody waits for them. */
static void take_orphans(struct sbx_view *view)
{
	struct sbx_staged_list *orphans = &view->fs->in->orphans;
	size_t kept = 0;
	for (size_t i = 0; i < orphans->count; i++) {
		struct sbx_staged *staged = &orphans->rows[i];
		bool ours = !strcmp(staged->sandbox_id, view->sandbox.container.id) &&
			    !staged->damaged && !sbx_in_file_find(view, staged->path);
		if (!ours) {
			orphans->rows[kept++] = *staged;
			continue;
		}
		struct sbx_in_file *file = sbx_in_file_adopt(view, staged);
		if (!file->temporary)
			file->retry_at_ms = sbx_clock_ms();
		sbx_staged_finish(staged);
	}
	orphans->count = kept;
	sbx_loop_wake_at(view->fs->loop, sbx_clock_ms());
}

void sbx_in_view_added(struct sbx_view *view)
{
	struct sbx_in_view *home = sbx_alloc(sizeof(*home));
	home->view = view;
	view->in = home;
	take_orphans(view);
}

/* Its record stays on disk, for `.sbxfs/pending` and for `sbxfs pending`. Nothing is synced: what
 * had to be durable is, and thousands of syncs would stop the loop. */
static void leave(struct sbx_in_file *file, const char *reason)
{
	struct sbx_fs *fs = file->home->view->fs;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_staged staged;
	if (reason)
		sbx_fail_kind(&file->failure, SBX_KIND_GONE, ESTALE, "%s", reason);
	sbx_in_file_describe(file, &staged);
	staged.open |= file->writers > 0;
	staged.damaged = staged.open; /* as the next mount would find it */
	if (sbx_staging_record(fs->in->staging, &staged, -1, false, &err))
		sbx_log(SBX_LOG_ERROR, "%s: %s is lost: %s", staged.sandbox_name, staged.path,
			err.message);
	add_orphan(fs->in, &staged);
}

/* It has no path any more. What has not landed stays on disk; a file that nothing was ever written
 * to has nothing to keep. */
static void detach(struct sbx_in_file *file, const char *reason)
{
	bool keep = sbx_in_file_dirty(file) && !(file->blank && !file->recorded);
	if (!keep) {
		sbx_in_file_unlink(file);
		return;
	}
	if (reason && !file->temporary)
		file->home->view->fs->in->lost = ESTALE;
	if (!file->sending) /* else its record is the upload's, which may have come in time */
		leave(file, reason);
	sbx_in_file_abandon(file);
}

static const char removed[] = "the sandbox was removed";

void sbx_in_settle_lost(struct sbx_in_file *file, int result)
{
	struct sbx_error err = SBX_ERROR_INIT;
	if (result)
		leave(file, removed);
	else if (sbx_staging_forget(file->home->view->fs->in->staging, file->sequence, &err))
		sbx_log(SBX_LOG_WARNING, "%s", err.message);
}

void sbx_in_view_gone(struct sbx_view *view)
{
	struct sbx_in_file *file, *next;
	struct sbx_error err = SBX_ERROR_INIT;
	sbx_fail_kind(&err, SBX_KIND_GONE, ESTALE, "%s", removed);
	HASH_ITER(hh, sbx_in_home(view)->files, file, next)
	{
		sbx_in_file_ref(file);
		file->lost = true;
		detach(file, err.message);
		sbx_waiters_resume(&file->settled, -ESTALE, &err);
		sbx_waiters_resume(&file->free, 0, NULL);
		sbx_in_file_unref(file);
	}
}

void sbx_in_view_free(struct sbx_view *view)
{
	struct sbx_in_view *home = view->in;
	if (!home)
		return;
	sbx_in_made_move(home, "", NULL);
	sbx_in_names_free(home);
	free(home->refusal);
	free(home);
	view->in = NULL;
}

/* Clean, closed and not used for as long as a name is believed: the guest's file like any other. */
static bool retire(struct sbx_in_file *file, int64_t now_ms, int64_t *next_ms)
{
	int64_t end_ms = file->idle_since_ms + file->home->view->fs->options->entry_timeout_ms;
	if (sbx_in_file_dirty(file) || sbx_in_file_busy(file) || file->handles)
		return false;
	if (end_ms > now_ms) {
		if (end_ms < *next_ms)
			*next_ms = end_ms;
		return false;
	}
	/* What was read before it was opened here could get into the pages of what landed. */
	sbx_in_file_retire(file, !file->node || !file->node->spools);
	return true;
}

static void retry(struct sbx_in_file *file, int64_t now_ms, int64_t *next_ms)
{
	if (!file->retry_at_ms || file->queued || file->sending || file->writers)
		return;
	if (file->retry_at_ms <= now_ms)
		sbx_in_upload(file);
	else if (file->retry_at_ms < *next_ms)
		*next_ms = file->retry_at_ms;
}

static void gather(struct sbx_in_view *home, int64_t now_ms, int64_t *next_ms)
{
	if (!home->first_queued || !home->gather_until_ms)
		return;
	if (home->gather_until_ms > now_ms && home->gather_until_ms < *next_ms)
		*next_ms = home->gather_until_ms;
	else if (home->gather_until_ms <= now_ms)
		sbx_in_pump(home);
}

int64_t sbx_in_sweep(struct sbx_fs *fs, int64_t now_ms)
{
	int64_t next_ms = INT64_MAX;
	struct sbx_view *view, *next_view;
	HASH_ITER(hh, fs->views.by_id, view, next_view)
	{
		struct sbx_in_file *file, *next;
		HASH_ITER(hh, sbx_in_home(view)->files, file, next)
		if (!retire(file, now_ms, &next_ms))
			retry(file, now_ms, &next_ms);
		gather(sbx_in_home(view), now_ms, &next_ms);
	}
	return next_ms;
}

void sbx_in_drain(struct sbx_fs *fs)
{
	struct sbx_view *view, *next_view;
	HASH_ITER(hh, fs->views.by_id, view, next_view)
	{
		struct sbx_in_file *file, *next;
		HASH_ITER(hh, sbx_in_home(view)->files, file, next)
		if (!file->temporary && !file->writers)
			sbx_in_upload(file);
	}
}

bool sbx_in_busy(struct sbx_fs *fs)
{
	return fs->in && fs->in->jobs > 0;
}

void sbx_in_leave(struct sbx_fs *fs)
{
	struct sbx_view *view, *next_view;
	if (!fs->in)
		return;
	HASH_ITER(hh, fs->views.by_id, view, next_view)
	{
		struct sbx_in_file *file, *next;
		HASH_ITER(hh, sbx_in_home(view)->files, file, next)
		sbx_in_file_abandon(file);
	}
}

void sbx_in_finish(struct sbx_fs *fs)
{
	struct sbx_in *in = fs->in;
	if (!in)
		return;
	fs->in = NULL;
	sbx_staging_close(in->staging);
	sbx_staged_list_finish(&in->orphans);
	free(in->root);
	free(in);
}
