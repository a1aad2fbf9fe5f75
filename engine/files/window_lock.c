/*
 * window_lock.c: see window_lock.h.
 *
 * Waiting is by trying again with short sleeps: a blocking flock could not be cancelled. A record
 * is one write of less than a page that ends with its own last line, so that a killed writer leaves
 * the old record or the new one.
 */
#include "window_lock.h"
#include "wait.h"
#include "window.h"

#include "../base/alloc.h"
#include "../base/log.h"
#include "../base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define RECORD_MAX 1024
#define FIRST_NAP_MS 2
#define LONGEST_NAP_MS 20
/* For whoever has no deadline: longer than any window, but for a transfer of many gigabytes. A test
 * has a shorter one. */
#ifndef SBX_WINDOW_LONGEST_WAIT_MS
#define SBX_WINDOW_LONGEST_WAIT_MS 300000
#endif
#define SECOND_LOOK_MS 500

/* A new file in a shared directory is for its group; for a moment it is not yet. In a private one
 * the bits for the group are of no use to anybody. */
int sbx_window_file_open(const char *path, int flags, struct sbx_error *err)
{
	for (int64_t nap_ms = FIRST_NAP_MS;; nap_ms *= 2) {
		int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0660);
		struct stat st;
		if (descriptor >= 0) {
			if (fstat(descriptor, &st) == 0 && st.st_uid == geteuid() &&
				(st.st_mode & 0777) != 0660)
				(void)fchmod(descriptor, 0660); /* as far as umask took it away */
			return descriptor;
		}
		if (errno != EACCES || nap_ms > LONGEST_NAP_MS)
			return sbx_fail_errno(err, errno, "opening the lock file %s", path);
		(void)sbx_wait_ms(NULL, nap_ms, "a lock file", NULL); /* no deadline, no cancel */
	}
}

static int open_file(const char *directory, const char *name, int flags, struct sbx_error *err)
{
	cleanup_free char *path = sbx_printf("%s/%s", directory, name);
	return sbx_window_file_open(path, flags, err);
}

/* Bytes of the file, each locked per open file description: the turnstile, and whose it is to take
 * the file over. */
enum { TURNSTILE_BYTE, TAKE_OVER_BYTE };

static bool lock_byte(int descriptor, int byte, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
	return fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

/* A file unlinked between open and lock guards nothing any more. */
static bool still_there(int descriptor)
{
	struct stat st;
	return fstat(descriptor, &st) == 0 && st.st_nlink > 0;
}

bool sbx_window_lock_lost(int descriptor)
{
	return !still_there(descriptor);
}

/* Where an unlinked file was. Not to be known without /proc. */
static bool former_path(int descriptor, char *path, size_t size)
{
	static const char deleted[] = " (deleted)";
	char link[64];
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor); /* always fits */
	ssize_t length = readlink(link, path, size);
	size_t end = length < 0 || (size_t)length >= size ? 0 : (size_t)length;
	if (end < sizeof(deleted) ||
		memcmp(path + end - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) != 0)
		return false;
	path[end - (sizeof(deleted) - 1)] = '\0';
	return true;
}

/* Whoever takes a lock over puts a record of the window in its place. One who comes to an empty
 * place makes an empty file, and writes into it only when it opens a window itself, having found
 * the sandbox running. */
bool sbx_window_lock_taken(int descriptor)
{
	char path[512];
	if (still_there(descriptor))
		return false;
	if (!former_path(descriptor, path, sizeof(path)))
		return true;
	cleanup_close int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (file < 0)
		return errno != ENOENT;
	struct sbx_window_record record;
	sbx_window_record_read(file, &record);
	return record.since_ms != 0;
}

void sbx_window_record_promise(struct sbx_window_record *record, int64_t ms)
{
	record->until_ms = sbx_clock_ms() + ms + SBX_WINDOW_LATE_MS;
}

bool sbx_window_record_overdue(const struct sbx_window_record *record)
{
	return record->owed != SBX_OWED_NOTHING && record->until_ms != 0 &&
	       sbx_clock_ms() > record->until_ms;
}

static bool overdue(int descriptor)
{
	struct sbx_window_record record;
	sbx_window_record_read(descriptor, &record);
	return sbx_window_record_overdue(&record);
}

