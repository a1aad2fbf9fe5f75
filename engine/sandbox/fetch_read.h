/*
 * fetch_read.h: OUT-01's third phase: every file of a plan into a staged file of its own, within
 * the ceilings as bytes arrive (OUT-06). Nothing gets its name here.
 */
#ifndef SBX_SANDBOX_FETCH_READ_H
#define SBX_SANDBOX_FETCH_READ_H

#include "fetch_plan.h"
#include "landing.h"

struct sbx_fetch {
	struct sbx_plane *plane;
	const struct sbx_fetch_options *options;
	const struct sbx_call *call;
	const struct sbx_transfer_progress *progress;
	struct sbx_fetch_plan plan;
	struct sbx_landing landing;
	int64_t read_bytes, read_files;
};

/* A tree with much to read by one archive, the rest file by file. What concerns one entry of a
 * directory only becomes that item's result; any other failure ends it. */
int sbx_fetch_read(struct sbx_fetch *fetch, struct sbx_error *err);

#endif
