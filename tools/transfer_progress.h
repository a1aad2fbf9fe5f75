/* transfer_progress.h: what put and get say of themselves on stderr: a line that is drawn on a
 * terminal only, and a sum at the end. --quiet silences both. */
#ifndef SBX_TOOLS_TRANSFER_PROGRESS_H
#define SBX_TOOLS_TRANSFER_PROGRESS_H

#include "tool.h"

#include <stdint.h>

/* As in struct sbx_transfer_progress; data is the struct sbx_tool. */
void sbx_transfer_progress_tick(void *data, int64_t bytes, int64_t files);
void sbx_transfer_progress_end(const struct sbx_tool *tool); /* clears the line */
void sbx_transfer_progress_sum(
	const struct sbx_tool *tool, int64_t files, int64_t bytes, int64_t began_ms);

#endif
