/* test_keep_alive.c: what shows that the first process of a sandbox stays, on shells of our own. */
#include "sandbox/keep_alive.h"

#include "unit.h"

#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* The leader of a group, so that its children end with it. */
static pid_t shell(const char *script)
{
	posix_spawnattr_t attributes;
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	pid_t pid;
	ck_assert_int_eq(posix_spawnattr_init(&attributes), 0);
	ck_assert_int_eq(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP), 0);
	ck_assert_int_eq(posix_spawn(&pid, argv[0], NULL, &attributes, (char *const *)argv,
				 (char *const *)environment),
		0);
	ck_assert_int_eq(posix_spawnattr_destroy(&attributes), 0);
	return pid;
}

static bool seen_within(pid_t pid, int looks)
{
	for (; looks; looks--) {
		if (sbx_keep_alive_seen(pid))
			return true;
		(void)nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL); /* about so */
	}
	return false;
}

static void end(pid_t pid)
{
	ck_assert_int_eq(kill(-pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(a_sleep_is_seen)
{
	pid_t pid = shell("sleep 30 & echo $! >/dev/null; wait $!");
	bool seen = seen_within(pid, 2000);
	end(pid);
	ck_assert(seen);
	pid = shell("exec sleep 30");
	seen = seen_within(pid, 2000);
	end(pid);
	ck_assert(seen);
}
END_TEST

START_TEST(nothing_else_is)
{
	pid_t other = shell("cat /dev/zero >/dev/null & wait $!");
	bool seen = seen_within(other, 20);
	end(other);
	ck_assert(!seen);
	pid_t alone = shell("while :; do :; done");
	seen = seen_within(alone, 5);
	end(alone);
	ck_assert(!seen);
	ck_assert(!sbx_keep_alive_seen(alone)); /* it is gone */
	ck_assert(!sbx_keep_alive_seen(0));
	ck_assert(!sbx_keep_alive_seen(-1));
}
END_TEST

UNIT_MAIN("keep_alive", a_sleep_is_seen, nothing_else_is)
