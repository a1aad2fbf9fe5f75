/* node.c: see node.h. All of it runs on the loop's thread. */
#include "context.h"
#include "attr.h"
#include "in.h"
#include "passthrough.h"
#include "tree.h"

void sbx_nodes_init(struct sbx_fs *fs)
{
	fs->nodes.next_id = FUSE_ROOT_ID;
	fs->handles.next_id = 1;
	fs->nodes.root = sbx_node_create(fs, NULL, SBX_NODE_ROOT, "", NULL);
	sbx_node_pin(fs->nodes.root);
}

struct sbx_node *sbx_node_get(struct sbx_fs *fs, uint64_t id)
{
	struct sbx_node *node = NULL;
	HASH_FIND(hh, fs->nodes.by_id, &id, sizeof(id), node);
	return node;
}

bool sbx_node_gone(const struct sbx_node *node)
{
	return node->view && node->view->gone;
}

static struct sbx_node **paths(struct sbx_fs *fs, struct sbx_view *view)
{
	return view ? &view->by_path : &fs->nodes.root_paths;
}

struct sbx_node *sbx_node_find(struct sbx_fs *fs, struct sbx_view *view, const char *path)
{
	struct sbx_node *node = NULL;
	HASH_FIND(hh_path, *paths(fs, view), path, strlen(path), node);
	return node;
}

void sbx_node_detach(struct sbx_fs *fs, struct sbx_node *node)
{
	if (!node->current)
		return;
	HASH_DELETE(hh_path, *paths(fs, node->view), node);
	node->current = false;
}

static void attach(struct sbx_fs *fs, struct sbx_node *node)
{
	struct sbx_node *old = sbx_node_find(fs, node->view, node->path);
	if (old)
		sbx_node_detach(fs, old);
	HASH_ADD_KEYPTR(hh_path, *paths(fs, node->view), node->path, strlen(node->path), node);
	node->current = true;
	if (old)
		sbx_node_release(fs, old);
}

void sbx_node_move(struct sbx_fs *fs, struct sbx_node *node, const char *path)
{
	sbx_node_detach(fs, node);
	free(node->path);
	node->path = sbx_strdup(path);
	attach(fs, node);
}

/* Two versions that were written within one second, with the same size, get two numbers. */
static uint64_t number(struct sbx_fs *fs, const struct sbx_node *node)
{
	const char *id = node->view ? node->view->sandbox.container.id : "";
	if (node->kind != SBX_NODE_OUTPUT_FILE)
		return sbx_ino(id, node->path, NULL, false);
	uint64_t ino = sbx_ino(id, node->path, &node->st, fs->podman);
	const struct sbx_node *old = sbx_node_find(fs, node->view, node->path);
	if (old && old->kind == node->kind && old->ino == ino)
		ino = sbx_ino_exact(id, node->path, &node->st);
	return ino;
}

struct sbx_node *sbx_node_create(struct sbx_fs *fs, struct sbx_view *view, enum sbx_node_kind kind,
	const char *path, const struct sbx_stat *st)
{
	struct sbx_node *node = sbx_alloc(sizeof(*node));
	node->id = fs->nodes.next_id++;
	node->kind = kind;
	node->view = view;
	if (view)
		sbx_view_ref(view);
	node->path = sbx_strdup(path);
	if (st)
		node->st = *st;
	node->st.link_target = NULL;
	node->ino = number(fs, node);
	HASH_ADD(hh, fs->nodes.by_id, id, sizeof(node->id), node);
	attach(fs, node);
	return node;
}

static void free_node(struct sbx_fs *fs, struct sbx_node *node)
{
	sbx_node_detach(fs, node);
	HASH_DELETE(hh, fs->nodes.by_id, node);
	if (sbx_node_is_in(node))
		sbx_in_node_free(node);
	if (node->view)
		sbx_view_unref(node->view);
	free(node->path);
	free(node);
}

void sbx_node_release(struct sbx_fs *fs, struct sbx_node *node)
{
	if (!node->lookups && !node->pins)
		free_node(fs, node);
}

void sbx_node_pin(struct sbx_node *node)
{
	node->pins++;
}

void sbx_node_unpin(struct sbx_fs *fs, struct sbx_node *node)
{
	node->pins--;
	sbx_node_release(fs, node);
}

void sbx_node_forget(struct sbx_fs *fs, uint64_t id, uint64_t lookups)
{
	struct sbx_node *node = sbx_node_get(fs, id);
	if (!node)
		return; /* the kernel forgets what we no longer know: nothing is held */
	node->lookups -= lookups < node->lookups ? lookups : node->lookups;
	sbx_node_release(fs, node);
}

void sbx_nodes_finish(struct sbx_fs *fs)
{
	struct sbx_node *node, *next;
	HASH_ITER(hh, fs->nodes.by_id, node, next)
	free_node(fs, node);
	fs->nodes.root = NULL;
}

struct sbx_handle *sbx_handle_create(struct sbx_fs *fs, struct sbx_node *node)
{
	struct sbx_handle *handle = sbx_alloc(sizeof(*handle));
	handle->id = fs->handles.next_id++;
	handle->node = node;
	sbx_node_pin(node);
	HASH_ADD(hh, fs->handles.by_id, id, sizeof(handle->id), handle);
	return handle;
}

struct sbx_handle *sbx_handle_get(struct sbx_fs *fs, uint64_t id)
{
	struct sbx_handle *handle = NULL;
	HASH_FIND(hh, fs->handles.by_id, &id, sizeof(id), handle);
	return handle;
}

static void free_handle(struct sbx_fs *fs, struct sbx_handle *handle)
{
	HASH_DELETE(hh, fs->handles.by_id, handle);
	if (sbx_node_is_in(handle->node))
		sbx_in_handle_free(fs, handle);
	if (handle->spool) {
		sbx_passthrough_close(fs, handle);
		handle->node->spools--;
		sbx_spool_unref(fs->spools, handle->spool);
	}
	sbx_snapshot_unref(handle->snapshot);
	free(handle->text);
	sbx_node_unpin(fs, handle->node);
	free(handle);
}

void sbx_handle_pin(struct sbx_handle *handle)
{
	handle->pins++;
}

void sbx_handle_unpin(struct sbx_fs *fs, struct sbx_handle *handle)
{
	if (--handle->pins == 0 && handle->released)
		free_handle(fs, handle);
}

void sbx_handle_release(struct sbx_fs *fs, struct sbx_handle *handle)
{
	handle->released = true;
	if (!handle->pins)
		free_handle(fs, handle);
}

void sbx_handles_finish(struct sbx_fs *fs)
{
	struct sbx_handle *handle, *next;
	HASH_ITER(hh, fs->handles.by_id, handle, next)
	free_handle(fs, handle);
}
