/* control.c: see control.h. */
#include "control.h"

#include "in.h"
#include "tree.h"

#include "base/buffer.h"
#include "base/json.h"

#include <time.h>

enum { LOG_LINES = 20000, LOG_MAX = 1 << 20 };

static const char *const sandbox_files[] = { "audit", "info.json", "log", "pending", "refused" };
static const char *const root_files[] = { "pending", "stats.json", "sync" };

static bool is(const struct sbx_node *node, const char *name)
{
	return strcmp(node->path + strlen(".sbxfs/"), name) == 0;
}

static struct sbx_node *control_node(
	struct sbx_fs *fs, struct sbx_view *view, enum sbx_node_kind kind, const char *path)
{
	struct sbx_node *node = sbx_node_find(fs, view, path);
	struct sbx_stat st = { .type = kind == SBX_NODE_CONTROL_DIR ? SBX_TYPE_DIR : SBX_TYPE_FILE,
		.mode = 0555,
		.mtime_s = time(NULL) };
	return node ? node : sbx_node_create(fs, view, kind, path, &st);
}

void sbx_control_lookup(struct sbx_request *request, struct sbx_view *view)
{
	sbx_answer_entry(request, control_node(request->fs, view, SBX_NODE_CONTROL_DIR, ".sbxfs"));
}

static size_t files_of(const struct sbx_node *directory, const char *const **out)
{
	*out = directory->view ? sandbox_files : root_files;
	return directory->view ? sizeof(sandbox_files) / sizeof(sandbox_files[0])
			       : sizeof(root_files) / sizeof(root_files[0]);
}

void sbx_control_lookup_file(struct sbx_request *request)
{
	const char *const *names;
	size_t count = files_of(request->node, &names);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], request->name) != 0)
			continue;
		cleanup_free char *path = sbx_path_join(".sbxfs", request->name);
		struct sbx_node *node =
			control_node(request->fs, request->node->view, SBX_NODE_CONTROL_FILE, path);
		sbx_control_measure(node);
		sbx_answer_entry(request, node);
		return;
	}
	sbx_answer_error(request, ENOENT);
}

struct sbx_snapshot *sbx_control_snapshot(const struct sbx_node *node)
{
	const char *const *names;
	size_t count = files_of(node, &names);
	struct sbx_snapshot *snapshot = sbx_snapshot_create(false);
	for (size_t i = 0; i < count; i++)
		sbx_snapshot_add(snapshot, names[i]);
	return snapshot;
}

static char *json_text(struct cJSON *json, size_t *size)
{
	char *line = sbx_json_print(json);
	char *text = sbx_printf("%s\n", line);
	cJSON_Delete(json);
	free(line);
	*size = strlen(text);
	return text;
}

/* NULL for the log, which only the engine has. */
static char *text_of(const struct sbx_node *node, struct sbx_fs *fs, size_t *size)
{
	struct sbx_view *view = node->view;
	if (!view && is(node, "pending"))
		return sbx_in_pending_all_text(fs, size);
	if (!view)
		return json_text(sbx_control_stats(fs), size);
	if (is(node, "info.json"))
		return json_text(sbx_control_info(view), size);
	if (is(node, "audit"))
		return sbx_audit_text(&view->audit, size);
	if (is(node, "refused"))
		return sbx_control_refused_text(view, size);
	if (is(node, "pending"))
		return sbx_in_pending_text(view, size);
	return NULL;
}

void sbx_control_measure(struct sbx_node *node)
{
	size_t size = 0;
	if (!node->view)
		return; /* changes with every request: the reader finds its end itself */
	cleanup_free char *text = text_of(node, node->view->fs, &size);
	if (!text)
		return; /* the log: as it was when it was last read */
	if (node->st.size != (int64_t)size)
		node->st.mtime_s = time(NULL);
	node->st.size = (int64_t)size;
}

static void opened(struct sbx_request *request, char *text, size_t size)
{
	struct sbx_handle *handle = sbx_handle_create(request->fs, request->node);
	handle->text = text;
	handle->text_size = size;
	request->fi.direct_io = 1;
	request->fi.noflush = 1;
	request->node->st.size = (int64_t)size;
	sbx_answer_open(request, handle);
}

