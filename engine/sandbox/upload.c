/*
 * upload.c: see sbx/transfer.h and upload_send.h.
 *
 * The tree is listed and checked first, then sent in batches: each is one archive in one window,
 * bounded in bytes, each of which is time the sandbox stands still. A file larger than a batch is a
 * batch of its own. Small files are packed into one descriptor, so that thousands fit a batch.
 */
#include "upload_send.h"

#include "../base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#define BATCH_ITEMS 4096
#define BATCH_FILES 128 /* with a descriptor of their own */
#define BATCH_BYTES (64 << 20)
#define TELL_BYTES (1 << 20)
#define PACKED_FILE_BYTES (64 << 10)
#define PACKED_BYTES (16 << 20) /* held in memory */

int sbx_upload_dest(
	const struct sbx_sandbox *sandbox, const char *dest, char **out, struct sbx_error *err)
{
	const char *name = sandbox->container.name, *in = sandbox->in_dir;
	if (sandbox->refusal)
		return sbx_fail(err, EOPNOTSUPP, "sandbox %s cannot be written to: %s", name,
			sandbox->refusal);
	if (!in)
		return sbx_fail(err, EROFS, "sandbox %s has no in dir", name);
	size_t size = strlen(dest ? dest : in);
	while (size > 1 && (dest ? dest : in)[size - 1] == '/')
		size--;
	cleanup_free char *plain = sbx_strndup(dest ? dest : in, size);
	if (sbx_guest_path_check(plain, false, err) < 0)
		return sbx_wrap(err, "destination in sandbox %s", name);
	size_t depth = strlen(in);
	if (strncmp(plain, in, depth) != 0 || (plain[depth] && plain[depth] != '/'))
		return sbx_fail(err, EROFS,
			"\"%s\" is not in the in dir \"%s\" of sandbox %s, the only place that is "
			"written to",
			plain, in, name);
	*out = steal(&plain);
	return 0;
}

int sbx_upload_caps(const struct sbx_upload_tree *tree, const struct sbx_ceilings *ceilings,
	struct sbx_error *err)
{
	if (!ceilings)
		return 0;
	if (ceilings->max_files && tree->files > ceilings->max_files)
		return sbx_fail(err, EFBIG,
			"%" PRId64 " files are more than the ceiling of %" PRId64 " (--max-files)",
			tree->files, ceilings->max_files);
	if (ceilings->max_total_bytes && tree->bytes > ceilings->max_total_bytes)
		return sbx_fail(err, EFBIG,
			"%" PRId64 " bytes in all are more than the ceiling of %" PRId64
			" (--max-total)",
			tree->bytes, ceilings->max_total_bytes);
	for (size_t i = 0; ceilings->max_file_bytes && i < tree->count; i++) {
		const struct sbx_upload_entry *entry = &tree->entries[i];
		if (entry->size <= ceilings->max_file_bytes)
			continue;
		cleanup_free char *shown = sbx_upload_entry_name(entry);
		return sbx_fail(err, EFBIG,
			"%s has %" PRId64 " bytes, the ceiling of one file is %" PRId64
			" (--max-file)",
			shown, entry->size, ceilings->max_file_bytes);
	}
	return 0;
}

/* What a person is told while a batch moves. */
struct watch {
	const struct sbx_transfer_progress *progress;
	const struct sbx_transfer_totals *landed;
	int64_t moved, told;
};

struct batch {
	struct watch watch;
	struct sbx_put_item items[BATCH_ITEMS];
	size_t count, files;
	int64_t bytes;
	int pack; /* a memory file with the small ones, one after the other */
	int64_t packed;
};

static void tell(const struct watch *watch)
{
	const struct sbx_transfer_progress *progress = watch->progress;
	if (progress && progress->tick)
		progress->tick(
			progress->data, watch->landed->bytes + watch->moved, watch->landed->files);
}

static void moved(void *data, int64_t bytes)
{
	struct batch *batch = data;
	struct watch *watch = &batch->watch;
	watch->moved += bytes;
	if (watch->moved - watch->told < TELL_BYTES || watch->moved > batch->bytes)
		return; /* what is sent again is not more */
	watch->told = watch->moved;
	tell(watch);
}

