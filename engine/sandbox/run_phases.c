/* run_phases.c: see run_phases.h. */
#include "run_phases.h"

#include "../base/alloc.h"
#include "../base/text.h"
#include "acquiring.h"
#include "command_kill.h"
#include "fetch_plan.h"
#include "landing.h"
#include "outputs.h"
#include "upload_send.h"

#include <sbx/dispose.h>
#include <sbx/image.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* For collecting what a command that ran out of time has left. */
#define LATE_COLLECT_MS 60000

static char **image_command(const struct sbx_image *image)
{
	size_t count = 0, entries = 0;
	while (image->entrypoint && image->entrypoint[entries])
		entries++;
	while (image->cmd && image->cmd[count])
		count++;
	char **argv = sbx_alloc_array(entries + count + 1, sizeof(*argv));
	for (size_t i = 0; i < entries; i++)
		argv[i] = sbx_strdup(image->entrypoint[i]);
	for (size_t i = 0; i < count; i++)
		argv[entries + i] = sbx_strdup(image->cmd[i]);
	return argv;
}

static void report_line(void *data, const char *line)
{
	const struct sbx_progress *progress = data;
	if (progress && progress->line)
		progress->line(progress->data, line);
}

static int inspect_image(struct sbx_run_state *state, const struct sbx_call *call, bool *absent,
	struct sbx_error *err)
{
	struct sbx_image image = { 0 };
	int result = sbx_image_inspect(state->engine, state->spec.image, call, &image, err);
	*absent = result < 0 && err->kind == SBX_KIND_ABSENT;
	if (result == 0 && !state->run->argv) {
		state->image_argv = image_command(&image);
		if (!state->image_argv[0])
			result = sbx_fail(err, EINVAL,
				"image %s has no command of its own and none was given",
				state->spec.image);
	}
	sbx_image_finish(&image);
	return result;
}

int sbx_run_pull(struct sbx_run_state *state, struct sbx_error *err)
{
	struct sbx_call call = sbx_call_shorter(state->call, state->spec.pull_timeout_ms);
	bool absent = false;
	int result = inspect_image(state, &call, &absent, err);
	if (absent) {
		result = sbx_image_pull(state->engine, state->spec.image, &call, report_line,
			(void *)state->run->progress, err);
		if (result == 0)
			result = inspect_image(state, &call, &absent, err);
	}
	state->bounded = sbx_call_shorter(state->call, state->run->timeout_ms);
	return result;
}

int sbx_run_create(struct sbx_run_state *state, struct sbx_error *err)
{
	enum sbx_outcome outcome;
	state->asked = true;
	int result = sbx_acquire_seen(state->engine, &state->spec, &state->bounded,
		state->run->progress, &state->sandbox, &outcome, &state->unseen, err);
	state->acquired = result == 0;
	return result;
}

/* A plane of its own, whose bound of one file is the direction's ceiling. */
static struct sbx_plane *plane_within(
	struct sbx_run_state *state, const struct sbx_ceilings *ceilings)
{
	struct sbx_plane_limits limits;
	sbx_plane_limits_default(&limits);
	limits.max_file_bytes = limits.max_in_bytes = ceilings->max_file_bytes;
	return sbx_transfer_plane(state->engine, &state->sandbox, &limits);
}

static int list_inputs(struct sbx_run_state *state, struct sbx_error *err)
{
	const struct sbx_run *run = state->run;
	struct sbx_upload_tree *tree = &state->inputs;
	const char *declared = state->spec.in_dir ? state->spec.in_dir : SBX_IN_DEFAULT;
	cleanup_free char *in_dir = NULL;
	int result = sbx_in_dir_parse(declared, &in_dir, err);
	/* As the sandbox will be, as far as a destination is judged by it. */
	struct sbx_sandbox wanted = { .container.name = state->name, .in_dir = in_dir };
	if (result == 0)
		result = sbx_ceilings_ask(
			"in", &state->spec.asked, &state->spec.limits.in, &state->in, err);
	if (result == 0)
		result = sbx_ceilings_ask(
			"out", &state->spec.asked, &state->spec.limits.out, &state->out, err);
	for (size_t i = 0; result == 0 && i < run->input_count; i++) {
		const char *dest = run->inputs[i].dest;
		cleanup_free char *below = dest && *dest ? sbx_printf("%s/%s", wanted.in_dir, dest)
							 : sbx_strdup(wanted.in_dir);
		cleanup_free char *place = NULL;
		result = sbx_upload_dest(&wanted, below, &place, err);
		if (result == 0)
			result = sbx_upload_tree_add(tree, run->inputs[i].source, place, err);
	}
	if (result == 0)
		result = sbx_upload_tree_check(tree, err);
	return result == 0 ? sbx_upload_caps(tree, &state->in, err) : result;
}

