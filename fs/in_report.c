/* in_report.c: what has not landed yet, for .sbxfs/pending and stats.json, and the barrier. */
#include "in_file.h"

#include "base/buffer.h"
#include "base/json.h"

static void add_line(struct sbx_buffer *out, const struct sbx_staged *staged, const char *state,
	int64_t retry_ms)
{
	cleanup_json cJSON *json = cJSON_CreateObject();
	sbx_json_add_text(json, "sandbox", staged->sandbox_name);
	sbx_json_add_text(json, "path", staged->path);
	sbx_json_add_int(json, "size", staged->size);
	sbx_json_add_text(json, "state", state);
	sbx_json_add_int(json, "attempts", staged->attempts);
	if (staged->reason) {
		sbx_json_add_text(json, "error", strerrorname_np(staged->errnum));
		sbx_json_add_text(json, "reason", staged->reason);
	}
	if (retry_ms >= 0)
		sbx_json_add_int(json, "retry_in_ms", retry_ms);
	cleanup_free char *line = sbx_json_print(json);
	(void)sbx_buffer_printf(out, "%s\n", line); /* without a limit */
}

static const char *state_of(const struct sbx_in_file *file)
{
	if (file->sending)
		return "uploading";
	if (file->writers)
		return "open";
	if (file->temporary)
		return "local";
	return file->failure.errnum ? "failed" : "waiting";
}

static void add_view(struct sbx_buffer *out, const struct sbx_view *view)
{
	int64_t now_ms = sbx_clock_ms();
	for (struct sbx_in_file *file = sbx_in_home(view)->files; file; file = file->hh.next) {
		struct sbx_staged staged;
		int64_t left = file->retry_at_ms - now_ms;
		if (!sbx_in_file_dirty(file))
			continue;
		sbx_in_file_describe(file, &staged);
		add_line(out, &staged, state_of(file),
			!file->retry_at_ms ? -1
			: left < 0	   ? 0
					   : left);
		sbx_staged_finish(&staged);
	}
}

char *sbx_in_pending_text(struct sbx_view *view, size_t *size)
{
	struct sbx_buffer out = { 0 };
	const struct sbx_staged_list *orphans = &view->fs->in->orphans;
	add_view(&out, view);
	for (size_t i = 0; i < orphans->count; i++)
		if (!strcmp(orphans->rows[i].sandbox_id, view->sandbox.container.id))
			add_line(&out, &orphans->rows[i],
				orphans->rows[i].damaged ? "damaged" : "failed", -1);
	*size = out.size;
	return out.data ? out.data : sbx_strdup("");
}

char *sbx_in_pending_all_text(struct sbx_fs *fs, size_t *size)
{
	struct sbx_buffer out = { 0 };
	struct sbx_view *view, *next;
	HASH_ITER(hh, fs->views.by_id, view, next)
	add_view(&out, view);
	for (size_t i = 0; i < fs->in->orphans.count; i++)
		add_line(&out, &fs->in->orphans.rows[i],
			fs->in->orphans.rows[i].damaged ? "damaged" : "failed", -1);
	*size = out.size;
	return out.data ? out.data : sbx_strdup("");
}

struct cJSON *sbx_in_stats(struct sbx_fs *fs)
{
	struct sbx_view *view, *next;
	int64_t pending = 0;
	HASH_ITER(hh, fs->views.by_id, view, next)
	for (struct sbx_in_file *file = sbx_in_home(view)->files; file; file = file->hh.next)
		pending += sbx_in_file_dirty(file);
	cJSON *json = cJSON_CreateObject();
	sbx_json_add_int(json, "uploads", (int64_t)fs->in->uploads);
	sbx_json_add_int(json, "files", (int64_t)fs->in->uploaded_files);
	sbx_json_add_int(json, "bytes", (int64_t)fs->in->uploaded_bytes);
	sbx_json_add_int(json, "failures", (int64_t)fs->in->failures);
	sbx_json_add_int(json, "pending", pending + (int64_t)fs->in->orphans.count);
	sbx_json_add_text(json, "staging_dir", sbx_in_staging_path(fs));
	return json;
}

/* 0 when all that was acknowledged has landed; -EAGAIN while something is on its way; else the
 * first failure. */
static int barrier_state(struct sbx_fs *fs, const struct sbx_error **err)
{
	struct sbx_view *view, *next;
	int first = 0;
	HASH_ITER(hh, fs->views.by_id, view, next)
	{
		struct sbx_in_file *file = sbx_in_home(view)->files;
		for (; file; file = file->hh.next) {
			if (!sbx_in_file_dirty(file) || file->temporary ||
				(file->writers && !file->queued && !file->sending))
				continue;
			if (file->queued || file->sending || !file->failure.errnum)
				return -EAGAIN;
			first = first ? first : -file->failure.errnum;
			*err = first == -file->failure.errnum ? &file->failure : *err;
		}
	}
	if (!first)
		first = -fs->in->lost;
	return first;
}

void sbx_in_check_barrier(struct sbx_fs *fs)
{
	const struct sbx_error *err = NULL;
	if (!fs->in || !fs->in->barrier.first)
		return;
	int state = barrier_state(fs, &err);
	if (state == -EAGAIN)
		return;
	fs->in->lost = 0;
	sbx_waiters_resume(&fs->in->barrier, state, err);
}

void sbx_in_sync(struct sbx_request *request, sbx_resume_fn resume)
{
	struct sbx_fs *fs = request->fs;
	struct sbx_view *view, *next;
	sbx_in_wait_long(request); /* of all sandboxes */
	sbx_request_park(request, &fs->in->barrier, resume);
	HASH_ITER(hh, fs->views.by_id, view, next)
	{
		struct sbx_in_file *file, *next_file;
		HASH_ITER(hh, sbx_in_home(view)->files, file, next_file)
		if (!file->temporary && !file->writers)
			sbx_in_upload(file);
	}
	sbx_in_check_barrier(fs);
}
