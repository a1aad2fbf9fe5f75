/* landing.c: see landing.h. */
#include "landing.h"

#include "../base/alloc.h"
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

static int in_the_way(const char *dest, const char *path, int errnum, struct sbx_error *err)
{
	if (errnum == ENOTDIR || errnum == ELOOP)
		return sbx_fail_kind(err, SBX_KIND_USAGE, ENOTDIR,
			"%s/%s: a link or a file stands where a directory is needed", dest, path);
	return sbx_fail_host(err, errnum, "%s/%s", dest, path);
}

static int exists(const char *dest, const char *path, struct sbx_error *err)
{
	return sbx_fail_kind(err, SBX_KIND_USAGE, EEXIST,
		"%s/%s exists and is replaced only with --force", dest, path);
}

/* What stands at `leaf` now, against what is to land there. A link is judged as itself: a rename
 * replaces it and never follows it. */
static int judge(const struct stat *st, const char *dest, const char *path, bool directory,
	bool force, struct sbx_error *err)
{
	if (directory)
		return S_ISDIR(st->st_mode) ? 0 : in_the_way(dest, path, ENOTDIR, err);
	if (S_ISDIR(st->st_mode))
		return sbx_fail_kind(err, SBX_KIND_USAGE, EISDIR,
			"%s/%s is a directory and is not replaced by a file", dest, path);
	return force ? 0 : exists(dest, path, err);
}

int sbx_landing_check(
	const char *dest, const char *path, bool directory, bool force, struct sbx_error *err)
{
	cleanup_close int top = open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 && errno == ENOENT)
		return 0;
	if (top < 0)
		return sbx_fail_host(err, errno, "%s", dest);
	const char *leaf;
	cleanup_close int parent = sbx_beneath_parent(top, path, false, &leaf);
	if (parent == -ENOENT)
		return 0;
	if (parent < 0)
		return in_the_way(dest, path, -parent, err);
	struct stat st;
	if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return judge(&st, dest, path, directory, force, err);
	return errno == ENOENT ? 0 : sbx_fail_host(err, errno, "%s/%s", dest, path);
}

int sbx_landing_possible(const char *dest, struct sbx_error *err)
{
	struct stat st;
	cleanup_free char *parent = sbx_strdup(dest);
	bool there = stat(dest, &st) == 0;
	if (!there && errno != ENOENT)
		return sbx_fail_host(err, errno, "%s", dest);
	const char *place = there ? dest : dirname(parent);
	if (!there && stat(place, &st) < 0)
		return sbx_fail_host(err, errno, "%s cannot be made", dest);
	if (!S_ISDIR(st.st_mode))
		return sbx_fail_kind(err, SBX_KIND_USAGE, ENOTDIR, "%s is not a directory", place);
	if (access(place, W_OK | X_OK) < 0)
		return sbx_fail_host(err, errno, "%s cannot be written to", place);
	return 0;
}

