/* transfer_progress.c: see transfer_progress.h. */
#include "transfer_progress.h"

#include <sbx/call.h>

#include <stdio.h>
#include <unistd.h>

static bool is_drawn(const struct sbx_tool *tool)
{
	return !tool->quiet && isatty(STDERR_FILENO);
}

void sbx_transfer_progress_tick(void *data, int64_t bytes, int64_t files)
{
	if (is_drawn(data))
		(void)fprintf(stderr, "\r%lld files, %lld MiB ", (long long)files,
			(long long)(bytes >> 20)); /* progress only */
}

void sbx_transfer_progress_end(const struct sbx_tool *tool)
{
	if (is_drawn(tool))
		(void)fprintf(stderr, "\r\033[K"); /* progress only */
}

void sbx_transfer_progress_sum(
	const struct sbx_tool *tool, int64_t files, int64_t bytes, int64_t began_ms)
{
	int64_t took_ms = sbx_clock_ms() - began_ms;
	sbx_tool_note(tool, "%lld %s, %lld bytes in %lld.%lld s\n", (long long)files,
		files == 1 ? "file" : "files", (long long)bytes, (long long)(took_ms / 1000),
		(long long)(took_ms % 1000 / 100));
}
