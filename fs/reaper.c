/* reaper.c: see reaper.h. */
#include "reaper.h"

#include "mountpoint.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The session's descriptor above all must not stay open here, or a dead daemon's mount would hang
 * its users instead of failing them. */
static int keep_only(int pipe)
{
	int null = open("/dev/null", O_RDWR);
	if (null < 0)
		return -1;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -1;
	if (dup2(pipe, 3) < 0)
		return -1;
	if (syscall(SYS_close_range, 4U, ~0U, 0U) < 0)
		for (int fd = 4; fd < 4096; fd++)
			(void)close(fd); /* most are not open */
	return 3;
}

__attribute__((noreturn)) static void reap(const char *path, const char *device, int pipe)
{
	char byte;
	sigset_t none;
	sigemptyset(&none);
	(void)setsid(); /* fails only for a session leader, which a child is not */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail with these arguments */
	(void)prctl(PR_SET_NAME, "sbxfs-reaper");    /* a name for ps, no more */
	(void)chdir("/");			     /* holds no directory back if it works */
	int fd = keep_only(pipe);
	if (fd < 0)
		_exit(1);
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		continue;
	struct sbx_mount_entry entry;
	struct sbx_error err = SBX_ERROR_INIT;
	bool there = sbx_mount_find(path, &entry) && strcmp(entry.device, device) == 0;
	_exit(there && sbx_mountpoint_unmount(path, true, &err) ? 1 : 0);
}

int sbx_reaper_start(const char *path, struct sbx_reaper *out, struct sbx_error *err)
{
	struct sbx_mount_entry entry;
	int ends[2];
	*out = (struct sbx_reaper){ .pipe = -1 };
	if (!sbx_mount_find(path, &entry))
		return sbx_fail(err, EIO, "%s: the mount is not in /proc/self/mountinfo", path);
	if (pipe2(ends, O_CLOEXEC) < 0) {
		sbx_mount_entry_finish(&entry);
		return sbx_fail_errno(err, errno, "a pipe");
	}
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[1]); /* the daemon's end: ours would keep the pipe open */
		reap(path, entry.device, ends[0]);
	}
	int saved = errno;
	sbx_mount_entry_finish(&entry);
	(void)close(ends[0]); /* the reaper's end */
	if (pid < 0) {
		(void)close(ends[1]);
		return sbx_fail_errno(err, saved, "the process that unmounts");
	}
	out->pid = pid;
	out->pipe = ends[1];
	return 0;
}

void sbx_reaper_finish(struct sbx_reaper *reaper)
{
	if (!reaper->pid)
		return;
	(void)close(reaper->pipe); /* the signal to go */
	while (waitpid(reaper->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	*reaper = (struct sbx_reaper){ .pipe = -1 };
}
