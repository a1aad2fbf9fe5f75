/*
 * window_tidy.c: removes lock files that nobody needs any more (window_lock.h).
 *
 * An engine that is gone for good leaves the files of its containers, so this looks at those of
 * every engine. What a file still says after ten minutes of no window is nothing: nothing is owed,
 * and the guest has had its time back. A record from before the machine started owes nothing
 * either. Anything else stays, however old: a paused container may come back with its engine.
 */
#include "window_lock.h"

#include "../base/alloc.h"
#include "../base/log.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define UNUSED_S 600
#define KEY_LENGTH 16
#define ID_LENGTH 64

static bool is_lock_file(const char *name)
{
	static const char hex[] = "0123456789abcdef";
	return strspn(name, hex) == KEY_LENGTH && name[KEY_LENGTH] == '-' &&
	       strspn(name + KEY_LENGTH + 1, hex) == ID_LENGTH && !name[KEY_LENGTH + 1 + ID_LENGTH];
}

/* The lock is held, so nobody who looks whether the file is still there uses it. */
static bool needed(int descriptor)
{
	struct sbx_window_record record;
	struct stat st;
	struct timespec now;
	sbx_window_record_read(descriptor, &record);
	if (record.owed != SBX_OWED_NOTHING)
		return record.since_ms <= sbx_pace_now_ms();
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	return fstat(descriptor, &st) != 0 || now.tv_sec - st.st_mtim.tv_sec < UNUSED_S;
}

void sbx_window_tidy(const char *directory)
{
	DIR *files = opendir(directory);
	struct dirent *file;
	while (files && (file = readdir(files))) {
		if (!is_lock_file(file->d_name))
			continue;
		struct sbx_error err = SBX_ERROR_INIT; /* in use, or gone: not ours to remove */
		cleanup_close int lock = sbx_window_lock_try(directory, file->d_name, &err);
		if (lock >= 0 && !needed(lock) && unlinkat(dirfd(files), file->d_name, 0) != 0)
			sbx_log(SBX_LOG_WARNING, "removing the unused lock file %s/%s: %m",
				directory, file->d_name);
	}
	if (files)
		(void)closedir(files); /* only read */
}
