/* file_body.c: see file_body.h. */
#include "file_body.h"

#include "../base/alloc.h"
#include "../base/text.h"
#include "guest_path.h"
#include "tar_read.h"

#include <errno.h>
#include <string.h>

enum {
	/* What may be read of a parent directory's archive before the file comes (below). */
	DETOUR_BYTES = 64 << 20,
	FOUND = 1, /* ends a GET early, by ourselves */
};

struct transfer {
	const struct sbx_file_body *file;
	const char *base;
	bool detour; /* through the parent directory's archive */
	bool inside; /* the current entry is the file */
	bool found;
	int64_t left; /* of the detour's bytes */
	struct sbx_tar *tar;
	struct sbx_error reading; /* what a tar event of ours failed with */
};

static int changed(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, ESTALE, "it changed while it was read: %s", what);
}

/* Podman is asked with its pattern characters escaped and may answer with that form. */
static bool name_fits(const struct transfer *transfer, const char *name)
{
	if (transfer->detour) {
		/* "DIRECTORY/NAME", where Docker 20.10 spells a DIRECTORY that is not UTF-8
		 * otherwise */
		const char *slash = strchr(name, '/');
		return slash && strcmp(slash + 1, transfer->base) == 0;
	}
	if (sbx_engine_is_podman(transfer->file->engine) && strpbrk(transfer->base, "*?[]\\"))
		return true;
	return strcmp(name, transfer->base) == 0;
}

/* Tars hold whole seconds: Docker cuts the rest off, Podman rounds. */
static bool time_fits(const struct sbx_stat *st, const struct sbx_tar_entry *entry)
{
	if (entry->mtime_ns >= 0 && entry->mtime_ns != st->mtime_ns)
		return false;
	bool rounded_up = st->mtime_ns >= 500000000 && entry->mtime_s == st->mtime_s + 1;
	return entry->mtime_s == st->mtime_s || rounded_up;
}

static int on_entry(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	struct transfer *transfer = data;
	const struct sbx_stat *st = transfer->file->st;
	bool fits = name_fits(transfer, entry->name);
	if (transfer->detour && !fits)
		return 0;
	if (transfer->found)
		return sbx_fail(err, EIO, "the engine's archive holds more than one entry");
	transfer->found = true;
	transfer->inside = true;
	if (entry->type == '1' && transfer->detour)
		return sbx_fail(
			err, EOPNOTSUPP, "a hard link whose name this engine cannot pack alone");
	if (entry->type != '0')
		return changed(err, "the archive's entry is not a file");
	if (!fits)
		return changed(err, "the archive's entry has another name");
	if (entry->size != st->size)
		return changed(err, "its size is another one");
	if (!time_fits(st, entry))
		return changed(err, "its time is another one");
	return 0;
}

static int on_body(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct transfer *transfer = data;
	const struct sbx_file_body *file = transfer->file;
	return transfer->inside ? file->body(file->data, bytes, size, err) : 0;
}

static int on_entry_end(void *data, struct sbx_error *err)
{
	struct transfer *transfer = data;
	bool ends = transfer->detour && transfer->inside;
	transfer->inside = false;
	return ends ? FOUND : 0;
}

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct transfer *transfer = data;
	if (transfer->detour && !transfer->found && (transfer->left -= (int64_t)size) < 0)
		return sbx_fail(&transfer->reading, EOPNOTSUPP,
			"this engine cannot pack the name alone, and its directory is too large "
			"to be searched for it");
	return sbx_tar_feed(transfer->tar, bytes, size, &transfer->reading);
}

static int run(struct transfer *transfer, const char *path, const struct sbx_call *call,
	struct sbx_error *err)
{
	static const struct sbx_tar_events events = { on_entry, on_body, on_entry_end };
	const struct sbx_file_body *file = transfer->file;
	sbx_error_clear(&transfer->reading);
	transfer->tar = sbx_tar_create(&events, transfer);
	int result = sbx_archive_get(file->engine, file->id, path, call, on_bytes, transfer, err);
	if (result == FOUND)
		result = 0;
	else if (!result)
		result = sbx_tar_finish(transfer->tar, &transfer->reading);
	sbx_tar_destroy(transfer->tar);
	/* A failure of ours has its sentence in reading, one of the request's in err. */
	if (result < 0 && transfer->reading.errnum) {
		(void)sbx_wrap(&transfer->reading, "%s", file->path); /* returns the same result */
		if (err)
			*err = transfer->reading;
	}
	return result;
}

int sbx_file_body_get(
	const struct sbx_file_body *file, const struct sbx_call *call, struct sbx_error *err)
{
	struct transfer transfer = { .file = file, .base = sbx_guest_path_base(file->path) };
	int result = run(&transfer, file->path, call, err);
	if (result || transfer.found)
		return result;
	/* Docker 20.10 answers with an empty archive for a name that is not UTF-8, but packs such a
	 * file with its directory. */
	bool odd = !sbx_utf8_valid(transfer.base, strlen(transfer.base));
	const char *slash = strrchr(file->path, '/');
	if (!odd || slash == file->path)
		return sbx_fail(err, EIO, "the engine's archive of %s is empty", file->path);
	cleanup_free char *parent = sbx_strndup(file->path, (size_t)(slash - file->path));
	transfer.detour = true;
	transfer.left = DETOUR_BYTES;
	result = run(&transfer, parent, call, err);
	if (!result && !transfer.found)
		return sbx_fail(err, EIO, "the engine's archive of %s lacks it", file->path);
	return result;
}
