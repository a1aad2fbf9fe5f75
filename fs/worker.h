/*
 * worker.h: threads that call the engine, one per busy sandbox.
 *
 * Jobs of one sandbox run one after the other, short ones first, but not so many that a long one
 * never has its turn; a stuck one holds up its own sandbox only. Threads are made on demand, at
 * most SBX_WORKERS_MAX, and leave when idle.
 */
#ifndef SBX_FS_WORKER_H
#define SBX_FS_WORKER_H

#include "loop.h"

#include <sbx/call.h>

enum {
	SBX_WORKERS_MAX = 64,
	SBX_WORKER_IDLE_MS = 10000,
	SBX_SHORT_IN_A_ROW = 16, /* while a long one waits */
};

struct sbx_view;
struct sbx_workers;

/* One sandbox's jobs. Guarded by the workers' lock. */
struct sbx_queue {
	struct sbx_job *first_short, *last_short, *first_long, *last_long;
	unsigned passed; /* short ones, since a long one waits */
	struct sbx_queue *next_ready;
	struct sbx_job *running;
	bool served, ready;
};

enum sbx_job_length { SBX_JOB_SHORT, SBX_JOB_LONG };

/* Embedded as the first member of a job's own struct. */
struct sbx_job {
	/* On a worker; may block within `call`. Touches the job, the plane and the engine, nothing
	 * of the loop's. Not called when the job was cancelled or late before its turn. */
	int (*run)(struct sbx_job *job, struct sbx_error *err);
	/* On the loop's thread, exactly once, with result and err set; frees what the job's struct
	 * owns, then calls sbx_job_free. */
	void (*done)(struct sbx_job *job);
	struct sbx_fs *fs;
	struct sbx_view *view;	 /* referenced; NULL for a job of no sandbox */
	struct sbx_queue *queue; /* the sandbox's, unless the maker gives it one of its own */
	enum sbx_job_length length;
	struct sbx_call call; /* call.cancel is the job's own */
	int64_t from_turn_ms; /* not 0: call's deadline is so long after its run begins */
	int result;	      /* what run returned, or -ECANCELED, -ETIMEDOUT */
	struct sbx_error err;

	struct sbx_post post;
	struct sbx_job *next;
	struct sbx_job *prev_all, *next_all; /* of all jobs not done yet; the loop's */
};

/* A zeroed job of `size` bytes (>= sizeof(struct sbx_job)) with deadline timeout_ms from now (<= 0:
 * none). */
void *sbx_job_create(struct sbx_fs *fs, struct sbx_view *view, size_t size, int64_t timeout_ms);
/* Fails with ESTALE where the sandbox is gone and its plane ended: it does not run then. */
void sbx_job_start(struct sbx_job *job);
void sbx_job_cancel(struct sbx_job *job); /* its run ends soon with -ECANCELED */
void sbx_job_free(struct sbx_job *job);

int sbx_workers_create(struct sbx_fs *fs, struct sbx_workers **out, struct sbx_error *err);
unsigned sbx_workers_count(struct sbx_workers *workers);
/* Whether any job is not done yet; the loop's thread. */
bool sbx_workers_busy(struct sbx_workers *workers);
void sbx_workers_cancel(struct sbx_workers *workers); /* every job */
/* Cancels every job and waits for the threads; what is done is then posted. A job started later is
 * refused. */
void sbx_workers_stop(struct sbx_workers *workers);
/* After sbx_workers_stop, when all posts have run. */
void sbx_workers_destroy(struct sbx_workers *workers);

#endif
