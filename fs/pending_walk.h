/* pending_walk.h: what the files of pending.h share: one pass over the stores that no mount holds.
 */
#ifndef SBX_FS_PENDING_WALK_H
#define SBX_FS_PENDING_WALK_H

#include "pending.h"

/* The matching files of one store, which is open and locked during the call. */
struct sbx_pending_batch {
	struct sbx_staging *staging;
	struct sbx_pending_row *rows; /* at least one; owned by the walk */
	size_t count;
};
typedef void (*sbx_pending_visit_fn)(void *data, struct sbx_pending_batch *batch);

struct sbx_pending_walk {
	sbx_pending_visit_fn visit;
	void (*live)(void *data, const char *store_name); /* held by another process; may be NULL */
	void *data;
};
int sbx_pending_walk(const char *root, const struct sbx_pending_filter *filter,
	struct sbx_pending_walk *walk, struct sbx_error *err);

/* Counts results and passes them on. */
struct sbx_pending_tally {
	size_t done, failed;
	struct sbx_error first; /* failure */
	sbx_pending_fn tell;
	void *data;
};
void sbx_pending_tell(struct sbx_pending_tally *tally, const struct sbx_pending_row *row,
	const struct sbx_error *failure);
int sbx_pending_result(const struct sbx_pending_tally *tally, struct sbx_error *err);

#endif
