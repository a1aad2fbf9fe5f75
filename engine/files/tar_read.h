/*
 * tar_read.h: an incremental reader of the tar streams engines send, made for hostile ones.
 *
 * Bytes are pushed in pieces of any size; entries come out as callbacks. Understood are ustar, pax
 * (path, linkpath, size, mtime, uid, gid), GNU long names and links, octal and base-256 numbers.
 * Refused with EIO: anything else, sparse files included, numbers that are negative or too large,
 * extension headers of more than 64 KiB or more than 32 for one entry, wrong checksums. Nothing is
 * ever allocated by a size the stream declares. Unlike libarchive it tells a missing end of the
 * archive and hands names out as the bytes they are.
 */
#ifndef SBX_FILES_TAR_READ_H
#define SBX_FILES_TAR_READ_H

#include <sbx/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_tar_entry {
	char type; /* '0' file, '1' hard link, '2' link, '3' '4' device, '5' directory, '6' fifo */
	const char *name; /* raw bytes, no NUL inside; may be "" or anything else */
	const char *link; /* link text of '1' and '2', else "" */
	uint32_t mode;	  /* 07777 */
	int64_t size;	  /* bytes of body; 0 for all but files */
	int64_t mtime_s;  /* may be negative */
	int32_t mtime_ns; /* -1: whole seconds were sent */
	uint32_t uid, gid;
};

/* Each returns 0 to go on; anything else ends the reading and is what sbx_tar_feed returns. */
struct sbx_tar_events {
	int (*entry)(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err);
	int (*body)(
		void *data, const void *bytes, size_t size, struct sbx_error *err); /* or NULL */
	/* The whole body has arrived; also for entries without one. May be NULL. */
	int (*entry_end)(void *data, struct sbx_error *err);
};

struct sbx_tar;
struct sbx_tar *sbx_tar_create(const struct sbx_tar_events *events, void *data); /* both borrowed */
void sbx_tar_destroy(struct sbx_tar *tar);

/* After a failure every further call returns it again. At most 1 MiB may follow the end blocks. */
int sbx_tar_feed(struct sbx_tar *tar, const void *bytes, size_t size, struct sbx_error *err);

/* The stream is over: 0 only if both end blocks have been read, else EIO. */
int sbx_tar_finish(struct sbx_tar *tar, struct sbx_error *err);

#endif