/* The names as the collection itself will check them: what it would refuse then is refused now. */
static int check_names(struct sbx_run_state *state, struct sbx_error *err)
{
	const struct sbx_spec *spec = &state->spec;
	static const struct sbx_fetch_options options = { .whole_paths = true };
	struct sbx_sandbox wanted = { .container.name = state->name };
	struct sbx_fetch_plan plan = { 0 };
	int result = sbx_outputs_parse(spec->workdir ? spec->workdir : SBX_WORKDIR_DEFAULT, NULL,
		spec->outputs, spec->output_count, &wanted.outputs, &wanted.output_count, err);
	if (result == 0)
		result = sbx_fetch_plan_names(
			&plan, &wanted, spec->outputs, spec->output_count, &options, err);
	sbx_fetch_plan_finish(&plan);
	sbx_outputs_free(wanted.outputs, wanted.output_count);
	return result;
}

/* What the command has made is lost if it cannot land, so that is found out before it runs. */
static int check_collection(struct sbx_run_state *state, struct sbx_error *err)
{
	const struct sbx_run *run = state->run;
	if (!run->collect_dir)
		return 0;
	int result = check_names(state, err);
	if (result == 0)
		result = sbx_landing_possible(run->collect_dir, err);
	for (size_t i = 0; result == 0 && i < state->spec.output_count; i++) {
		const char *text = state->spec.outputs[i];
		size_t size = strlen(text);
		bool directory = size && text[size - 1] == '/';
		cleanup_free char *path = sbx_strndup(text, size - directory);
		result = sbx_landing_check(run->collect_dir, path, directory, run->force, err);
	}
	return result;
}

int sbx_run_prepare(struct sbx_run_state *state, struct sbx_error *err)
{
	if (list_inputs(state, err) < 0)
		return sbx_wrap(err, "inputs");
	if (check_collection(state, err) < 0)
		return sbx_wrap(err, "collect");
	return 0;
}

int sbx_run_inputs(struct sbx_run_state *state, struct sbx_error *err)
{
	if (!state->inputs.count)
		return 0;
	struct sbx_plane *plane = plane_within(state, &state->in);
	int result = sbx_upload_send(plane, &state->inputs, &state->bounded, NULL, NULL, err);
	sbx_plane_destroy(plane);
	return result;
}

/* Bounded by the command's budget: it never passes on more. */
static int capture(void *data, int stream, const char *bytes, size_t size)
{
	struct sbx_run_state *state = data;
	if (state->run->capture)
		(void)sbx_buffer_append(
			&state->captured[stream == 2], bytes, size); /* no limit is set */
	return state->run->output ? state->run->output(state->run->data, stream, bytes, size) : 0;
}

int sbx_run_command(struct sbx_run_state *state, struct sbx_run_result *out, struct sbx_error *err)
{
	const struct sbx_run *run = state->run;
	struct sbx_command command = {
		.argv = run->argv ? run->argv : (const char *const *)state->image_argv,
		.stdin_fd = run->stdin_fd,
		.on_timeout = SBX_ON_TIMEOUT_KILL, /* its outputs are collected before it goes */
		.max_output_bytes = run->max_output_bytes,
		.output = capture,
		.data = state,
		.bounds = run->bounds,
	};
	struct sbx_command_result ran = { 0 };
	int result = sbx_command_run(
		state->engine, &state->sandbox, &command, &state->bounded, &ran, err);
	out->exit_code = ran.exit_code;
	state->removed = ran.sandbox_removed;
	if (ran.timed_out && run->timeout_ms)
		result = sbx_fail(err, ETIMEDOUT,
			"the command timed out when the run's %" PRId64 ".%03" PRId64
			" s were over",
			run->timeout_ms / 1000, run->timeout_ms % 1000);
	if (result == 0 && ran.failure)
		(void)sbx_fail_kind(err, SBX_KIND_NONE, 0, "%s", ran.failure);
	else if (result == 0 && ran.exit_code)
		(void)sbx_fail_kind(
			err, SBX_KIND_NONE, 0, "the command exited with status %d", ran.exit_code);
	sbx_command_result_finish(&ran);
	return result;
}

