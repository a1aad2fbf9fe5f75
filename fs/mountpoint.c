/* mountpoint.c: see mountpoint.h. */
#include "mountpoint.h"

#include "fs.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

static const char our_type[] = "fuse.sbxfs";
enum { REAPER_MS = 3000 }; /* it acts at once; this is for a machine that is busy */

void sbx_mount_entry_finish(struct sbx_mount_entry *entry)
{
	free(entry->type);
	free(entry->device);
	memset(entry, 0, sizeof(*entry));
}

/* The kernel writes space, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
	char *out = text;
	for (const char *in = text; *in; out++) {
		if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] && in[3]) {
			*out = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

/* One line of mountinfo: "ID PARENT MAJ:MIN ROOT POINT OPTIONS [FIELD…] - TYPE SOURCE OPTIONS". */
static bool read_line(char *line, const char *path, struct sbx_mount_entry *out)
{
	char *fields[5];
	char *rest = line;
	for (size_t i = 0; i < 5; i++) {
		fields[i] = strsep(&rest, " ");
		if (!rest)
			return false;
	}
	unescape(fields[4]);
	char *type = strstr(rest, " - ");
	if (!type || !strchr(type + 3, ' ') || strcmp(fields[4], path) != 0)
		return false;
	type += 3;
	sbx_mount_entry_finish(out);
	out->device = sbx_strdup(fields[2]);
	out->type = sbx_strndup(type, strcspn(type, " "));
	/* In the last field, the kernel's own: in no other may these words be somebody's text. */
	const char *user = strstr(strrchr(type, ' '), "user_id=");
	out->user = user ? strtoll(user + strlen("user_id="), NULL, 10) : -1;
	return true;
}

bool sbx_mount_find(const char *path, struct sbx_mount_entry *out)
{
	memset(out, 0, sizeof(*out));
	FILE *file = fopen("/proc/self/mountinfo", "re");
	if (!file)
		return false;
	char *line = NULL;
	size_t size = 0;
	while (getline(&line, &size, file) > 0)
		(void)read_line(line, path, out); /* the last that fits is the topmost */
	free(line);
	(void)fclose(file); /* only read */
	return out->type;
}

bool sbx_mountpoint_is_descriptor(const char *path)
{
	return sbx_text_has_prefix(path, "/dev/fd/");
}

static int busy(const char *path, struct sbx_error *err)
{
	return sbx_fail(err, EBUSY, "%s is busy: close what is open there, or use --lazy", path);
}

