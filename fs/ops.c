/*
 * ops.c: the table of operations, and those that are answered at once.
 *
 * What only in/ can do is passed to in.h; everywhere else it is refused here, with EROFS for what
 * would write. Locks and extended attributes are left out on purpose: the kernel then serves locks
 * itself and stops asking for attributes (fuse-guide §5).
 */
#include "ops.h"

#include "in.h"
#include "passthrough.h"

#include <sys/statvfs.h>

static struct sbx_request *begin(fuse_req_t req, fuse_ino_t ino)
{
	struct sbx_fs *fs = fuse_req_userdata(req);
	struct sbx_node *node = sbx_node_get(fs, ino);
	if (node)
		return sbx_request_create(fs, req, node);
	(void)fuse_reply_err(req, ESTALE); /* nobody is left to tell if this fails */
	return NULL;
}

static struct sbx_request *begin_named(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct sbx_request *request = begin(req, parent);
	if (!request)
		return NULL;
	if (strlen(name) > 255) {
		sbx_answer_error(request, ENAMETOOLONG);
		return NULL;
	}
	request->name = sbx_strdup(name);
	return request;
}

static struct sbx_request *begin_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sbx_request *request = begin(req, ino);
	if (request && fi)
		request->fi = *fi;
	return request;
}

/* On an open file. */
static struct sbx_request *begin_on(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sbx_request *request = begin_open(req, ino, fi);
	if (!request)
		return NULL;
	request->handle = sbx_handle_get(request->fs, fi->fh);
	if (!request->handle) {
		sbx_answer_error(request, EBADF);
		return NULL;
	}
	sbx_handle_pin(request->handle);
	return request;
}

static struct sbx_request *begin_at(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, size_t size, off_t offset)
{
	struct sbx_request *request = begin_on(req, ino, fi);
	if (!request)
		return NULL;
	request->size = size;
	request->offset = offset;
	return request;
}

static bool in(const struct sbx_request *request)
{
	return sbx_node_is_in(request->node);
}

typedef void (*op_fn)(struct sbx_request *request);

/* Under in/ by the one, elsewhere by the other. NULL has been answered. */
static void go(struct sbx_request *request, op_fn in_op, op_fn other)
{
	if (request)
		(in(request) ? in_op : other)(request);
}

static void read_only(struct sbx_request *request)
{
	sbx_answer_error(request, EROFS);
}

static void done(struct sbx_request *request)
{
	sbx_answer_error(request, 0);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct sbx_request *request = begin_named(req, parent, name);
	if (!request)
		return;
	request->fs->counters.lookups++;
	go(request, sbx_in_lookup, sbx_op_lookup);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	sbx_node_forget(fuse_req_userdata(req), ino, lookups);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		sbx_node_forget(fuse_req_userdata(req), forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	go(begin_open(req, ino, fi), sbx_in_getattr, sbx_op_getattr);
}

static void op_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	struct sbx_request *request = begin_open(req, ino, fi);
	if (!request)
		return;
	if (fi) {
		request->handle = sbx_handle_get(request->fs, fi->fh);
		if (request->handle)
			sbx_handle_pin(request->handle);
	}
	if (in(request))
		sbx_in_setattr(request, attr, to_set);
	else
		sbx_answer_error(request, EROFS);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	go(begin_open(req, ino, fi), sbx_in_opendir, sbx_op_opendir);
}

static void op_readdirplus(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	go(begin_at(req, ino, fi, size, offset), sbx_in_readdirplus, sbx_op_readdirplus);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sbx_request *request = begin_open(req, ino, fi);
	if (!request)
		return;
	request->fs->counters.opens++;
	go(request, sbx_in_open, sbx_op_open);
}

static void op_read(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct sbx_request *request = begin_at(req, ino, fi, size, offset);
	if (!request)
		return;
	request->fs->counters.reads++;
	go(request, sbx_in_read, sbx_op_read);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	go(begin_on(req, ino, fi), sbx_in_release, sbx_op_release);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sbx_request *request = begin_on(req, ino, fi);
	if (!request)
		return;
	sbx_handle_release(request->fs, request->handle);
	sbx_answer_error(request, 0);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	struct sbx_request *request = begin_at(req, ino, fi, size, offset);
	if (!request)
		return;
	if (in(request))
		sbx_in_write(request, bytes);
	else
		sbx_answer_error(request, EROFS);
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	go(begin_on(req, ino, fi), sbx_in_flush, done);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)datasync; /* an upload carries both */
	go(begin_on(req, ino, fi), sbx_in_fsync, done);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)datasync; /* directories are made before mkdir returns */
	go(begin_on(req, ino, fi), done, done);
}

