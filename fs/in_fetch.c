/*
 * in_fetch.c: what the guest has at a path becomes the start of a staged file, for a writer that
 * does not begin anew (>>, dd conv=notrunc, sed without -i, chmod).
 */
#include "in_file.h"

#include "attr.h"

struct fetch {
	struct sbx_job job; /* first */
	struct sbx_in_file *file;
	char *path;
	int fd;
	int64_t offset;
	struct sbx_stat st;
	struct sbx_error disk; /* why the staging directory took no more */
};

static int begin(void *data, const struct sbx_stat *st)
{
	struct fetch *fetch = data;
	fetch->st = *st;
	fetch->st.link_target = NULL;
	return sbx_staging_reserve(fetch->fd, st->size, &fetch->disk);
}

static int bytes(void *data, const void *piece, size_t size)
{
	struct fetch *fetch = data;
	const char *at = piece;
	while (size) {
		ssize_t n = pwrite(fetch->fd, at, size, fetch->offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail_errno(&fetch->disk, errno, "cannot stage %s", fetch->path);
		at += n;
		size -= (size_t)n;
		fetch->offset += n;
	}
	return 0;
}

static int run(struct sbx_job *base, struct sbx_error *err)
{
	struct fetch *fetch = (struct fetch *)base;
	struct sbx_reader reader = { .begin = begin, .bytes = bytes, .data = fetch };
	struct sbx_plane *plane = base->view->plane;
	int result = plane->ops->read(plane, fetch->path, &base->call, &reader, err);
	if (fetch->disk.errnum) {
		*err = fetch->disk;
		return -err->errnum;
	}
	return result;
}

static void succeed(struct fetch *fetch)
{
	struct sbx_in_file *file = fetch->file;
	struct sbx_fs *fs = fetch->job.fs;
	bool same = file->node && sbx_same_version(&file->node->st, &fetch->st, fs->podman);
	file->size = fetch->st.size;
	file->mode = fetch->st.mode & 0777;
	file->mtime_s = fetch->st.mtime_s;
	file->mtime_ns = fetch->st.mtime_ns < 0 ? 0 : fetch->st.mtime_ns;
	file->landed = SBX_LANDED_YES;
	file->landed_version = file->version;
	file->blank = false;
	/* The kernel may hold pages of the version that was looked up: another one is another
	 * node, and the opener is sent to look again. */
	if (file->node && !same) {
		struct sbx_node *old = file->node;
		old->in = NULL;
		file->node = NULL;
		sbx_node_detach(fs, old);
		sbx_in_file_unref(file); /* the node's; the job still holds one */
	}
	sbx_in_file_show(file);
}

static void done(struct sbx_job *base)
{
	struct fetch *fetch = (struct fetch *)base;
	struct sbx_in_file *file = fetch->file;
	struct sbx_fs *fs = base->fs;
	int result = base->result;
	file->loading = false;
	file->idle_since_ms = sbx_clock_ms();
	if (!result)
		succeed(fetch);
	sbx_waiters_resume(&file->settled, result, result ? &base->err : NULL);
	if (result)
		sbx_in_file_unlink(file); /* only a copy of what the guest has */
	sbx_in_file_freed(file);
	sbx_in_file_unref(file);
	free(fetch->path);
	sbx_job_free(base);
	fs->in->jobs--;
	sbx_in_check_barrier(fs);
}

void sbx_in_fetch(struct sbx_in_file *file)
{
	struct sbx_view *view = file->home->view;
	struct fetch *fetch = sbx_job_create(view->fs, view, sizeof(*fetch), 0);
	fetch->job.from_turn_ms = sbx_in_upload_ms(file->size);
	fetch->job.run = run;
	fetch->job.done = done;
	fetch->job.length = SBX_JOB_LONG;
	fetch->file = file;
	fetch->path = sbx_strdup(file->path);
	fetch->fd = file->fd;
	file->loading = true;
	sbx_in_file_ref(file);
	view->fs->in->jobs++;
	view->fs->counters.transfers++;
	sbx_job_start(&fetch->job);
}
