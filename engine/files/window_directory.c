/*
 * window_directory.c: where the lock files of freeze windows are (window.h).
 *
 * Whoever may use an engine must meet everybody else who may, or two of them freeze and resume one
 * sandbox at once. Where the engine's socket belongs to a group, they meet in a directory that
 * belongs to the same group and is closed to all others, in a place where anybody may make one: to
 * give it that group its maker must have been a member, or root, and so may use the engine anyway.
 * Another local user can take the name first, which gains nothing but that everybody stays with a
 * directory of their own; that is said.
 */
#include "window.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEETING_MODE 02770 /* files in it get its group */
#define MAKING_MS 200	   /* whoever makes one is not done at once */
#define MOST_GROUPS 1024

int sbx_window_directory(char *path, size_t size, struct sbx_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int length;
	if (geteuid() == 0)
		length = snprintf(path, size, "/run/sbxfs");
	else if (runtime && runtime[0] == '/')
		length = snprintf(path, size, "%s/sbxfs", runtime);
	else
		length = snprintf(path, size, "/tmp/sbxfs-%u", geteuid());
	if (length < 0 || (size_t)length >= size)
		return sbx_fail(err, ENAMETOOLONG, "the state directory's path is too long");
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return sbx_fail_errno(err, errno, "making the state directory %s", path);
	/* In /tmp somebody else may have made it first, or put a link there. */
	struct stat st;
	if (lstat(path, &st) != 0)
		return sbx_fail_errno(err, errno, "looking at the state directory %s", path);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return sbx_fail_kind(err, SBX_KIND_POLICY, EPERM,
			"the state directory %s is not a private directory of ours (0700)", path);
	return 0;
}

static bool is_member(gid_t group)
{
	gid_t groups[MOST_GROUPS];
	int count = getgroups(MOST_GROUPS, groups);
	if (geteuid() == 0 || getegid() == group)
		return true;
	for (int i = 0; i < count; i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* May the members of that group pass through every directory above path? A rootless engine's socket
 * is for the user's primary group as well, in a directory that only the user can enter: a group
 * that cannot come near the socket has no say in the windows. */
static bool reachable(const char *path, gid_t group)
{
	cleanup_free char *real = realpath(path, NULL);
	if (!real)
		return false;
	for (char *slash = strrchr(real, '/'); slash; slash = strrchr(real, '/')) {
		struct stat st;
		*slash = '\0';
		if (stat(*real ? real : "/", &st) != 0 ||
			!(st.st_mode & (st.st_gid == group ? S_IXGRP : S_IXOTH)))
			return false;
	}
	return true;
}

/* A socket that only its owner may use, or everybody, gives none. */
bool sbx_window_group(const struct sbx_endpoint *endpoint, unsigned *group)
{
	struct stat st;
	if (!endpoint->socket_path || stat(endpoint->socket_path, &st) != 0 ||
		!S_ISSOCK(st.st_mode) || (st.st_mode & 022) != 020)
		return false;
	*group = st.st_gid;
	return is_member(st.st_gid) && reachable(endpoint->socket_path, st.st_gid);
}

/* Root's, and everybody may make but not remove what is not theirs. The first that is, is the same
 * for all who look. */
static const char *meeting_place(void)
{
	static const char *const places[] = { "/run/lock", "/dev/shm", "/tmp" };
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct stat st;
		if (lstat(places[i], &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == 0 &&
			(st.st_mode & 07777) == 01777)
			return places[i];
	}
	return NULL;
}

/* Gives a directory that we have just made to the group, or one that we left unfinished, killed in
 * between. Nobody else's: its maker could still do as it likes in there. */
static int finish_meeting(const char *path, unsigned group, struct sbx_error *err)
{
	cleanup_close int directory = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	if (directory < 0 || fstat(directory, &st) != 0 || st.st_uid != geteuid() ||
		(st.st_mode & 07777) != 0700)
		return 0; /* whether it will do is looked at next */
	if (fchown(directory, (uid_t)-1, group) == 0 && fchmod(directory, MEETING_MODE) == 0)
		return 0;
	int result = sbx_fail_errno(err, errno, "making the state directory %s", path);
	(void)rmdir(path); /* in everybody's way; if it is not empty, it was not made just now */
	return result;
}

int sbx_window_meeting(
	const char *place, unsigned group, char *path, size_t size, struct sbx_error *err)
{
	int length = snprintf(path, size, "%s/sbxfs-group-%u", place, group);
	if (length < 0 || (size_t)length >= size)
		return sbx_fail(err, ENAMETOOLONG, "the state directory's path is too long");
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return sbx_fail_errno(err, errno, "making the state directory %s", path);
	int result = finish_meeting(path, group, err);
	if (result != 0)
		return result;
	for (int waited_ms = 0;; waited_ms += 20) {
		struct stat st;
		if (lstat(path, &st) != 0)
			return sbx_fail_errno(
				err, errno, "looking at the state directory %s", path);
		if (S_ISDIR(st.st_mode) && st.st_gid == group &&
			(st.st_mode & 07777) == MEETING_MODE)
			return 0;
		if (waited_ms >= MAKING_MS)
			return sbx_fail_kind(err, SBX_KIND_POLICY, EPERM,
				"%s is not a directory of the engine's group, closed to others: "
				"freeze windows of this user and of others on this engine do not "
				"know of each other",
				path);
		(void)poll(NULL, 0, 20); /* an early wake-up is fine */
	}
}

int sbx_window_directory_of(const struct sbx_endpoint *endpoint, char *path, size_t size,
	struct sbx_error *note, struct sbx_error *err)
{
	unsigned group;
	const char *place;
	if (sbx_window_group(endpoint, &group) && (place = meeting_place()) != NULL &&
		sbx_window_meeting(place, group, path, size, note) == 0)
		return 0;
	return sbx_window_directory(path, size, err);
}
