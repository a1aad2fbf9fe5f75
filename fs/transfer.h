/*
 * transfer.h: one read of a file from its sandbox into a spool, by a worker, for all who opened it.
 */
#ifndef SBX_FS_TRANSFER_H
#define SBX_FS_TRANSFER_H

#include "context.h"

/* Parks until the file's version is known: the transfer of `path` has begun (result 0) or failed.
 * Then the path's current node and its spool are that version's. */
void sbx_transfer_wait(
	struct sbx_request *request, struct sbx_view *view, const char *path, sbx_resume_fn resume);

/* Somebody wants the bytes before `end`. true: they have come; false: wait on spool->readers, who
 * are resumed when they have, or when the transfer ends. */
bool sbx_transfer_want(struct sbx_spool *spool, int64_t end);
/* A handle of this spool is being closed: a transfer that nobody else uses ends. */
void sbx_transfer_left(struct sbx_spool *spool);
/* Ends those that nobody opened in time. Returns when to come again. */
int64_t sbx_transfers_sweep(struct sbx_fs *fs, int64_t now_ms);

#endif
