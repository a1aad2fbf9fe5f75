/* transfer_progress.c: see transfer_progress.h. */
#include "transfer_progress.h"

#include <stdio.h>
#include <unistd.h>

void sbx_transfer_progress_tick(void *data, int64_t bytes, int64_t files)
{
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r%lld files, %lld MiB ", (long long)files,
			(long long)(bytes >> 20)); /* progress only */
}

void sbx_transfer_progress_end(void)
{
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r\033[K"); /* progress only */
}
