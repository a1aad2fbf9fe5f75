/*
 * transfer.c: see transfer.h.
 *
 * The worker drains the body at the engine's speed into the spool, whatever the readers do: an
 * open, unread archive GET blocks the whole container on Docker. It wakes the loop only for bytes
 * that somebody waits for.
 *
 * An open waits for the header. If the file is then another version than the node that was opened,
 * the transfer becomes that of the new version, the open answers ESTALE, and the kernel, which
 * looks the name up once more, finds the new version and this transfer (fuse-guide §2). For that it
 * is kept a moment without a user.
 */
#include "transfer.h"
#include "attr.h"
#include "tree.h"

enum { ORPHAN_MS = 1000 };

struct sbx_transfer {
	struct sbx_job job;
	char *path;
	struct sbx_spool *spool; /* referenced */
	struct sbx_stat st;	 /* written by the worker before it posts begun_post */
	bool begun, listed;
	int64_t begun_ms;
	int64_t asked_s;
	int64_t orphan_ms; /* when it was seen without a user; 0: it has one */
	struct sbx_waiters openers;
	struct sbx_post begun_post, progress_post;
	_Atomic int64_t wanted; /* post when so many bytes are there */
	UT_hash_handle hh;
};

#define OF_POST(post_pointer, member)                                                              \
	((struct sbx_transfer *)((char *)(post_pointer)-offsetof(struct sbx_transfer, member)))

static int begin(void *data, const struct sbx_stat *st)
{
	struct sbx_transfer *transfer = data;
	struct sbx_fs *fs = transfer->job.fs;
	struct sbx_error *err = &transfer->job.err;
	transfer->st = *st;
	transfer->st.link_target = NULL;
	transfer->begun_ms = sbx_clock_ms();
	int rc = sbx_spool_prepare(fs->spools, transfer->spool, st->size, err);
	if (rc)
		return rc;
	sbx_loop_post(fs->loop, &transfer->begun_post);
	return 0;
}

static int bytes(void *data, const void *bytes, size_t size)
{
	struct sbx_transfer *transfer = data;
	struct sbx_fs *fs = transfer->job.fs;
	int rc = sbx_spool_append(transfer->spool, bytes, size);
	if (rc)
		return sbx_fail_errno(&transfer->job.err, -rc, "%s: spool", transfer->path);
	/* Here the bytes are stored before the wish is read, in sbx_transfer_want the other way
	 * round: one of the two sees the other. */
	atomic_thread_fence(memory_order_seq_cst);
	int64_t wanted = atomic_load(&transfer->wanted);
	if (atomic_load(&transfer->spool->available) >= wanted &&
		atomic_compare_exchange_strong(&transfer->wanted, &wanted, INT64_MAX))
		sbx_loop_post(fs->loop, &transfer->progress_post);
	return 0;
}

static int run_transfer(struct sbx_job *job, struct sbx_error *err)
{
	struct sbx_transfer *transfer = (struct sbx_transfer *)job;
	struct sbx_plane *plane = job->view->plane;
	struct sbx_reader reader = { .begin = begin, .bytes = bytes, .data = transfer };
	struct sbx_error read_err = SBX_ERROR_INIT;
	transfer->asked_s = plane->ops->now_s(plane);
	int rc = plane->ops->read(plane, transfer->path, &job->call, &reader, &read_err);
	/* What begin and bytes said of our own disk is the better sentence. */
	if (rc && !(err->errnum && -rc == err->errnum))
		*err = read_err;
	return rc;
}

/* The newest of its path is found by opens; others live on for their readers. */
static struct sbx_transfer *find(struct sbx_view *view, const char *path)
{
	struct sbx_transfer *transfer = NULL;
	HASH_FIND_STR(view->transfers, path, transfer);
	return transfer;
}

static void unlist(struct sbx_transfer *transfer)
{
	if (transfer->listed)
		HASH_DEL(transfer->job.view->transfers, transfer);
	transfer->listed = false;
}

static bool orphaned(const struct sbx_transfer *transfer)
{
	return transfer->begun && transfer->spool->refs == 1 && !transfer->openers.first;
}

