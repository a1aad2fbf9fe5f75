/* window_undo.c: see window_undo.h. Never unpauses but after an owed pause of ours. */
#include "window_undo.h"
#include "freezer.h"
#include "wait.h"
#include "window.h"

#include "../base/alloc.h"
#include "../base/log.h"
#include "../base/text.h"

#include <sbx/container.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SILENT_MS 5000 /* no answer for so long: the engine may be stuck on the freeze itself */
#define LATE_PAUSE_MS                                                                              \
	2000 /* an abandoned pause is carried out within this, or held by a lock that              \
		blocks our unpause too */
#define SWEEP_MS                                                                                   \
	6000 /* for one container of a sweep: silence, a look; then the others have their turn */
#define FIRST_NAP_MS 50
#define LONGEST_NAP_MS 1000
#define CONTRADICTION_MS 150

/* One unpause. 1: it was paused and runs now. 0: the engine says there is nothing to resume.
 * Else -errno: not known. */
static int unpause_once(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_call bounded = sbx_call_shorter(call, SILENT_MS);
	int result = sbx_container_unpause(engine, id, &bounded, err);
	if (result == 0)
		return 1;
	if (err->kind == SBX_KIND_CONFLICT || err->kind == SBX_KIND_ABSENT ||
		err->kind == SBX_KIND_GONE)
		return 0;
	return result;
}

static void thaw(struct sbx_engine *engine, const char *id, const struct sbx_window_record *record,
	const char *why)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int thawed = sbx_freezer_thaw(engine, id, record->container_pid, &err);
	if (thawed > 0)
		sbx_log(SBX_LOG_WARNING,
			"the engine %s container %.12s: thawed its cgroup directly", why, id);
	else if (thawed < 0)
		sbx_log(SBX_LOG_WARNING, "the engine %s container %.12s, and %s", why, id,
			err.message);
}

static enum sbx_state state_of(
	struct sbx_engine *engine, const char *id, const struct sbx_call *call)
{
	struct sbx_container container cleanup_with(sbx_container_finish) = { 0 };
	struct sbx_call bounded = sbx_call_shorter(call, SILENT_MS);
	/* A failed look proves nothing. */
	return sbx_container_inspect(engine, id, &bounded, &container, NULL) == 0
		       ? container.state
		       : SBX_STATE_UNKNOWN;
}

/* The cgroup is thawed and the engine refuses to resume it, since we, or another sbxfs, thawed it
 * directly: does it believe in its pause all the same? Not only for a moment, as while somebody
 * resumes it. Freezing it once more makes the engine resume it in earnest. Returns whether it did.
 */
static bool refrozen(struct sbx_engine *engine, const char *id,
	const struct sbx_window_record *record, const struct sbx_call *call)
{
	struct sbx_error err = SBX_ERROR_INIT;
	for (int look = 0; look < 3; look++) {
		if (state_of(engine, id, call) != SBX_STATE_PAUSED ||
			sbx_freezer_look(engine, id, record->container_pid) != SBX_FREEZER_THAWED ||
			sbx_wait_ms(call, CONTRADICTION_MS, "the engine", NULL) != 0)
			return false;
	}
	return sbx_freezer_refreeze(engine, id, record->container_pid, &err) > 0;
}

/* The engine says that there is nothing to resume. Is that so? On a busy machine Docker denies a
 * pause that it made a moment ago, and comes to know of it again later. */
static bool believable(struct sbx_engine *engine, const char *id,
	const struct sbx_window_record *record, int64_t watched_ms, const struct sbx_call *call)
{
	bool late_done = watched_ms >= LATE_PAUSE_MS;
	switch (sbx_freezer_look(engine, id, record->container_pid)) {
	case SBX_FREEZER_THAWED:
		return (record->owed == SBX_OWED_PAUSED || late_done) &&
		       !refrozen(engine, id, record, call);
	case SBX_FREEZER_FROZEN:
		if (late_done)
			thaw(engine, id, record, "denies that it paused");
		return false;
	case SBX_FREEZER_UNKNOWN:
		break;
	}
	return late_done || state_of(engine, id, call) == SBX_STATE_EXITED;
}

/* An unpause that was met with silence may still be waiting in the engine, which carries it out
 * when it can: another one behind it could end somebody else's pause. So the engine must speak
 * again first. 1: it has, and the container is paused. 0: it has, and it is not. -1: silence. */
