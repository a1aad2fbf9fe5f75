/* exec.c: `sbxfs exec NAME -- CMD…`: a command in a sandbox; its exit code is ours. */
#include "pass_on.h"
#include "tool.h"

#include "../engine/base/json.h"
#include "../engine/base/alloc.h"
#include "../engine/base/buffer.h"

#include <sbx/command.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct capture {
	struct sbx_buffer streams[2];
};

static int keep(void *data, int stream, const char *bytes, size_t size)
{
	struct capture *capture = data;
	return sbx_buffer_append(&capture->streams[stream == 2], bytes, size) ? 0 : -ENOBUFS;
}

static void print_json(const struct sbx_command_result *result, const struct capture *capture,
	const struct sbx_error *err, int code)
{
	cJSON *json = cJSON_CreateObject();
	sbx_json_add_int(json, "exit_code", code);
	cJSON_AddBoolToObject(json, "timed_out", result->timed_out);
	cJSON_AddBoolToObject(json, "sandbox_removed", result->sandbox_removed);
	if (err->errnum) {
		cJSON_AddStringToObject(json, "error_kind", sbx_kind_name(err->kind));
		sbx_json_add_text(json, "error", err->message);
	} else if (result->failure) {
		sbx_json_add_text(json, "error", result->failure);
	}
	sbx_json_add_bytes(json, "stdout", capture->streams[0].data, capture->streams[0].size);
	sbx_json_add_bytes(json, "stderr", capture->streams[1].data, capture->streams[1].size);
	sbx_tool_print_json(json);
}

/* What ends before a command does: the sentence, and with --json a document of the usual shape. */
static int refuse(const struct sbx_tool *tool, const struct sbx_error *err, int code)
{
	static const struct sbx_command_result nothing;
	static const struct capture silence;
	struct sbx_tool plain = *tool;
	plain.json = false;
	(void)sbx_tool_fail(&plain, err); /* the code is exec's own */
	if (tool->json)
		print_json(&nothing, &silence, err, code);
	return code;
}

/* Whoever ends a pipeline with `head` knows it, and asked for no word about it. */
static bool unread(const struct sbx_error *err)
{
	return err->kind == SBX_KIND_CANCELLED && err->errnum == EPIPE;
}

static int exit_code_of(const struct sbx_command_result *result, const struct sbx_error *err)
{
	if (!err->errnum)
		return result->exit_code;
	if (unread(err))
		return result->exit_code;
	if (err->kind == SBX_KIND_CANCELLED)
		return 130;
	if (err->errnum == EILSEQ) /* the engine was never asked */
		return sbx_kind_exit_code(err->kind);
	return result->exit_code;
}

static int execute(struct sbx_tool *tool, const struct sbx_command *asked)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_command_result result = { 0 };
	struct capture capture = { 0 };
	tool->timeout_ms = asked->timeout_ms; /* of what comes before the command, too */
	/* A word that can name no sandbox is a wrong option and no absence. */
	if (sbx_sandbox_name_check(tool->operands.items[0], &err) < 0)
		return refuse(tool, &err, sbx_kind_exit_code(err.kind));
	if (sbx_tool_open(tool, true, &err) < 0 ||
		sbx_tool_find_sandbox(tool, tool->operands.items[0], &sandbox, &err) < 0)
		return refuse(
			tool, &err, err.kind == SBX_KIND_USAGE ? SBX_EXIT_USAGE : SBX_EXIT_OURS);
	struct sbx_pass_on streams = { 0 };
	struct sbx_command command = *asked;
	command.output = tool->json ? keep : sbx_tool_show;
	command.bounds = &streams.bounds;
	command.data = tool->json ? (void *)&capture : (void *)&streams;
	struct sbx_call call = { .cancel = tool->cancel }; /* the command has its own bound */
	if (sbx_command_run(tool->engine, &sandbox, &command, &call, &result, &err) == 0)
		sbx_error_clear(&err);
	int code = exit_code_of(&result, &err);
	if (tool->json) {
		print_json(&result, &capture, &err, code);
	} else if (err.errnum && !unread(&err)) {
		(void)sbx_tool_fail(tool, &err); /* the code is exec's own */
	} else if (result.failure) {
		struct sbx_error failure = SBX_ERROR_INIT;
		sbx_fail(&failure, EIO, "%s: %s", command.argv[0], result.failure);
		(void)sbx_tool_fail(tool, &failure); /* as above */
	}
	sbx_buffer_finish(&capture.streams[0]);
	sbx_buffer_finish(&capture.streams[1]);
	sbx_command_result_finish(&result);
	sbx_sandbox_finish(&sandbox);
	return code;
}

