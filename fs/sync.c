/* sync.c: the barrier of `sbxfs sync` (pending.h): opening DIR/.sbxfs/sync waits in the mount. */
#include "pending.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>

#define FUSE_SUPER_MAGIC 0x65735546

int sbx_sync(const char *directory, struct sbx_error *err)
{
	struct statfs st;
	cleanup_free char *path = sbx_printf("%s/.sbxfs/sync", directory);
	if (statfs(path, &st) < 0 && errno != ENOENT && errno != ENOTDIR)
		return sbx_fail_errno(err, errno, "cannot ask the mount at %s", directory);
	if (statfs(path, &st) < 0 || st.f_type != FUSE_SUPER_MAGIC)
		return sbx_fail(err, ENOENT, "no sbxfs is mounted on %s", directory);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		return 0;
	return sbx_fail_errno(
		err, errno, "not everything has landed, see %s/.sbxfs/pending", directory);
}
