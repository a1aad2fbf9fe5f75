/*
 * guest_attack.c: what a hostile guest does, as fast as it can. Static: it is copied into the
 * sandbox and runs there.
 *
 * guest_attack swap A B: exchanges two names for ever, in bursts
 *
 * guest_attack relink NAME TARGET: NAME is now a file, now a link to TARGET, for ever, in bursts,
 * also when somebody replaces it
 *
 * guest_attack generations FILE SIZE: rewrites FILE in place with one byte value per generation,
 * for ever
 *
 * guest_attack spin N: N processes at full CPU
 *
 * guest_attack forks: forks children that end at once, for ever
 *
 * guest_attack counter FILE: counts up in FILE, every millisecond: shows that the guest runs
 *
 * guest_attack gaps FILE: keeps in FILE for how long it was held up, in all and at most, in
 * microseconds
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Bursts as fast as it can, then a rest of up to 4 ms in one of the two states: a checker's
 * requests are a millisecond apart, so what they meet is now one state throughout, now both, now a
 * name in mid-exchange. Without the rests the engine mostly meets the exchange itself and says "not
 * there".
 */
static void rest_in_one_state(unsigned *seed)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = rand_r(seed) % 4000000 },
		NULL); /* cut short is fine */
}

static int swap(const char *a, const char *b)
{
	unsigned seed = (unsigned)getpid();
	for (;;) {
		for (int burst = rand_r(&seed) % 64; burst >= 0; burst--) {
			if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) < 0) {
				perror("renameat2");
				return 1;
			}
		}
		rest_in_one_state(&seed);
	}
}

/* What was put in place of the link is gone with the next turn, so that the attack goes on. */
static int relink(const char *name, const char *target)
{
	unsigned seed = (unsigned)getpid();
	char next[4096];
	(void)snprintf(next, sizeof(next), "%s.next", name); /* cut is found by rename */
	for (;;) {
		for (int burst = rand_r(&seed) % 64; burst >= 0; burst--) {
			int fd = -1;
			if (rand_r(&seed) % 2
					? symlink(target, next) < 0
					: (fd = open(next, O_WRONLY | O_CREAT | O_EXCL, 0644)) < 0)
				return 1;
			if (fd >= 0)
				(void)close(fd); /* nothing was written */
			if (rename(next, name) < 0)
				return 1;
		}
		rest_in_one_state(&seed);
	}
}

/* One write per generation: a freeze takes hold between system calls, so a frozen file is always of
 * one value. The time is set back, or the checks of size and time alone would give the game away;
 * for as long as the write took nothing happens, so that these checks have a fair chance to be
 * fooled. */
static _Noreturn void generations(const char *path, size_t size)
{
	static const struct timespec times[2] = { { 1700000000, 0 }, { 1700000000, 0 } };
	char *bytes = malloc(size);
	int fd = open(path, O_WRONLY | O_CREAT, 0644);
	if (fd < 0 || !bytes)
		_exit(1);
	for (int value = 1;; value = value % 250 + 1) {
		struct timespec start, end;
		memset(bytes, value, size);
		(void)clock_gettime(CLOCK_MONOTONIC, &start); /* cannot fail for this clock */
		if (pwrite(fd, bytes, size, 0) != (ssize_t)size || futimens(fd, times) < 0)
			_exit(1);
		(void)clock_gettime(CLOCK_MONOTONIC, &end); /* as above */
		long took_ns =
			(end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec;
		(void)nanosleep(&(struct timespec){ took_ns / 1000000000, took_ns % 1000000000 },
			NULL); /* cut short is fine */
	}
}

/* Nobody spins before all are there, or the first would keep the others from being made. */
static _Noreturn void spin(int count)
{
	int all_there[2];
	char end;
	if (pipe(all_there) < 0)
		_exit(1);
	for (int i = 1; i < count; i++) {
		if (fork() == 0) {
			(void)close(all_there[1]); /* ours alone: its end is what is waited for */
			(void)!read(all_there[0], &end, 1);
			break;
		}
	}
	(void)close(all_there[1]); /* the parent's, at last; in a child it is closed already */
	for (volatile unsigned long n = 0;; n++)
		;
}

static _Noreturn void forks(void)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		if (fork() == 0)
			_exit(0);
	}
}

static int counter(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	char text[32];
	for (unsigned long n = 1; fd >= 0; n++) {
		int length = snprintf(text, sizeof(text), "%020lu\n", n);
		if (pwrite(fd, text, (size_t)length, 0) < 0)
			return 1;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return 1;
}

static long long now_us(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* It sleeps for a millisecond; what takes over five was a stall, ours or the machine's. */
static int gaps(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	long long total = 0, longest = 0, last = now_us();
	char text[64];
	while (fd >= 0) {
		(void)nanosleep(
			&(struct timespec){ .tv_nsec = 1000000 }, NULL); /* cut short is fine */
		long long now = now_us(), gap = now - last - 1000;
		last = now;
		if (gap > 4000) {
			total += gap;
			longest = gap > longest ? gap : longest;
		}
		int length = snprintf(text, sizeof(text), "%020lld %020lld\n", total, longest);
		if (pwrite(fd, text, (size_t)length, 0) < 0)
			return 1;
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "swap") == 0)
		return swap(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "relink") == 0)
		return relink(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "generations") == 0)
		generations(argv[2], strtoul(argv[3], NULL, 10));
	if (argc == 3 && strcmp(argv[1], "spin") == 0)
		spin((int)strtol(argv[2], NULL, 10));
	if (argc == 2 && strcmp(argv[1], "forks") == 0)
		forks();
	if (argc == 3 && strcmp(argv[1], "counter") == 0)
		return counter(argv[2]);
	if (argc == 3 && strcmp(argv[1], "gaps") == 0)
		return gaps(argv[2]);
	return 2;
}
