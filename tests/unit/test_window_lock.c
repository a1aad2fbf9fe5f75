/* test_window_lock.c: one file per container says who may pause it and what is owed to it. */
#include "base/alloc.h"
#include "files/window.h"
#include "files/window_lock.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static char directory[64];

static void make_directory(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/sbxfs-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_directory(void)
{
	cleanup_free char *file = sbx_printf("%s/key-id", directory);
	(void)unlink(file); /* a test may not have made it */
	ck_assert_int_eq(rmdir(directory), 0);
}

static int take(bool exclusive, int64_t timeout_ms, struct sbx_error *err)
{
	struct sbx_call call = sbx_call_within(timeout_ms, NULL);
	return sbx_window_lock_take(directory, "key", "id", exclusive, NULL, &call, err);
}

START_TEST(a_record_comes_back_as_written)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	int lock = take(true, 1000, &err);
	ck_assert_int_ge(lock, 0);
	struct sbx_window_record record;
	sbx_window_record_read(lock, &record);
	ck_assert_int_eq(record.owed, SBX_OWED_NOTHING);
	ck_assert_int_eq(record.pace.ended_ms, 0);

	record.owed = SBX_OWED_PAUSED;
	sbx_window_owner_self(&record);
	record.since_ms = 123456789;
	record.container_pid = 4321;
	record.pace = (struct sbx_pace){ .ended_ms = 99, .debt_ms = 7 };
	(void)snprintf(record.endpoint, sizeof(record.endpoint), "unix:///var/run/docker.sock");
	ck_assert_int_eq(sbx_window_record_write(lock, &record, &err), 0);
	struct sbx_window_record back;
	sbx_window_record_read(lock, &back);
	ck_assert_int_eq(back.owed, SBX_OWED_PAUSED);
	ck_assert_int_eq(back.owner_pid, getpid());
	ck_assert_int_eq(back.owner_start, record.owner_start);
	ck_assert_int_eq(back.since_ms, 123456789);
	ck_assert_int_eq(back.container_pid, 4321);
	ck_assert_int_eq(back.pace.ended_ms, 99);
	ck_assert_int_eq(back.pace.debt_ms, 7);
	ck_assert_str_eq(back.endpoint, "unix:///var/run/docker.sock");
	ck_assert(sbx_window_owner_alive(&back));

	/* A shorter record over a longer one: what is left behind "end" counts for nothing. */
	struct sbx_window_record clear = { 0 };
	ck_assert_int_eq(sbx_window_record_write(lock, &clear, &err), 0);
	sbx_window_record_read(lock, &back);
	ck_assert_int_eq(back.owed, SBX_OWED_NOTHING);
	ck_assert_int_eq(back.owner_pid, 0);
	ck_assert_str_eq(back.endpoint, "");
	ck_assert(!sbx_window_owner_alive(&back));
	(void)close(lock);
	remove_directory();
}
END_TEST

START_TEST(garbage_is_a_clear_record)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	int lock = take(true, 1000, &err);
	static const char *const texts[] = { "state owed paused\n", "state perhaps\nend\n",
		"\n\n\nend\n", "state owed\0paused\nend\n", "end\n" };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ck_assert_int_eq(ftruncate(lock, 0), 0);
		ck_assert_int_eq(pwrite(lock, texts[i], strlen(texts[i]), 0), strlen(texts[i]));
		struct sbx_window_record record;
		sbx_window_record_read(lock, &record);
		ck_assert_int_eq(record.owed, SBX_OWED_NOTHING);
	}
	(void)close(lock);
	remove_directory();
}
END_TEST

START_TEST(a_window_excludes_and_commands_share)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	int first = take(false, 1000, &err);
	int second = take(false, 1000, &err);
	ck_assert_int_ge(first, 0);
	ck_assert_int_ge(second, 0);
	ck_assert_int_eq(take(true, 40, &err), -ETIMEDOUT);
	ck_assert_int_eq(sbx_window_lock_try(directory, "key-id", &err), -EWOULDBLOCK);
	(void)close(first);
	(void)close(second);
	int window = take(true, 1000, &err);
	ck_assert_int_ge(window, 0);
	ck_assert_int_eq(take(false, 40, &err), -ETIMEDOUT);
	ck_assert_int_eq(take(true, 40, &err), -ETIMEDOUT);
	(void)close(window);
	ck_assert_int_eq(sbx_window_lock_try(directory, "key-other", &err), -ENOENT);
	remove_directory();
}
END_TEST

static void fire(void *data)
{
	sbx_cancel_fire(data);
}

