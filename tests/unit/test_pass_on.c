/* test_pass_on.c: a command's output on its way to our own stdout: a reader that is slow, one that
 * takes nothing, one that is gone. */
#include "tools/pass_on.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define MUCH (1 << 20) /* more than any pipe holds */

static char bytes[MUCH];
static int saved = -1;

/* Our stdout is a pipe's end from here on; its other end is returned. */
static int stdout_is_a_pipe(int flags)
{
	int ends[2];
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(fcntl(ends[1], F_SETFL, flags), 0);
	(void)signal(SIGPIPE, SIG_IGN); /* as the command does */
	saved = dup(STDOUT_FILENO);
	ck_assert_int_eq(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	close(ends[1]);
	for (size_t i = 0; i < MUCH; i++)
		bytes[i] = (char)(i * 7 + i / 4096);
	return ends[0];
}

static void stdout_is_itself(void)
{
	ck_assert_int_eq(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	close(saved);
}

struct reader {
	int fd;
	size_t wrong, size;
};

static void *read_slowly(void *data)
{
	struct reader *reader = data;
	char part[3000];
	ssize_t got;
	while ((got = read(reader->fd, part, sizeof(part))) > 0) {
		for (ssize_t i = 0; i < got; i++, reader->size++)
			reader->wrong += part[i] != bytes[reader->size];
		if (reader->size % 30 == 0)
			usleep(1000);
	}
	return NULL;
}

/* A non-blocking stdout is full most of the time here: no failure, and every byte arrives. */
START_TEST(a_slow_reader_gets_every_byte)
{
	static const int flags[] = { 0, O_NONBLOCK };
	for (size_t i = 0; i < 2; i++) {
		struct reader reader = { .fd = stdout_is_a_pipe(flags[i]) };
		struct sbx_pass_on pass_on = { .bounds = sbx_call_within(30000, NULL) };
		pthread_t thread;
		ck_assert_int_eq(pthread_create(&thread, NULL, read_slowly, &reader), 0);
		int result = sbx_tool_pass_on(&pass_on, 1, bytes, MUCH);
		stdout_is_itself();
		pthread_join(thread, NULL);
		close(reader.fd);
		ck_assert_int_eq(result, 0);
		ck_assert_uint_eq(reader.size, MUCH);
		ck_assert_uint_eq(reader.wrong, 0);
	}
}
END_TEST

/* Where the write waits itself this never returns. */
START_TEST(the_bounds_hold_where_nobody_reads)
{
	int fd = stdout_is_a_pipe(0);
	struct sbx_pass_on late = { .bounds = sbx_call_within(50, NULL) };
	int result = sbx_tool_pass_on(&late, 1, bytes, MUCH);
	stdout_is_itself();
	ck_assert_int_eq(result, -ETIMEDOUT);
	ck_assert_int_eq(late.failed, -ETIMEDOUT);
	close(fd);
}
END_TEST

static void *fire_soon(void *cancel)
{
	usleep(50000);
	sbx_cancel_fire(cancel);
	return NULL;
}

START_TEST(a_cancel_holds_where_nobody_reads)
{
	int fd = stdout_is_a_pipe(0);
	struct sbx_cancel *cancel = sbx_cancel_create();
	struct sbx_pass_on pass_on = { .bounds = sbx_call_within(0, cancel) };
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, fire_soon, cancel), 0);
	int result = sbx_tool_pass_on(&pass_on, 1, bytes, MUCH);
	stdout_is_itself();
	pthread_join(thread, NULL);
	sbx_cancel_unref(cancel);
	ck_assert_int_eq(result, -ECANCELED);
	close(fd);
}
END_TEST

/* Nothing is swallowed: whoever asked for the bytes hears that they are for nobody. */
START_TEST(a_reader_that_is_gone_is_said)
{
	close(stdout_is_a_pipe(0));
	struct sbx_pass_on pass_on = { 0 };
	int result = sbx_tool_pass_on(&pass_on, 1, bytes, 1);
	stdout_is_itself();
	ck_assert_int_eq(result, -EPIPE);
	ck_assert_int_eq(pass_on.failed, -EPIPE);
}
END_TEST

UNIT_MAIN("pass_on", a_slow_reader_gets_every_byte, the_bounds_hold_where_nobody_reads,
	a_cancel_holds_where_nobody_reads, a_reader_that_is_gone_is_said)
