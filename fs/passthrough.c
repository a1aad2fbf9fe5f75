/* passthrough.c: see passthrough.h. Source: linux/fuse.h, fuse_lowlevel.h. */
#include "passthrough.h"

#include "context.h"

#ifdef SBX_PASSTHROUGH

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/ioctl.h>

void sbx_passthrough_init(struct sbx_fs *fs, struct fuse_conn_info *conn)
{
	/* Wanted, it takes one level of stacking from those who put an overlay on the mount. */
	fs->passes = geteuid() == 0 && fuse_set_feature_flag(conn, FUSE_CAP_PASSTHROUGH);
}

/* Not after the first refusal: what it is for does not change while we run. */
static int register_backing(struct sbx_request *request, int fd)
{
	int backing = request->fs->passes ? fuse_passthrough_open(request->req, fd) : 0;
	if (backing > 0)
		return backing;
	if (request->fs->passes)
		sbx_log(SBX_LOG_INFO,
			"the kernel does not pass reads through to the cache (%s): they are "
			"answered by this process",
			strerror(errno));
	request->fs->passes = false;
	return 0;
}

/* The first of its node: nobody reads it by way of the page cache, and all bytes are there. */
static bool may_begin(const struct sbx_node *node, const struct sbx_spool *spool)
{
	/* `spools` counts this handle, too. */
	return node->kind == SBX_NODE_OUTPUT_FILE && node->spools == 1 && spool->complete &&
	       spool->fd >= 0 && sbx_spool_in_file(spool, spool->size);
}

bool sbx_passthrough_open(struct sbx_request *request, struct sbx_handle *handle)
{
	struct sbx_fs *fs = request->fs;
	struct sbx_node *node = request->node;
	/* The spool's file system may want whole blocks of such a reader, or know nothing of it. */
	bool unbuffered = request->fi.flags & O_DIRECT;
	if (node->passing) {
		sbx_spool_ref(fs->spools, node->passed);
		sbx_spool_unref(fs->spools, handle->spool);
		handle->spool = node->passed;
	} else if (!unbuffered && may_begin(node, handle->spool)) {
		node->backing = register_backing(request, handle->spool->fd);
		node->passed = node->backing ? handle->spool : NULL;
	}
	if (!node->backing)
		return false;
	handle->passing = true;
	node->passing++;
	request->fi.backing_id = node->backing;
	request->fi.direct_io = unbuffered; /* beside others that pass: its reads come to us */
	fs->counters.passed_through++;
	return true;
}

void sbx_passthrough_close(struct sbx_fs *fs, struct sbx_handle *handle)
{
	struct sbx_node *node = handle->node;
	if (!handle->passing || --node->passing)
		return;
	uint32_t backing = (uint32_t)node->backing;
	node->backing = 0;
	node->passed = NULL;
	/* libfuse's own function wants a request, and a handle may end without one. What still has
	 * the file mapped keeps it; after an unmount there is nothing to close. */
	(void)ioctl(fuse_session_fd(fs->session), FUSE_DEV_IOC_BACKING_CLOSE, &backing);
}

#else

void sbx_passthrough_init(struct sbx_fs *fs, struct fuse_conn_info *conn)
{
	(void)fs;
	(void)conn;
}

bool sbx_passthrough_open(struct sbx_request *request, struct sbx_handle *handle)
{
	(void)request;
	(void)handle;
	return false;
}

void sbx_passthrough_close(struct sbx_fs *fs, struct sbx_handle *handle)
{
	(void)fs;
	(void)handle;
}

#endif
