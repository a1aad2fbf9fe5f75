/*
 * passthrough.h: an open file whose spool is finished can be read by the kernel from the spool
 * itself, without us and without a second copy of its bytes in the page cache (fuse-guide §4).
 *
 * Built in with -Dpassthrough=enabled, which wants libfuse 3.17; permitted to a daemon with
 * CAP_SYS_ADMIN whose cache directory lies on no overlay. Where it is not, files are read as
 * without it. What is mapped and then closed keeps its spool on the disk until it is unmapped,
 * outside the budget: the kernel does not tell. All of it runs on the loop's thread.
 */
#ifndef SBX_FS_PASSTHROUGH_H
#define SBX_FS_PASSTHROUGH_H

#include "request.h"

struct fuse_conn_info;
struct sbx_fs;
struct sbx_handle;

/* While the kernel says hello. */
void sbx_passthrough_init(struct sbx_fs *fs, struct fuse_conn_info *conn);

/* Whether the handle, which has its spool and is about to be opened by request, is read past us:
 * the answer in request->fi then says so, and must not ask for keep_cache. The kernel takes no
 * cached open beside it of the same node, so all handles of a node are of one kind, and of one
 * spool: this one's may be replaced by that of those before it. */
bool sbx_passthrough_open(struct sbx_request *request, struct sbx_handle *handle);

/* Its handle is being freed. */
void sbx_passthrough_close(struct sbx_fs *fs, struct sbx_handle *handle);

#endif
