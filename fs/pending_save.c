/*
 * pending_save.c: copies staged files to where their user wants them (sbx_pending_save).
 *
 * The names come from a record, which a guest never wrote but whose paths may be anything: each
 * directory is made and entered one by one without following links, and the file appears under its
 * name only when it is whole.
 */
#include "pending_walk.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sbx/guest_path.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct saving {
	struct sbx_pending_tally tally;
	int directory;
};

/* The directory of path below `from`, made as needed; *name is its last part. */
static int enter_parents(
	int from, const char *path, int *out, const char **name, struct sbx_error *err)
{
	cleanup_close int at = dup(from);
	const char *slash;
	for (; (slash = strchr(path, '/')); path = slash + 1) {
		cleanup_free char *part = sbx_strndup(path, (size_t)(slash - path));
		if (mkdirat(at, part, 0700) < 0 && errno != EEXIST)
			return sbx_fail_errno(err, errno, "cannot make the directory %s", part);
		int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return sbx_fail_errno(err, errno, "cannot enter the directory %s", part);
		(void)close(at); /* nothing was written through it */
		at = next;
	}
	*name = path;
	*out = steal_fd(&at);
	return 0;
}

static int copy_bytes(int from, int to, struct sbx_error *err)
{
	char chunk[65536];
	for (;;) {
		ssize_t n = read(from, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sbx_fail_errno(err, errno, "cannot read the staged bytes");
		if (!n)
			return 0;
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(to, chunk + done, (size_t)(n - done));
			if (w < 0 && errno != EINTR)
				return sbx_fail_errno(err, errno, "cannot write the copy");
			done += w < 0 ? 0 : w;
		}
	}
}

static int finish_copy(int fd, const struct sbx_staged *staged, struct sbx_error *err)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = staged->mtime_s, .tv_nsec = staged->mtime_ns },
	};
	if (fchmod(fd, staged->mode & 0777) < 0 || futimens(fd, times) < 0 || fsync(fd) < 0)
		return sbx_fail_errno(err, errno, "cannot finish the copy");
	return 0;
}

/* An unnamed file gets its name only when whole; linkat replaces nothing. */
static int save_file(struct saving *saving, struct sbx_staging *staging,
	const struct sbx_staged *staged, struct sbx_error *err)
{
	cleanup_close int from = -1;
	cleanup_close int parent = -1;
	const char *name = "";
	int result = sbx_staging_reopen(staging, staged->sequence, &from, err);
	cleanup_free char *path = sbx_printf("%s/%s", staged->sandbox_name, staged->path);
	if (!result)
		result = sbx_guest_path_check(path, false, err);
	if (!result)
		result = enter_parents(saving->directory, path, &parent, &name, err);
	if (result)
		return result;
	cleanup_close int to = openat(parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (to < 0)
		return sbx_fail_errno(err, errno, "cannot create a copy of %s", path);
	result = copy_bytes(from, to, err);
	if (!result)
		result = finish_copy(to, staged, err);
	if (result)
		return result;
	char self[64];
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", to); /* fits */
	if (linkat(AT_FDCWD, self, parent, name, AT_SYMLINK_FOLLOW) < 0)
		return sbx_fail_errno(err, errno, "cannot save %s", path);
	return 0;
}

static void save_batch(void *data, struct sbx_pending_batch *batch)
{
	struct saving *saving = data;
	for (size_t i = 0; i < batch->count; i++) {
		struct sbx_error why = SBX_ERROR_INIT;
		int result = save_file(saving, batch->staging, &batch->rows[i].staged, &why);
		sbx_pending_tell(&saving->tally, &batch->rows[i], result ? &why : NULL);
	}
}

int sbx_pending_save(const char *root, const struct sbx_pending_filter *filter,
	const char *directory, sbx_pending_fn tell, void *data, struct sbx_error *err)
{
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return sbx_fail_host(err, errno, "cannot make %s", directory);
	cleanup_close int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_host(err, errno, "cannot open %s", directory);
	struct saving saving = { .tally = { .tell = tell, .data = data }, .directory = fd };
	struct sbx_pending_walk walk = { .visit = save_batch, .data = &saving };
	int result = sbx_pending_walk(root, filter, &walk, err);
	return result ? result : sbx_pending_result(&saving.tally, err);
}