struct log_job {
	struct sbx_job job;
	struct sbx_waiters waiters;
	char *id;
	struct sbx_buffer text;
};

/* Keeps the end: a long log is cut at a line. */
static int keep_log(void *data, int stream, const char *bytes, size_t size)
{
	struct sbx_buffer *text = data;
	(void)stream; /* both, in the order in which the engine has them */
	(void)sbx_buffer_append(text, bytes, size); /* no limit is set */
	if (text->size <= 2 * (size_t)LOG_MAX)
		return 0;
	const char *start = text->data + text->size - LOG_MAX;
	const char *newline = memchr(start, '\n', LOG_MAX);
	if (newline)
		start = newline + 1;
	text->size -= (size_t)(start - text->data);
	memmove(text->data, start, text->size + 1);
	return 0;
}

static int run_log(struct sbx_job *job, struct sbx_error *err)
{
	struct log_job *log = (struct log_job *)job;
	return sbx_container_logs(
		job->fs->engine, log->id, LOG_LINES, false, &job->call, keep_log, &log->text, err);
}

static void log_read(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct log_job *log = request->data;
	request->data = NULL;
	if (result) {
		sbx_answer_failure(request, result, err);
		return;
	}
	size_t size = log->text.size;
	char *text = log->text.data ? log->text.data : sbx_strdup("");
	size_t skip = size > (size_t)LOG_MAX ? size - LOG_MAX : 0;
	memmove(text, text + skip, size - skip);
	log->text = (struct sbx_buffer){ 0 };
	opened(request, text, size - skip);
}

static void log_done(struct sbx_job *job)
{
	struct log_job *log = (struct log_job *)job;
	sbx_waiters_resume(&log->waiters, job->result, &job->err);
	sbx_buffer_finish(&log->text);
	free(log->id);
	sbx_job_free(job);
}

static void log_abandoned(struct sbx_waiters *waiters)
{
	sbx_job_cancel(waiters->data);
}

static void open_log(struct sbx_request *request)
{
	struct sbx_view *view = request->node->view;
	struct log_job *log =
		sbx_job_create(request->fs, view, sizeof(*log), request->fs->options->deadline_ms);
	log->job.run = run_log;
	log->job.done = log_done;
	log->id = sbx_strdup(view->sandbox.container.id);
	log->waiters.abandoned = log_abandoned;
	log->waiters.data = &log->job;
	request->data = log;
	sbx_request_park(request, &log->waiters, log_read);
	sbx_job_start(&log->job);
}

static void open_text(struct sbx_request *request)
{
	size_t size = 0;
	char *text = text_of(request->node, request->fs, &size);
	opened(request, text, size);
}

static void refused_asked(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_view *view = request->node->view;
	(void)result; /* what is known is shown, also when the engine does not answer */
	(void)err;
	for (size_t i = 0; i < view->sandbox.output_count; i++) {
		const char *path = view->sandbox.outputs[i].path;
		const struct sbx_fact *fact = sbx_fact_fresh(view, path);
		if (fact && !fact->result)
			sbx_node_release(view->fs,
				sbx_tree_node(view, path, &fact->st, fact->when_ms, fact->asked_s));
	}
	open_text(request);
}

/* `sbxfs sync`: the open itself waits and carries the failure. */
static void synced(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result)
		sbx_answer_failure(request, result, err);
	else
		opened(request, sbx_strdup(""), 0);
}

void sbx_control_open(struct sbx_request *request)
{
	struct sbx_node *node = request->node;
	if (!node->view && is(node, "sync"))
		sbx_in_sync(request, synced);
	else if (node->view && is(node, "log"))
		open_log(request);
	else if (node->view && is(node, "refused") && node->view->sandbox.output_count &&
		 !node->view->sandbox.refusal)
		sbx_outputs_wait(request, node->view, refused_asked);
	else
		open_text(request);
}
