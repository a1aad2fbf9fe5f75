/* beneath.c: see beneath.h. */
#include "beneath.h"

#include "../base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* True for a part that would leave or stay in the directory it is looked up in. */
static bool unusable(const char *part)
{
	return !*part || strcmp(part, ".") == 0 || strcmp(part, "..") == 0;
}

static int enter(int at, const char *part, bool make)
{
	if (unusable(part))
		return -EINVAL;
	int fd = openat(at, part, DIRECTORY);
	if (fd >= 0)
		return fd;
	if (errno != ENOENT || !make)
		return -errno;
	/* Made by somebody else meanwhile is fine: the open below still refuses a link. */
	if (mkdirat(at, part, 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(at, part, DIRECTORY);
	return fd >= 0 ? fd : -errno;
}

int sbx_beneath_parent(int top, const char *path, bool make, const char **leaf)
{
	cleanup_close int at = fcntl(top, F_DUPFD_CLOEXEC, 0);
	if (at < 0)
		return -errno;
	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
		cleanup_free char *part = sbx_strndup(path, (size_t)(slash - path));
		int next = enter(at, part, make);
		if (next < 0)
			return next;
		(void)close(at); /* only looked up in */
		at = next;
	}
	if (unusable(path))
		return -EINVAL;
	*leaf = path;
	return steal_fd(&at);
}

int sbx_beneath_open(int top, const char *path, int flags)
{
	if (!*path) {
		int self = openat(top, ".", flags | O_CLOEXEC);
		return self >= 0 ? self : -errno;
	}
	const char *leaf = "";
	cleanup_close int parent = sbx_beneath_parent(top, path, false, &leaf);
	if (parent < 0)
		return parent;
	int fd = openat(parent, leaf, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}
