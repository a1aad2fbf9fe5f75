/*
 * guardian_process.c: the guardian's own life (guardian.h). It opens an engine of its own, so that
 * nothing of the owner's connections or threads matters, and it ends within GIVE_UP_MS of its
 * owner: what it could not resume by then stays on record.
 */
#include "guardian.h"
#include "window.h"
#include "window_undo.h"

#include "../base/confine.h"
#include "../base/log.h"
#include "../transport/endpoint_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIVE_UP_MS 60000
#define OPEN_MS 10000
#define FIRST_NAP_MS 50
#define LONGEST_NAP_MS 800
#define AT_LEAST_MS 500 /* a dying owner's locks are released a moment after its pipe */
#define LOOK_MS 1000	/* while a window is open */
#define LOG_MAX_BYTES 65536
#define FREEZER "/sys/fs/cgroup/freezer"
#define OWN_FILES 4

static char log_path[300];

/* Nobody reads our stderr: lines go to a small file in the state directory. */
static void log_line(enum sbx_log_level level, const char *line)
{
	int file = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return;
	struct stat st;
	if (fstat(file, &st) == 0 && st.st_size > LOG_MAX_BYTES)
		(void)!ftruncate(file, 0); /* the log is a convenience: nothing depends on it */
	(void)dprintf(file, "%d %s\n", getpid(), line);
	(void)close(file);
}

/* Nothing of the owner's stays: terminal, signals, descriptors, the hope of more privileges. */
static void detach(int pipe)
{
	(void)setsid(); /* fails only for a group leader, which a fork is not */
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2,
		SIGTSTP };
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	sigset_t none;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "sbxfs-guardian", 0, 0, 0);
	(void)!chdir("/"); /* or we would keep somebody's directory busy */
	/* Inherited standard streams would keep a shell's pipe open after its command ended. */
	int null = open("/dev/null", O_RDWR);
	for (int stream = 0; stream < 3; stream++)
		if (null >= 0 && null != stream && pipe != stream)
			(void)dup2(null, stream);
	if (pipe > 3)
		(void)close_range(3, (unsigned)pipe - 1, 0);
	(void)close_range(pipe < 3 ? 3 : (unsigned)pipe + 1, ~0U, 0);
}

/* It reads what engines and dead processes say: a bug in that must not open the host's files. */
static void confine(const char *own, const char *locks, const struct sbx_endpoint *endpoint)
{
	bool freezer = access(FREEZER, F_OK) == 0; /* cgroup version 1 */
	struct sbx_confine_path paths[OWN_FILES + SBX_ENDPOINT_FILES] = {
		{ own, 1, 0 },
		{ locks, 1, 0 },
		{ "/proc", 0, 0 }, /* is a window's owner alive, where is a container's freezer */
		{ freezer ? FREEZER : "/sys/fs/cgroup", 1, 1 },
	};
	sbx_endpoint_files(endpoint, paths + OWN_FILES);
	struct sbx_error err = SBX_ERROR_INIT;
	/* It guards the guests: that comes first, and unconfined it is as good at it. */
	if (sbx_confine(paths, OWN_FILES + SBX_ENDPOINT_FILES, &err) < 0)
		log_line(SBX_LOG_WARNING, err.message);
}

/* What the guardian needs to find an engine again; borrowed from before the fork. */
struct owner {
	const struct sbx_endpoint *endpoint;
	const char *key;
	char directory[256];
	struct sbx_engine *engine; /* opened when something is owed */
	bool complained;
};

/* One sweep: each container has a few seconds, however many there are. Returns how many containers
 * are still owed their resume. */
static unsigned sweep(struct owner *owner)
{
	struct sbx_call opening = sbx_call_within(OPEN_MS, NULL);
	struct sbx_error err = SBX_ERROR_INIT;
	unsigned pending = sbx_window_owed(owner->directory, owner->key);
	if (pending == 0)
		return 0;
	int result = 0;
	if (!owner->engine)
		result = sbx_engine_open(owner->endpoint, &opening, &owner->engine, &err);
	if (result == 0)
		result = sbx_window_sweep(owner->engine, owner->directory, NULL, &pending, &err);
	if (result < 0 && !owner->complained) {
		log_line(SBX_LOG_WARNING, err.message);
		owner->complained = true; /* once is enough for a minute */
	}
	return pending;
}

/* 'q': the owner closed everything. 's': look now. 'w': a window opens. The end of the pipe: the
 * owner is dead. */
static char next_message(int pipe, int timeout_ms)
{
	struct pollfd ready = { .fd = pipe, .events = POLLIN };
	int count = poll(&ready, 1, timeout_ms);
	char what = 0;
	if (count <= 0)
		return 't';
	return read(pipe, &what, 1) == 1 ? what : 'e';
}

/* Nobody has said anything for a while. Returns whether there is anything left to watch. */
static bool look(struct owner *owner)
{
	unsigned overdue;
	unsigned open = sbx_window_open(owner->directory, owner->key, &overdue);
	if (overdue > 0)
		(void)sweep(owner); /* what is left is looked at again */
	return open > 0;
}

void sbx_guardian_run(int pipe, const struct sbx_endpoint *endpoint, const char *key)
{
	struct owner owner = { .endpoint = endpoint, .key = key };
	struct sbx_error err = SBX_ERROR_INIT;
	detach(pipe);
	/* The log is our own user's: nobody else's lines, and nobody else's to remove. */
	char own[256];
	if (sbx_window_directory(own, sizeof(own), &err) != 0 ||
		sbx_window_directory_of(
			endpoint, owner.directory, sizeof(owner.directory), NULL, &err) != 0)
		_exit(1);
	(void)snprintf(log_path, sizeof(log_path), "%s/guardian.log", own); /* fits */
	sbx_log_set_sink(log_line);
	confine(own, owner.directory, endpoint);
	char what;
	int64_t watch_until_ms = 0;
	bool watching = false;
	while ((what = next_message(pipe, watching ? LOOK_MS : -1)) != 'e') {
		if (what == 'q')
			_exit(0);
		/* What a sweep has left is looked at again. */
		if (what == 'w' || (what == 's' && sweep(&owner) > 0))
			watch_until_ms = sbx_clock_ms() + SBX_GUARDIAN_WATCH_MS;
		bool any = what == 't' && look(&owner);
		watching = any || sbx_clock_ms() < watch_until_ms;
	}
	struct sbx_call call = sbx_call_within(GIVE_UP_MS, NULL);
	int64_t begun_ms = sbx_clock_ms();
	int64_t nap_ms = FIRST_NAP_MS;
	while (sbx_call_left_ms(&call) > 0) {
		unsigned pending = sweep(&owner);
		if (sbx_window_directory_of(
			    endpoint, owner.directory, sizeof(owner.directory), NULL, &err) != 0)
			_exit(1);
		if (pending == 0 && sbx_clock_ms() - begun_ms >= AT_LEAST_MS)
			_exit(0);
		(void)poll(NULL, 0, (int)nap_ms); /* an early wake-up is fine */
		if (pending > 0 && nap_ms < LONGEST_NAP_MS)
			nap_ms *= 2;
	}
	log_line(SBX_LOG_ERROR, "gave up: a sandbox may still be paused by a dead sbxfs");
	_exit(1);
}