static int run_fusermount(const char *path, bool lazy, struct sbx_error *err)
{
	/* posix_spawn takes them as writable and leaves them alone. */
	const char *const argv[] = { "fusermount3", lazy ? "-uzq" : "-uq", "--", path, NULL };
	const char *const environment[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	pid_t pid;
	int status = 0;
	int rc = posix_spawnp(
		&pid, argv[0], NULL, NULL, (char *const *)argv, (char *const *)environment);
	if (rc)
		return sbx_fail_errno(err, rc, "fusermount3 (package fuse3)");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return sbx_fail_errno(err, errno, "fusermount3");
	return status ? busy(path, err) : 0;
}

int sbx_mountpoint_unmount(const char *path, bool lazy, struct sbx_error *err)
{
	if (geteuid() != 0)
		return run_fusermount(path, lazy, err);
	if (umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
		return 0;
	return errno == EBUSY ? busy(path, err) : sbx_fail_errno(err, errno, "%s: unmount", path);
}

/* As realpath, for a path whose last part cannot be looked at. NULL with errno. */
static char *resolve_parent(const char *path)
{
	char resolved[PATH_MAX];
	cleanup_free char *copy = sbx_strdup(path);
	size_t length = strlen(copy);
	while (length > 1 && copy[length - 1] == '/')
		copy[--length] = '\0';
	char *slash = strrchr(copy, '/');
	const char *name = slash ? slash + 1 : copy;
	if (slash)
		*slash = '\0';
	const char *parent = !slash ? "." : (*copy ? copy : "/");
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return realpath(path, NULL);
	if (!realpath(parent, resolved))
		return NULL;
	return sbx_printf("%s/%s", strcmp(resolved, "/") == 0 ? "" : resolved, name);
}

bool sbx_mountpoint_is_ours(const char *path)
{
	struct sbx_mount_entry entry;
	bool ours = sbx_mount_find(path, &entry) && strcmp(entry.type, our_type) == 0;
	sbx_mount_entry_finish(&entry);
	return ours;
}

char *sbx_mountpoint_of(const char *path)
{
	cleanup_free char *named = resolve_parent(path);
	if (named && sbx_mountpoint_is_ours(named))
		return steal(&named);
	cleanup_free char *target = realpath(path, NULL);
	return target && sbx_mountpoint_is_ours(target) ? steal(&target) : NULL;
}

/* stat alone may be answered from the kernel's cache; statfs never is. Sets errno. */
static bool is_dead(const char *path)
{
	struct statfs fs;
	return statfs(path, &fs) < 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

/* After a daemon that died: its mount answers ENOTCONN to everybody. Only ours is touched. Its
 * reaper is about to take it away: a mount made meanwhile may get the same device number, and the
 * reaper would take that for the dead one. */
static int replace_dead(const char *path, struct sbx_error *err)
{
	if (!sbx_mountpoint_is_ours(path))
		return sbx_fail(err, EBUSY,
			"%s: a mount that is not ours is there and its daemon is dead", path);
	for (int i = 0; i < REAPER_MS / 50; i++) {
		if (!is_dead(path))
			return 0;
		(void)usleep(50 * 1000); /* shortened by a signal: no harm */
	}
	sbx_log(SBX_LOG_WARNING, "%s: replacing the mount of a daemon that died", path);
	return sbx_mountpoint_unmount(path, true, err);
}

static int check_empty(const char *path, struct sbx_error *err)
{
	DIR *directory = opendir(path);
	if (!directory)
		return sbx_fail_errno(err, errno, "%s", path);
	const struct dirent *entry;
	bool empty = true;
	while (empty && (entry = readdir(directory)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	(void)closedir(directory); /* only read */
	return empty ? 0 : sbx_fail(err, ENOTEMPTY, "%s: the directory is not empty", path);
}

int sbx_mountpoint_prepare(const char *path, char **out, struct sbx_error *err)
{
	char resolved[PATH_MAX];
	struct stat st;
	if (sbx_mountpoint_is_descriptor(path)) {
		*out = sbx_strdup(path);
		return 0;
	}
	if (access("/dev/fuse", F_OK) < 0)
		return sbx_fail(err, EOPNOTSUPP,
			"/dev/fuse is not there: the fuse module is not loaded, or this container "
			"has no such device (--device /dev/fuse --cap-add "
			"SYS_ADMIN)" SBX_MOUNTPOINT_OTHERWISE);
	if (stat(path, &st) == 0 && !is_dead(path)) {
		if (!realpath(path, resolved))
			return sbx_fail_errno(err, errno, "%s", path);
		*out = sbx_strdup(resolved);
	} else if (errno == ENOTCONN || errno == ECONNABORTED) {
		*out = resolve_parent(path);
		if (!*out)
			return sbx_fail_errno(err, errno, "%s", path);
		int rc = replace_dead(*out, err);
		if (rc)
			return rc;
		if (stat(*out, &st) < 0)
			return sbx_fail_errno(err, errno, "%s", path);
	} else {
		return sbx_fail_errno(err, errno, "%s", path);
	}
	if (!S_ISDIR(st.st_mode))
		return sbx_fail(err, ENOTDIR, "%s: not a directory", path);
	if (sbx_mountpoint_is_ours(*out))
		return sbx_fail(err, EBUSY, "%s: sbxfs is mounted there already", path);
	if (access(*out, W_OK) < 0)
		return sbx_fail_errno(err, errno, "%s: may not mount there", path);
	return check_empty(*out, err);
}