static void batch_clear(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->items[i].fd >= 0 && batch->items[i].fd != batch->pack)
			(void)close(batch->items[i].fd); /* only read */
	if (batch->pack >= 0)
		(void)close(batch->pack); /* memory */
	batch->count = batch->files = 0;
	batch->bytes = batch->packed = 0;
	batch->watch.moved = batch->watch.told = 0;
	batch->pack = -1;
}

static void batch_free(struct batch **batch)
{
	batch_clear(*batch);
	free(*batch);
}

static bool is_small(const struct sbx_upload_entry *entry)
{
	return entry->size <= PACKED_FILE_BYTES;
}

static bool fits(const struct batch *batch, const struct sbx_upload_entry *entry)
{
	if (batch->count == 0)
		return true;
	if (batch->count == BATCH_ITEMS || batch->bytes + entry->size > BATCH_BYTES)
		return false;
	return is_small(entry) ? batch->packed + entry->size <= PACKED_BYTES
			       : batch->files < BATCH_FILES;
}

/* Copies a whole small file to the end of the pack. */
static int pack(
	struct batch *batch, int fd, const struct sbx_upload_entry *entry, struct sbx_error *err)
{
	if (batch->pack < 0)
		batch->pack = memfd_create("sbxfs-upload", MFD_CLOEXEC);
	if (batch->pack < 0)
		return sbx_fail_errno(err, errno, "no memory file for an upload");
	for (int64_t left = entry->size; left;) {
		ssize_t done = sendfile(batch->pack, fd, NULL, (size_t)left);
		if (done < 0 && errno == EINTR)
			continue;
		if (done > 0) {
			left -= done;
			continue;
		}
		cleanup_free char *shown = sbx_upload_entry_name(entry);
		if (done < 0)
			return sbx_fail_host(err, errno, "%s cannot be read", shown);
		return sbx_fail_kind(err, SBX_KIND_CHANGED, ESTALE,
			"%s was changed or replaced while it was being sent", shown);
	}
	batch->packed += entry->size;
	return 0;
}

static int batch_add(
	struct batch *batch, const struct sbx_upload_entry *entry, struct sbx_error *err)
{
	struct sbx_put_item item = {
		.path = entry->path,
		.type = entry->type,
		.mode = entry->mode,
		.mtime_s = entry->mtime_s,
		.mtime_ns = entry->mtime_ns,
		.size = entry->size,
		.fd = -1,
		.moved = moved,
		.data = batch,
		.result = -ECANCELED, /* until the plane says otherwise */
	};
	if (entry->type == SBX_TYPE_FILE) {
		cleanup_close int fd = sbx_upload_tree_open(entry, err);
		if (fd < 0)
			return fd;
		int64_t offset = batch->packed;
		int result = is_small(entry) ? pack(batch, fd, entry, err) : 0;
		if (result < 0)
			return result;
		item.offset = is_small(entry) ? offset : 0;
		batch->files += !is_small(entry);
		item.fd = is_small(entry) ? batch->pack : steal_fd(&fd);
	}
	batch->items[batch->count++] = item;
	batch->bytes += entry->size;
	return 0;
}

static int batch_send(struct sbx_plane *plane, struct batch *batch, const struct sbx_call *call,
	struct sbx_transfer_totals *totals, struct sbx_error *err)
{
	if (!batch->count)
		return 0;
	int result = plane->ops->put(plane, batch->items, batch->count, call, err);
	for (size_t i = 0; i < batch->count; i++) {
		const struct sbx_put_item *item = &batch->items[i];
		if (item->result < 0)
			continue;
		totals->files += item->type == SBX_TYPE_FILE;
		totals->directories += item->type == SBX_TYPE_DIR;
		totals->bytes += item->size;
	}
	batch_clear(batch);
	return result;
}