START_TEST(waiting_ends_when_cancelled)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	int window = take(true, 1000, &err);
	struct sbx_cancel *cancel = sbx_cancel_create();
	struct sbx_call call = sbx_call_within(0, cancel);
	const struct sbx_window_nudge nudge = { .fn = fire, .data = cancel };
	ck_assert_int_eq(sbx_window_lock_take(directory, "key", "id", true, &nudge, &call, &err),
		-ECANCELED);
	sbx_cancel_unref(cancel);
	(void)close(window);
	remove_directory();
}
END_TEST

START_TEST(the_lock_of_a_killed_process_is_free_and_says_what_is_owed)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	int ready[2];
	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int lock = take(true, 1000, &err);
		struct sbx_window_record record = { .owed = SBX_OWED_ASKED };
		sbx_window_owner_self(&record);
		if (lock < 0 || sbx_window_record_write(lock, &record, &err) != 0 ||
			write(ready[1], "x", 1) != 1)
			_exit(1);
		(void)pause();
		_exit(1);
	}
	char byte;
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	ck_assert_int_eq(take(true, 40, &err), -ETIMEDOUT);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	int lock = take(true, 1000, &err);
	ck_assert_int_ge(lock, 0);
	struct sbx_window_record record;
	sbx_window_record_read(lock, &record);
	ck_assert_int_eq(record.owed, SBX_OWED_ASKED);
	ck_assert_int_eq(record.owner_pid, pid);
	ck_assert(!sbx_window_owner_alive(&record));
	(void)close(lock);
	remove_directory();
}
END_TEST

/* Stopped while it owes nothing, so that its lock is not to be taken over: whoever waits in vain is
 * told whom for. */
START_TEST(a_wait_in_vain_names_the_stopped_holder)
{
	make_directory();
	for (int exclusive = 0; exclusive < 2; exclusive++) {
		struct sbx_error err = SBX_ERROR_INIT;
		int ready[2];
		int status;
		ck_assert_int_eq(pipe(ready), 0);
		pid_t pid = fork();
		if (pid == 0) {
			if (take(exclusive, 1000, &err) < 0 || write(ready[1], "x", 1) != 1)
				_exit(1);
			(void)pause();
			_exit(1);
		}
		char byte;
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
		cleanup_free char *running = sbx_printf("the process %d has its lock", pid);
		ck_assert_int_eq(take(true, 40, &err), -ETIMEDOUT);
		ck_assert_msg(strstr(err.message, running) != NULL, "%s", err.message);
		ck_assert_int_eq(kill(pid, SIGSTOP), 0);
		ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
		cleanup_free char *stopped = sbx_printf("the process %d, which is stopped, has its "
							"lock for %s",
			pid, exclusive ? "a freeze window" : "the start of a command");
		ck_assert_int_eq(take(true, 40, &err), -ETIMEDOUT);
		ck_assert_int_eq(err.errnum, ETIMEDOUT);
		ck_assert_msg(strstr(err.message, stopped) != NULL, "%s", err.message);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		(void)close(ready[0]);
		(void)close(ready[1]);
	}
	remove_directory();
}
END_TEST

START_TEST(a_link_in_the_way_is_not_followed)
{
	make_directory();
	cleanup_free char *file = sbx_printf("%s/key-id", directory);
	ck_assert_int_eq(symlink("/etc/passwd", file), 0);
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_lt(take(true, 100, &err), 0);
	ck_assert_int_eq(
		sbx_window_lock_take(directory, "key", "../id", true, NULL, NULL, &err), -EINVAL);
	remove_directory();
}
END_TEST

static void *command_loop(void *data)
{
	const atomic_bool *stop = data;
	while (!*stop) {
		struct sbx_error err = SBX_ERROR_INIT;
		int lock = take(false, 5000, &err);
		ck_assert_int_ge(lock, 0);
		(void)usleep(5000);
		(void)close(lock);
	}
	return NULL;
}

START_TEST(a_stream_of_commands_does_not_starve_a_window)
{
	make_directory();
	atomic_bool stop = false;
	pthread_t threads[6];
	for (size_t i = 0; i < 6; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, command_loop, &stop), 0);
	for (int i = 0; i < 5; i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		int window = take(true, 3000, &err);
		ck_assert_msg(window >= 0, "%s", err.message);
		(void)close(window);
	}
	stop = true;
	for (size_t i = 0; i < 6; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	remove_directory();
}
END_TEST

