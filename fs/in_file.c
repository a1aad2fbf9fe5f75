/*
 * in_file.c: the files under in/ whose newest bytes are ours (in_file.h): their making, their names
 * and their end.
 */
#include "in_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <time.h>

struct sbx_in_file *sbx_in_file_find(struct sbx_view *view, const char *path)
{
	struct sbx_in_file *file = NULL;
	HASH_FIND_STR(sbx_in_home(view)->files, path, file);
	return file;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void link_path(struct sbx_in_file *file, const char *path)
{
	struct sbx_view *view = file->home->view;
	file->path = sbx_strdup(path);
	file->temporary =
		sbx_in_name_temporary(view->fs->options->temporary_names, last_part(file->path));
	file->linked = true;
	HASH_ADD_KEYPTR(hh, file->home->files, file->path, strlen(file->path), file);
}

static struct sbx_in_file *make(struct sbx_view *view, const char *path)
{
	struct sbx_in_file *file = sbx_alloc(sizeof(*file));
	file->home = sbx_in_home(view);
	file->refs = 1; /* the path's */
	file->fd = -1;
	file->version = 1;
	sbx_view_ref(view);
	link_path(file, path);
	return file;
}

/* Microseconds: the finest that every engine keeps, so that the time does not change by landing. */
static void set_now(struct sbx_in_file *file)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	file->mtime_s = now.tv_sec;
	file->mtime_ns = (int32_t)(now.tv_nsec / 1000 * 1000);
}

int sbx_in_file_create(struct sbx_view *view, const char *path, uint32_t mode,
	struct sbx_in_file **out, struct sbx_error *err)
{
	uint64_t sequence;
	int fd;
	int result = sbx_staging_create(view->fs->in->staging, &sequence, &fd, err);
	if (result)
		return result;
	struct sbx_in_file *file = make(view, path);
	file->sequence = sequence;
	file->fd = fd;
	file->mode = mode & 0777;
	file->blank = true;
	set_now(file);
	*out = file;
	return 0;
}

struct sbx_in_file *sbx_in_file_adopt(struct sbx_view *view, const struct sbx_staged *staged)
{
	struct sbx_in_file *file = make(view, staged->path);
	file->adopted = true;
	file->sequence = staged->sequence;
	file->size = staged->size;
	file->mode = staged->mode;
	file->mtime_s = staged->mtime_s;
	file->mtime_ns = staged->mtime_ns;
	/* One that still may replace nothing was never sent: what is there is the guest's own. */
	file->landed = staged->only_new ? SBX_LANDED_NO : SBX_LANDED_MAYBE;
	file->unsure = staged->only_new;
	file->recorded = true;
	file->kept_version = file->noted_version = file->version;
	file->attempts = staged->attempts;
	if (staged->reason)
		sbx_fail(&file->failure, staged->errnum ? staged->errnum : EIO, "%s",
			staged->reason);
	return file;
}

void sbx_in_file_ref(struct sbx_in_file *file)
{
	file->refs++;
}

void sbx_in_file_unref(struct sbx_in_file *file)
{
	if (--file->refs)
		return;
	struct sbx_view *view = file->home->view;
	if (file->fd >= 0)
		(void)close(file->fd); /* what had to be durable was synced */
	free(file->path);
	free(file);
	sbx_view_unref(view);
}

int sbx_in_file_open(struct sbx_in_file *file, struct sbx_error *err)
{
	if (file->fd >= 0)
		return 0;
	return sbx_staging_reopen(
		file->home->view->fs->in->staging, file->sequence, &file->fd, err);
}

void sbx_in_file_close(struct sbx_in_file *file)
{
	if (file->fd < 0 || file->handles || !sbx_in_file_dirty(file) || sbx_in_file_busy(file))
		return;
	(void)close(file->fd); /* what had to be durable was synced */
	file->fd = -1;
}

struct sbx_stat sbx_in_file_stat(const struct sbx_in_file *file)
{
	return (struct sbx_stat){
		.type = SBX_TYPE_FILE,
		.mode = file->mode,
		.size = file->size,
		.mtime_s = file->mtime_s,
		.mtime_ns = file->mtime_ns,
	};
}

void sbx_in_file_show(struct sbx_in_file *file)
{
	if (file->node)
		file->node->st = sbx_in_file_stat(file);
}

void sbx_in_file_bind(struct sbx_in_file *file, struct sbx_node *node)
{
	file->node = node;
	node->in = file;
	sbx_in_file_ref(file);
	sbx_in_file_show(file);
}

void sbx_in_file_unbind(struct sbx_in_file *file)
{
	if (!file->node)
		return;
	file->node->in = NULL;
	file->node = NULL;
	sbx_in_file_unref(file);
}

void sbx_in_node_free(struct sbx_node *node)
{
	if (node->in)
		sbx_in_file_unbind(node->in);
}

