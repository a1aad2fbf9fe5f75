/*
 * acquire_lock.c: twenty acquires of one identity make one create call (MAF-25), also from as many
 * processes: an flock on one of a fixed number of files beside the windows' own. They are never
 * removed, so no two processes can hold a lock on different files of one name.
 */
#include "acquiring.h"

#include "../base/alloc.h"
#include "../files/window.h"
#include "../files/window_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>

#define RETRY_MS 25

static int wait_a_little(const struct sbx_call *call, struct sbx_error *err)
{
	struct pollfd cancel = { .fd = sbx_cancel_fd(call->cancel), .events = POLLIN };
	(void)poll(&cancel, 1, RETRY_MS); /* whichever way it ends, the checks below decide */
	if (sbx_cancel_fired(call->cancel))
		return sbx_fail(err, ECANCELED, "cancelled while waiting for another acquire");
	if (sbx_call_left_ms(call) == 0)
		return sbx_fail(err, ETIMEDOUT,
			"another acquire of the same sandbox did not end within the deadline");
	return 0;
}

int sbx_acquire_lock(struct sbx_engine *engine, const char *name, const struct sbx_call *call,
	struct sbx_error *err)
{
	char directory[PATH_MAX];
	int rc = sbx_window_directory_of(
		sbx_engine_endpoint(engine), directory, sizeof(directory), NULL, err);
	if (rc < 0)
		return rc;
	struct sbx_sha256 state;
	char hex[65];
	sbx_sha256_init(&state);
	sbx_sha256_update(&state, name, strlen(name));
	sbx_sha256_final(&state, hex);
	cleanup_free char *path =
		sbx_printf("%s/acquire-%s-%.2s", directory, sbx_engine_key(engine), hex);
	cleanup_close int fd = sbx_window_file_open(path, O_CREAT, err);
	if (fd < 0)
		return fd;
	/* flock cannot be interrupted by a token, and waiting is rare and short. */
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return sbx_fail_errno(err, errno, "%s", path);
		rc = wait_a_little(call, err);
		if (rc < 0)
			return rc;
	}
	return steal_fd(&fd);
}
