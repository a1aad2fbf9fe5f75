/*
 * spool_bytes.c: the contents of a spool, as they come and as they are read; see spool.h.
 *
 * libcurl hands out pieces of 16 KiB and less that begin anywhere in a page. They are gathered in
 * the spool's tail, which goes to the file when it is full, in larger and aligned writes; a reader
 * that keeps up with the engine reads from the tail.
 *
 * Only the worker that fills the spool appends and writes out. It does both without the lock: new
 * bytes lie where nobody reads yet, and those being written stay in place until `written` moves,
 * which the lock orders against a reader's copy.
 */
#include "spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Of one write: as much as the allocator's per-CPU lists give in one piece. Larger ones were seen
 * to take memory that nobody has touched yet, which a virtual machine pays for many times over. */
enum { PIECE = 32 * 1024 };

static int write_out(struct sbx_spool *spool, int64_t available)
{
	int64_t at = atomic_load_explicit(&spool->written, memory_order_relaxed);
	const char *next = spool->tail;
	while (at < available) {
		size_t left = (size_t)(available - at);
		ssize_t count = pwrite(spool->fd, next, left < PIECE ? left : PIECE, (off_t)at);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count < 0 ? -errno : -ENOSPC;
		next += count;
		at += count;
	}
	pthread_mutex_lock(&spool->tail_lock);
	atomic_store_explicit(&spool->written, at, memory_order_release);
	if (at == spool->size) {
		free(spool->tail);
		spool->tail = NULL;
	}
	pthread_mutex_unlock(&spool->tail_lock);
	return 0;
}

/* Into the tail, as much as it takes; what fills it, or the file, is written out. */
static int append_tail(struct sbx_spool *spool, int64_t at, const void *bytes, size_t *size)
{
	size_t fill = (size_t)(at - atomic_load_explicit(&spool->written, memory_order_relaxed));
	size_t room = SBX_SPOOL_TAIL - fill;
	if (*size > room)
		*size = room;
	memcpy(spool->tail + fill, bytes, *size);
	at += (int64_t)*size;
	atomic_store_explicit(&spool->available, at, memory_order_release);
	return *size == room || at == spool->size ? write_out(spool, at) : 0;
}

int sbx_spool_append(struct sbx_spool *spool, const void *bytes, size_t size)
{
	int64_t at = atomic_load_explicit(&spool->available, memory_order_relaxed);
	const char *next = bytes;
	if ((int64_t)size > spool->size - at)
		return -EIO;
	if (spool->memory) {
		memcpy(spool->memory + at, bytes, size);
		atomic_store_explicit(&spool->available, at + (int64_t)size, memory_order_release);
		return 0;
	}
	while (size) {
		size_t taken = size;
		int rc = append_tail(spool, at, next, &taken);
		if (rc)
			return rc;
		next += taken;
		at += (int64_t)taken;
		size -= taken;
	}
	return 0;
}

int64_t sbx_spool_readable(const struct sbx_spool *spool)
{
	if (spool->is_void)
		return 0;
	int64_t available = atomic_load_explicit(&spool->available, memory_order_acquire);
	return available == spool->size && !spool->complete ? available - 1 : available;
}

bool sbx_spool_in_file(const struct sbx_spool *spool, int64_t end)
{
	return !spool->memory && atomic_load_explicit(&spool->written, memory_order_acquire) >= end;
}

/* Copies what of the range is not in the file yet, its end. Returns how much before that is. */
static size_t read_tail(struct sbx_spool *spool, char *buffer, size_t size, int64_t offset)
{
	pthread_mutex_lock(&spool->tail_lock);
	int64_t written = atomic_load(&spool->written), end = offset + (int64_t)size;
	if (end > written) {
		int64_t start = offset > written ? offset : written;
		memcpy(buffer + (start - offset), spool->tail + (start - written),
			(size_t)(end - start));
		size = (size_t)(start - offset);
	}
	pthread_mutex_unlock(&spool->tail_lock);
	return size;
}

int64_t sbx_spool_read(struct sbx_spool *spool, void *buffer, size_t size, int64_t offset)
{
	if (spool->memory) {
		memcpy(buffer, spool->memory + offset, size);
		return (int64_t)size;
	}
	size_t done = 0, in_file = size;
	if (!sbx_spool_in_file(spool, offset + (int64_t)size))
		in_file = read_tail(spool, buffer, size, offset);
	while (done < in_file) {
		ssize_t count = pread(spool->fd, (char *)buffer + done, in_file - done,
			(off_t)(offset + (int64_t)done));
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (!count)
			return -EIO; /* the file is ours and unlinked: nobody can have cut it */
		done += (size_t)count;
	}
	return (int64_t)size;
}