struct sbx_node *sbx_in_file_node(struct sbx_in_file *file)
{
	if (!file->node)
		sbx_in_file_bind(file,
			sbx_in_node_create(file->home->view, SBX_NODE_IN_FILE, file->path, NULL));
	return file->node;
}

static void leave_queue(struct sbx_in_file *file)
{
	if (!file->queued)
		return;
	struct sbx_in_file **at = &file->home->first_queued;
	while (*at != file)
		at = &(*at)->next_queued;
	*at = file->next_queued;
	file->queued = false;
	file->home->last_queued = NULL;
	for (struct sbx_in_file *last = file->home->first_queued; last; last = last->next_queued)
		file->home->last_queued = last;
}

static void unlink_path(struct sbx_in_file *file)
{
	HASH_DEL(file->home->files, file);
	file->linked = false;
	leave_queue(file);
}

void sbx_in_file_spoil(struct sbx_in_file *file, const struct sbx_error *err)
{
	file->spoiled = err->errnum;
	file->failure = *err;
	file->retry_at_ms = 0;
	leave_queue(file);
	sbx_waiters_resume(&file->settled, -err->errnum, err);
	sbx_in_check_barrier(file->home->view->fs);
}

/* The file is not found any more; its node is, if what it shows is still there. */
static void let_go(struct sbx_in_file *file, bool keep_node)
{
	unlink_path(file);
	if (file->node && !keep_node)
		sbx_node_detach(file->home->view->fs, file->node);
	if (!file->handles)
		sbx_in_file_unbind(file);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): another reference than the node's */
	sbx_in_file_unref(file);
}

/* reusable: nobody reads its bytes, nor will. */
static void forget(struct sbx_in_file *file, bool reusable)
{
	struct sbx_staging *staging = file->home->view->fs->in->staging;
	struct sbx_error err = SBX_ERROR_INIT;
	int result = reusable ? sbx_staging_recycle(staging, file->sequence, file->fd, &err)
			      : sbx_staging_forget(staging, file->sequence, &err);
	if (result)
		sbx_log(SBX_LOG_WARNING, "%s", err.message);
	file->recorded = file->marked = false;
}

void sbx_in_file_unlink(struct sbx_in_file *file)
{
	if (!file->linked)
		return;
	sbx_in_file_ref(file);
	forget(file, false);
	let_go(file, false);
	sbx_waiters_resume(&file->settled, 0, NULL); /* what they wait for will not come */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the one of its own from above */
	sbx_in_file_unref(file);
}

void sbx_in_file_abandon(struct sbx_in_file *file)
{
	if (file->linked)
		let_go(file, false);
}

void sbx_in_file_retire(struct sbx_in_file *file, bool keep_node)
{
	forget(file, !file->handles && !sbx_in_file_busy(file) && !file->adopted);
	if (file->node)
		file->node->overwritten = !keep_node;
	let_go(file, keep_node);
}

void sbx_in_file_move(struct sbx_in_file *file, const char *path)
{
	HASH_DEL(file->home->files, file);
	free(file->path);
	link_path(file, path);
	if (file->node)
		sbx_node_move(file->home->view->fs, file->node, path);
}

void sbx_in_file_describe(const struct sbx_in_file *file, struct sbx_staged *out)
{
	const struct sbx_container *container = &file->home->view->sandbox.container;
	*out = (struct sbx_staged){
		.sequence = file->sequence,
		.sandbox_id = sbx_strdup(container->id),
		.sandbox_name = sbx_strdup(container->name),
		.path = sbx_strdup(file->path),
		.mode = file->mode,
		.mtime_s = file->mtime_s,
		.mtime_ns = file->mtime_ns,
		.size = file->size,
		.local = file->temporary,
		.only_new = file->unsure,
		.open = file->spoiled,
		.attempts = file->attempts,
		.errnum = file->failure.errnum,
		.reason = file->failure.errnum ? sbx_strdup(file->failure.message) : NULL,
	};
}

int sbx_in_file_change(struct sbx_in_file *file, bool touch, struct sbx_error *err)
{
	int result = 0;
	if (file->recorded && !file->marked) {
		struct sbx_staged staged;
		sbx_in_file_describe(file, &staged);
		staged.open = true;
		result = sbx_staging_record(
			file->home->view->fs->in->staging, &staged, -1, false, err);
		sbx_staged_finish(&staged);
	}
	if (result)
		return result;
	file->marked = file->recorded;
	file->version++;
	if (touch)
		set_now(file);
	return 0;
}

void sbx_in_file_freed(struct sbx_in_file *file)
{
	if (sbx_in_file_busy(file))
		return;
	sbx_in_file_ref(file);
	sbx_waiters_resume(&file->free, 0, NULL);
	sbx_in_pump(file->home);
	sbx_in_file_unref(file);
}

bool sbx_in_below(const char *path, const char *directory)
{
	size_t size = strlen(directory);
	return !size || (!strncmp(path, directory, size) && path[size] == '/');
}
