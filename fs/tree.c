/* tree.c: the node that stands for a path, and what of a sandbox is refused; see tree.h. */
#include "tree.h"
#include "attr.h"
#include "in.h"

enum { REFUSED_KEPT = 10000 };

/* Declared as a file and found as a directory, or the other way round, is not what was promised. */
static enum sbx_node_kind kind_of(
	struct sbx_view *view, const char *path, const struct sbx_stat *st)
{
	const struct sbx_output *output = NULL;
	bool declared = sbx_place_of(&view->sandbox, path, &output) == SBX_PLACE_OUTPUT;
	if (st->type == SBX_TYPE_DIR)
		return declared && !output->directory ? SBX_NODE_REFUSED : SBX_NODE_OUTPUT_DIR;
	if (st->type == SBX_TYPE_FILE)
		return declared && output->directory ? SBX_NODE_REFUSED : SBX_NODE_OUTPUT_FILE;
	return SBX_NODE_REFUSED;
}

int sbx_tree_refusal(const struct sbx_node *node)
{
	switch (node->st.type) {
	case SBX_TYPE_LINK:
		return ELOOP;
	case SBX_TYPE_DIR:
		return EISDIR;
	case SBX_TYPE_FILE:
		return ENOTDIR;
	default:
		return ENXIO;
	}
}

/*
 * Whether what was read through the node is certain to be of the version that st names. Where one
 * side knows the second only, a change within that second would look the same: it is excluded when
 * the second was over before that side was asked for, and the exact one too if that came first.
 */
bool sbx_tree_certain(const struct sbx_node *node, const struct sbx_stat *st, int64_t asked_s)
{
	if (node->st.mtime_ns >= 0 && st->mtime_ns >= 0)
		return true;
	if (node->st.mtime_ns < 0 && st->mtime_ns < 0)
		return sbx_settled(st, node->asked_s);
	if (node->st.mtime_ns < 0)
		return !node->served || sbx_settled(st, node->asked_s);
	return sbx_settled(&node->st, node->asked_s) && sbx_settled(st, asked_s);
}

/* The node's time becomes exact; a content that was kept under the second moves with it. */
static void learn_time(struct sbx_node *node, const struct sbx_stat *st, int64_t asked_s)
{
	struct sbx_view *view = node->view;
	struct sbx_spools *spools = view->fs->spools;
	const char *id = view->sandbox.container.id;
	bool settled = sbx_settled(st, node->asked_s);
	cleanup_free char *old_key = sbx_spool_key(id, node->path, &node->st);
	node->st.mtime_s = st->mtime_s;
	node->st.mtime_ns = st->mtime_ns;
	node->asked_s = asked_s;
	struct sbx_spool *spool = sbx_spool_find(spools, old_key);
	if (!spool)
		return;
	if (settled)
		sbx_spool_register(spools, spool, sbx_spool_key(id, node->path, &node->st));
	else
		sbx_spool_drop(spools, spool);
	sbx_spool_unref(spools, spool);
}

static bool adopt(
	struct sbx_node *node, const struct sbx_stat *st, int64_t when_ms, int64_t asked_s)
{
	bool podman = node->view->fs->podman;
	if (!sbx_same_version(&node->st, st, podman))
		return false;
	if (!sbx_tree_certain(node, st, asked_s)) {
		/* Of two answers to the second the listing cannot say which version it saw. The
		 * exact node stays, unverified: its next open asks. */
		return node->st.mtime_ns >= 0;
	}
	if (node->st.mtime_ns < 0 && st->mtime_ns >= 0)
		learn_time(node, st, asked_s);
	node->st.mode = st->mode;
	if (when_ms > node->verified_ms)
		node->verified_ms = when_ms;
	bool better = st->mtime_ns >= 0 || (node->st.mtime_ns < 0 && !node->served);
	if (better && asked_s > node->asked_s)
		node->asked_s = asked_s;
	return true;
}

static struct sbx_node *current(struct sbx_view *view, const char *path, enum sbx_node_kind kind,
	const struct sbx_stat *st, int64_t when_ms, int64_t asked_s)
{
	struct sbx_node *node = sbx_node_find(view->fs, view, path);
	if (!node || node->kind != kind)
		return NULL;
	if (kind == SBX_NODE_OUTPUT_FILE)
		return adopt(node, st, when_ms, asked_s) ? node : NULL;
	if (kind == SBX_NODE_REFUSED)
		return node->st.type == st->type ? node : NULL;
	node->st = *st;
	node->st.link_target = NULL;
	node->verified_ms = when_ms;
	return node;
}

struct sbx_node *sbx_tree_node(struct sbx_view *view, const char *path, const struct sbx_stat *st,
	int64_t when_ms, int64_t asked_s)
{
	if (sbx_place_of(&view->sandbox, path, NULL) == SBX_PLACE_IN)
		return sbx_in_guest_node(view, path, st, when_ms, asked_s);
	enum sbx_node_kind kind = kind_of(view, path, st);
	if (kind == SBX_NODE_REFUSED)
		sbx_refused_note(view, path, st->type, st->link_target);
	else
		sbx_refused_forget(view, path);
	struct sbx_node *node = current(view, path, kind, st, when_ms, asked_s);
	if (node)
		return node;
	struct sbx_stat shown = *st;
	if (kind == SBX_NODE_REFUSED)
		shown.size = 0;
	node = sbx_node_create(view->fs, view, kind, path, &shown);
	node->verified_ms = when_ms;
	node->asked_s = asked_s;
	return node;
}

static struct sbx_refused *find_refused(struct sbx_view *view, const char *path)
{
	struct sbx_refused *refused = NULL;
	HASH_FIND_STR(view->refused, path, refused);
	return refused;
}

static void free_refused(struct sbx_view *view, struct sbx_refused *refused)
{
	HASH_DEL(view->refused, refused);
	free(refused->path);
	free(refused->target);
	free(refused->reason);
	free(refused);
}

static struct sbx_refused *get_refused(struct sbx_view *view, const char *path)
{
	struct sbx_refused *refused = find_refused(view, path);
	if (refused)
		return refused;
	if (HASH_COUNT(view->refused) >= REFUSED_KEPT)
		free_refused(view, view->refused); /* the oldest */
	refused = sbx_alloc(sizeof(*refused));
	refused->path = sbx_strdup(path);
	HASH_ADD_KEYPTR(hh, view->refused, refused->path, strlen(refused->path), refused);
	return refused;
}

void sbx_refused_reason(struct sbx_view *view, const char *path, const char *reason)
{
	struct sbx_refused *refused = reason ? get_refused(view, path) : find_refused(view, path);
	if (reason && (!refused->reason || strcmp(refused->reason, reason) != 0)) {
		free(refused->reason);
		refused->reason = sbx_strdup(reason);
		sbx_log(SBX_LOG_INFO, "%s", reason);
	} else if (!reason && refused && refused->reason) {
		free_refused(view, refused);
	}
}

void sbx_refused_note(
	struct sbx_view *view, const char *path, enum sbx_type type, const char *target)
{
	struct sbx_refused *refused = get_refused(view, path);
	free(steal(&refused->reason));
	refused->type = type;
	if (target || type != SBX_TYPE_LINK) {
		free(refused->target);
		refused->target = sbx_strdup(target);
	}
}

void sbx_refused_forget(struct sbx_view *view, const char *path)
{
	struct sbx_refused *refused = find_refused(view, path);
	if (refused)
		free_refused(view, refused);
}

void sbx_refused_free(struct sbx_view *view)
{
	struct sbx_refused *refused, *next;
	HASH_ITER(hh, view->refused, refused, next)
	free_refused(view, refused);
}
