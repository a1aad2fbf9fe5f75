/* log.c: `sbxfs log NAME [-f]`: what the sandbox's first process printed. */
#include "pass_on.h"
#include "tool.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox sandbox = { 0 };
	int64_t tail = -1;
	bool follow = false;
	int code;
	const struct sbx_option table[] = {
		{ "follow", 'f', SBX_OPTION_FLAG, &follow },
		{ "tail", 'n', SBX_OPTION_LINES, &tail },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ 0 },
	};
	if (!sbx_tool_begin(tool, argc, argv, table, 1, 1, false, &sandbox, &code))
		return code;
	struct sbx_call call = sbx_tool_call(tool, follow ? 0 : 60000);
	int lines = tail < 0 ? -1 : tail > INT_MAX ? INT_MAX : (int)tail;
	struct sbx_pass_on streams = { .bounds = call };
	int rc = sbx_container_logs(tool->engine, sandbox.container.id, lines, follow, &call,
		sbx_tool_show, &streams, &err);
	if (rc < 0 && streams.failed)
		sbx_fail(&err, -streams.failed,
			"what sandbox %s printed could not be passed on (%s)",
			sandbox.container.name, strerror(-streams.failed));
	sbx_sandbox_finish(&sandbox);
	if (streams.failed == -EPIPE)
		return 128 + SIGPIPE; /* quietly, as any program at the head of a pipeline */
	return rc < 0 ? sbx_tool_fail(tool, &err) : 0;
}

const struct sbx_tool_command sbx_tool_log = {
	"log",
	"NAME [-f] [--tail LINES] [--timeout SECONDS]",
	"Prints a sandbox's stdout and stderr, each to its own.",
	"\n  -f, --follow           until it ends or you press Ctrl-C (exit 130)\n"
	"  -n, --tail LINES       only the last ones\n\n"
	"On a terminal, control characters are shown escaped.\n",
	run,
};
