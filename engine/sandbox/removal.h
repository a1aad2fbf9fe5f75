/* removal.h: one container removed by its id, and how that went. */
#ifndef SBX_SANDBOX_REMOVAL_H
#define SBX_SANDBOX_REMOVAL_H

#include "list_around.h"

#include <sbx/dispose.h>

/* Of many: one that does not go must not keep the others. */
#define SBX_REMOVAL_BOUND_MS 10000

/* Removes removed->id and fills result and reason. 0: it is gone. */
int sbx_removal_perform(struct sbx_engine *engine, const struct sbx_call *call,
	struct sbx_removed *removed, struct sbx_error *err);
/* The result of a look that failed before any removal was asked for. */
enum sbx_removal sbx_removal_unasked(const struct sbx_error *err);

/* Of one whose turn did not come, for the call was cancelled: nothing was asked. */
void sbx_removal_cancelled(struct sbx_removed *removed);

struct sbx_removed *sbx_removals_add(
	struct sbx_removals *removals, const char *id, const char *name);
/* One row, of result unlisted, for each container that could not be listed. */
void sbx_removals_add_unanswered(
	struct sbx_removals *removals, const struct sbx_unanswered *unanswered);
/* Counts. 0 when nothing failed, else EIO kind PARTIAL naming the first. */
int sbx_removals_conclude(struct sbx_removals *removals, struct sbx_error *err);

#endif