/* What a suspended owner leaves: locked, owed, and promised for a time that is over. */
static int leave_overdue(int64_t until_ms)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int lock = take(true, 1000, &err);
	ck_assert_int_ge(lock, 0);
	struct sbx_window_record record = {
		.owed = SBX_OWED_PAUSED, .until_ms = until_ms, .since_ms = 1
	};
	sbx_window_owner_self(&record);
	record.owner_pid = 1;
	ck_assert_int_eq(sbx_window_record_write(lock, &record, &err), 0);
	return lock;
}

START_TEST(an_overdue_lock_is_taken_over_and_its_owner_notices)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	for (int exclusive = 0; exclusive < 2; exclusive++) {
		int owner = leave_overdue(1);
		ck_assert(!sbx_window_lock_lost(owner));
		int lock = take(exclusive, 5000, &err);
		ck_assert_msg(lock >= 0, "%s", err.message);
		ck_assert(sbx_window_lock_lost(owner) && sbx_window_lock_taken(owner));
		ck_assert(!sbx_window_lock_lost(lock) && !sbx_window_lock_taken(lock));
		struct sbx_window_record record;
		sbx_window_record_read(lock, &record);
		ck_assert_int_eq(record.owed, SBX_OWED_PAUSED);
		ck_assert_int_eq(record.owner_pid, getpid());
		ck_assert(!sbx_window_record_overdue(&record));
		/* The taker's is a lock like any other; what the owner lets go of is nobody's. */
		(void)close(owner);
		ck_assert_int_eq(take(true, 40, &err), -ETIMEDOUT);
		ck_assert_int_eq(
			sbx_window_lock_take_over(directory, "key-id", &err), -EWOULDBLOCK);
		record.owed = SBX_OWED_NOTHING;
		ck_assert_int_eq(sbx_window_record_write(lock, &record, &err), 0);
		(void)close(lock);
	}
	remove_directory();
}
END_TEST

/* By logind, which removes a runtime directory, or by whoever cleans /dev/shm. */
START_TEST(a_lock_that_was_only_removed_is_lost_but_not_taken)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	int owner = leave_overdue(sbx_clock_ms() + 60000);
	cleanup_free char *path = sbx_printf("%s/key-id", directory);
	ck_assert(!sbx_window_lock_lost(owner) && !sbx_window_lock_taken(owner));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(sbx_window_lock_lost(owner) && !sbx_window_lock_taken(owner));
	/* Who comes to the empty place knows of no debt, until it opens a window of its own. */
	int lock = take(true, 1000, &err);
	ck_assert_int_ge(lock, 0);
	ck_assert(sbx_window_lock_lost(owner) && !sbx_window_lock_taken(owner));
	const struct sbx_window_record record = { .owed = SBX_OWED_ASKED, .since_ms = 2 };
	ck_assert_int_eq(sbx_window_record_write(lock, &record, &err), 0);
	ck_assert(sbx_window_lock_taken(owner));
	(void)close(lock);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert(!sbx_window_lock_taken(owner));
	(void)close(owner);
}
END_TEST

START_TEST(a_lock_that_keeps_its_promise_is_not_taken_over)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	/* Promised for later, never promised, and owing nothing. */
	int owner = leave_overdue(sbx_clock_ms() + 60000);
	ck_assert_int_eq(sbx_window_lock_take_over(directory, "key-id", &err), -EWOULDBLOCK);
	struct sbx_window_record record;
	sbx_window_record_read(owner, &record);
	record.until_ms = 0;
	ck_assert_int_eq(sbx_window_record_write(owner, &record, &err), 0);
	ck_assert_int_eq(sbx_window_lock_take_over(directory, "key-id", &err), -EWOULDBLOCK);
	record.until_ms = 1;
	record.owed = SBX_OWED_NOTHING;
	ck_assert_int_eq(sbx_window_record_write(owner, &record, &err), 0);
	ck_assert_int_eq(sbx_window_lock_take_over(directory, "key-id", &err), -EWOULDBLOCK);
	ck_assert_int_eq(take(true, 40, &err), -ETIMEDOUT);
	ck_assert(!sbx_window_lock_lost(owner));
	(void)close(owner);
	remove_directory();
}
END_TEST

static void *renew_late(void *data)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_window_record record;
	(void)usleep(100000);
	sbx_window_record_read(*(int *)data, &record);
	sbx_window_record_promise(&record, 60000);
	ck_assert_int_eq(sbx_window_record_write(*(int *)data, &record, &err), 0);
	return NULL;
}

