/* transfer_progress.h: a line of progress for put and get, on a terminal only. */
#ifndef SBX_TOOLS_TRANSFER_PROGRESS_H
#define SBX_TOOLS_TRANSFER_PROGRESS_H

#include <stdint.h>

void sbx_transfer_progress_tick(void *data, int64_t bytes, int64_t files);
void sbx_transfer_progress_end(void); /* clears the line */

#endif
