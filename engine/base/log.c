/* log.c: see log.h. The level and the sink are the one process-wide setting, made before any thread
 * exists. */
#include "log.h"

#include "alloc.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>

static enum sbx_log_level max_level = SBX_LOG_INFO;
static sbx_log_fn sink_fn;

void sbx_log_set_level(enum sbx_log_level level)
{
	max_level = level;
}

void sbx_log_set_sink(sbx_log_fn sink)
{
	sink_fn = sink;
}

void sbx_log(enum sbx_log_level level, const char *format, ...)
{
	if (level > max_level)
		return;
	cleanup_free char *text = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return;
	cleanup_free char *line = sbx_text_escape(text);
	if (sink_fn)
		sink_fn(level, line);
	else
		(void)fprintf(
			stderr, "sbxfs: %s\n", line); /* nowhere else to say that stderr is gone */
}
