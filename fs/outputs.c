/* outputs.c: which paths of a sandbox are visible, by declaration and by what is there; see tree.h.
 */
#include "tree.h"

#include "base/text.h"

struct outputs_job {
	struct sbx_job job;
	size_t count;
	char **paths;
	struct sbx_stat *stats;
	int *results;
	struct sbx_error *errors;
	int64_t when_ms, asked_s;
};

char *sbx_path_join(const char *directory, const char *name)
{
	return *directory ? sbx_printf("%s/%s", directory, name) : sbx_strdup(name);
}

/* Whether path lies below directory; "" is above everything. */
static bool below(const char *path, const char *directory)
{
	size_t length = strlen(directory);
	if (!length)
		return *path != '\0';
	return strncmp(path, directory, length) == 0 && path[length] == '/';
}

enum sbx_place sbx_place_of(
	const struct sbx_sandbox *sandbox, const char *path, const struct sbx_output **output)
{
	enum sbx_place place = SBX_PLACE_NOTHING;
	if (sandbox->in_dir) {
		if (strcmp(path, sandbox->in_dir) == 0 || below(path, sandbox->in_dir))
			return SBX_PLACE_IN;
		if (below(sandbox->in_dir, path))
			place = SBX_PLACE_PARENT;
	}
	for (size_t i = 0; i < sandbox->output_count; i++) {
		const struct sbx_output *one = &sandbox->outputs[i];
		if (output)
			*output = one;
		if (strcmp(path, one->path) == 0)
			return SBX_PLACE_OUTPUT;
		if (one->directory && below(path, one->path))
			return SBX_PLACE_INSIDE;
		if (below(one->path, path))
			place = SBX_PLACE_PARENT;
	}
	return place;
}

/* Not known counts as there: a failed check must not make an output vanish. */
static bool absent(struct sbx_view *view, const char *path)
{
	const struct sbx_fact *fact = sbx_fact_fresh(view, path);
	return fact && fact->result == -ENOENT;
}

bool sbx_outputs_parent_exists(struct sbx_view *view, const char *path)
{
	const struct sbx_sandbox *sandbox = &view->sandbox;
	if (sandbox->in_dir && below(sandbox->in_dir, path))
		return true;
	for (size_t i = 0; i < sandbox->output_count; i++)
		if (below(sandbox->outputs[i].path, path) &&
			!absent(view, sandbox->outputs[i].path))
			return true;
	return false;
}

/* Adds the part of `full` that lies directly below `path`. */
static void add_child(struct sbx_snapshot *snapshot, const char *path, const char *full)
{
	const char *rest = *path ? full + strlen(path) + 1 : full;
	cleanup_free char *name = sbx_strndup(rest, strcspn(rest, "/"));
	for (size_t i = 0; i < snapshot->listing.count; i++)
		if (strcmp(snapshot->listing.rows[i].name, name) == 0)
			return;
	sbx_snapshot_add(snapshot, name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sbx_entry *)a)->name, ((const struct sbx_entry *)b)->name);
}

struct sbx_snapshot *sbx_outputs_snapshot(struct sbx_view *view, const char *path)
{
	const struct sbx_sandbox *sandbox = &view->sandbox;
	struct sbx_snapshot *snapshot = sbx_snapshot_create(false);
	if (!*path)
		sbx_snapshot_add(snapshot, ".sbxfs");
	if (sandbox->in_dir && below(sandbox->in_dir, path))
		add_child(snapshot, path, sandbox->in_dir);
	for (size_t i = 0; i < sandbox->output_count; i++) {
		const char *full = sandbox->outputs[i].path;
		if (below(full, path) && !absent(view, full))
			add_child(snapshot, path, full);
	}
	if (snapshot->listing.count)
		qsort(snapshot->listing.rows, snapshot->listing.count,
			sizeof(*snapshot->listing.rows), by_name);
	return snapshot;
}

bool sbx_outputs_fresh(struct sbx_view *view)
{
	for (size_t i = 0; i < view->sandbox.output_count; i++)
		if (!sbx_fact_fresh(view, view->sandbox.outputs[i].path))
			return false;
	return true;
}

static int run_outputs(struct sbx_job *job, struct sbx_error *err)
{
	struct outputs_job *outputs = (struct outputs_job *)job;
	struct sbx_plane *plane = job->view->plane;
	outputs->asked_s = plane->ops->now_s(plane);
	int rc = plane->ops->stat_many(plane, (const char *const *)outputs->paths, outputs->count,
		&job->call, outputs->stats, outputs->results, outputs->errors, err);
	outputs->when_ms = sbx_clock_ms();
	return rc;
}

static void free_outputs(struct outputs_job *outputs)
{
	for (size_t i = 0; i < outputs->count; i++) {
		free(outputs->paths[i]);
		sbx_stat_finish(&outputs->stats[i]);
	}
	free(outputs->paths);
	free(outputs->stats);
	free(outputs->results);
	free(outputs->errors);
	sbx_job_free(&outputs->job);
}

static void start(struct sbx_view *view);

static void outputs_done(struct sbx_job *job)
{
	struct outputs_job *outputs = (struct outputs_job *)job;
	struct sbx_view *view = job->view;
	int result = job->result;
	view->outputs_job = NULL;
	if (result == -ECANCELED && view->outputs_waiters.first) {
		start(view);
		free_outputs(outputs);
		return;
	}
	const struct sbx_error *err = &job->err;
	for (size_t i = 0; i < outputs->count && !result; i++) {
		if (outputs->errors[i].kind == SBX_KIND_GONE) {
			result = outputs->results[i];
			err = &outputs->errors[i];
			break;
		}
		/* One that cannot be asked for is listed without attributes; its own lookup says
		 * why. */
		sbx_fact_set(view, outputs->paths[i], outputs->results[i],
			outputs->errors[i].message, &outputs->stats[i], outputs->when_ms,
			outputs->asked_s);
	}
	sbx_waiters_resume(&view->outputs_waiters, result, err);
	free_outputs(outputs);
}

static void abandoned(struct sbx_waiters *waiters)
{
	struct sbx_view *view = waiters->data;
	if (view->outputs_job)
		sbx_job_cancel(view->outputs_job);
}

static void start(struct sbx_view *view)
{
	size_t count = view->sandbox.output_count;
	struct outputs_job *outputs =
		sbx_job_create(view->fs, view, sizeof(*outputs), view->fs->options->deadline_ms);
	outputs->job.run = run_outputs;
	outputs->job.done = outputs_done;
	outputs->count = count;
	outputs->paths = sbx_alloc_array(count, sizeof(*outputs->paths));
	outputs->stats = sbx_alloc_array(count, sizeof(*outputs->stats));
	outputs->results = sbx_alloc_array(count, sizeof(*outputs->results));
	outputs->errors = sbx_alloc_array(count, sizeof(*outputs->errors));
	for (size_t i = 0; i < count; i++)
		outputs->paths[i] = sbx_strdup(view->sandbox.outputs[i].path);
	view->outputs_job = &outputs->job;
	view->fs->counters.stats += count;
	sbx_job_start(&outputs->job);
}

void sbx_outputs_wait(struct sbx_request *request, struct sbx_view *view, sbx_resume_fn resume)
{
	view->outputs_waiters.abandoned = abandoned;
	view->outputs_waiters.data = view;
	sbx_request_park(request, &view->outputs_waiters, resume);
	if (!view->outputs_job)
		start(view);
}
