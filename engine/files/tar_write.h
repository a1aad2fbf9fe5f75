/*
 * tar_write.h: the archive an upload sends: ustar with pax records where ustar cannot say it.
 *
 * Made while it is read, from staging files, with its whole size known before: bounded memory, no
 * chunked body, no pause on our side. Every name begins with "./", so that no name can look like
 * the magic of a compression that an engine would start a decompressor for; owner names are empty,
 * so that nothing is looked up in the guest's account files.
 */
#ifndef SBX_FILES_TAR_WRITE_H
#define SBX_FILES_TAR_WRITE_H

#include <sbx/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_tar_item {	  /* borrowed while the writer lives */
	const char *name; /* relative, without "./" and a trailing slash */
	bool directory;
	uint32_t mode; /* 07777 */
	uint32_t uid, gid;
	int64_t mtime_s;
	int32_t mtime_ns;
	int64_t size; /* of a file */
	int fd;	      /* read with pread from offset; -1 for a directory or an empty file */
	int64_t offset;
	/* So many bytes more of it were read; may be NULL. */
	void (*moved)(void *data, int64_t bytes);
	void *data;
};

struct sbx_tar_writer;
struct sbx_tar_writer *sbx_tar_writer_create(const struct sbx_tar_item *items, size_t count);
void sbx_tar_writer_destroy(struct sbx_tar_writer *writer);

/* Of the whole archive, both end blocks included. */
int64_t sbx_tar_writer_size(const struct sbx_tar_writer *writer);
/* As sbx_source_fn: the next bytes, 0 at the end, -errno when a staging file failed or turned out
 * shorter than promised (EIO). */
int64_t sbx_tar_writer_read(void *writer, void *buffer, size_t size);
/* The failure of a read, or NULL. */
const struct sbx_error *sbx_tar_writer_error(const struct sbx_tar_writer *writer);

#endif
