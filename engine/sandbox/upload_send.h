/* upload_send.h: sends a listed tree in bounded batches; what sbx_upload and a run's inputs share.
 */
#ifndef SBX_SANDBOX_UPLOAD_SEND_H
#define SBX_SANDBOX_UPLOAD_SEND_H

#include "upload_tree.h"

#include <sbx/transfer.h>

/* The directory a landing place is below, checked: dest (NULL: the in dir) must be the in dir or
 * below it, EROFS otherwise. malloc'd in *out. */
int sbx_upload_dest(
	const struct sbx_sandbox *sandbox, const char *dest, char **out, struct sbx_error *err);

/* EFBIG before anything is sent. ceilings may be NULL. */
int sbx_upload_caps(const struct sbx_upload_tree *tree, const struct sbx_ceilings *ceilings,
	struct sbx_error *err);

int sbx_upload_send(struct sbx_plane *plane, const struct sbx_upload_tree *tree,
	const struct sbx_call *call, const struct sbx_transfer_progress *progress,
	struct sbx_transfer_totals *totals, struct sbx_error *err);

#endif