/* Says how much has landed where not all has. What the caller decided itself stays what it is. */
static int partly(const struct sbx_upload_tree *tree, const struct sbx_transfer_totals *totals,
	struct sbx_error *err)
{
	if (totals->files + totals->directories == 0)
		return -err->errnum;
	bool own = err->kind == SBX_KIND_CANCELLED || err->kind == SBX_KIND_DEADLINE ||
		   err->kind == SBX_KIND_GONE;
	struct sbx_error why = *err;
	return sbx_fail_kind(err, own ? why.kind : SBX_KIND_PARTIAL, own ? why.errnum : EIO,
		"%" PRId64 " of %" PRId64 " files had landed when this failed: %s", totals->files,
		tree->files, why.message);
}

int sbx_upload_send(struct sbx_plane *plane, const struct sbx_upload_tree *tree,
	const struct sbx_call *call, const struct sbx_transfer_progress *progress,
	struct sbx_transfer_totals *totals, struct sbx_error *err)
{
	struct sbx_transfer_totals sum = { 0 };
	struct sbx_error why = SBX_ERROR_INIT;
	cleanup_with(batch_free) struct batch *batch = sbx_alloc(sizeof(*batch));
	batch->pack = -1;
	batch->watch = (struct watch){ .progress = progress, .landed = &sum };
	int result = 0;
	for (size_t i = 0; result == 0 && i <= tree->count; i++) {
		bool last = i == tree->count;
		if (last || !fits(batch, &tree->entries[i])) {
			result = batch_send(plane, batch, call, &sum, &why);
			tell(&batch->watch);
		}
		if (result == 0 && !last)
			result = batch_add(batch, &tree->entries[i], &why);
	}
	if (totals)
		*totals = sum;
	if (result == 0)
		return 0;
	result = partly(tree, &sum, &why);
	if (err)
		*err = why;
	return result;
}

/* One of the two is given: several sources under their own names, or one under another. */
struct wanted {
	const char *const *sources;
	size_t count;
	const char *source, *name;
	int fd;
};

static int add_wanted(struct sbx_upload_tree *tree, const struct wanted *wanted, const char *place,
	struct sbx_error *err)
{
	if (wanted->name)
		return sbx_upload_tree_add_as(
			tree, wanted->source, wanted->fd, wanted->name, place, err);
	int result = 0;
	for (size_t i = 0; result == 0 && i < wanted->count; i++)
		result = sbx_upload_tree_add(tree, wanted->sources[i], place, err);
	return result;
}

static int upload(struct sbx_plane *plane, const struct sbx_sandbox *sandbox,
	const struct wanted *wanted, const char *dest, const struct sbx_ceilings *ceilings,
	const struct sbx_call *call, const struct sbx_transfer_progress *progress,
	struct sbx_transfer_totals *totals, struct sbx_error *err)
{
	if (totals)
		*totals = (struct sbx_transfer_totals){ 0 };
	cleanup_free char *place = NULL;
	int result = sbx_upload_dest(sandbox, dest, &place, err);
	if (result < 0)
		return result;
	cleanup_with(sbx_upload_tree_finish) struct sbx_upload_tree tree = { 0 };
	result = add_wanted(&tree, wanted, place, err);
	if (result == 0)
		result = sbx_upload_tree_check(&tree, err);
	if (result == 0)
		result = sbx_upload_caps(&tree, ceilings, err);
	if (result == 0)
		result = sbx_upload_send(plane, &tree, call, progress, totals, err);
	return result;
}

int sbx_upload(struct sbx_plane *plane, const struct sbx_sandbox *sandbox,
	const char *const *sources, size_t count, const char *dest,
	const struct sbx_ceilings *ceilings, const struct sbx_call *call,
	const struct sbx_transfer_progress *progress, struct sbx_transfer_totals *totals,
	struct sbx_error *err)
{
	const struct wanted wanted = { .sources = sources, .count = count };
	return upload(plane, sandbox, &wanted, dest, ceilings, call, progress, totals, err);
}

int sbx_upload_as(struct sbx_plane *plane, const struct sbx_sandbox *sandbox, const char *source,
	int fd, const char *name, const char *dest, const struct sbx_ceilings *ceilings,
	const struct sbx_call *call, const struct sbx_transfer_progress *progress,
	struct sbx_transfer_totals *totals, struct sbx_error *err)
{
	const struct wanted wanted = { .source = source, .name = name, .fd = fd };
	return upload(plane, sandbox, &wanted, dest, ceilings, call, progress, totals, err);
}
