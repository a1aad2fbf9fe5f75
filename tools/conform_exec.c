/* conform_exec.c: P-25..P-29: commands run exactly as given, and a deadline is the caller's. Last:
 * it loses a sandbox. */
#include "conform.h"

#include "../engine/base/alloc.h"
#include "../engine/base/buffer.h"

#include <sbx/command.h>

#include <errno.h>
#include <string.h>

struct outcome {
	int rc, code;
	struct sbx_buffer out;
	struct sbx_command_result result;
	struct sbx_error err;
};

static int keep(void *data, int stream, const char *bytes, size_t size)
{
	(void)sbx_buffer_append(data, bytes, size); /* cut at the buffer's limit */
	return 0;
}

static void execute(struct sbx_conform *world, const char *const *argv, const char *workdir,
	int64_t timeout_ms, struct outcome *outcome)
{
	*outcome = (struct outcome){ .out = { .limit = 4096 } };
	struct sbx_command command = { .argv = argv,
		.workdir = workdir,
		.stdin_fd = -1,
		.timeout_ms = timeout_ms,
		.max_output_bytes = 1 << 20,
		.output = keep,
		.data = &outcome->out };
	struct sbx_call call = sbx_tool_call(world->tool, 60000);
	outcome->rc = sbx_command_run(world->tool->engine, &world->main.sandbox, &command, &call,
		&outcome->result, &outcome->err);
	outcome->code = outcome->result.exit_code;
}

static void done(struct outcome *outcome)
{
	sbx_buffer_finish(&outcome->out);
	sbx_command_result_finish(&outcome->result);
}

static void exact(struct sbx_conform *world, struct sbx_verdict *verdict, const char *const *argv,
	const char *workdir, int code, const char *text)
{
	struct outcome outcome;
	execute(world, argv, workdir, 20000, &outcome);
	if (outcome.rc == 0 && outcome.code == code &&
		strcmp(sbx_buffer_text(&outcome.out), text) == 0)
		sbx_verdict_pass(verdict, "exit %d", code);
	else
		sbx_verdict_fail(verdict, "exit %d, output '%s' %s", outcome.code,
			sbx_buffer_text(&outcome.out), outcome.err.message);
	done(&outcome);
}

static void p25_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	exact(world, verdict, (const char *const[]){ "printf", "%s", "ran", NULL }, "/", 0, "ran");
}

static void p26_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	exact(world, verdict, (const char *const[]){ "sh", "-c", "exit 7", NULL }, "/", 7, "");
}

static void p27_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	exact(world, verdict,
		(const char *const[]){ "printf", "%s", "a b $(id) 'c' \"d\" `e`", NULL }, "/", 0,
		"a b $(id) 'c' \"d\" `e`");
}

static void p28_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	exact(world, verdict, (const char *const[]){ "pwd", NULL }, NULL, 0,
		"/sbxfs-conform/work\n");
}

static void p29_library(struct sbx_conform *world, struct sbx_verdict *verdict)
{
	struct outcome outcome;
	int64_t start = sbx_clock_ms();
	execute(world, (const char *const[]){ "sleep", "60", NULL }, "/", 1000, &outcome);
	int64_t took = sbx_clock_ms() - start;
	if (outcome.rc == -ETIMEDOUT && outcome.result.timed_out &&
		outcome.result.sandbox_removed && took >= 500)
		sbx_verdict_pass(verdict, "deadline, and the sandbox is gone");
	else
		sbx_verdict_fail(verdict, "rc %d, removed %d, after %lld ms: %s", outcome.rc,
			outcome.result.sandbox_removed, (long long)took, outcome.err.message);
	if (outcome.result.sandbox_removed)
		world->main.made = false;
	done(&outcome);
}

const struct sbx_probe sbx_conform_exec_probes[] = {
	{ "P-25", "argv runs", "positive control", p25_library, NULL },
	{ "P-26", "exit codes are the guest's", "7 stays 7", p26_library, NULL },
	{ "P-27", "argv is literal", "no shell looks at it", p27_library, NULL },
	{ "P-28", "the working directory is honoured", "the work dir by default", p28_library,
		NULL },
	{ "P-29", "a timeout is a deadline", "and takes the sandbox with it", p29_library, NULL },
	{ 0 },
};
