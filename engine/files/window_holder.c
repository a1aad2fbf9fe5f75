/*
 * window_holder.c: names the process that keeps a window's lock, for whoever has waited in vain.
 * One that is stopped while it opens a window or starts a command owes nothing, so that nobody may
 * take its lock over: a person has to know whom to let go on. It is only told, nothing rests on it.
 */
#include "window_lock.h"

#include "../base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct holder {
	int64_t pid; /* 0: not to be known */
	bool alone;  /* exclusively: for a window */
	bool stopped;
};

/* By a signal (Ctrl-Z) or a debugger. */
static bool is_stopped(int64_t pid)
{
	char path[64];
	char text[512];
	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid); /* always fits */
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		(void)fclose(file); /* only read */
	text[length] = '\0';
	/* The command before it may hold anything. */
	const char *at = strrchr(text, ')');
	return at && at[1] == ' ' && (at[2] == 'T' || at[2] == 't');
}

/* The first holder of its flock; of several that share it, one that is stopped. Source: proc(5),
 * /proc/locks; the waiting are marked by an arrow. */
static struct holder find_holder(const struct stat *st)
{
	struct holder found = { 0 };
	FILE *locks = fopen("/proc/locks", "re");
	char line[256];
	while (locks && fgets(line, sizeof(line), locks)) {
		char mode[8];
		long long pid;
		unsigned on_major, on_minor;
		unsigned long long inode;
		if (sscanf(line, "%*d: FLOCK ADVISORY %7s %lld %x:%x:%llu", mode, &pid, &on_major,
			    &on_minor, &inode) != 5 ||
			pid <= 0 || inode != st->st_ino || on_major != major(st->st_dev) ||
			on_minor != minor(st->st_dev))
			continue;
		bool stopped = is_stopped(pid);
		if (!found.pid || (stopped && !found.stopped))
			found = (struct holder){ pid, strcmp(mode, "WRITE") == 0, stopped };
	}
	if (locks)
		(void)fclose(locks); /* only read */
	return found;
}

int sbx_window_lock_blame(int descriptor, struct sbx_error *err)
{
	struct stat st;
	if (!err || fstat(descriptor, &st) != 0)
		return -ETIMEDOUT;
	struct holder holder = find_holder(&st);
	if (!holder.pid)
		return -ETIMEDOUT;
	cleanup_free char *said = sbx_strdup(err->message);
	return sbx_fail(err, ETIMEDOUT, "%s: the process %" PRId64 "%s has its lock for %s", said,
		holder.pid, holder.stopped ? ", which is stopped," : "",
		holder.alone ? "a freeze window" : "the start of a command");
}