static int parse_on_timeout(const char *text, enum sbx_on_timeout *out, struct sbx_error *err)
{
	if (text && strcmp(text, "remove") == 0)
		*out = SBX_ON_TIMEOUT_REMOVE;
	else if (text && strcmp(text, "kill") == 0)
		*out = SBX_ON_TIMEOUT_KILL;
	else if (text)
		return sbx_fail(err, EINVAL, "--on-timeout knows remove and kill, not '%s'", text);
	return 0;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_command command = { .stdin_fd = STDIN_FILENO };
	struct sbx_list env = { 0 };
	const char *on_timeout = NULL, *shell = NULL;
	bool done, no_stdin = false;
	const struct sbx_option table[] = {
		{ "timeout", 0, SBX_OPTION_MS, &command.timeout_ms },
		{ "on-timeout", 0, SBX_OPTION_TEXT, &on_timeout },
		{ "cwd", 0, SBX_OPTION_TEXT, &command.workdir },
		{ "env", 0, SBX_OPTION_LIST, &env },
		{ "detach", 'd', SBX_OPTION_FLAG, &command.detach },
		{ "max-output", 0, SBX_OPTION_BYTES, &command.max_output_bytes },
		{ "shell", 0, SBX_OPTION_TEXT, &shell },
		{ "no-stdin", 0, SBX_OPTION_FLAG, &no_stdin },
		{ 0 },
	};
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0 ||
		(!done && sbx_tool_operands(tool, 1, 1, &err) < 0))
		return refuse(tool, &err, sbx_kind_exit_code(err.kind));
	if (done)
		return 0;
	if (shell && tool->rest) {
		sbx_fail(&err, EINVAL, "--shell STRING and -- CMD exclude each other");
		return refuse(tool, &err, sbx_kind_exit_code(err.kind));
	}
	for (size_t i = 0; i < env.count; i++) {
		if (strchr(env.items[i], '=') && env.items[i][0] != '=')
			continue;
		sbx_fail(&err, EINVAL,
			"--env '%s' is not KEY=VALUE; nothing is taken from our own environment",
			env.items[i]);
		return refuse(tool, &err, sbx_kind_exit_code(err.kind));
	}
	if (!shell && (!tool->rest || !tool->rest[0] || !*tool->rest[0])) {
		sbx_fail(&err, EINVAL, "no command; usage: sbxfs exec NAME [options] -- CMD…");
		return refuse(tool, &err, sbx_kind_exit_code(err.kind));
	}
	if (parse_on_timeout(on_timeout, &command.on_timeout, &err) < 0)
		return refuse(tool, &err, sbx_kind_exit_code(err.kind));
	if (command.detach && (command.timeout_ms || on_timeout || command.max_output_bytes)) {
		sbx_fail(&err, EINVAL,
			"--timeout, --on-timeout and --max-output bound a command that is waited "
			"for, and do not go with --detach");
		return refuse(tool, &err, sbx_kind_exit_code(err.kind));
	}
	const char *const by_shell[] = { "sh", "-c", shell, NULL };
	command.argv = shell ? by_shell : tool->rest;
	command.env = env.items;
	if (command.detach || no_stdin || isatty(STDIN_FILENO))
		command.stdin_fd = -1;
	int code = execute(tool, &command);
	sbx_list_finish(&env);
	return code;
}

const struct sbx_tool_command sbx_tool_exec = {
	"exec",
	"NAME [options] -- CMD… | NAME [options] --shell STRING",
	"Runs a command in a sandbox, argument by argument, without a shell; its exit code is "
	"ours.",
	"\n  --timeout SECONDS      then the sandbox is removed (exit 124)\n"
	"  --on-timeout kill      … or all its processes are killed and its outputs stay readable\n"
	"  --cwd DIR  --env K=V\n"
	"  -d, --detach           does not wait for it, nor bound it\n"
	"  --max-output 8m        stdout and stderr together; over it the sandbox is removed (exit "
	"125)\n"
	"  --shell STRING         runs sh -c STRING\n"
	"  --no-stdin             pass nothing on; a terminal is never passed on\n"
	"  --json                 one object: exit_code, timed_out, sandbox_removed, error_kind, "
	"error, stdout, stderr\n\n"
	"Exit codes: the command's own; 124 deadline, 125 ours or the engine's failure (no such "
	"sandbox too), 126 not\n"
	"executable, 127 not found, 2 usage; 130 Ctrl-C and 141 where who reads our output "
	"has gone (`| head`):\n"
	"the sandbox and the command in it go on.\n",
	run,
};
