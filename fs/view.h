/*
 * view.h: one sandbox as the mount shows it, and the set of them that the root lists.
 */
#ifndef SBX_FS_VIEW_H
#define SBX_FS_VIEW_H

#include "audit.h"
#include "request.h"
#include "worker.h"

#include "base/table.h"

#include <sbx/plane.h>
#include <sbx/sandbox.h>

struct sbx_fs;
struct sbx_node;
struct sbx_fact;
struct sbx_directory;
struct sbx_transfer;
struct sbx_refused;
struct sbx_view_host;

struct sbx_view {
	struct sbx_fs *fs;
	unsigned refs;
	bool gone;  /* the engine has it no more; paths are ENOENT, open files ESTALE */
	char *name; /* as the root shows it; NULL: not shown */
	struct sbx_sandbox sandbox; /* our copy, without container.json; replaced on change */
	unsigned jobs;		    /* that may call the plane */
	struct sbx_view_host *host; /* what the plane asks; its own copies, for any thread */
	struct sbx_plane *plane;    /* thread-safe; NULL once gone and without jobs, as host */
	struct sbx_audit audit;	    /* has its own lock */
	struct sbx_queue queue;	    /* guarded by the workers' lock */
	struct sbx_node *by_path;
	struct sbx_fact *facts;		   /* stats, by path */
	char *trail;			   /* the directory that a name was last asked for in … */
	int64_t trail_ms;		   /* … then */
	struct sbx_directory *directories; /* listings, by path */
	struct sbx_transfer *transfers;	   /* the newest of each path */
	struct sbx_refused *refused;	   /* by path */
	struct sbx_waiters outputs_waiters; /* for all outputs to be asked for */
	struct sbx_job *outputs_job;
	void *in;		/* of fs/in_*.c; set by sbx_in_view_added */
	UT_hash_handle hh;	/* by id */
	UT_hash_handle hh_name; /* by name, if shown */
};

struct sbx_views {
	struct sbx_view *by_id;
	struct sbx_view *by_name;
	int64_t changed_s; /* the root's mtime */
};

void sbx_view_ref(struct sbx_view *view);
void sbx_view_unref(struct sbx_view *view);
/* Of a job that may call the plane: while there is one, the plane stays. */
void sbx_view_job_added(struct sbx_view *view);
void sbx_view_job_ended(struct sbx_view *view);
struct sbx_view *sbx_views_by_name(struct sbx_fs *fs, const char *name);

/* What the inventory tells the mount; its functions may be called from any thread. */
struct sbx_inventory_listener sbx_views_listener(struct sbx_fs *fs);
void sbx_views_finish(struct sbx_fs *fs);

/* The plane of a sandbox on any engine: what fs->make_plane is, outside of tests. */
struct sbx_plane *sbx_view_archive_plane(struct sbx_view *view);

/* Drops what is remembered of a path and of its parent's listing, after we changed it. */
void sbx_view_changed(struct sbx_view *view, const char *path);

#endif
