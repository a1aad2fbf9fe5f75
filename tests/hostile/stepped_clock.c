/*
 * stepped_clock.c: to preload: CLOCK_REALTIME is off by the seconds in the file $STEPPED_CLOCK,
 * which may change at any time, as if somebody set the clock. Nothing else is touched, the kernel's
 * waits on that clock neither: what depends on it is found by waiting for years or not at all.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int file = -1;

/* Opened at once: a confined process could not open it later. */
__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("STEPPED_CLOCK");
	file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static long step_s(void)
{
	char text[32] = "";
	return pread(file, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
	int result = (int)syscall(SYS_clock_gettime, clock, at);
	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		at->tv_sec += step_s();
	return result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	struct timespec now;
	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	at->tv_sec = now.tv_sec;
	at->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at)
{
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}
