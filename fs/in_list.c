/* in_list.c: directories under in/: what the guest has and what is staged, together. */
#include "in_file.h"

#include "ops.h"

/* The path's name in the directory if it lies directly in it, else NULL. */
static const char *name_in(const char *path, const char *directory)
{
	const char *name = path + strlen(directory) + 1;
	return sbx_in_below(path, directory) && !strchr(name, '/') ? name : NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sbx_entry *)a)->name, ((const struct sbx_entry *)b)->name);
}

/* listed NULL: the guest has no such directory yet. */
static struct sbx_snapshot *merge(
	struct sbx_view *view, const char *path, const struct sbx_snapshot *listed)
{
	struct sbx_snapshot *merged = sbx_snapshot_create(true);
	merged->when_ms = listed ? listed->when_ms : sbx_clock_ms();
	if (listed)
		merged->listed_s = listed->listed_s;
	for (size_t i = 0; listed && i < listed->listing.count; i++) {
		sbx_snapshot_add(merged, listed->listing.rows[i].name);
		struct sbx_entry *row = &merged->listing.rows[i];
		row->st = listed->listing.rows[i].st;
		row->st.link_target = sbx_strdup(row->st.link_target);
	}
	for (struct sbx_in_file *file = sbx_in_home(view)->files; file; file = file->hh.next) {
		const char *name = name_in(file->path, path);
		bool newer = sbx_in_file_dirty(file) || sbx_in_file_busy(file) ||
			     file->idle_since_ms >= merged->when_ms;
		if (!name || !newer || (listed && sbx_snapshot_find(listed, name)))
			continue;
		sbx_snapshot_add(merged, name);
		merged->listing.rows[merged->listing.count - 1].st = sbx_in_file_stat(file);
	}
	if (merged->listing.count)
		qsort(merged->listing.rows, merged->listing.count, sizeof(*merged->listing.rows),
			by_name);
	return merged;
}

static void answer_with(struct sbx_request *request, const struct sbx_snapshot *listed)
{
	struct sbx_snapshot *merged = merge(request->node->view, request->node->path, listed);
	struct sbx_handle *handle = request->handle;
	if (handle) {
		sbx_snapshot_unref(handle->snapshot);
		handle->snapshot = merged;
		sbx_answer_rows(request);
		return;
	}
	handle = sbx_handle_create(request->fs, request->node);
	handle->snapshot = merged;
	sbx_answer_open(request, handle);
}

static void listed(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_view *view = request->node->view;
	if (result == -ENOENT && request->node->kind == SBX_NODE_IN_ROOT)
		answer_with(request, NULL); /* the first upload makes it */
	else if (result)
		sbx_answer_failure(request, result, err);
	else
		answer_with(request, sbx_directory_known(view, request->node->path, INT64_MAX));
}

static void list(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	struct sbx_snapshot *known = sbx_directory_known(
		view, request->node->path, request->fs->options->entry_timeout_ms);
	if (view->gone)
		sbx_answer_error(request, ENOENT);
	else if (known)
		answer_with(request, known);
	else
		sbx_directory_wait(request, view, request->node->path, listed);
}

void sbx_in_opendir(struct sbx_request *request)
{
	list(request);
}

/* A rewind long after the opening asks for what is there now. */
void sbx_in_readdirplus(struct sbx_request *request)
{
	const struct sbx_snapshot *snapshot = request->handle->snapshot;
	if (request->offset == 0 && !sbx_tree_fresh(request->fs, snapshot->when_ms))
		list(request);
	else
		sbx_answer_rows(request);
}
