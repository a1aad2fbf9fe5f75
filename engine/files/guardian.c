/*
 * guardian.c: the owner's side of the guardian: starting, asking and ending it, and undoing what
 * dead owners left when we start.
 */
#include "guardian.h"
#include "window_inside.h"
#include "window_undo.h"

#include "../base/alloc.h"
#include "../base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define START_SWEEP_MS 15000

/* One per process, by its nature; written before threads exist and after they are gone. */
static struct {
	pid_t pid;
	char key[64];		      /* of the engine that it undoes windows on */
	atomic_int pipe;	      /* writing end, -1 when there is none */
	atomic_int_fast64_t watch_ms; /* when it was last told to watch */
} guardian = { .pid = 0, .pipe = -1 };

static bool running(void)
{
	return atomic_load(&guardian.pipe) >= 0;
}

bool sbx_guardian_lost(void)
{
	struct pollfd end = { .fd = atomic_load(&guardian.pipe) };
	return end.fd >= 0 && poll(&end, 1, 0) == 1 && (end.revents & (POLLHUP | POLLERR)) != 0;
}

bool sbx_guardian_guards(const struct sbx_engine *engine)
{
	return running() && strcmp(guardian.key, sbx_engine_key(engine)) == 0;
}

static void tell(char what)
{
	int pipe = atomic_load(&guardian.pipe);
	/* A guardian that was killed cannot be told anything: the next process that starts, or
	 * takes the lock, finds the record. One that is busy looks again before it sleeps. */
	if (pipe >= 0 && send(pipe, &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1 && errno != EAGAIN)
		sbx_log(SBX_LOG_WARNING, "the guardian process does not answer: %m");
}

void sbx_guardian_sweep(void)
{
	tell('s');
}

void sbx_guardian_watch(void)
{
	int64_t now_ms = sbx_clock_ms();
	if (now_ms - atomic_load(&guardian.watch_ms) < SBX_GUARDIAN_WATCH_MS / 2)
		return;
	atomic_store(&guardian.watch_ms, now_ms);
	tell('w');
}

static int fork_guardian(struct sbx_engine *engine, struct sbx_error *err)
{
	int ends[2];
	/* A socket pair, since a write to it can be told not to raise SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return sbx_fail_errno(err, errno, "making the guardian's pipe");
	pid_t pid = fork();
	if (pid < 0) {
		int errnum = errno;
		(void)close(ends[0]); /* an unused pipe */
		(void)close(ends[1]);
		return sbx_fail_errno(err, errnum, "starting the guardian process");
	}
	if (pid == 0) {
		(void)close(ends[1]); /* or the pipe would never end */
		sbx_guardian_run(ends[0], sbx_engine_endpoint(engine), sbx_engine_key(engine));
	}
	(void)close(ends[0]);
	guardian.pid = pid;
	(void)snprintf(guardian.key, sizeof(guardian.key), "%s", sbx_engine_key(engine)); /* fits */
	atomic_store(&guardian.watch_ms, 0);
	atomic_store(&guardian.pipe, ends[1]);
	return 0;
}

int sbx_guardian_start(
	struct sbx_engine *engine, const struct sbx_call *call, struct sbx_error *err)
{
	if (sbx_guardian_guards(engine))
		return guardian.pid;
	if (running())
		return sbx_fail(err, EOPNOTSUPP,
			"this process's guardian is another engine's: sandboxes are paused on one "
			"engine a process");
	char directory[256];
	struct sbx_error note = SBX_ERROR_INIT;
	int result = sbx_window_directory_of(
		sbx_engine_endpoint(engine), directory, sizeof(directory), &note, err);
	if (result != 0)
		return result;
	if (note.errnum)
		sbx_log(SBX_LOG_WARNING, "%s", note.message);
	result = fork_guardian(engine, err);
	if (result != 0)
		return result;
	/* What cannot be undone now the guardian goes on with, and it stays on record for whoever
	 * takes that lock. */
	struct sbx_call bounded = sbx_call_shorter(call, START_SWEEP_MS);
	struct sbx_error said = SBX_ERROR_INIT;
	unsigned pending = 0;
	if (sbx_window_sweep(engine, directory, &bounded, &pending, &said) < 0)
		sbx_log(SBX_LOG_WARNING, "looking for freeze windows of dead processes: %s",
			said.message);
	if (pending)
		sbx_guardian_sweep();
	sbx_window_tidy(directory);
	return guardian.pid;
}

void sbx_guardian_stop(void)
{
	if (!running())
		return;
	bool idle = sbx_window_registry_idle();
	if (idle)
		tell('q');
	(void)close(atomic_exchange(&guardian.pipe, -1)); /* the other end sees the end of it */
	/* With a resume still owed it works on without us. ECHILD: we are its owner, but a fork of
	 * the process that started it. */
	if (idle)
		(void)waitpid(guardian.pid, NULL, 0);
	guardian.pid = 0;
}
