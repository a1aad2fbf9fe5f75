/*
 * ops_dir.c: directories.
 *
 * A directory's content is taken when it is opened; rows go out with attributes, so that ls -l asks
 * for nothing more. Lookups are counted only for what the kernel really got.
 */
#include "ops.h"

#include "attr.h"
#include "control.h"
#include "tree.h"

/* As libfuse's own: "ask stat". */
static const ino_t unknown_ino = 0xffffffff;

static void opened(struct sbx_request *request, struct sbx_snapshot *snapshot)
{
	struct sbx_handle *handle = sbx_handle_create(request->fs, request->node);
	handle->snapshot = snapshot;
	sbx_answer_open(request, handle);
}

static struct sbx_snapshot *root_snapshot(struct sbx_fs *fs)
{
	struct sbx_snapshot *snapshot = sbx_snapshot_create(false);
	sbx_snapshot_add(snapshot, ".sbxfs");
	for (struct sbx_view *view = fs->views.by_name; view; view = view->hh_name.next)
		sbx_snapshot_add(snapshot, view->name);
	return snapshot;
}

/* The directory's content now, referenced, or NULL if the engine must be asked. */
static struct sbx_snapshot *take(struct sbx_fs *fs, const struct sbx_node *node)
{
	struct sbx_snapshot *snapshot;
	switch (node->kind) {
	case SBX_NODE_ROOT:
		return root_snapshot(fs);
	case SBX_NODE_CONTROL_DIR:
		return sbx_control_snapshot(node);
	case SBX_NODE_SANDBOX:
	case SBX_NODE_PARENT:
		if (node->view->sandbox.output_count && !sbx_outputs_fresh(node->view))
			return NULL;
		return sbx_outputs_snapshot(node->view, node->path);
	default:
		snapshot =
			sbx_directory_known(node->view, node->path, fs->options->entry_timeout_ms);
		if (snapshot)
			sbx_snapshot_ref(snapshot);
		return snapshot;
	}
}

static void ask(struct sbx_request *request, sbx_resume_fn resume)
{
	struct sbx_node *node = request->node;
	if (node->kind == SBX_NODE_OUTPUT_DIR)
		sbx_directory_wait(request, node->view, node->path, resume);
	else
		sbx_outputs_wait(request, node->view, resume);
}

/* After an answer of the engine: what it said, even if that took longer than it holds. */
static struct sbx_snapshot *take_answer(struct sbx_fs *fs, const struct sbx_node *node)
{
	if (node->kind != SBX_NODE_OUTPUT_DIR)
		return sbx_outputs_snapshot(node->view, node->path);
	struct sbx_snapshot *snapshot = sbx_directory_known(node->view, node->path, INT64_MAX);
	(void)fs; /* every age will do */
	if (snapshot)
		sbx_snapshot_ref(snapshot);
	return snapshot;
}

static void open_asked(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_snapshot *snapshot = NULL;
	if (!result)
		snapshot = take_answer(request->fs, request->node);
	if (snapshot)
		opened(request, snapshot);
	else
		sbx_answer_failure(request, result ? result : -EIO, result ? err : NULL);
}

void sbx_op_opendir(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	struct sbx_view *view = node->view;
	bool declared = node->kind == SBX_NODE_SANDBOX || node->kind == SBX_NODE_PARENT;
	if (sbx_node_gone(node)) {
		sbx_answer_error(request, ENOENT);
	} else if (declared && view->sandbox.refusal) {
		sbx_log(SBX_LOG_INFO, "%s: %s", view->sandbox.container.name,
			view->sandbox.refusal);
		sbx_answer_error(request, EOPNOTSUPP);
	} else {
		struct sbx_snapshot *snapshot = take(request->fs, node);
		if (snapshot)
			opened(request, snapshot);
		else
			ask(request, open_asked);
	}
}

struct fill {
	struct sbx_request *request;
	char *buffer;
	size_t size, used;
	struct sbx_node **nodes; /* whose lookups were counted */
	size_t count;
};

