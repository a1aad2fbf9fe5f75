/*
 * staging_files.c: the data files and records of a store (staging.h).
 *
 * Every file is reached from the store's directory descriptor without following links, so nobody
 * who can write next to the store can turn a record into another file. A record is written to a
 * temporary name, synced where asked, and renamed; or, where it need not be durable, it is an
 * attribute of the data file, which spares making a file and removing it (0.3 to 0.9 ms measured on
 * one busy ext4). One with a name of its own is newer than an attribute.
 */
#include "staging_store.h"

#include "descriptors.h"
#include "staging_record.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define ATTRIBUTE "user.sbxfs.record"

void sbx_staging_data_name(uint64_t sequence, char out[SBX_STAGING_NAME_SIZE])
{
	(void)snprintf(out, SBX_STAGING_NAME_SIZE, "%016" PRIx64 ".data", sequence); /* fits */
}

void sbx_staging_record_name(uint64_t sequence, char out[SBX_STAGING_NAME_SIZE])
{
	(void)snprintf(out, SBX_STAGING_NAME_SIZE, "%016" PRIx64 ".json", sequence); /* fits */
}

/* The sequence of a name with this suffix; false for any other name. */
bool sbx_staging_name_sequence(const char *name, const char *suffix, uint64_t *sequence)
{
	int used = 0;
	return strlen(name) == 16 + strlen(suffix) && strspn(name, "0123456789abcdef") >= 16 &&
	       sscanf(name, "%16" SCNx64 "%n", sequence, &used) == 1 && used == 16 &&
	       !strcmp(name + 16, suffix);
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Writes name whole or not at all. */
int sbx_staging_write_file(
	int directory, const char *name, const char *text, bool durable, struct sbx_error *err)
{
	/* The loop and a job may both write one record. */
	char temporary[SBX_STAGING_NAME_SIZE + 20];
	(void)snprintf(temporary, sizeof(temporary), "%s.%d.tmp", name, (int)gettid()); /* fits */
	cleanup_close int fd = openat(
		directory, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot create a staging record");
	int result = write_all(fd, text, strlen(text));
	if (!result && durable && fsync(fd) < 0)
		result = -errno;
	if (!result && renameat(directory, temporary, directory, name) < 0)
		result = -errno;
	if (!result && durable && fsync(directory) < 0)
		result = -errno;
	if (!result)
		return 0;
	(void)unlinkat(directory, temporary, 0); /* an unfinished one is also dropped at opening */
	return sbx_fail_errno(err, -result, "cannot write a staging record");
}

int sbx_staging_read_file(
	int directory, const char *name, struct sbx_buffer *out, struct sbx_error *err)
{
	cleanup_close int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open the staging record %s", name);
	char chunk[4096];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail_errno(
				err, errno, "cannot read the staging record %s", name);
		if (!n)
			return 0;
		if (!sbx_buffer_append(out, chunk, (size_t)n))
			return sbx_fail(err, EIO, "the staging record %s is too long", name);
	}
}

int sbx_staging_read_attribute(
	int directory, const char *data_name, struct sbx_buffer *out, struct sbx_error *err)
{
	cleanup_close int fd = openat(directory, data_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "cannot open the staged file %s", data_name);
	cleanup_free char *text = sbx_alloc(XATTR_SIZE_MAX);
	ssize_t size = fgetxattr(fd, ATTRIBUTE, text, XATTR_SIZE_MAX);
	if (size < 0)
		return sbx_fail_errno(err, errno, "cannot read the record of %s", data_name);
	(void)sbx_buffer_append(out, text, (size_t)size); /* below its limit */
	return 0;
}

/* false: there is one with a name of its own, which would count more, or it is not possible here.
 */
static bool write_attribute(struct sbx_staging *staging, const char *name, const char *text, int fd)
{
	bool named = faccessat(staging->directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
		     errno != ENOENT;
	return !named && fsetxattr(fd, ATTRIBUTE, text, strlen(text), 0) == 0;
}

/* fd -1: the file is opened. */
static int remove_attribute(
	struct sbx_staging *staging, uint64_t sequence, int fd, struct sbx_error *err)
{
	char name[SBX_STAGING_NAME_SIZE];
	sbx_staging_data_name(sequence, name);
	cleanup_close int own =
		fd >= 0 ? -1 : openat(staging->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int file = fd >= 0 ? fd : own;
	if (file < 0 && errno == ENOENT)
		return 0;
	if (file < 0 ||
		(fremovexattr(file, ATTRIBUTE) < 0 && errno != ENODATA && errno != EOPNOTSUPP))
		return sbx_fail_errno(err, errno, "cannot remove the record of %s", name);
	return 0;
}

/* By a number that was not given out before: numbers are the order in which files were made. */
static int open_spare(struct sbx_staging *staging, const char *name)
{
	char spare[SBX_STAGING_NAME_SIZE];
	if (!staging->spare_count)
		return -1;
	sbx_staging_data_name(staging->spares[--staging->spare_count], spare);
	if (renameat(staging->directory, spare, staging->directory, name) < 0)
		return -1;
	/* It is empty; to cut it once more would have ext4 write the new bytes out at the close. */
	int fd = openat(staging->directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		(void)unlinkat(staging->directory, name, 0); /* its name is wanted */
	return fd;
}

int sbx_staging_create(
	struct sbx_staging *staging, uint64_t *sequence, int *fd, struct sbx_error *err)
{
	char name[SBX_STAGING_NAME_SIZE];
	*sequence = atomic_fetch_add(&staging->next, 1);
	sbx_staging_data_name(*sequence, name);
	*fd = open_spare(staging, name);
	if (*fd < 0)
		*fd = openat(staging->directory, name,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int spared = sbx_descriptor_spared(*fd);
	if (spared < 0 && *fd >= 0) {
		*fd = -1;
		(void)unlinkat(
			staging->directory, name, 0); /* empty: the next start removes it too */
		errno = EMFILE;
	}
	return *fd < 0 ? sbx_fail_errno(err, errno, "cannot create a staged file") : 0;
}

int sbx_staging_reopen(
	struct sbx_staging *staging, uint64_t sequence, int *fd, struct sbx_error *err)
{
	char name[SBX_STAGING_NAME_SIZE];
	struct stat st;
	sbx_staging_data_name(sequence, name);
	*fd = sbx_descriptor_spared(
		openat(staging->directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
	if (*fd < 0)
		return sbx_fail_errno(err, errno, "cannot open the staged file %s", name);
	if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
		return 0;
	(void)close(*fd); /* nothing was written through it */
	*fd = -1;
	return sbx_fail(err, EIO, "the staged file %s is no regular file", name);
}

int sbx_staging_reserve(int fd, int64_t size_bytes, struct sbx_error *err)
{
	if (size_bytes <= 0)
		return 0;
	int result;
	do
		result = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size_bytes);
	while (result < 0 && errno == EINTR);
	if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
		return 0;
	return sbx_fail_errno(
		err, errno, "no room for %" PRId64 " bytes in the staging directory", size_bytes);
}

int sbx_staging_record(struct sbx_staging *staging, const struct sbx_staged *staged, int fd,
	bool durable, struct sbx_error *err)
{
	char name[SBX_STAGING_NAME_SIZE];
	sbx_staging_record_name(staged->sequence, name);
	if (durable && fsync(fd) < 0)
		return sbx_fail_errno(err, errno, "cannot sync a staged file");
	cleanup_free char *text = sbx_staged_print(staged);
	if (!durable && fd >= 0 && write_attribute(staging, name, text, fd))
		return 0;
	return sbx_staging_write_file(staging->directory, name, text, durable, err);
}

static int remove_name(struct sbx_staging *staging, const char *name, struct sbx_error *err)
{
	if (unlinkat(staging->directory, name, 0) < 0 && errno != ENOENT)
		return sbx_fail_errno(err, errno, "cannot remove the staged file %s", name);
	return 0;
}

int sbx_staging_forget_record(
	struct sbx_staging *staging, uint64_t sequence, int fd, struct sbx_error *err)
{
	char name[SBX_STAGING_NAME_SIZE];
	/* Last the one that counts: an older one must never be all there is. */
	int result = remove_attribute(staging, sequence, fd, err);
	sbx_staging_record_name(sequence, name);
	return result ? result : remove_name(staging, name, err);
}

/* The record goes first: data without one is dropped at the next opening, a record without data
 * would be reported as damaged. One that is an attribute goes with the data. */
int sbx_staging_forget(struct sbx_staging *staging, uint64_t sequence, struct sbx_error *err)
{
	char name[SBX_STAGING_NAME_SIZE];
	sbx_staging_record_name(sequence, name);
	bool named = faccessat(staging->directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
		     errno != ENOENT;
	int result = named ? sbx_staging_forget_record(staging, sequence, -1, err) : 0;
	if (result)
		return result;
	sbx_staging_data_name(sequence, name);
	return remove_name(staging, name, err);
}

int sbx_staging_recycle(
	struct sbx_staging *staging, uint64_t sequence, int fd, struct sbx_error *err)
{
	char name[SBX_STAGING_NAME_SIZE];
	sbx_staging_data_name(sequence, name);
	cleanup_close int own =
		fd >= 0 ? -1 : openat(staging->directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int file = fd >= 0 ? fd : own;
	if (file < 0 || staging->spare_count == SBX_STAGING_SPARES)
		return sbx_staging_forget(staging, sequence, err);
	struct sbx_error unheeded = SBX_ERROR_INIT;
	/* What cannot be written to can perhaps be removed, its record with it. */
	if (sbx_staging_forget_record(staging, sequence, file, &unheeded))
		return sbx_staging_forget(staging, sequence, err);
	if (ftruncate(file, 0) < 0)
		return remove_name(staging, name, err);
	staging->spares[staging->spare_count++] = sequence;
	return 0;
}

void sbx_staging_drop_spares(struct sbx_staging *staging)
{
	char name[SBX_STAGING_NAME_SIZE];
	while (staging->spare_count) {
		sbx_staging_data_name(staging->spares[--staging->spare_count], name);
		(void)unlinkat(staging->directory, name, 0); /* else the next opening removes it */
	}
}