static void watch_orphan(struct sbx_transfer *transfer)
{
	if (!orphaned(transfer))
		return;
	transfer->orphan_ms = sbx_clock_ms();
	sbx_loop_wake_at(transfer->job.fs->loop, transfer->orphan_ms + ORPHAN_MS);
}

static void on_begun(struct sbx_post *post)
{
	struct sbx_transfer *transfer = OF_POST(post, begun_post);
	struct sbx_view *view = transfer->job.view;
	struct sbx_fs *fs = view->fs;
	struct sbx_stat st = transfer->st;
	if (sbx_cancel_fired(transfer->job.call.cancel))
		return; /* it ends: nobody may find it */
	transfer->begun = true;
	sbx_fact_set(view, transfer->path, 0, NULL, &st, transfer->begun_ms, transfer->asked_s);
	struct sbx_node *node = sbx_tree_node(
		view, transfer->path, &transfer->st, transfer->begun_ms, transfer->asked_s);
	if (!view->gone) /* or nothing would ever forget it */
		sbx_spool_register(fs->spools, transfer->spool,
			sbx_spool_key(view->sandbox.container.id, transfer->path, &transfer->st));
	sbx_node_pin(node);
	sbx_waiters_resume(&transfer->openers, 0, NULL);
	sbx_node_unpin(fs, node);
	watch_orphan(transfer);
}

static void on_progress(struct sbx_post *post)
{
	struct sbx_transfer *transfer = OF_POST(post, progress_post);
	sbx_waiters_resume(&transfer->spool->readers, 0, NULL);
}

/* Bytes of no version were handed out: the next open gets another node, without their pages. */
static void disown(struct sbx_transfer *transfer)
{
	struct sbx_view *view = transfer->job.view;
	struct sbx_node *node = sbx_node_find(view->fs, view, transfer->path);
	transfer->spool->is_void = true;
	sbx_facts_drop(view, transfer->path);
	if (!node || node->kind != SBX_NODE_OUTPUT_FILE ||
		!sbx_same_version(&node->st, &transfer->st, view->fs->podman))
		return;
	sbx_node_detach(view->fs, node);
	sbx_node_release(view->fs, node);
}

/* Is what came before the failure in doubt, too? */
static bool broken(const struct sbx_job *job)
{
	return job->result == -EIO || job->err.kind == SBX_KIND_CHANGED;
}

static int reader_errno(const struct sbx_transfer *transfer)
{
	const struct sbx_error *err = &transfer->job.err;
	if (err->kind == SBX_KIND_GONE || err->kind == SBX_KIND_CHANGED)
		return ESTALE;
	return sbx_request_errno(transfer->job.result, err);
}

static void start(
	struct sbx_view *view, const char *path, struct sbx_request *first, sbx_resume_fn resume);

static void transfer_done(struct sbx_job *job)
{
	struct sbx_transfer *transfer = (struct sbx_transfer *)job;
	struct sbx_spool *spool = transfer->spool;
	struct sbx_view *view = job->view;
	struct sbx_fs *fs = job->fs;
	unlist(transfer);
	if (!job->result && transfer->begun && atomic_load(&spool->available) == spool->size) {
		spool->complete = true;
	} else {
		if (!job->result)
			job->result = sbx_fail(&job->err, EIO,
				"%s: %s: the engine sent less than the file's size",
				view->sandbox.container.name, transfer->path);
		spool->error = reader_errno(transfer);
		if (transfer->begun && broken(job))
			disown(transfer);
		sbx_spool_drop(fs->spools, spool);
		if (job->result != -ECANCELED && transfer->begun)
			sbx_log(SBX_LOG_WARNING, "%s", job->err.message);
	}
	spool->transfer = NULL;
	if (!transfer->begun)
		sbx_fact_set(view, transfer->path,
			job->err.kind == SBX_KIND_GONE ? -ESTALE : job->result, job->err.message,
			NULL, sbx_clock_ms(), transfer->asked_s);
	/* As where an open is refused at once. */
	if (!transfer->begun && job->result == -EFBIG && !view->gone)
		sbx_refused_reason(view, transfer->path, job->err.message);
	sbx_waiters_resume(&transfer->openers, job->result, &job->err);
	sbx_waiters_resume(&spool->readers, 0, NULL);
	sbx_spool_unref(fs->spools, spool);
	free(transfer->path);
	sbx_job_free(job);
}

