/*
 * umount.c: `sbxfs umount DIR`: waits for uploads, unmounts, and says what did not land.
 *
 * Only a mount of ours is touched: its type is looked up before anything is done to it.
 */
#include "mount_options.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../fs/mountpoint.h"
#include "../fs/pending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Where the mount keeps what has not landed, by its own word, which only a mount of ours has: what
 * another user's says could lead us anywhere. NULL: it does not say. */
static char *told_staging_dir(const char *directory)
{
	struct sbx_mount_entry entry;
	struct sbx_error err = SBX_ERROR_INIT;
	bool own = sbx_mount_find(directory, &entry) && entry.user == (long long)geteuid();
	sbx_mount_entry_finish(&entry);
	cleanup_free char *path = sbx_printf("%s/.sbxfs/stats.json", directory);
	cleanup_close int fd = own ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	char text[16384];
	size_t size = 0;
	for (ssize_t got = 1; fd >= 0 && got > 0 && size < sizeof(text); size += (size_t)got) {
		got = read(fd, text + size, sizeof(text) - size);
		if (got < 0)
			return NULL;
	}
	cleanup_json cJSON *stats =
		size ? sbx_json_parse(text, size, 8, "the mount's stats.json", &err) : NULL;
	const char *told = sbx_json_string(sbx_json_get(stats, "in"), "staging_dir");
	return told ? sbx_strdup(told) : NULL;
}

/* The daemon lets go of its store a moment after the mount is gone, or when it has given up an
 * engine that does not answer; a lazily unmounted one when its last file is closed. */
static int list_pending(const char *root, const char *directory, bool lazy,
	struct sbx_pending *pending, struct sbx_error *err)
{
	const int looks = lazy ? 50 : 300, looks_until_said = 20;
	const struct sbx_pending_filter filter = { .mount_dir = directory };
	for (int i = 0;; i++) {
		int rc = sbx_pending_list(root, &filter, pending, err);
		if (rc < 0 || !pending->live_count || i == looks)
			return rc;
		sbx_pending_finish(pending);
		if (i == looks_until_said && !lazy)
			(void)fprintf(stderr,
				"%s is unmounted; its process still ends what it has begun\n",
				directory); /* nowhere else to say it */
		(void)nanosleep(
			&(struct timespec){ .tv_nsec = 100000000 }, NULL); /* cut short is fine */
	}
}

/* After the unmounting. True: something that was to land has not, or nobody can tell. A file under
 * a saver's temporary name is kept as well, but was not meant to. */
static bool report_pending(
	const char *root, const char *directory, bool lazy, const struct sbx_error *sync_err)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_pending pending = { 0 };
	size_t left = 0;
	int rc = root ? list_pending(root, directory, lazy, &pending, &err) : 0;
	for (size_t i = 0; i < pending.count; i++) {
		const struct sbx_staged *staged = &pending.rows[i].staged;
		left += !staged->local;
		if (staged->local)
			sbx_tool_say_local(staged->sandbox_name, staged->path);
	}
	if (left)
		(void)fprintf(stderr,
			"%zu files written there have not landed; they are kept: see `sbxfs "
			"pending`\n",
			left); /* nowhere else to say it */
	else if (rc < 0)
		(void)fprintf(stderr,
			"whether all files written there have landed is unknown: %s\n",
			err.message); /* as above */
	else if (pending.live_count && !lazy)
		(void)fprintf(stderr,
			"the mount has not ended yet: what has not landed is shown by `sbxfs "
			"pending` then\n"); /* as above */
	else if (sync_err->errnum)
		(void)fprintf(stderr, "not everything written there has landed: %s\n",
			strerror(sync_err->errnum)); /* as above */
	bool unknown = rc < 0 || (pending.live_count && !lazy);
	sbx_pending_finish(&pending);
	return left || unknown || sync_err->errnum;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT, sync_err = SBX_ERROR_INIT;
	bool done, lazy = false, no_wait = false;
	const struct sbx_option table[] = {
		{ "lazy", 'z', SBX_OPTION_FLAG, &lazy },
		{ "no-wait", 0, SBX_OPTION_FLAG, &no_wait },
		{ 0 },
	};
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0 ||
		(!done && sbx_tool_operands(tool, 1, 1, &err) < 0))
		return sbx_tool_fail(tool, &err);
	if (done)
		return 0;
	const char *given = tool->operands.items[0];
	cleanup_free char *directory = sbx_mountpoint_of(given);
	if (!directory) {
		sbx_fail(&err, ENOENT, "no sbxfs is mounted on %s", given);
		return sbx_tool_fail(tool, &err);
	}
	/* --lazy is for a daemon that hangs, too, and asks it nothing. */
	cleanup_free char *told = lazy ? NULL : told_staging_dir(directory);
	/* A wrong configuration is no reason to keep a mount. */
	struct sbx_error no_root = SBX_ERROR_INIT;
	cleanup_free char *root = sbx_tool_staging_root(tool, told, &no_root);
	/* A dead mount answers ENOTCONN at once, and what it left is in its store; a failed upload
	 * is reported below. */
	if (!no_wait && !lazy && sbx_sync(directory, &sync_err) == -ENOTCONN)
		sbx_error_clear(&sync_err);
	if (sbx_mountpoint_unmount(directory, lazy, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (!root)
		(void)fprintf(stderr, "what has not landed cannot be looked for: %s\n",
			no_root.message); /* nowhere else to say it */
	return report_pending(root, directory, lazy, &sync_err) ? SBX_EXIT_PARTIAL : 0;
}

const struct sbx_tool_command sbx_tool_umount = {
	"umount",
	"DIR [--lazy]",
	"Unmounts: waits for uploads first, and says what did not land.",
	"\n  -z, --lazy             detach now, end when the last file there is closed\n"
	"  --no-wait              do not wait for uploads; what has not landed is kept for `sbxfs "
	"pending`\n\n"
	"Exit 3: no sbxfs is mounted there. 11: it is busy. 13: it is unmounted, and not "
	"everything has landed.\n",
	run,
};
