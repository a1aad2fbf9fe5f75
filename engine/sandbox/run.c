/*
 * run.c: see sbx/run.h. One ephemeral sandbox: whatever happens on the way, it is removed at the
 * end.
 *
 * The payload says nothing about itself: the exit code is the engine's, the streams are bytes
 * beside the result and never parsed, and outputs are the declared files.
 */
#include "run_phases.h"
#include "spec.h"

#include "../base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

static int check(const struct sbx_run *run, const struct sbx_spec *spec, struct sbx_error *err)
{
	if (run->spec.name)
		return sbx_fail(err, EINVAL, "a run makes its sandbox's name itself");
	if (run->spec.argv)
		return sbx_fail(err, EINVAL, "a run's command is not its sandbox's first process");
	if (run->argv && !run->argv[0])
		return sbx_fail(err, EINVAL, "an empty command was given");
	if (run->timeout_ms < 0 || run->max_output_bytes < 0)
		return sbx_fail(err, EINVAL, "a run's bounds cannot be negative");
	if (run->collect_dir && !*run->collect_dir)
		return sbx_fail(err, EINVAL, "the directory to collect into has no name");
	if (run->required_count && !run->collect_dir)
		return sbx_fail(err, EINVAL,
			"an output is required and there is no directory to collect it into");
	for (size_t i = 0; i < run->input_count; i++)
		if (!run->inputs[i].source || !*run->inputs[i].source)
			return sbx_fail(err, EINVAL, "an input without a name was given");
	int result = sbx_spec_utf8_words("the command", run->argv, err);
	return result ? result : sbx_spec_check(spec, err);
}

static int make_name(char **out, struct sbx_error *err)
{
	uint64_t random = 0;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return sbx_fail_errno(err, errno, "no random number for a name");
	*out = sbx_printf("sbxfs-run-%016" PRIx64, random);
	return 0;
}

/* The first failure is the run's; later ones are added to its sentence. */
static void note(struct sbx_run_result *out, const char *phase, const struct sbx_error *why)
{
	char *text = out->error ? sbx_printf("%s; then %s: %s", out->error, phase, why->message)
				: sbx_printf("%s: %s", phase, why->message);
	if (!out->error)
		out->error_kind = why->kind;
	free(out->error);
	out->error = text;
}

static int code_of(const struct sbx_error *why)
{
	return why->kind == SBX_KIND_DEADLINE	      ? 124
	       : why->kind == SBX_KIND_OUTPUT_MISSING ? 123
						      : 125;
}

/* What the image or the engine is refused for is told as create tells it: nothing is there yet. */
static int early_code_of(const struct sbx_run_state *state, const struct sbx_error *why)
{
	bool refused = why->kind == SBX_KIND_USAGE || why->kind == SBX_KIND_POLICY;
	return refused && !state->acquired ? sbx_kind_exit_code(why->kind) : code_of(why);
}

/* Up to the running sandbox with its inputs. */
static bool prepare(struct sbx_run_state *state, struct sbx_run_result *out)
{
	static const struct {
		const char *name;
		int (*act)(struct sbx_run_state *state, struct sbx_error *err);
	} phases[] = { { "pull", sbx_run_pull }, { "create", sbx_run_create },
		{ "inputs", sbx_run_inputs } };
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		struct sbx_error why = SBX_ERROR_INIT;
		if (phases[i].act(state, &why) == 0)
			continue;
		note(out, phases[i].name, &why);
		out->exit_code = early_code_of(state, &why);
		return false;
	}
	return true;
}

static void perform(struct sbx_run_state *state, struct sbx_run_result *out)
{
	if (!prepare(state, out))
		return;
	struct sbx_error why = SBX_ERROR_INIT;
	int result = sbx_run_command(state, out, &why);
	bool unread = result == -EPIPE && why.kind == SBX_KIND_CANCELLED;
	if (!unread && (result < 0 || out->exit_code))
		note(out, "command", &why);
	bool late = result == -ETIMEDOUT && why.kind == SBX_KIND_DEADLINE;
	if ((result < 0 && !late && !unread) || state->removed)
		return;
	sbx_error_clear(&why);
	if (sbx_run_collect(state, late, out, &why) == 0)
		return;
	note(out, "collect", &why);
	if (out->exit_code == 0)
		out->exit_code = code_of(&why);
}

static void capture_out(struct sbx_run_state *state, struct sbx_run_result *out)
{
	out->stdout_size = state->captured[0].size;
	out->stdout_bytes = state->captured[0].data ? state->captured[0].data : sbx_strdup("");
	out->stderr_size = state->captured[1].size;
	out->stderr_bytes = state->captured[1].data ? state->captured[1].data : sbx_strdup("");
}

int sbx_run(struct sbx_engine *engine, const struct sbx_run *run, const struct sbx_call *call,
	struct sbx_run_result *out, struct sbx_error *err)
{
	static const struct sbx_call unbounded = { 0 };
	struct sbx_run_state state = {
		.engine = engine, .run = run, .call = call ? call : &unbounded, .spec = run->spec
	};
	*out = (struct sbx_run_result){ .exit_code = 125 };
	int64_t began_ms = sbx_clock_ms();
	int result = make_name(&state.name, err);
	state.spec.name = state.name;
	state.spec.ephemeral = true;
	if (result == 0)
		result = check(run, &state.spec, err);
	if (result == 0)
		result = sbx_run_prepare(&state, err);
	/* What the engine must be is asked before anything is put on it. */
	if (result == 0) {
		struct sbx_call bounded = sbx_call_shorter(state.call, run->timeout_ms);
		result = sbx_acquire_admit(engine, &state.spec, &bounded, err);
	}
	if (result < 0) {
		sbx_upload_tree_finish(&state.inputs);
		free(state.name);
		return result;
	}
	perform(&state, out);
	struct sbx_error why = SBX_ERROR_INIT;
	out->removed = sbx_run_remove(&state, &why) == 0;
	if (!out->removed) {
		note(out, "remove", &why);
		out->exit_code = 125; /* whatever the guest's was: what was promised is not so */
	}
	out->success = !out->error && !out->exit_code;
	out->sandbox = state.name;
	out->duration_ms = sbx_clock_ms() - began_ms;
	capture_out(&state, out);
	for (size_t i = 0; state.image_argv && state.image_argv[i]; i++)
		free(state.image_argv[i]);
	free(state.image_argv);
	sbx_upload_tree_finish(&state.inputs);
	sbx_sandbox_finish(&state.sandbox);
	return 0;
}

void sbx_run_result_finish(struct sbx_run_result *result)
{
	free(result->error);
	free(result->stdout_bytes);
	free(result->stderr_bytes);
	free(result->sandbox);
	sbx_fetches_finish(&result->outputs);
	for (size_t i = 0; i < result->missing_count; i++)
		free(result->missing[i]);
	free(result->missing);
	*result = (struct sbx_run_result){ 0 };
}
