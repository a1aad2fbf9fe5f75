/*
 * context.h: everything one mount owns.
 *
 * All of it belongs to the loop's thread, except what says otherwise beside it. Workers get copies
 * and hand results back through sbx_loop_post.
 */
#ifndef SBX_FS_CONTEXT_H
#define SBX_FS_CONTEXT_H

#include <fuse_lowlevel.h>

#include "fs.h"
#include "loop.h"
#include "node.h"
#include "notify.h"
#include "request.h"
#include "spool.h"
#include "view.h"
#include "worker.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/table.h"

#include <sbx/engine.h>

#include <errno.h>
#include <string.h>

struct sbx_fs_counters {
	uint64_t lookups, opens, reads, bytes_read, listings, stats, transfers, cancelled;
	uint64_t spool_hits, interrupted, timed_out, stale_opens, passed_through;
};

struct sbx_fs {
	const struct sbx_fs_options *options;
	struct sbx_engine *engine;	 /* thread-safe */
	bool podman;			 /* which engine it is: its tars round times */
	struct sbx_inventory *inventory; /* its callbacks come from its own thread */
	struct sbx_plane *(*make_plane)(struct sbx_view *view);
	struct fuse_session *session;
	struct sbx_loop *loop;	       /* sbx_loop_post is thread-safe */
	struct sbx_workers *workers;   /* thread-safe */
	struct sbx_notifier *notifier; /* thread-safe */
	struct sbx_spools *spools;
	struct sbx_nodes nodes;
	struct sbx_handles handles;
	struct sbx_requests requests;
	struct sbx_views views;
	struct sbx_fs_counters counters;
	int64_t listings_due_ms; /* when listings are looked through for old ones; 0: there are none
				  */
	struct sbx_in *in;	 /* fs/in_*.c */
	void (*serving)(struct sbx_fs *fs); /* called once the kernel has said hello */
	int64_t started_ms;		    /* by the clock that nobody sets */
	char *read_buffer;		    /* for answers from a file; NULL before the first */
	bool splices;			    /* the kernel takes answers from a descriptor */
	bool passes;			    /* and reads from one past us (passthrough.h) */
	bool leaving; /* the kernel asks no more: open files are not closed by their users */
	bool engine_up;
	char *engine_trouble; /* why it does not answer; NULL while it does */
};

#endif
