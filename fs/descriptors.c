/* descriptors.c: see descriptors.h. The kernel gives the lowest free number, so that a high one
 * says how many are taken. */
#include "descriptors.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

int sbx_descriptor_spared(int fd)
{
	struct rlimit files;
	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY)
		return fd;
	rlim_t reserve = files.rlim_cur < 64 ? files.rlim_cur / 2 : 32;
	if ((rlim_t)fd < files.rlim_cur - reserve)
		return fd;
	(void)close(fd); /* nothing was written to it */
	errno = EMFILE;
	return -1;
}