/* false: no more room. node may be NULL. */
static bool fill_row(struct fill *fill, const char *name, struct sbx_node *node, off_t next)
{
	struct sbx_fs *fs = fill->request->fs;
	struct fuse_entry_param entry = { 0 };
	if (node)
		sbx_entry_fill(fs, node, &entry);
	else
		entry.attr.st_ino = unknown_ino; /* 0 would make readdir(3) skip the name */
	size_t size = fuse_add_direntry_plus(fill->request->req, fill->buffer + fill->used,
		fill->size - fill->used, name, &entry, next);
	if (size > fill->size - fill->used) {
		if (node)
			sbx_node_release(fs, node);
		return false;
	}
	fill->used += size;
	if (node) {
		node->lookups++;
		fill->nodes[fill->count++] = node;
	}
	return true;
}

/* "." and ".." carry no node: the kernel wants their names only. */
static bool fill_dots(struct fill *fill, off_t offset)
{
	static const char *const dots[] = { ".", ".." };
	for (off_t i = offset; i < 2; i++) {
		struct fuse_entry_param entry = { .attr.st_mode = S_IFDIR };
		entry.attr.st_ino = fill->request->node->ino;
		size_t size = fuse_add_direntry_plus(fill->request->req, fill->buffer + fill->used,
			fill->size - fill->used, dots[i], &entry, i + 1);
		if (size > fill->size - fill->used)
			return false;
		fill->used += size;
	}
	return true;
}

static void send(struct fill *fill)
{
	struct sbx_request *request = fill->request;
	struct sbx_fs *fs = request->fs;
	int rc = fuse_reply_buf(request->req, fill->buffer, fill->used);
	for (size_t i = 0; i < fill->count; i++) {
		if (rc)
			fill->nodes[i]->lookups--;
		sbx_node_release(fs, fill->nodes[i]);
	}
	sbx_request_answered(request);
}

void sbx_answer_rows(struct sbx_request *request)
{
	const struct sbx_snapshot *snapshot = request->handle->snapshot;
	off_t offset = request->offset;
	/* The smallest row takes 152 bytes: this many fit. */
	size_t most = request->size / 152 + 1;
	cleanup_free char *buffer = sbx_alloc(request->size);
	cleanup_free struct sbx_node **nodes = sbx_alloc_array(most, sizeof(struct sbx_node *));
	struct fill fill = {
		.request = request, .buffer = buffer, .size = request->size, .nodes = nodes
	};
	bool room = fill_dots(&fill, offset);
	size_t row = offset > 2 ? (size_t)offset - 2 : 0;
	for (; room && row < snapshot->listing.count; row++) {
		struct sbx_node *node = NULL;
		if (!request->node->view || !request->node->view->gone)
			node = sbx_lookup_row(request->fs, request->node, snapshot, row);
		room = fill_row(&fill, snapshot->listing.rows[row].name, node, (off_t)row + 3);
	}
	send(&fill);
}

static void rewound(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_snapshot *snapshot = NULL;
	if (!result)
		snapshot = take_answer(request->fs, request->node);
	if (!snapshot) {
		sbx_answer_failure(request, result ? result : -EIO, result ? err : NULL);
		return;
	}
	sbx_snapshot_unref(request->handle->snapshot);
	request->handle->snapshot = snapshot;
	sbx_answer_rows(request);
}

void sbx_op_readdirplus(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	struct sbx_handle *handle = request->handle;
	if (!handle->snapshot) {
		sbx_answer_error(request, EBADF);
		return;
	}
	bool stale =
		request->offset == 0 && !sbx_tree_fresh(request->fs, handle->snapshot->when_ms);
	if (!stale || sbx_node_gone(node)) {
		sbx_answer_rows(request);
		return;
	}
	/* rewinddir long after opendir asks for what is there now. */
	struct sbx_snapshot *snapshot = take(request->fs, node);
	if (!snapshot) {
		ask(request, rewound);
		return;
	}
	sbx_snapshot_unref(handle->snapshot);
	handle->snapshot = snapshot;
	sbx_answer_rows(request);
}
