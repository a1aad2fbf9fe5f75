/*
 * ops_lookup.c: names and attributes.
 *
 * A name is answered from what is known if that still holds, else the engine is asked, once for all
 * who wait. A name that is not there is remembered by the kernel for a moment: desktops ask for the
 * same dozen of them over and over.
 */
#include "ops.h"

#include "attr.h"
#include "control.h"
#include "in.h"
#include "tree.h"

#include "base/text.h"

static const double negative_s = 2;

/* What file managers look for in every directory, and nobody else: that one of them has just come
 * may be told late. Not so .git, whose absence decides what a tool does. */
static bool is_probe(const char *name)
{
	static const char *const names[] = { ".Trash", ".hidden", ".directory", ".sh_thumbnails",
		"autorun.inf", "desktop.ini", ".xdg-volume-info", "AACS", "BDMV" };
	if (sbx_text_has_prefix(name, ".Trash-"))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void lookup_in_root(struct sbx_request *request)
{
	struct sbx_fs *fs = request->fs;
	if (strcmp(request->name, ".sbxfs") == 0) {
		sbx_control_lookup(request, NULL);
		return;
	}
	struct sbx_view *view = sbx_views_by_name(fs, request->name);
	if (view)
		sbx_answer_entry(request, sbx_sandbox_node(view));
	else
		sbx_answer_absent(request, negative_s);
}

struct sbx_node *sbx_sandbox_node(struct sbx_view *view)
{
	struct sbx_node *node = sbx_node_find(view->fs, view, "");
	struct sbx_stat st = { .type = SBX_TYPE_DIR,
		.mode = 0555,
		.mtime_s = view->sandbox.container.created_ns / 1000000000 };
	return node ? node : sbx_node_create(view->fs, view, SBX_NODE_SANDBOX, "", &st);
}

static struct sbx_node *parent_node(struct sbx_view *view, const char *path)
{
	struct sbx_node *node = sbx_node_find(view->fs, view, path);
	struct sbx_stat st = { .type = SBX_TYPE_DIR,
		.mode = 0555,
		.mtime_s = view->sandbox.container.created_ns / 1000000000 };
	if (node && node->kind == SBX_NODE_PARENT)
		return node;
	return sbx_node_create(view->fs, view, SBX_NODE_PARENT, path, &st);
}

static char *child_path(const struct sbx_request *request)
{
	return sbx_path_join(request->node->path, request->name);
}

/* From the fact or the listing, whichever is known. false: nothing that still holds. */
static bool answer_known(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	cleanup_free char *path = child_path(request);
	const struct sbx_fact *fact = sbx_fact_fresh(view, path);
	const struct sbx_snapshot *snapshot = NULL;
	if (request->node->kind == SBX_NODE_OUTPUT_DIR)
		snapshot = sbx_directory_known(
			view, request->node->path, view->fs->options->entry_timeout_ms);
	if (fact && (!snapshot || fact->when_ms >= snapshot->when_ms)) {
		if (fact->result == -ENOENT)
			sbx_answer_absent(request, negative_s);
		else if (fact->result)
			sbx_answer_error(request, sbx_request_errno(fact->result, NULL));
		else
			sbx_answer_entry(request,
				sbx_tree_node(view, path, &fact->st, fact->when_ms, fact->asked_s));
		return true;
	}
	if (!snapshot)
		return false;
	const struct sbx_entry *row = sbx_snapshot_find(snapshot, request->name);
	if (row)
		sbx_answer_entry(request,
			sbx_tree_node(view, path, &row->st, snapshot->when_ms, snapshot->listed_s));
	else
		sbx_answer_absent(request, negative_s);
	return true;
}

static void path_asked(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result)
		sbx_answer_failure(request, result, err);
	else if (!answer_known(request))
		/* The sandbox went away meanwhile, or the answer took longer than it holds. */
		sbx_answer_error(request, request->node->view->gone ? ENOENT : ETIMEDOUT);
}

static void glanced(struct sbx_request *request, int result, const struct sbx_error *err)
{
	(void)result; /* what it did not tell is asked for by itself */
	(void)err;
	if (answer_known(request))
		return;
	cleanup_free char *path = child_path(request);
	sbx_fact_wait(request, request->node->view, path, path_asked);
}

static void lookup_guest(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	if (request->node->kind == SBX_NODE_OUTPUT_DIR)
		sbx_trail_note(view, request->node->path);
	if (answer_known(request))
		return;
	if (is_probe(request->name)) {
		const struct sbx_snapshot *snapshot =
			sbx_directory_known(view, request->node->path, SBX_LISTING_KEPT_MS);
		if (snapshot && !sbx_snapshot_find(snapshot, request->name)) {
			sbx_answer_absent(request, negative_s);
			return;
		}
	}
	if (request->node->kind == SBX_NODE_OUTPUT_DIR &&
		sbx_directory_glance(request, view, request->node->path, glanced))
		return;
	cleanup_free char *path = child_path(request);
	sbx_fact_wait(request, view, path, path_asked);
}

static void answer_parent(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	cleanup_free char *path = child_path(request);
	if (sbx_outputs_parent_exists(view, path))
		sbx_answer_entry(request, parent_node(view, path));
	else
		sbx_answer_absent(request, negative_s);
}

static void outputs_asked(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result)
		sbx_answer_failure(request, result, err);
	else
		answer_parent(request);
}

