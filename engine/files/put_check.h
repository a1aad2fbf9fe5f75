/*
 * put_check.h: looking at where an upload goes, before and after, inside its window. What a survey
 * has seen of an item is not asked for again. Items come in the order of sbx_put_sort.
 */
#ifndef SBX_FILES_PUT_CHECK_H
#define SBX_FILES_PUT_CHECK_H

#include "put_plan.h"
#include "put_survey.h"
#include "walk.h"

/* Decides one item: its parents walked (each directory once for the whole plan), what is there now
 * looked at. Then it is on the plan to be sent, or done (a directory that exists). Errors: ELOOP,
 * ENOTDIR, EISDIR, ENXIO, EEXIST, EOPNOTSUPP (a mount), ENOENT (the work dir itself is missing), as
 * sbx_walk_stat. */
int sbx_put_look(struct sbx_walk *walk, struct sbx_put_plan *plan, struct sbx_put_item *item,
	const struct sbx_put_seen *seen, const struct sbx_call *call, struct sbx_error *err);

/* After the PUT: is it there, of the type and size that were sent, and not what was there before?
 * EIO when not: engines answer 200 for writes that went nowhere. */
int sbx_put_verify(struct sbx_walk *walk, const struct sbx_put_send *send,
	const struct sbx_put_seen *seen, const struct sbx_call *call, struct sbx_error *err);

#endif
