/*
 * fetch_file.c: see sbx_fetch_file in sbx/transfer.h: one file into a descriptor, by the rules of
 * every other fetch, for whoever hands its bytes on. What is handed on is whole: a pipe's reader
 * never learns our exit code.
 */
#include "fetch_plan.h"

#include "../base/temporary.h"

#include <errno.h>

struct sink {
	const struct sbx_fetch_options *options;
	const struct sbx_transfer_progress *progress;
	const char *path;
	int fd;
	int64_t size;
	bool begun;
	struct sbx_error err; /* set when a callback ends the transfer */
};

/* The file may have grown since it was counted (OUT-06). */
static int begin(void *data, const struct sbx_stat *st)
{
	struct sink *sink = data;
	sink->begun = true;
	return sbx_fetch_cap(
		&sink->options->ceilings, sink->path, st->size, st->size, 1, &sink->err);
}

static int bytes(void *data, const void *bytes, size_t size)
{
	struct sink *sink = data;
	sink->size += (int64_t)size;
	if (sink->progress && sink->progress->tick)
		sink->progress->tick(sink->progress->data, sink->size, 0);
	return sbx_temporary_write(sink->fd, bytes, size, &sink->err);
}

static int read_file(struct sbx_plane *plane, struct sink *sink, const struct sbx_call *call,
	struct sbx_error *err)
{
	const struct sbx_reader reader = { .begin = begin, .bytes = bytes, .data = sink };
	struct sbx_error why = SBX_ERROR_INIT;
	int result = plane->ops->read(plane, sink->path, call, &reader, &why);
	if (result == 0 && !sink->begun)
		result = sbx_fail(&why, EIO, "\"%s\" was read without a beginning", sink->path);
	if (result == 0)
		return 0;
	if (err)
		*err = sink->err.errnum ? sink->err : why;
	return result;
}

int sbx_fetch_file(struct sbx_plane *plane, const struct sbx_sandbox *sandbox, const char *path,
	int fd, const struct sbx_ceilings *ceilings, const struct sbx_call *call,
	const struct sbx_transfer_progress *progress, struct sbx_error *err)
{
	const struct sbx_fetch_options options = { .ceilings = *ceilings, .only_files = true };
	struct sbx_fetch_plan plan = { 0 };
	int result = sbx_fetch_plan_names(&plan, sandbox, &path, 1, &options, err);
	if (result == 0)
		result = sbx_fetch_plan_stat(&plan, plane, sandbox, &options, call, err);
	if (result == 0) {
		struct sink sink = { .options = &options,
			.progress = progress,
			.path = plan.items[0].path,
			.fd = fd };
		result = read_file(plane, &sink, call, err);
	}
	sbx_fetch_plan_finish(&plan);
	return result;
}