static void lookup_declared(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	cleanup_free char *path = child_path(request);
	if (request->node->kind == SBX_NODE_SANDBOX && strcmp(request->name, ".sbxfs") == 0) {
		sbx_control_lookup(request, view);
		return;
	}
	if (view->sandbox.refusal) {
		sbx_log(SBX_LOG_INFO, "%s: %s", view->sandbox.container.name,
			view->sandbox.refusal);
		sbx_answer_error(request, EOPNOTSUPP);
		return;
	}
	switch (sbx_place_of(&view->sandbox, path, NULL)) {
	case SBX_PLACE_IN:
		sbx_in_lookup_root(request, view);
		break;
	case SBX_PLACE_PARENT:
		if (sbx_outputs_fresh(view) || !view->sandbox.output_count)
			answer_parent(request);
		else
			sbx_outputs_wait(request, view, outputs_asked);
		break;
	case SBX_PLACE_OUTPUT:
		lookup_guest(request);
		break;
	default:
		sbx_answer_absent(request, negative_s);
		break;
	}
}

void sbx_op_lookup(struct sbx_request *request)
{
	const struct sbx_node *parent = request->node;
	if (sbx_node_gone(parent)) {
		sbx_answer_error(request, ENOENT);
		return;
	}
	switch (parent->kind) {
	case SBX_NODE_ROOT:
		lookup_in_root(request);
		break;
	case SBX_NODE_CONTROL_DIR:
		sbx_control_lookup_file(request);
		break;
	case SBX_NODE_SANDBOX:
	case SBX_NODE_PARENT:
		lookup_declared(request);
		break;
	case SBX_NODE_OUTPUT_DIR:
		lookup_guest(request);
		break;
	default:
		sbx_answer_error(request, ENOTDIR);
		break;
	}
}

/* NULL where only a lookup of its own can say: it costs the kernel one request. */
struct sbx_node *sbx_lookup_row(
	struct sbx_fs *fs, struct sbx_node *parent, const struct sbx_snapshot *snapshot, size_t row)
{
	struct sbx_view *view = parent->view;
	const struct sbx_entry *entry = &snapshot->listing.rows[row];
	if (parent->kind == SBX_NODE_ROOT) {
		view = sbx_views_by_name(fs, entry->name);
		return view ? sbx_sandbox_node(view) : NULL;
	}
	cleanup_free char *path = sbx_path_join(parent->path, entry->name);
	if (snapshot->guest)
		return sbx_tree_node(view, path, &entry->st, snapshot->when_ms, snapshot->listed_s);
	if (parent->kind == SBX_NODE_CONTROL_DIR || strcmp(path, ".sbxfs") == 0)
		return NULL;
	switch (sbx_place_of(&view->sandbox, path, NULL)) {
	case SBX_PLACE_IN:
		return sbx_in_root_node(view);
	case SBX_PLACE_PARENT:
		return parent_node(view, path);
	case SBX_PLACE_OUTPUT: {
		const struct sbx_fact *fact = sbx_fact_fresh(view, path);
		if (fact && !fact->result)
			return sbx_tree_node(view, path, &fact->st, fact->when_ms, fact->asked_s);
		return NULL;
	}
	default:
		return NULL;
	}
}

/* An open file's version keeps its attributes whatever became of the path. */
static void attr_asked(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_node *node = request->node;
	struct sbx_view *view = node->view;
	const struct sbx_fact *fact = sbx_fact_fresh(view, node->path);
	bool file = node->kind == SBX_NODE_OUTPUT_FILE;
	if (!result && fact && !fact->result) {
		/* Makes the node's time exact, or renews the directory's attributes. */
		struct sbx_node *now =
			sbx_tree_node(view, node->path, &fact->st, fact->when_ms, fact->asked_s);
		sbx_node_release(view->fs, now);
		sbx_answer_attr(request, node);
	} else if (file) {
		sbx_answer_attr(request, node);
	} else if (result) {
		sbx_answer_failure(request, result, err);
	} else {
		sbx_answer_error(request, fact ? sbx_request_errno(fact->result, NULL) : EIO);
	}
}

static void attr_glanced(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_node *node = request->node;
	struct sbx_node *now = sbx_directory_node_now(request);
	(void)result; /* what it did not tell is asked for by itself */
	(void)err;
	if (now && now != node)
		sbx_node_release(request->fs, now);
	if (now && (node->kind == SBX_NODE_OUTPUT_FILE || now == node))
		sbx_answer_attr(request, node);
	else
		sbx_fact_wait(request, node->view, node->path, attr_asked);
}

static void ask_attr(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	if (sbx_tree_fresh(request->fs, node->verified_ms))
		sbx_answer_attr(request, node);
	else if (!sbx_directory_glance_above(request, attr_glanced))
		sbx_fact_wait(request, node->view, node->path, attr_asked);
}

void sbx_op_getattr(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	bool gone = sbx_node_gone(node);
	switch (node->kind) {
	case SBX_NODE_OUTPUT_FILE:
		if (node->st.mtime_ns >= 0 || gone || !node->current)
			sbx_answer_attr(request, node);
		else
			ask_attr(request);
		break;
	case SBX_NODE_OUTPUT_DIR:
		if (gone)
			sbx_answer_error(request, ENOENT);
		else
			ask_attr(request);
		break;
	case SBX_NODE_CONTROL_FILE:
		sbx_control_measure(node);
		sbx_answer_attr(request, node);
		break;
	default:
		if (gone)
			sbx_answer_error(request, ENOENT);
		else
			sbx_answer_attr(request, node);
		break;
	}
}