static int after_silence(struct sbx_engine *engine, const char *id, const struct sbx_call *call)
{
	struct sbx_container container cleanup_with(sbx_container_finish) = { 0 };
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call bounded = sbx_call_shorter(call, SILENT_MS);
	if (sbx_container_inspect(engine, id, &bounded, &container, &err) != 0)
		return err.kind == SBX_KIND_ABSENT || err.kind == SBX_KIND_GONE ? 0 : -1;
	return container.state == SBX_STATE_PAUSED;
}

/* One unpause, or after silence a look first. As unpause_once. */
static int attempt(struct sbx_engine *engine, const char *id, bool silent,
	const struct sbx_call *call, struct sbx_error *err)
{
	int now = silent ? after_silence(engine, id, call) : 1;
	if (now < 0)
		return sbx_fail(err, ETIMEDOUT, "the engine does not answer");
	return now ? unpause_once(engine, id, call, err) : 0;
}

/* What one round of undoing may take: an unpause and an inspect, both met with silence, and a nap.
 */
#define ROUND_MS (2 * SILENT_MS + LONGEST_NAP_MS)

/* False: the debt is not ours any more. */
static bool renew(int lock, struct sbx_window_record *record)
{
	struct sbx_error err = SBX_ERROR_INIT;
	if (sbx_window_lock_taken(lock))
		return false;
	sbx_window_record_promise(record, ROUND_MS);
	if (sbx_window_record_write(lock, record, &err) != 0)
		sbx_log(SBX_LOG_WARNING, "%s", err.message);
	return true;
}

int sbx_window_undo(struct sbx_engine *engine, const char *id, int lock,
	struct sbx_window_record *record, const struct sbx_call *call, struct sbx_error *err)
{
	int64_t begun_ms = sbx_clock_ms();
	int64_t nap_ms = FIRST_NAP_MS;
	bool silent = false;
	for (;;) {
		struct sbx_error said = SBX_ERROR_INIT;
		int64_t watched_ms = sbx_clock_ms() - begun_ms;
		if (!renew(lock, record))
			return 0;
		int result = attempt(engine, id, silent, call, &said);
		if (result == 1 || said.kind == SBX_KIND_ABSENT || said.kind == SBX_KIND_GONE)
			return 0;
		if (result == 0 && believable(engine, id, record, watched_ms, call))
			return 0;
		silent = result == -ETIMEDOUT;
		if (silent)
			begun_ms = sbx_clock_ms(); /* what it has not done yet comes now */
		if (silent)
			thaw(engine, id, record, "is silent about resuming");
		result = sbx_wait_ms(call, nap_ms, "a paused sandbox to be resumed", err);
		if (result != 0) {
			if (err && said.errnum)
				(void)sbx_wrap(err, "%s", said.message); /* result is kept */
			return result;
		}
		nap_ms = nap_ms * 2 > LONGEST_NAP_MS ? LONGEST_NAP_MS : nap_ms * 2;
	}
}

int sbx_window_settle(struct sbx_engine *engine, const char *id, int descriptor,
	struct sbx_window_record *record, const struct sbx_call *call, struct sbx_error *err)
{
	if (record->owed == SBX_OWED_NOTHING)
		return 0;
	sbx_log(SBX_LOG_WARNING,
		"container %.12s was left in a freeze window by the process %lld: "
		"resuming it",
		id, (long long)record->owner_pid);
	int result = sbx_window_undo(engine, id, descriptor, record, call, err);
	if (result != 0)
		return result;
	/* The pace stays as it was: a crash is no reader's share. */
	record->owed = SBX_OWED_NOTHING;
	return sbx_window_record_write(descriptor, record, err);
}

static bool owes(int descriptor)
{
	struct sbx_window_record record;
	sbx_window_record_read(descriptor, &record);
	return record.owed != SBX_OWED_NOTHING;
}

/* The record of a file, whoever holds its lock. */
static bool read_unlocked(const char *directory, const char *name, struct sbx_window_record *record)
{
	cleanup_free char *path = sbx_printf("%s/%s", directory, name);
	cleanup_close int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file >= 0)
		sbx_window_record_read(file, record);
	return file >= 0;
}

/* Of a lock that is held: by the living, or by a dying owner whose files are not closed yet? */
static bool is_dying(const char *directory, const char *name)
{
	struct sbx_window_record record;
	return read_unlocked(directory, name, &record) && record.owed != SBX_OWED_NOTHING &&
	       !sbx_window_owner_alive(&record);
}