static void openers_left(struct sbx_waiters *waiters)
{
	struct sbx_transfer *transfer = waiters->data;
	if (transfer->spool->refs > 1)
		return;
	transfer->job.fs->counters.cancelled++;
	unlist(transfer);
	sbx_job_cancel(&transfer->job);
}

static void start(
	struct sbx_view *view, const char *path, struct sbx_request *first, sbx_resume_fn resume)
{
	struct sbx_transfer *transfer = sbx_job_create(view->fs, view, sizeof(*transfer), 0);
	struct sbx_transfer *older = find(view, path);
	transfer->job.run = run_transfer;
	transfer->job.done = transfer_done;
	transfer->job.length = SBX_JOB_LONG;
	transfer->path = sbx_strdup(path);
	transfer->spool = sbx_spool_create();
	transfer->spool->transfer = transfer;
	transfer->begun_post.run = on_begun;
	transfer->progress_post.run = on_progress;
	transfer->openers.abandoned = openers_left;
	transfer->openers.data = transfer;
	atomic_store(&transfer->wanted, INT64_MAX);
	if (older)
		unlist(older);
	HASH_ADD_KEYPTR(hh, view->transfers, transfer->path, strlen(transfer->path), transfer);
	transfer->listed = true;
	view->fs->counters.transfers++;
	sbx_request_park(first, &transfer->openers, resume);
	sbx_job_start(&transfer->job);
}

void sbx_transfer_wait(
	struct sbx_request *request, struct sbx_view *view, const char *path, sbx_resume_fn resume)
{
	struct sbx_transfer *transfer = find(view, path);
	/* One that has begun was right for an earlier open; this one wants the file as it is now.
	 */
	if (transfer && !transfer->begun)
		sbx_request_park(request, &transfer->openers, resume);
	else
		start(view, path, request, resume);
}

bool sbx_transfer_want(struct sbx_spool *spool, int64_t end)
{
	struct sbx_transfer *transfer = spool->transfer;
	/* Whoever waits for the last byte waits for the end, which resumes all readers. */
	if (!transfer || end >= spool->size)
		return false;
	int64_t wanted = atomic_load(&transfer->wanted);
	while (end < wanted && !atomic_compare_exchange_weak(&transfer->wanted, &wanted, end))
		;
	/* The bytes may have come before the worker could see the wish; it may never look again. */
	return sbx_spool_readable(spool) >= end;
}

void sbx_transfer_left(struct sbx_spool *spool)
{
	struct sbx_transfer *transfer = spool->transfer;
	/* The transfer's own reference and the handle's that is being closed. */
	if (!transfer || spool->refs > 2 || transfer->openers.first)
		return;
	transfer->job.fs->counters.cancelled++;
	unlist(transfer);
	sbx_spool_drop(transfer->job.fs->spools, spool);
	sbx_job_cancel(&transfer->job);
}

int64_t sbx_transfers_sweep(struct sbx_fs *fs, int64_t now_ms)
{
	int64_t next_ms = INT64_MAX;
	for (struct sbx_view *view = fs->views.by_id; view; view = view->hh.next) {
		struct sbx_transfer *transfer, *next;
		HASH_ITER(hh, view->transfers, transfer, next)
		{
			if (!orphaned(transfer) || !transfer->orphan_ms)
				continue;
			int64_t end_ms = transfer->orphan_ms + ORPHAN_MS;
			if (end_ms <= now_ms) {
				fs->counters.cancelled++;
				unlist(transfer);
				sbx_spool_drop(fs->spools, transfer->spool);
				sbx_job_cancel(&transfer->job);
			} else if (end_ms < next_ms) {
				next_ms = end_ms;
			}
		}
	}
	return next_ms;
}