static void op_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	struct sbx_request *request = begin_named(req, parent, name);
	if (!request)
		return;
	request->fi = *fi;
	if (in(request))
		sbx_in_create(request, mode);
	else
		sbx_answer_error(request, EROFS);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct sbx_request *request = begin_named(req, parent, name);
	if (!request)
		return;
	if (in(request))
		sbx_in_mkdir(request, mode);
	else
		sbx_answer_error(request, EROFS);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	go(begin_named(req, parent, name), sbx_in_unlink, read_only);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	go(begin_named(req, parent, name), sbx_in_rmdir, read_only);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
	const char *new_name, unsigned flags)
{
	struct sbx_request *request = begin_named(req, parent, name);
	if (!request)
		return;
	struct sbx_node *target = sbx_node_get(request->fs, new_parent);
	if (!target)
		sbx_answer_error(request, ESTALE);
	else if (strlen(new_name) > 255)
		sbx_answer_error(request, ENAMETOOLONG);
	else if (in(request) && sbx_node_is_in(target) && target->view == request->node->view)
		sbx_in_rename(request, target, new_name, flags);
	else if (in(request) || sbx_node_is_in(target))
		sbx_answer_error(
			request, EXDEV); /* mv and rsync then copy, and meet what is there */
	else
		sbx_answer_error(request, EROFS);
}

/* Not even in/ has links and special files: EPERM lets git, tar and cp go on without. */
static void refuse_made(fuse_req_t req, fuse_ino_t parent)
{
	struct sbx_request *request = begin(req, parent);
	if (request)
		sbx_answer_error(request, in(request) ? EPERM : EROFS);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	(void)name;
	(void)mode;
	(void)device;
	refuse_made(req, parent);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)name;
	refuse_made(req, parent);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
	(void)ino;
	(void)new_name;
	refuse_made(req, new_parent);
}

/* The room for what is written under in/: some file managers refuse to paste where none is free. */
static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct sbx_request *request = begin(req, ino);
	if (!request)
		return;
	struct statvfs st;
	const char *path = sbx_in_staging_path(request->fs);
	if (statvfs(path ? path : request->fs->options->cache_dir, &st) < 0) {
		sbx_answer_error(request, EIO);
		return;
	}
	st.f_files = HASH_COUNT(request->fs->nodes.by_id);
	st.f_ffree = st.f_favail = 0;
	st.f_namemax = 255;
	sbx_answer_statfs(request, &st);
}

/* Whether the kernel can do it, and does it from now on. */
static bool want(struct fuse_conn_info *conn, unsigned flag)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	return fuse_set_feature_flag(conn, flag);
#else
	conn->want |= conn->capable & flag;
	return conn->want & flag;
#endif
}

static void refuse(struct fuse_conn_info *conn, unsigned flag)
{
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	fuse_unset_feature_flag(conn, flag);
#else
	conn->want &= ~flag;
#endif
}

static void op_init(void *data, struct fuse_conn_info *conn)
{
	struct sbx_fs *fs = data;
	static const unsigned wanted[] = { FUSE_CAP_READDIRPLUS, FUSE_CAP_ATOMIC_O_TRUNC,
		FUSE_CAP_PARALLEL_DIROPS };
	/* Without ASYNC_READ a read that is waited for can be interrupted, whatever the page cache
	 * holds. */
	static const unsigned refused[] = { FUSE_CAP_ASYNC_READ, FUSE_CAP_WRITEBACK_CACHE,
		FUSE_CAP_READDIRPLUS_AUTO, FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_MOVE,
		FUSE_CAP_POSIX_LOCKS, FUSE_CAP_FLOCK_LOCKS };
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		refuse(conn, refused[i]);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		(void)want(conn, wanted[i]); /* slower without */
	fs->splices = want(conn, FUSE_CAP_SPLICE_WRITE);
	sbx_passthrough_init(fs, conn);
	conn->max_background = 64;
	conn->congestion_threshold = 48;
	if (fs->serving)
		fs->serving(fs);
}

const struct fuse_lowlevel_ops sbx_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.fsync = op_fsync,
	.opendir = op_opendir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,
	.statfs = op_statfs,
	.create = op_create,
};
