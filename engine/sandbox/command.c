/*
 * command.c: see sbx/command.h. One exec with a deadline and an output budget.
 *
 * Past either bound the sandbox does not go on as if nothing had happened: it is removed, or all
 * its processes are killed, and what could not be done is in the error's sentence. That is for what
 * sbxfs has made: somebody else's container is neither removed nor killed. A cancel is the caller
 * going away, and keeps both sandbox and process.
 */
#include <sbx/command.h>

#include "../base/alloc.h"
#include "../base/json.h"
#include "../files/guest_exec.h"
#include "../files/guest_path.h"
#include "command_budget.h"
#include "command_kill.h"
#include "labels.h"
#include "spec.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define DEFAULT_OUTPUT_BYTES (8 << 20)
struct watch {
	const struct sbx_command *command;
	bool failed; /* the output function wanted no more */
	struct sbx_budget budget;
};

static int count_output(void *data, int stream, const char *bytes, size_t size)
{
	struct watch *watch = data;
	size = sbx_budget_take(&watch->budget, size);
	if (size && watch->command->output) {
		int result = watch->command->output(watch->command->data, stream, bytes, size);
		watch->failed = result != 0;
		if (result)
			return result;
	}
	return watch->budget.over ? -ENOBUFS : 0;
}

static int check(
	const struct sbx_sandbox *sandbox, const struct sbx_command *command, struct sbx_error *err)
{
	if (!command->argv || !command->argv[0] || !*command->argv[0])
		return sbx_fail(err, EINVAL, "no command was given for sandbox %s",
			sandbox->container.name);
	if (command->timeout_ms < 0)
		return sbx_fail(err, EINVAL, "a command's timeout cannot be negative");
	if (command->max_output_bytes < 0)
		return sbx_fail(err, EINVAL, "a command's output budget cannot be negative");
	int result = sbx_spec_utf8_words("the command", command->argv, err);
	if (result == 0)
		result = sbx_spec_utf8_words("the environment", command->env, err);
	return result ? result : sbx_spec_utf8("the directory to run in", command->workdir, err);
}

/* Adds what became of the sandbox to the sentence that says which bound was passed. */
static int ended(struct sbx_engine *engine, const struct sbx_sandbox *sandbox, bool keep_files,
	enum sbx_kind kind, int errnum, const char *what, struct sbx_command_result *out,
	struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	const struct sbx_container *container = &sandbox->container;
	const char *name = container->name;
	/* Recognised by a rule or a label alone: it and its volumes are not ours to end. */
	if (!sbx_labels_owned(container->labels, container->label_count)) {
		out->exit_code = 125;
		return sbx_fail_kind(err, kind, errnum,
			"%s; container %s was not made by sbxfs and is left alone: the command may "
			"still run in it",
			what, name);
	}
	if (keep_files) {
		if (sbx_command_kill_sandbox(engine, sandbox, &why) < 0)
			return sbx_fail_kind(err, kind, errnum, "%s, and %s", what, why.message);
		return sbx_fail_kind(err, kind, errnum,
			"%s; all processes of sandbox %s were killed, it has exited and its "
			"outputs "
			"stay readable",
			what, name);
	}
	if (sbx_command_remove_sandbox(engine, sandbox, &why) < 0)
		return sbx_fail_kind(err, kind, errnum, "%s, and %s", what, why.message);
	out->sandbox_removed = true;
	return sbx_fail_kind(err, kind, errnum, "%s; sandbox %s was removed", what, name);
}

static int timed_out(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_command *command, int64_t began_ms, struct sbx_command_result *out,
	struct sbx_error *err)
{
	int64_t spent_ms = sbx_clock_ms() - began_ms;
	int64_t bound_ms = command->timeout_ms > 0 && command->timeout_ms < spent_ms
				   ? command->timeout_ms
				   : spent_ms;
	cleanup_free char *what =
		sbx_printf("the command timed out after %" PRId64 ".%03" PRId64 " s",
			bound_ms / 1000, bound_ms % 1000);
	out->timed_out = true;
	out->exit_code = 124;
	return ended(engine, sandbox, command->on_timeout == SBX_ON_TIMEOUT_KILL, SBX_KIND_DEADLINE,
		ETIMEDOUT, what, out, err);
}

static int over_budget(struct sbx_engine *engine, const struct sbx_sandbox *sandbox, int64_t budget,
	struct sbx_command_result *out, struct sbx_error *err)
{
	cleanup_free char *what = sbx_printf("the command wrote more than %" PRId64
					     " bytes to stdout and stderr (--max-output)",
		budget);
	out->over_budget = true;
	return ended(engine, sandbox, false, SBX_KIND_OVER_BUDGET, ENOBUFS, what, out, err);
}

/* Its caller, or who reads for that, went away: nothing in the sandbox is at fault. */
static int left_alone(const struct sbx_sandbox *sandbox, int result, struct sbx_command_result *out,
	struct sbx_error *err)
{
	bool unread = result == -EPIPE;
	if (unread)
		out->exit_code = 128 + SIGPIPE; /* as a shell says it of a program */
	return sbx_fail_kind(err, SBX_KIND_CANCELLED, -result, "sandbox %s: %s",
		sandbox->container.name,
		unread ? "nobody reads the command's output any more"
		       : "the command was cancelled");
}