/* Returns 0 with the lock, 1 when it is overdue or not there any more, or -errno. */
static int wait_for_lock(int descriptor, bool exclusive, const struct sbx_window_nudge *nudge,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_call bounded = sbx_call_shorter(call, SBX_WINDOW_LONGEST_WAIT_MS);
	int64_t nap_ms = FIRST_NAP_MS;
	bool passed = false;
	for (;;) {
		passed = passed || lock_byte(descriptor, TURNSTILE_BYTE, F_WRLCK);
		if (passed && flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) {
			/* Releasing a held lock. */
			(void)lock_byte(descriptor, TURNSTILE_BYTE, F_UNLCK);
			return 0;
		}
		if (passed && errno != EWOULDBLOCK && errno != EINTR)
			return sbx_fail_errno(err, errno, "locking a freeze window's lock file");
		if (!still_there(descriptor) || overdue(descriptor))
			return 1;
		if (nudge && nudge->fn)
			nudge->fn(nudge->data);
		int result = sbx_wait_ms(&bounded, nap_ms,
			"another freeze window or command start on this sandbox to end", err);
		if (result != 0)
			return result == -ETIMEDOUT ? sbx_window_lock_blame(descriptor, err)
						    : result;
		nap_ms = nap_ms * 2 > LONGEST_NAP_MS ? LONGEST_NAP_MS : nap_ms * 2;
	}
}

int sbx_window_lock_take(const char *directory, const char *key, const char *id, bool exclusive,
	const struct sbx_window_nudge *nudge, const struct sbx_call *call, struct sbx_error *err)
{
	if (!id[0] || strchr(id, '/') || strchr(key, '/'))
		return sbx_fail(err, EINVAL, "not a container id: %s", id);
	cleanup_free char *name = sbx_printf("%s-%s", key, id);
	for (;;) {
		cleanup_close int descriptor = open_file(directory, name, O_CREAT, err);
		if (descriptor < 0)
			return descriptor;
		int result = wait_for_lock(descriptor, exclusive, nudge, call, err);
		if (result < 0)
			return result;
		if (result == 0 && still_there(descriptor))
			return steal_fd(&descriptor);
		if (result == 0 || !still_there(descriptor))
			continue;
		result = sbx_window_lock_take_over(directory, name, err);
		if (result != -EWOULDBLOCK && result != -ENOENT)
			return result;
		result = sbx_wait_ms(call, LONGEST_NAP_MS, "an overdue freeze window", err);
		if (result != 0)
			return result;
	}
}

int sbx_window_lock_try(const char *directory, const char *name, struct sbx_error *err)
{
	cleanup_close int descriptor = open_file(directory, name, 0, err);
	if (descriptor < 0)
		return descriptor;
	if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
		return sbx_fail_kind(
			err, SBX_KIND_CONFLICT, EWOULDBLOCK, "the lock file %s is in use", name);
	if (!still_there(descriptor))
		return sbx_fail(err, ENOENT, "the lock file %s was removed", name);
	return steal_fd(&descriptor);
}

/* The new file is made under a fixed name: whoever died here left at most that one behind. Only
 * who holds the byte of the file in place comes here. */
static int replace_file(const char *directory, const char *name,
	const struct sbx_window_record *record, struct sbx_error *err)
{
	cleanup_free char *path = sbx_printf("%s/%s", directory, name);
	cleanup_free char *made_name = sbx_printf(".%s", name);
	cleanup_free char *made = sbx_printf("%s/%s", directory, made_name);
	(void)unlink(made); /* mostly there is none */
	cleanup_close int descriptor = open_file(directory, made_name, O_CREAT | O_EXCL, err);
	if (descriptor < 0)
		return descriptor;
	int result = sbx_window_record_write(descriptor, record, err);
	if (result == 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0)
		result = sbx_fail_errno(err, errno, "locking %s", made);
	if (result == 0 && rename(made, path) != 0)
		result = sbx_fail_errno(err, errno, "replacing %s", path);
	if (result != 0) {
		(void)unlink(made); /* nobody has it yet */
		return result;
	}
	return steal_fd(&descriptor);
}

int sbx_window_lock_take_over(const char *directory, const char *name, struct sbx_error *err)
{
	cleanup_close int old = open_file(directory, name, 0, err);
	if (old < 0)
		return old;
	struct sbx_window_record record;
	sbx_window_record_read(old, &record);
	int64_t until_ms = record.until_ms;
	bool late = sbx_window_record_overdue(&record) && lock_byte(old, TAKE_OVER_BYTE, F_WRLCK);
	if (late) {
		int result = sbx_wait_ms(NULL, SECOND_LOOK_MS, "an overdue freeze window", err);
		if (result != 0)
			return result;
		sbx_window_record_read(old, &record);
		late = record.until_ms == until_ms && sbx_window_record_overdue(&record) &&
		       still_there(old);
	}
	if (!late)
		return sbx_fail_kind(
			err, SBX_KIND_CONFLICT, EWOULDBLOCK, "the lock file %s is in use", name);
	sbx_log(SBX_LOG_WARNING,
		"the freeze window %s is overdue: its owner (pid %" PRId64
		") is suspended or stuck; the sandbox is resumed without it",
		name, record.owner_pid);
	sbx_window_owner_self(&record);
	sbx_window_record_promise(&record, SBX_WINDOW_LATE_MS); /* undoing begins at once */
	return replace_file(directory, name, &record, err);
}