/* Of a lock that is held: by somebody who will not let go of it? */
static bool is_left(const char *directory, const char *name)
{
	struct sbx_window_record record;
	return is_dying(directory, name) ||
	       (read_unlocked(directory, name, &record) && sbx_window_record_overdue(&record));
}

/* 1: resumed, 0: nothing to do, -errno: still owed. */
static int sweep_file(struct sbx_engine *engine, const char *directory, const char *name,
	const char *id, const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_close int descriptor = sbx_window_lock_try(directory, name, err);
	struct sbx_window_record record;
	if (descriptor == -EWOULDBLOCK && is_dying(directory, name))
		return -EWOULDBLOCK;
	if (descriptor == -EWOULDBLOCK)
		descriptor = sbx_window_lock_take_over(directory, name, err);
	if (descriptor == -EWOULDBLOCK)
		return 0; /* the business of the living */
	if (descriptor == -ENOENT)
		return 0;
	if (descriptor < 0)
		return descriptor;
	sbx_window_record_read(descriptor, &record);
	if (record.owed == SBX_OWED_NOTHING)
		return 0;
	int result = sbx_window_settle(engine, id, descriptor, &record, call, err);
	return result == 0 ? 1 : result;
}

int sbx_window_sweep(struct sbx_engine *engine, const char *directory, const struct sbx_call *call,
	unsigned *pending, struct sbx_error *err)
{
	unsigned left = 0;
	int resumed = 0;
	cleanup_free char *prefix = sbx_printf("%s-", sbx_engine_key(engine));
	DIR *files = opendir(directory);
	if (!files)
		return sbx_fail_errno(err, errno, "reading the state directory %s", directory);
	struct dirent *file;
	while ((file = readdir(files))) {
		if (!sbx_text_has_prefix(file->d_name, prefix))
			continue;
		const char *id = file->d_name + strlen(prefix);
		struct sbx_error said = SBX_ERROR_INIT;
		struct sbx_call own = sbx_call_shorter(call, SWEEP_MS);
		int result = sweep_file(engine, directory, file->d_name, id, &own, &said);
		if (result > 0)
			resumed++;
		if (result >= 0)
			continue;
		left++;
		if (result != -EWOULDBLOCK)
			sbx_log(SBX_LOG_WARNING, "container %.12s may still be paused by us: %s",
				id, said.message);
	}
	(void)closedir(files); /* only read */
	if (pending)
		*pending = left;
	return resumed;
}

unsigned sbx_window_open(const char *directory, const char *key, unsigned *overdue)
{
	unsigned count = 0;
	*overdue = 0;
	cleanup_free char *prefix = sbx_printf("%s-", key);
	DIR *files = opendir(directory);
	struct dirent *file;
	while (files && (file = readdir(files))) {
		struct sbx_window_record record;
		if (!sbx_text_has_prefix(file->d_name, prefix) ||
			!read_unlocked(directory, file->d_name, &record))
			continue;
		count += record.owed != SBX_OWED_NOTHING;
		*overdue += sbx_window_record_overdue(&record);
	}
	if (files)
		(void)closedir(files); /* only read */
	return count;
}

bool sbx_window_has(const struct sbx_engine *engine, const char *id)
{
	char directory[256];
	struct sbx_window_record record;
	cleanup_free char *name = sbx_printf("%s-%s", sbx_engine_key(engine), id);
	return sbx_window_directory_of(sbx_engine_endpoint(engine), directory, sizeof(directory),
		       NULL, NULL) == 0 &&
	       read_unlocked(directory, name, &record) && record.owed != SBX_OWED_NOTHING;
}

unsigned sbx_window_owed(const char *directory, const char *key)
{
	unsigned owed = 0;
	cleanup_free char *prefix = sbx_printf("%s-", key);
	DIR *files = opendir(directory);
	struct dirent *file;
	while (files && (file = readdir(files))) {
		if (!sbx_text_has_prefix(file->d_name, prefix))
			continue;
		/* A lock that is held makes it somebody's own business, unless that one is dead. */
		struct sbx_error err = SBX_ERROR_INIT;
		cleanup_close int lock = sbx_window_lock_try(directory, file->d_name, &err);
		owed += lock >= 0 ? owes(lock) : is_left(directory, file->d_name);
	}
	if (files)
		(void)closedir(files); /* only read */
	return owed;
}
