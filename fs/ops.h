/*
 * ops.h: the FUSE operations, one file per kind: ops.c has the table and what is answered at once,
 * the others what may have to wait.
 */
#ifndef SBX_FS_OPS_H
#define SBX_FS_OPS_H

#include "context.h"

extern const struct fuse_lowlevel_ops sbx_ops;

void sbx_op_lookup(struct sbx_request *request); /* node: the parent; name */
void sbx_op_getattr(struct sbx_request *request);
void sbx_op_opendir(struct sbx_request *request);
void sbx_op_readdirplus(struct sbx_request *request); /* handle, offset, size */
void sbx_op_open(struct sbx_request *request);	      /* fi */
void sbx_op_read(struct sbx_request *request);	      /* handle, offset, size */
void sbx_op_release(struct sbx_request *request);     /* handle */

/* Opens for reading the version of a guest file that request->node is, kept or transferred now. */
void sbx_open_guest_file(struct sbx_request *request);
/* Answers a readdirplus with rows of request->handle->snapshot. */
void sbx_answer_rows(struct sbx_request *request);

/* The node of a sandbox's own directory. */
struct sbx_node *sbx_sandbox_node(struct sbx_view *view);
/* The node of one row of a directory's snapshot, for readdirplus; NULL: the kernel looks it up. */
struct sbx_node *sbx_lookup_row(struct sbx_fs *fs, struct sbx_node *parent,
	const struct sbx_snapshot *snapshot, size_t row);

#endif