static const char *const owed_words[] = { "clear", "owed asked", "owed paused" };

int sbx_window_record_write(
	int descriptor, const struct sbx_window_record *record, struct sbx_error *err)
{
	char text[RECORD_MAX];
	int length = snprintf(text, sizeof(text),
		"state %s\nowner %" PRId64 " %" PRId64 "\nsince %" PRId64 "\nuntil %" PRId64
		"\npid %" PRId64 "\nended %" PRId64 "\ndebt %" PRId64 "\nendpoint %s\nend\n",
		owed_words[record->owed], record->owner_pid, record->owner_start, record->since_ms,
		record->until_ms, record->container_pid, record->pace.ended_ms,
		record->pace.debt_ms, record->endpoint);
	if (length < 0 || (size_t)length >= sizeof(text))
		return sbx_fail(err, EIO, "a freeze window's record is too long");
	ssize_t written = pwrite(descriptor, text, (size_t)length, 0);
	if (written != length)
		return sbx_fail_errno(err, written < 0 ? errno : ENOSPC,
			"recording a freeze window in the state directory");
	return 0;
}

/* "key value" of one line of text, into out. */
static bool field(const char *text, const char *key, char *out, size_t size)
{
	size_t key_length = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, key_length) != 0 || line[key_length] != ' ')
			continue;
		const char *value = line + key_length + 1;
		size_t length = strcspn(value, "\n");
		if (length >= size)
			return false;
		memcpy(out, value, length);
		out[length] = '\0';
		return true;
	}
	return false;
}

static int64_t number(const char *text, const char *key)
{
	char value[64];
	long long out = 0;
	if (!field(text, key, value, sizeof(value)) || !sbx_text_to_int64(value, &out))
		return 0;
	return out;
}

static bool parse(char *text, struct sbx_window_record *out)
{
	/* What follows "end" is the rest of an older, longer record. */
	char *end = strstr(text, "\nend\n");
	if (!end)
		return false;
	end[1] = '\0';
	char state[32];
	if (!field(text, "state", state, sizeof(state)))
		return false;
	size_t word = 0;
	while (word < 3 && strcmp(state, owed_words[word]) != 0)
		word++;
	if (word == 3)
		return false;
	out->owed = (enum sbx_owed)word;
	char owner[64];
	if (field(text, "owner", owner, sizeof(owner))) {
		char *space = strchr(owner, ' ');
		long long pid = 0;
		long long start = 0;
		if (space) {
			*space = '\0';
			if (sbx_text_to_int64(owner, &pid) &&
				sbx_text_to_int64(space + 1, &start)) {
				out->owner_pid = pid;
				out->owner_start = start;
			}
		}
	}
	out->since_ms = number(text, "since");
	out->until_ms = number(text, "until");
	out->container_pid = number(text, "pid");
	out->pace.ended_ms = number(text, "ended");
	out->pace.debt_ms = number(text, "debt");
	(void)field(text, "endpoint", out->endpoint, sizeof(out->endpoint)); /* only shown */
	return true;
}

void sbx_window_record_read(int descriptor, struct sbx_window_record *out)
{
	*out = (struct sbx_window_record){ 0 };
	char text[RECORD_MAX + 1];
	ssize_t length = pread(descriptor, text, RECORD_MAX, 0);
	if (length == 0)
		return; /* made just now */
	if (length > 0) {
		text[length] = '\0';
		if (parse(text, out))
			return;
	}
	*out = (struct sbx_window_record){ 0 };
	sbx_log(SBX_LOG_WARNING, "a freeze window's record in the state directory is unreadable "
				 "and was taken as clear");
}

/* Field 22 of /proc/PID/stat; the command in field 2 may hold anything, so count from its last
 * parenthesis. 0: no such process, or a zombie, which holds no lock and pauses nobody. */
static int64_t start_time(int64_t pid)
{
	char path[64];
	char text[1024];
	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid); /* always fits */
	cleanup_close int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, sizeof(text) - 1);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	char *at = strrchr(text, ')');
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return 0;
	at += 2;
	for (int i = 3; i < 22 && at; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return 0;
	at[strcspn(at, " ")] = '\0';
	long long value = 0;
	return sbx_text_to_int64(at, &value) ? value : 0;
}

void sbx_window_owner_self(struct sbx_window_record *record)
{
	record->owner_pid = getpid();
	record->owner_start = start_time(record->owner_pid);
}

bool sbx_window_owner_alive(const struct sbx_window_record *record)
{
	int64_t start = record->owner_pid > 0 ? start_time(record->owner_pid) : 0;
	return start != 0 && start == record->owner_start;
}
