/* daemon.c: see daemon.h. */
#include "daemon.h"

#include "base/alloc.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct report {
	int result;
	struct sbx_error err;
};

/* The pipe's end says nothing of the child alone: its own children hold copies. So the process is
 * watched too. */
static int await(int pipe, pid_t child, struct sbx_error *err)
{
	struct report report;
	cleanup_close int process = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd watched[] = { { .fd = pipe, .events = POLLIN },
		{ .fd = process, .events = POLLIN } };
	while (poll(watched, 2, -1) < 0)
		if (errno != EINTR)
			return sbx_fail_errno(err, errno, "waiting for the daemon");
	if (watched[0].revents & POLLIN) {
		ssize_t size = read(pipe, &report, sizeof(report));
		if (size == (ssize_t)sizeof(report)) {
			*err = report.err;
			return report.result;
		}
	}
	int status = 0;
	(void)waitpid(child, &status, 0); /* it has ended, or its end is not ours to know */
	return sbx_fail(err, EIO, "the daemon ended before it served the mount");
}

int sbx_daemon_fork(int *report, int *result, struct sbx_error *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return sbx_fail_errno(err, errno, "a pipe");
	pid_t pid = fork();
	if (pid < 0) {
		int saved = errno;
		(void)close(ends[0]);
		(void)close(ends[1]);
		return sbx_fail_errno(err, saved, "fork");
	}
	if (pid > 0) {
		(void)close(ends[1]); /* the child's */
		*result = await(ends[0], pid, err);
		(void)close(ends[0]);
		return 1;
	}
	(void)close(ends[0]); /* the parent's */
	(void)setsid();	      /* a fresh child leads no group: it works */
	*report = ends[1];
	if (chdir("/") < 0)
		return sbx_fail_errno(err, errno, "/");
	return 0;
}

void sbx_daemon_report(int *report, int result, const struct sbx_error *err)
{
	struct report message = { .result = result };
	if (*report < 0)
		return;
	if (err)
		message.err = *err;
	if (!result) {
		cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = 0; null >= 0 && fd < 3; fd++)
			if (dup2(null, fd) < 0)
				sbx_log(SBX_LOG_WARNING, "/dev/null: %s", strerror(errno));
	}
	if (write(*report, &message, sizeof(message)) < 0)
		sbx_log(SBX_LOG_WARNING, "nobody waits for the mount: %s", strerror(errno));
	(void)close(*report); /* a pipe */
	*report = -1;
}