/* What it writes is lost, unseen by whoever asked for it: it is ended. A full disk of ours is no
 * fault of the sandbox's, which keeps its outputs unless removal was asked for. */
static int untaken(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_command *command, int result, struct sbx_command_result *out,
	struct sbx_error *err)
{
	const char *reason = result < 0 ? strerror(-result) : "its receiver wants no more";
	cleanup_free char *what =
		sbx_printf("the command's output could not be passed on (%s)", reason);
	int errnum = result < 0 ? -result : EIO;
	return ended(engine, sandbox, command->on_timeout != SBX_ON_TIMEOUT_REMOVE, SBX_KIND_ENGINE,
		errnum, what, out, err);
}

/* 137 alone does not say who killed it. Best effort: a guess is not worth an error. */
static void explain_kill(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_call *call, struct sbx_command_result *out)
{
	struct sbx_container now = { 0 };
	struct sbx_call brief = sbx_call_shorter(call, 5000);
	if (sbx_container_inspect(engine, sandbox->container.id, &brief, &now, NULL) == 0 &&
		sbx_json_bool(sbx_json_get(now.json, "State"), "OOMKilled", false))
		out->failure = sbx_printf(
			"killed; the engine says that sandbox %s has run out of memory", now.name);
	sbx_container_finish(&now);
}

/* The engines' words for the two usual reasons are long and differ. */
static int refused(
	const struct sbx_sandbox *sandbox, const struct sbx_error *why, struct sbx_error *err)
{
	const char *name = sandbox->container.name;
	if (why->kind == SBX_KIND_CONFLICT && why->errnum == EBUSY)
		return sbx_fail_kind(err, why->kind, why->errnum,
			"sandbox %s is paused by somebody else: nothing can run in it until it is "
			"unpaused",
			name);
	if (why->kind == SBX_KIND_CONFLICT && why->errnum == ESRCH)
		return sbx_fail_kind(
			err, why->kind, why->errnum, "sandbox %s is not running", name);
	return sbx_fail_kind(err, why->kind, why->errnum, "sandbox %s: %s", name, why->message);
}

/* It never began, for its work dir is not there or not for the guest to enter. */
static int no_place(const struct sbx_sandbox *sandbox, const char *where, const char *text,
	struct sbx_error *err)
{
	if (strcasestr(text, "no such file or directory"))
		return sbx_fail(err, ENOENT, "sandbox %s has no directory %s to run the command in",
			sandbox->container.name, where);
	return sbx_fail(err, EIO, "sandbox %s: the command cannot be run in %s: %s",
		sandbox->container.name, where, text);
}

/* As every path of a sandbox, one without a slash at its head begins at the work dir: the engine
 * itself would refuse it. */
static char *place_of(const struct sbx_sandbox *sandbox, const struct sbx_command *command)
{
	const char *place = command->workdir;
	return place && *place == '/' ? sbx_strdup(place)
				      : sbx_guest_path_join(sandbox->workdir, place ? place : "");
}

int sbx_command_run(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_command *command, const struct sbx_call *call,
	struct sbx_command_result *out, struct sbx_error *err)
{
	*out = (struct sbx_command_result){ .exit_code = 125 };
	int result = check(sandbox, command, err);
	if (result < 0)
		return result;
	int64_t budget =
		command->max_output_bytes ? command->max_output_bytes : DEFAULT_OUTPUT_BYTES;
	cleanup_free char *where = place_of(sandbox, command);
	struct watch watch = { .command = command, .budget = { .left = budget } };
	struct sbx_exec exec = {
		.argv = command->argv,
		.workdir = where,
		.env = command->env,
		.stdin_fd = command->stdin_fd,
		.detach = command->detach,
		.output = count_output,
		.data = &watch,
	};
	int64_t began_ms = sbx_clock_ms();
	struct sbx_call bounded = sbx_call_shorter(call, command->timeout_ms);
	if (command->bounds)
		*command->bounds = bounded;
	struct sbx_error why = SBX_ERROR_INIT;
	int exit_code = 125;
	result = sbx_guest_exec(
		engine, sandbox->container.id, &exec, &bounded, &exit_code, &out->failure, &why);
	if (result == 0 && exit_code == 125 && out->failure)
		return no_place(sandbox, where, out->failure, err);
	if (result == 0) {
		out->exit_code = command->detach && !out->failure ? 0 : exit_code;
		if (exit_code == 137 && !out->failure)
			explain_kill(engine, sandbox, call, out);
		return 0;
	}
	if (watch.budget.over)
		return over_budget(engine, sandbox, budget, out, err);
	/* The engine's own slowness is not the caller's bound (MAF-134). */
	if (result == -ETIMEDOUT && sbx_call_left_ms(&bounded) == 0)
		return timed_out(engine, sandbox, command, began_ms, out, err);
	if (result == -ETIMEDOUT)
		why.kind = SBX_KIND_ENGINE;
	if (watch.failed && (result == -ECANCELED || result == -EPIPE))
		return left_alone(sandbox, result, out, err);
	if (watch.failed)
		return untaken(engine, sandbox, command, result, out, err);
	return refused(sandbox, &why, err);
}

void sbx_command_result_finish(struct sbx_command_result *result)
{
	free(result->failure);
	*result = (struct sbx_command_result){ 0 };
}