static int make_staging(struct sbx_landing *landing, struct sbx_error *err)
{
	for (int attempt = 0; attempt < 16; attempt++) {
		uint64_t random = 0;
		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return sbx_fail_errno(err, errno, "no random number");
		(void)snprintf(landing->staging_name, sizeof(landing->staging_name),
			".sbxfs-%016" PRIx64, random); /* fits: 7 + 16 */
		if (mkdirat(landing->top, landing->staging_name, 0700) == 0) {
			landing->staging = openat(landing->top, landing->staging_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (landing->staging >= 0)
				return 0;
			int errnum = errno;
			/* Left to nobody: it is ours and empty. */
			(void)unlinkat(landing->top, landing->staging_name, AT_REMOVEDIR);
			return sbx_fail_host(err, errnum, "%s", landing->dest);
		}
		if (errno != EEXIST)
			break;
	}
	return sbx_fail_host(err, errno, "%s cannot be written to", landing->dest);
}

int sbx_landing_open(struct sbx_landing *landing, const char *dest, struct sbx_error *err)
{
	*landing = (struct sbx_landing){ .top = -1, .staging = -1 };
	if (mkdir(dest, 0777) == 0)
		landing->made = true;
	else if (errno != EEXIST)
		return sbx_fail_host(err, errno, "%s cannot be made", dest);
	landing->dest = sbx_strdup(dest);
	landing->top = open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = landing->top >= 0 ? make_staging(landing, err)
				       : sbx_fail_host(err, errno, "%s", dest);
	if (result < 0)
		sbx_landing_close(landing);
	return result;
}

static void number_name(size_t number, char name[24])
{
	(void)snprintf(name, 24, "%zu", number); /* 20 digits at most */
}

int sbx_landing_stage(
	struct sbx_landing *landing, uint32_t mode, size_t *number, struct sbx_error *err)
{
	char name[24];
	number_name(landing->staged, name);
	/* Always ours to read: whatever the guest denied itself, these are our bytes now. */
	int fd = openat(landing->staging, name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode & 0777) | 0600);
	if (fd < 0)
		return sbx_fail_host(err, errno, "%s cannot be written to", landing->dest);
	*number = landing->staged++;
	return fd;
}

/* RENAME_NOREPLACE, or a hard link where the file system does not know that flag: both fail with
 * EEXIST, whatever has been put there since the check. */
static int give_name(int staging, const char *name, int parent, const char *leaf, bool force)
{
	if (force)
		return renameat(staging, name, parent, leaf) == 0 ? 0 : -errno;
	if (renameat2(staging, name, parent, leaf, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	return linkat(staging, name, parent, leaf, 0) == 0 ? 0 : -errno;
}

int sbx_landing_deliver(struct sbx_landing *landing, size_t number, const char *path, bool force,
	struct sbx_error *err)
{
	char name[24];
	number_name(number, name);
	const char *leaf;
	cleanup_close int parent = sbx_beneath_parent(landing->top, path, true, &leaf);
	if (parent < 0)
		return in_the_way(landing->dest, path, -parent, err);
	int result = give_name(landing->staging, name, parent, leaf, force);
	if (result == -EEXIST)
		return exists(landing->dest, path, err);
	if (result < 0)
		return sbx_fail_host(err, -result, "%s/%s", landing->dest, path);
	landing->delivered = true;
	return 0;
}

int sbx_landing_directory(struct sbx_landing *landing, const char *path, struct sbx_error *err)
{
	const char *leaf;
	cleanup_close int parent = sbx_beneath_parent(landing->top, path, true, &leaf);
	if (parent < 0)
		return in_the_way(landing->dest, path, -parent, err);
	struct stat st;
	if (mkdirat(parent, leaf, 0777) < 0) {
		if (errno != EEXIST || fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return sbx_fail_host(err, errno, "%s/%s", landing->dest, path);
		if (!S_ISDIR(st.st_mode))
			return in_the_way(landing->dest, path, ENOTDIR, err);
	}
	landing->delivered = true;
	return 0;
}

void sbx_landing_close(struct sbx_landing *landing)
{
	if (!landing->dest)
		return;
	/* A failure to clean up leaves a private directory with a name that says whose it is; there
	 * is nobody left to tell. Delivered files are not in it any more, so ENOENT is usual. */
	for (size_t i = 0; landing->staging >= 0 && i < landing->staged; i++) {
		char name[24];
		number_name(i, name);
		(void)unlinkat(landing->staging, name, 0);
	}
	if (landing->staging >= 0) {
		(void)close(landing->staging);
		(void)unlinkat(landing->top, landing->staging_name, AT_REMOVEDIR);
	}
	if (landing->top >= 0)
		(void)close(landing->top);
	if (landing->made && !landing->delivered)
		(void)rmdir(landing->dest); /* only if empty */
	free(landing->dest);
	*landing = (struct sbx_landing){ .top = -1, .staging = -1 };
}
