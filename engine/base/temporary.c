/* temporary.c: see temporary.h. */
#include "temporary.h"

#include "alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int sbx_temporary_open(struct sbx_error *err)
{
	const char *directory = getenv("TMPDIR");
	if (!directory || directory[0] != '/')
		directory = "/var/tmp";
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd >= 0 ? fd : sbx_fail_host(err, errno, "a spool file in %s", directory);
	cleanup_free char *name = sbx_printf("%s/sbxfs-XXXXXX", directory);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0 || unlink(name) < 0) {
		int result = sbx_fail_host(err, errno, "a spool file in %s", directory);
		if (fd >= 0)
			(void)close(fd); /* nothing was written */
		return result;
	}
	return fd;
}

int sbx_temporary_write(int fd, const void *bytes, size_t size, struct sbx_error *err)
{
	for (const char *next = bytes; size;) {
		ssize_t written = write(fd, next, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return sbx_fail_host(err, errno, "a spool file on this host");
		next += written;
		size -= (size_t)written;
	}
	return 0;
}