/* As after this whole host was suspended: late at the first look, and there again at the second. */
START_TEST(an_owner_that_comes_back_keeps_its_lock)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	pthread_t thread;
	int owner = leave_overdue(1);
	ck_assert_int_eq(pthread_create(&thread, NULL, renew_late, &owner), 0);
	ck_assert_int_eq(sbx_window_lock_take_over(directory, "key-id", &err), -EWOULDBLOCK);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(!sbx_window_lock_lost(owner));
	(void)close(owner);
	remove_directory();
}
END_TEST

START_TEST(a_shared_directory_is_the_groups_or_refused)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	char path[256];
	struct stat st;
	for (int again = 0; again < 2; again++) {
		ck_assert_int_eq(
			sbx_window_meeting(directory, getegid(), path, sizeof(path), &err), 0);
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_int_eq(st.st_mode & 07777, 02770);
		ck_assert_int_eq(st.st_gid, getegid());
	}
	/* Whoever took the name first: open to others, a link to one that would do, a file. */
	ck_assert_int_eq(chmod(path, 0777), 0);
	ck_assert_int_eq(
		sbx_window_meeting(directory, getegid(), path, sizeof(path), &err), -EPERM);
	ck_assert_int_eq(rmdir(path), 0);
	cleanup_free char *real = sbx_printf("%s/real", directory);
	ck_assert_int_eq(mkdir(real, 0700), 0);
	ck_assert_int_eq(chmod(real, 02770), 0);
	ck_assert_int_eq(symlink(real, path), 0);
	ck_assert_int_eq(
		sbx_window_meeting(directory, getegid(), path, sizeof(path), &err), -EPERM);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(real), 0);
	int file = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(fchmod(file, 02770), 0);
	ck_assert_int_eq(
		sbx_window_meeting(directory, getegid(), path, sizeof(path), &err), -EPERM);
	(void)close(file);
	ck_assert_int_eq(unlink(path), 0);
	remove_directory();
}
END_TEST

START_TEST(a_shared_directory_left_unfinished_is_finished_or_removed)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	char path[256];
	struct stat st;
	cleanup_free char *left = sbx_printf("%s/sbxfs-group-%u", directory, getegid());
	ck_assert_int_eq(mkdir(left, 0700), 0); /* a maker that was killed */
	ck_assert_int_eq(sbx_window_meeting(directory, getegid(), path, sizeof(path), &err), 0);
	ck_assert_int_eq(stat(left, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 02770);
	ck_assert_int_eq(rmdir(left), 0);
	/* A stranger's is not given away, and stays; only root can show it. */
	if (geteuid() == 0) {
		ck_assert_int_eq(mkdir(left, 0700), 0);
		ck_assert_int_eq(chown(left, 12345, getegid()), 0);
		ck_assert_int_eq(
			sbx_window_meeting(directory, getegid(), path, sizeof(path), &err), -EPERM);
		ck_assert_int_eq(stat(left, &st), 0);
		ck_assert_int_eq(st.st_mode & 07777, 0700);
		ck_assert_int_eq(rmdir(left), 0);
	}
	/* A maker that is not of the group leaves nothing behind. */
	pid_t pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && (chmod(directory, 0777) != 0 || setgid(12345) != 0 ||
					      setgroups(0, NULL) != 0 || setuid(12345) != 0))
			_exit(2);
		unsigned foreign = geteuid() == 12345 ? 54321 : 0;
		_exit(sbx_window_meeting(directory, foreign, path, sizeof(path), &err) == -EPERM &&
					stat(path, &st) != 0 && errno == ENOENT
				? 0
				: 1);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	remove_directory();
}
END_TEST

/* A rootless engine: its socket is for a group that cannot come near it. */
START_TEST(only_a_group_that_can_reach_the_socket_shares)
{
	make_directory();
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.60s/engine.sock", directory);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(chmod(address.sun_path, 0660), 0);
	const struct sbx_endpoint endpoint = { .socket_path = address.sun_path };
	unsigned group = 0;
	ck_assert_int_eq(chown(directory, (uid_t)-1, getegid()), 0);
	static const struct {
		mode_t mode;
		bool shared;
	} rows[] = { { 0700, false }, { 0710, true }, { 0701, false }, { 0711, true } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq(chmod(directory, rows[i].mode), 0);
		ck_assert_int_eq(sbx_window_group(&endpoint, &group), rows[i].shared);
	}
	ck_assert_uint_eq(group, getegid());
	/* A directory further up counts as well, and a link is no way around one. */
	cleanup_free char *inner = sbx_printf("%s/inner", directory);
	cleanup_free char *moved = sbx_printf("%s/inner/engine.sock", directory);
	ck_assert_int_eq(mkdir(inner, 0711), 0);
	ck_assert_int_eq(chmod(inner, 0711), 0);
	ck_assert_int_eq(rename(address.sun_path, moved), 0);
	const struct sbx_endpoint deeper = { .socket_path = moved };
	ck_assert(sbx_window_group(&deeper, &group));
	ck_assert_int_eq(symlink(moved, address.sun_path), 0);
	ck_assert(sbx_window_group(&endpoint, &group));
	ck_assert_int_eq(chmod(inner, 0700), 0);
	ck_assert(!sbx_window_group(&endpoint, &group));
	ck_assert_int_eq(chmod(inner, 0711), 0);
	ck_assert_int_eq(chmod(directory, 0700), 0);
	ck_assert(!sbx_window_group(&deeper, &group));
	(void)close(server);
	ck_assert_int_eq(unlink(moved), 0);
	ck_assert_int_eq(unlink(address.sun_path), 0);
	ck_assert_int_eq(rmdir(inner), 0);
	remove_directory();
}
END_TEST

