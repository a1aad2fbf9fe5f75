/* log.c: `sbxfs log NAME [-f]`: what the sandbox's first process printed. */
#include "pass_on.h"
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/buffer.h"
#include "../engine/base/text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* To a terminal a guest's bytes go escaped but for line breaks and tabs: they could repaint it. To
 * a pipe they go as they are. */
static int print_output(void *data, int stream, const char *bytes, size_t size)
{
	if (!isatty(stream == 2 ? STDERR_FILENO : STDOUT_FILENO))
		return sbx_tool_pass_on(data, stream, bytes, size);
	struct sbx_buffer shown = { 0 };
	size_t start = 0;
	for (size_t i = 0; i <= size; i++) {
		if (i < size && bytes[i] != '\n' && bytes[i] != '\t')
			continue;
		cleanup_free char *text = sbx_text_escape_n(bytes + start, i - start);
		(void)sbx_buffer_append(&shown, text, strlen(text));  /* no limit is set */
		(void)sbx_buffer_append(&shown, bytes + i, i < size); /* as above */
		start = i + 1;
	}
	int result = sbx_tool_pass_on(data, stream, sbx_buffer_text(&shown), shown.size);
	sbx_buffer_finish(&shown);
	return result;
}

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
		print_output, &streams, &err);
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
