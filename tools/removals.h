/* removals.h: the table that rm and reap print. */
#ifndef SBX_TOOLS_REMOVALS_H
#define SBX_TOOLS_REMOVALS_H

#include "tool.h"

#include <sbx/dispose.h>

/* Moves row into removals and counts it. */
void sbx_removals_take(struct sbx_removals *removals, struct sbx_removed *row, int result);
/* Prints all rows; result and err are those of the call that made them. Returns the exit code: 130
 * when it was interrupted, 13 when some went and some stayed. */
int sbx_removals_print(const struct sbx_tool *tool, const struct sbx_removals *removals, int result,
	const struct sbx_error *err);

/* An empty word (an unset variable of a script's) is refused: EINVAL. */
int sbx_removals_check_identity(const struct sbx_identity_filter *filter, struct sbx_error *err);

#endif