/* Whatever the umask of who makes it, the others of the group can lock it. */
START_TEST(a_lock_file_is_for_its_group)
{
	make_directory();
	struct sbx_error err = SBX_ERROR_INIT;
	mode_t before = umask(077);
	int lock = take(true, 1000, &err);
	(void)umask(before);
	struct stat st;
	ck_assert_int_eq(fstat(lock, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0660);
	(void)close(lock);
	remove_directory();
}
END_TEST

static void leave(const char *name, enum sbx_owed owed, int64_t since_ms, int64_t age_s)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *path = sbx_printf("%s/%s", directory, name);
	int file = open(path, O_RDWR | O_CREAT, 0600);
	const struct sbx_window_record record = { .owed = owed, .since_ms = since_ms };
	ck_assert_int_eq(sbx_window_record_write(file, &record, &err), 0);
	struct timespec times[2];
	(void)clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age_s;
	times[1] = times[0];
	ck_assert_int_eq(futimens(file, times), 0);
	ck_assert_int_eq(close(file), 0);
}

/* Was it left alone? It is gone afterwards. */
static bool take_away(const char *name)
{
	cleanup_free char *path = sbx_printf("%s/%s", directory, name);
	return unlink(path) == 0;
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

START_TEST(files_that_owe_nothing_go_whatever_their_engine)
{
	int64_t now_ms = sbx_pace_now_ms();
	make_directory();
	leave("0000000000000001-" ID, SBX_OWED_NOTHING, now_ms, 700);
	leave("0000000000000002-" ID, SBX_OWED_NOTHING, now_ms, 500);
	leave("0000000000000003-" ID, SBX_OWED_PAUSED, now_ms - 1000, 90000);
	leave("0000000000000004-" ID, SBX_OWED_PAUSED, now_ms + 100000, 90000);
	leave("0000000000000005-" ID, SBX_OWED_NOTHING, now_ms, 700);
	leave("guardian.log", SBX_OWED_NOTHING, now_ms, 90000);
	struct sbx_error err = SBX_ERROR_INIT;
	int held = sbx_window_lock_try(directory, "0000000000000005-" ID, &err);
	sbx_window_tidy(directory);
	ck_assert(!take_away("0000000000000001-" ID));
	ck_assert(take_away("0000000000000002-" ID));  /* used a moment ago */
	ck_assert(take_away("0000000000000003-" ID));  /* a container may still be paused */
	ck_assert(!take_away("0000000000000004-" ID)); /* from before the machine started */
	ck_assert(take_away("0000000000000005-" ID));  /* held */
	ck_assert(take_away("guardian.log"));
	ck_assert_int_eq(close(held), 0);
	remove_directory();
}
END_TEST

UNIT_MAIN("window_lock", a_record_comes_back_as_written, garbage_is_a_clear_record,
	a_window_excludes_and_commands_share, waiting_ends_when_cancelled,
	the_lock_of_a_killed_process_is_free_and_says_what_is_owed,
	a_wait_in_vain_names_the_stopped_holder, a_link_in_the_way_is_not_followed,
	files_that_owe_nothing_go_whatever_their_engine,
	a_stream_of_commands_does_not_starve_a_window,
	an_overdue_lock_is_taken_over_and_its_owner_notices,
	a_lock_that_was_only_removed_is_lost_but_not_taken,
	a_lock_that_keeps_its_promise_is_not_taken_over, an_owner_that_comes_back_keeps_its_lock,
	a_shared_directory_is_the_groups_or_refused,
	a_shared_directory_left_unfinished_is_finished_or_removed,
	only_a_group_that_can_reach_the_socket_shares, a_lock_file_is_for_its_group)