/* Declared outputs that were not there; every other row stays. */
static void split_missing(struct sbx_run_result *out)
{
	struct sbx_fetches *outputs = &out->outputs;
	size_t kept = 0;
	out->missing = sbx_alloc_array(outputs->count, sizeof(*out->missing));
	for (size_t i = 0; i < outputs->count; i++) {
		struct sbx_fetched *row = &outputs->rows[i];
		if (row->result == -ENOENT) {
			out->missing[out->missing_count++] = steal(&row->path);
			free(steal(&row->reason));
		} else {
			outputs->rows[kept++] = *row;
		}
	}
	outputs->count = kept;
}

/* Declared as "out/" or "out", kept as "out". */
static bool is_required(const struct sbx_run *run, const char *path)
{
	size_t size = strlen(path);
	for (size_t i = 0; i < run->required_count; i++) {
		const char *text = run->required[i];
		if (strncmp(text, path, size) == 0 && !text[size + (text[size] == '/')])
			return true;
	}
	return false;
}

int sbx_run_collect(
	struct sbx_run_state *state, bool late, struct sbx_run_result *out, struct sbx_error *err)
{
	const struct sbx_run *run = state->run;
	struct sbx_sandbox *sandbox = &state->sandbox;
	if (!run->collect_dir || !sandbox->output_count)
		return 0;
	int result = sbx_command_kill_sandbox(state->engine, sandbox, err);
	if (result < 0)
		return result;
	/* The plane asks the state itself where it matters; this only saves it a pause that fails.
	 */
	sandbox->container.state = SBX_STATE_EXITED;
	struct sbx_call call =
		late ? sbx_call_within(LATE_COLLECT_MS, state->call->cancel) : state->bounded;
	call.idle_ms = state->bounded.idle_ms;
	cleanup_free bool *required = sbx_alloc_array(sandbox->output_count, sizeof(*required));
	struct sbx_fetch_options options = { .force = run->force,
		.ceilings = state->out,
		.missing_ok = true,
		.required = required,
		.whole_paths = true };
	cleanup_free const char **paths = sbx_alloc_array(sandbox->output_count, sizeof(*paths));
	for (size_t i = 0; i < sandbox->output_count; i++) {
		paths[i] = sandbox->outputs[i].path;
		required[i] = is_required(run, paths[i]);
	}
	struct sbx_plane *plane = plane_within(state, &state->out);
	result = sbx_fetch(plane, sandbox, paths, sandbox->output_count, run->collect_dir, &options,
		&call, NULL, &out->outputs, err);
	sbx_plane_destroy(plane);
	split_missing(out);
	return result;
}

int sbx_run_remove(struct sbx_run_state *state, struct sbx_error *err)
{
	if (state->removed || !state->asked)
		return 0;
	if (state->acquired)
		return sbx_command_remove_sandbox(state->engine, &state->sandbox, err);
	struct sbx_call call = sbx_call_within(SBX_END_TIMEOUT_MS, NULL);
	struct sbx_removed removed = { 0 };
	int result = sbx_dispose(state->engine, NULL, state->name, NULL, &call, &removed, err);
	if (result == 0 && state->unseen && removed.result == SBX_REMOVAL_ABSENT)
		result = sbx_fail(
			err, EIO, "sandbox %s was not there to be removed, yet", state->name);
	free(removed.id);
	free(removed.name);
	free(removed.reason);
	return result;
}
