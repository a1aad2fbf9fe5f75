/* in_lookup.c: names and attributes under in/. */
#include "in_file.h"

static double name_timeout_s(const struct sbx_fs *fs)
{
	return (double)fs->options->entry_timeout_ms / 1000;
}

/* Answers from what is known; false when the guest must be asked. */
static bool answer_known(struct sbx_request *request, const char *path)
{
	struct sbx_view *view = request->node->view;
	struct sbx_fs *fs = request->fs;
	struct sbx_in_file *file = sbx_in_file_find(view, path);
	struct sbx_node *node = sbx_node_find(fs, view, path);
	const struct sbx_fact *fact = sbx_fact_fresh(view, path);
	if (file && (sbx_in_file_dirty(file) || sbx_in_file_busy(file) ||
			    sbx_tree_fresh(fs, file->idle_since_ms))) {
		sbx_answer_entry(request, sbx_in_file_node(file));
		return true;
	}
	if (node && sbx_in_holds(node)) {
		sbx_answer_entry(request, node);
		return true;
	}
	int64_t when_ms, asked_s;
	const struct sbx_entry *row =
		fact ? NULL : sbx_in_names_row(view, path, &when_ms, &asked_s);
	if (row && (node = sbx_in_guest_node(view, path, &row->st, when_ms, asked_s))) {
		sbx_answer_entry(request, node);
		return true;
	}
	if (!fact && sbx_in_absent(view, path)) {
		sbx_answer_absent(request, name_timeout_s(fs));
		return true;
	}
	if (!fact || (fact->result && fact->result != -ENOENT))
		return false;
	node = sbx_in_guest_node(
		view, path, fact->result ? NULL : &fact->st, fact->when_ms, fact->asked_s);
	if (node)
		sbx_answer_entry(request, node);
	else
		sbx_answer_absent(request, name_timeout_s(fs));
	return true;
}

/* The engine does not answer, and what is written can still be staged: a name is what it was last
 * known to be. One that nobody knows is taken as new; it is written down as unsure and never
 * replaces what the guest turns out to have. */
static void answer_away(struct sbx_request *request, const char *path)
{
	struct sbx_node *node = sbx_node_find(request->fs, request->node->view, path);
	if (node)
		sbx_answer_entry(request, node);
	else
		sbx_answer_absent(request, 0);
}

static void asked(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_view *view = request->node->view;
	cleanup_free char *path = sbx_path_join(request->node->path, request->name);
	const struct sbx_fact *fact = sbx_fact_fresh(view, path);
	if (fact && !fact->result)
		sbx_in_names_there(view, request->node->path);
	if (!result && answer_known(request, path))
		return;
	if (result == -EHOSTDOWN)
		answer_away(request, path);
	else if (result)
		sbx_answer_failure(request, result, err);
	else
		sbx_answer_error(request, fact ? sbx_request_errno(fact->result, NULL) : EIO);
}

/* The listing says what is not there, and what is. */
static void listed(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_view *view = request->node->view;
	const char *directory = request->node->path;
	cleanup_free char *path = sbx_path_join(directory, request->name);
	struct sbx_snapshot *snapshot =
		sbx_directory_known(view, directory, view->fs->options->entry_timeout_ms);
	if (!result && snapshot)
		sbx_in_names_note(view, directory, snapshot);
	if (result == -ELOOP) /* as asking for the name would be, with one more line of the audit */
		sbx_answer_failure(request, result, err);
	else if (!answer_known(request, path))
		sbx_fact_wait(request, view, path, asked);
}

void sbx_in_lookup(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	cleanup_free char *path = sbx_path_join(request->node->path, request->name);
	sbx_trail_note(view, request->node->path);
	if (view->gone)
		sbx_answer_error(request, ENOENT);
	else if (answer_known(request, path))
		return;
	else if (sbx_in_names_wanted(view, request->node->path))
		sbx_directory_wait(request, view, request->node->path, listed);
	else
		sbx_fact_wait(request, view, path, asked);
}

struct sbx_node *sbx_in_root_node(struct sbx_view *view)
{
	struct sbx_node *node = sbx_node_find(view->fs, view, view->sandbox.in_dir);
	return node && sbx_in_holds(node) ? node : NULL;
}

/* An in dir that the guest does not have yet is shown: the first upload makes it. */
static struct sbx_node *root_by_fact(struct sbx_view *view, const struct sbx_fact *fact)
{
	static const struct sbx_stat absent = { .type = SBX_TYPE_DIR, .mode = 0755 };
	const struct sbx_stat *st = fact && !fact->result ? &fact->st : &absent;
	return sbx_in_guest_node(
		view, view->sandbox.in_dir, st, fact ? fact->when_ms : sbx_clock_ms(), 0);
}

static void root_asked(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_view *view = sbx_in_op(request)->view;
	const struct sbx_fact *fact = sbx_fact_fresh(view, view->sandbox.in_dir);
	if (result == -EHOSTDOWN || (!result && fact && fact->result == -ENOENT) ||
		(!result && fact && !fact->result))
		sbx_answer_entry(request, root_by_fact(view, fact));
	else if (result)
		sbx_answer_failure(request, result, err);
	else
		sbx_answer_error(request, fact ? sbx_request_errno(fact->result, NULL) : EIO);
}

void sbx_in_lookup_root(struct sbx_request *request, struct sbx_view *view)
{
	struct sbx_node *node = sbx_in_root_node(view);
	sbx_in_op(request)->view = view;
	sbx_in_admit(view, NULL, NULL); /* so that info.json can say before somebody writes */
	if (node)
		sbx_answer_entry(request, node);
	else if (sbx_fact_fresh(view, view->sandbox.in_dir))
		root_asked(request, 0, NULL);
	else
		sbx_fact_wait(request, view, view->sandbox.in_dir, root_asked);
}

/* A node is one version, so its attributes are its own whatever the guest does; what the name
 * stands for now is lookup's business. */
void sbx_in_getattr(struct sbx_request *request)
{
	sbx_answer_attr(request, request->node);
}
