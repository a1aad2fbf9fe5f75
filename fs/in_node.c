/*
 * in_node.c: which node stands for a path under in/: ours while our bytes are the newest, else one
 * for each version that the guest makes.
 */
#include "in_file.h"

#include "attr.h"

/* A directory's time and mode are at most so many times older than a name may be, however many
 * uploads go through it. */
enum { PASSED_HOLDS = 5 };

struct sbx_node *sbx_in_node_create(
	struct sbx_view *view, enum sbx_node_kind kind, const char *path, const struct sbx_stat *st)
{
	struct sbx_node *node = sbx_node_create(view->fs, view, kind, path, st);
	cleanup_free char *unique = sbx_printf("%s/%llu", path, (unsigned long long)node->id);
	if (kind == SBX_NODE_IN_FILE)
		node->ino = sbx_ino(view->sandbox.container.id, unique, NULL, false);
	return node;
}

static enum sbx_node_kind kind_of(const struct sbx_view *view, const char *path, enum sbx_type type)
{
	if (type == SBX_TYPE_FILE)
		return SBX_NODE_IN_FILE;
	if (type != SBX_TYPE_DIR)
		return SBX_NODE_REFUSED;
	return strcmp(path, view->sandbox.in_dir) ? SBX_NODE_IN_DIR : SBX_NODE_IN_ROOT;
}

/* A file of ours that has landed and that the guest has changed or removed since: what the guest
 * has is the newest now. */
static void yield_to_guest(struct sbx_view *view, struct sbx_in_file *file)
{
	if (file->handles)
		sbx_log(SBX_LOG_INFO, "%s: the guest changed %s while it was open here",
			view->sandbox.container.name, file->path);
	file->lost = true;
	sbx_in_file_unlink(file);
}

/* Adopts what was found, where it says more than is known. */
static void learn(struct sbx_node *node, const struct sbx_stat *st)
{
	const struct sbx_stat known = node->st;
	node->st = *st;
	node->st.link_target = NULL;
	if (st->mtime_ns >= 0)
		return;
	node->st.mtime_ns = known.mtime_ns;
	if (node->kind == SBX_NODE_IN_FILE)
		node->st.mtime_s = known.mtime_s; /* the same one, which the engine may round */
}

static struct sbx_node *nothing_there(struct sbx_view *view, struct sbx_node *node)
{
	if (node)
		sbx_node_detach(view->fs, node);
	return NULL;
}

struct sbx_node *sbx_in_guest_node(struct sbx_view *view, const char *path,
	const struct sbx_stat *st, int64_t when_ms, int64_t asked_s)
{
	struct sbx_fs *fs = view->fs;
	struct sbx_node *node = sbx_node_find(fs, view, path);
	struct sbx_in_file *file = sbx_in_file_find(view, path);
	/* Ours is newer, or landed after the guest was asked. */
	if (file && (sbx_in_file_dirty(file) || sbx_in_file_busy(file) ||
			    when_ms <= file->idle_since_ms))
		return sbx_in_file_node(file);
	if (!file && node && node->verified_ms > when_ms)
		return node;
	if (file && !file->node)
		node = sbx_in_file_node(file);
	if (!st) {
		if (file)
			yield_to_guest(view, file);
		return nothing_there(view, sbx_node_find(fs, view, path));
	}
	enum sbx_node_kind kind = kind_of(view, path, st->type);
	bool same = node && node->kind == kind &&
		    (kind != SBX_NODE_IN_FILE || sbx_same_version(&node->st, st, fs->podman));
	/* What the guest has is asked for by the next open; our own bytes are served without. */
	if (same && kind == SBX_NODE_IN_FILE && node->st.mtime_ns >= 0 &&
		!sbx_tree_certain(node, st, asked_s))
		return file ? NULL : node;
	if (file && !same)
		yield_to_guest(view, file);
	if (kind == SBX_NODE_REFUSED)
		sbx_refused_note(view, path, st->type, st->link_target);
	if (!same)
		node = sbx_in_node_create(view, kind, path, st);
	else if (!node->in)
		learn(node, st);
	if (kind == SBX_NODE_REFUSED)
		node->st.size = 0;
	if (st->mtime_ns >= 0 || !same)
		node->asked_s = asked_s;
	node->verified_ms = when_ms;
	return node;
}

void sbx_in_passed(struct sbx_view *view, const char *path)
{
	cleanup_free char *above = sbx_strdup(path);
	for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
		*slash = '\0';
		struct sbx_node *node = sbx_node_find(view->fs, view, above);
		if (node && (node->kind == SBX_NODE_IN_DIR || node->kind == SBX_NODE_IN_ROOT))
			node->passed_ms = sbx_clock_ms();
	}
}

bool sbx_in_holds(const struct sbx_node *node)
{
	const struct sbx_fs *fs = node->view->fs;
	return sbx_tree_fresh(fs, node->verified_ms) ||
	       (sbx_tree_fresh(fs, node->passed_ms) && node->verified_ms &&
		       sbx_clock_ms() - node->verified_ms <
			       PASSED_HOLDS * fs->options->entry_timeout_ms);
}
