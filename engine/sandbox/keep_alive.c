/*
 * keep_alive.c: see keep_alive.h. An engine has started a shell that is about to find no `sleep`,
 * and says "running" until it has heard of its end.
 *
 * What /proc says of a pid of the engine's may be of another host's process of that number: it can
 * only cut the watch short, never call a sandbox dead.
 */
#include "keep_alive.h"

#include "../base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 15
#define LOOKS 10
#define LOOKS_AN_INSPECT 5
/* A sleep that does not understand its word is seen once, too. */
#define SIGHTINGS 2

/* The beginning of a file of /proc, "" where there is none. */
static void read_start(const char *path, char *text, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
	text[got > 0 ? got : 0] = '\0';
}

static bool is_sleep(long pid)
{
	char path[64], text[64];
	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", pid); /* fits */
	read_start(path, text, sizeof(text));
	return strcmp(text, "sleep\n") == 0;
}

bool sbx_keep_alive_seen(int pid)
{
	char path[64], text[64];
	if (pid <= 0)
		return false;
	if (is_sleep(pid)) /* in an image without a shell */
		return true;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid); /* fits */
	read_start(path, text, sizeof(text));
	long child = strtol(text, NULL, 10);
	return child > 0 && is_sleep(child);
}

int sbx_keep_alive_watch(struct sbx_engine *engine, struct sbx_container *running,
	const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_free char *id = sbx_strdup(running->id);
	int seen = 0;
	for (int look = 1; look <= LOOKS && running->state == SBX_STATE_RUNNING; look++) {
		struct pollfd cancel = { .fd = sbx_cancel_fd(call->cancel), .events = POLLIN };
		if (poll(&cancel, 1, LOOK_MS) > 0)
			return sbx_fail(err, ECANCELED,
				"cancelled while container %.12s was watched as it started", id);
		seen = sbx_keep_alive_seen(running->pid) ? seen + 1 : 0;
		if (seen == SIGHTINGS)
			return 0;
		if (look % LOOKS_AN_INSPECT)
			continue;
		sbx_container_finish(running);
		int rc = sbx_container_inspect(engine, id, call, running, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}
