/*
 * plane_command.c: remove, remove_dir and rename: the guest's own rm, rmdir and mv, run as the
 * guest's user, never as root for somebody who is not.
 *
 * The parents are walked first, so that a link among them is refused as everywhere else. That walk
 * cannot hold while the command runs, since in a frozen guest no command runs: whoever swaps a
 * parent in between redirects a command that can do no more than the guest's user could do itself.
 * What the host is told rests on a look afterwards.
 */
#include "plane_command.h"
#include "guest_exec.h"
#include "guest_path.h"
#include "walk.h"
#include "walked.h"

#include "../base/alloc.h"
#include "../base/buffer.h"

#include <errno.h>
#include <string.h>

#define SAID_MAX 512

static int collect(void *data, int stream, const char *bytes, size_t size)
{
	struct sbx_buffer *said = data;
	size_t room = SAID_MAX - said->size;
	if (stream == 2)
		(void)sbx_buffer_append(
			said, bytes, size < room ? size : room); /* within its limit */
	return 0;
}

/* What a command in the C locale says about why it failed. */
static int errno_of(const char *said)
{
	static const struct {
		const char *text;
		int errnum;
	} rows[] = {
		{ "Directory not empty", ENOTEMPTY },
		{ "Permission denied", EACCES },
		{ "Operation not permitted", EPERM },
		{ "Read-only file system", EROFS },
		{ "No space left on device", ENOSPC },
		{ "Not a directory", ENOTDIR },
		{ "Is a directory", EISDIR },
		{ "No such file or directory", ENOENT },
		{ "Device or resource busy", EBUSY },
		{ "File name too long", ENAMETOOLONG },
		{ "invalid date", EINVAL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(said, rows[i].text))
			return rows[i].errnum;
	return EIO;
}

static int judge(struct sbx_plane_archive *plane, const char *command, const char *what,
	int exit_code, const char *said, struct sbx_error *err)
{
	const char *name = plane->container.name;
	if (exit_code == 0)
		return 0;
	if (exit_code == 126 || exit_code == 127)
		return sbx_fail(err, EOPNOTSUPP,
			"%s: %s needs the command %s, which this image does not have", name, what,
			command);
	cleanup_free char *line = sbx_strndup(said, strcspn(said, "\n"));
	/* The guest's word for it: never "gone", "confined" or anything else that is ours to say.
	 */
	int errnum = errno_of(said);
	enum sbx_kind kind =
		errnum == EISDIR || errnum == ENOTDIR || errnum == EROFS || errnum == ENOENT
			? SBX_KIND_CONFLICT
		: errnum == EPERM || errnum == EACCES	 ? SBX_KIND_POLICY
		: errnum == ENOTEMPTY || errnum == EBUSY ? SBX_KIND_CONFLICT
							 : SBX_KIND_ENGINE;
	return sbx_fail_kind(err, kind, errnum, "%s: %s: the guest's %s ended with %d: %s", name,
		what, command, exit_code, line);
}

int sbx_plane_guest_command(struct sbx_plane_archive *plane, const char *const *argv,
	const char *what, const struct sbx_call *call, struct sbx_error *err)
{
	static const char *const environment[] = { "LC_ALL=C", NULL };
	const char *name = plane->container.name;
	unsigned uid;
	unsigned gid;
	int result =
		plane->host->guest_user(plane->host->data, plane->windows, call, &uid, &gid, err);
	if (result != 0)
		return result;
	cleanup_free char *user = sbx_printf("%u:%u", uid, gid);
	struct sbx_buffer said = { .limit = SAID_MAX };
	const struct sbx_exec exec = { .argv = argv,
		.user = user,
		.workdir = "/",
		.env = environment,
		.stdin_fd = -1,
		.output = collect,
		.data = &said };
	int exit_code = -1;
	struct sbx_error reason = SBX_ERROR_INIT;
	result = sbx_guest_exec(
		plane->engine, plane->container.id, &exec, call, &exit_code, NULL, &reason);
	if (result == 0)
		result = judge(plane, argv[0], what, exit_code, sbx_buffer_text(&said), &reason);
	else if (result == -ESRCH)
		result = sbx_fail(&reason, EOPNOTSUPP,
			"%s: %s needs the guest's own %s, and the sandbox does not run", name, what,
			argv[0]);
	else if (result == -EBUSY)
		result = sbx_fail(&reason, EBUSY,
			"%s: %s needs the guest's own %s, and somebody paused the sandbox", name,
			what, argv[0]);
	else
		result = sbx_engine_explain_break(
			plane->engine, sbx_wrap(&reason, "%s: %s", name, what), &reason);
	sbx_buffer_finish(&said);
	if (result != 0 && err)
		*err = reason;
	return result;
}

/* A walk without a window; see the top of this file. */
int sbx_plane_look(struct sbx_plane_archive *plane, const char *op, const char *path,
	const struct sbx_call *call, struct sbx_stat *out, struct sbx_error *err)
{
	struct sbx_walk walk = { .plane = plane, .op = op, .key = sbx_walked_key(plane->walked) };
	int result = sbx_walk_stat(&walk, path, call, out, err);
	sbx_walked_forget(plane->walked, walk.key);
	return result;
}

static int check_path(const char *path, const char *verb, struct sbx_error *err)
{
	if (!*path)
		return sbx_fail(err, EXDEV, "the work dir itself cannot be %s", verb);
	return sbx_guest_path_check(path, false, err);
}

/* 1 there, 0 not, -errno. */
static int look_type(struct sbx_plane_archive *plane, const char *op, const char *path,
	const struct sbx_call *call, enum sbx_type *type, struct sbx_error *err)
{
	struct sbx_stat st = { 0 };
	int result = sbx_plane_look(plane, op, path, call, &st, err);
	if (result == 0) {
		*type = st.type;
		sbx_stat_finish(&st);
		return 1;
	}
	if (result != -ENOENT)
		return result;
	sbx_error_clear(err);
	return 0;
}

static int prove_gone(struct sbx_plane_archive *plane, const char *op, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	enum sbx_type type = SBX_TYPE_FILE;
	int there = look_type(plane, op, path, call, &type, err);
	if (there > 0)
		return sbx_fail(err, EIO, "%s: \"%s\" is still there after the guest's command",
			plane->container.name, path);
	return there;
}

static int remove_by(struct sbx_plane_archive *plane, const char *path, const char *command,
	const char *option, const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_free char *whole = sbx_guest_path_join(plane->workdir, path);
	cleanup_free char *what = sbx_printf("removing \"%s\"", path);
	const char *const with_option[] = { command, option, "--", whole, NULL };
	const char *const without[] = { command, "--", whole, NULL };
	int result =
		sbx_plane_guest_command(plane, option ? with_option : without, what, call, err);
	if (result != 0)
		return result;
	return prove_gone(plane, "remove", path, call, err);
}

int sbx_plane_remove(struct sbx_plane *base, const char *path, bool recursive,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	enum sbx_type type = SBX_TYPE_FILE;
	int result = check_path(path, "removed", err);
	if (result != 0)
		return result;
	int there = look_type(plane, "remove", path, call, &type, err);
	if (there <= 0)
		return there;
	if (type == SBX_TYPE_DIR && !recursive)
		return sbx_fail(
			err, EISDIR, "%s: \"%s\" is a directory", plane->container.name, path);
	return remove_by(plane, path, "rm", recursive ? "-rf" : "-f", call, err);
}

int sbx_plane_remove_dir(struct sbx_plane *base, const char *path, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	enum sbx_type type = SBX_TYPE_FILE;
	int result = check_path(path, "removed", err);
	if (result != 0)
		return result;
	int there = look_type(plane, "remove", path, call, &type, err);
	if (there < 0)
		return there;
	if (!there)
		return sbx_fail(
			err, ENOENT, "%s: \"%s\" is not there", plane->container.name, path);
	if (type != SBX_TYPE_DIR)
		return sbx_fail(err, ENOTDIR, "%s: \"%s\" is a %s, not a directory",
			plane->container.name, path, sbx_type_name(type));
	return remove_by(plane, path, "rmdir", NULL, call, err);
}

/* What a rename may replace: nothing, a file by a file, an empty directory by a directory. A link
 * would send mv into the directory it points to. */
static int clear_target(struct sbx_plane_archive *plane, const char *to, enum sbx_type from_type,
	const struct sbx_call *call, struct sbx_error *err)
{
	const char *name = plane->container.name;
	enum sbx_type type = SBX_TYPE_FILE;
	int there = look_type(plane, "rename", to, call, &type, err);
	if (there <= 0)
		return there;
	if (type == SBX_TYPE_LINK) {
		struct sbx_walk walk = { .plane = plane, .op = "rename" };
		struct sbx_stat st = { .type = type };
		return sbx_walk_refuse_type(&walk, to, &st, err);
	}
	if (type != SBX_TYPE_DIR)
		return from_type != SBX_TYPE_DIR
			       ? 0
			       : sbx_fail(err, ENOTDIR, "%s: \"%s\" is a %s, not a directory", name,
					 to, sbx_type_name(type));
	if (from_type != SBX_TYPE_DIR)
		return sbx_fail(err, EISDIR, "%s: \"%s\" is a directory", name, to);
	return remove_by(plane, to, "rmdir", NULL, call, err);
}

/* mv may have gone into a directory that appeared meanwhile: then the old name is gone, too. */
static int prove_renamed(struct sbx_plane_archive *plane, const char *from, const char *to,
	enum sbx_type from_type, const struct sbx_call *call, struct sbx_error *err)
{
	int result = prove_gone(plane, "rename", from, call, err);
	if (result != 0)
		return result;
	enum sbx_type type = SBX_TYPE_FILE;
	int there = look_type(plane, "rename", to, call, &type, err);
	if (there < 0)
		return there;
	if (!there || type != from_type)
		return sbx_fail(err, EIO,
			"%s: after renaming \"%s\" to \"%s\" it is not there: the guest moved it "
			"meanwhile",
			plane->container.name, from, to);
	return 0;
}

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);
	return strncmp(path, directory, length) == 0 && path[length] == '/';
}

int sbx_plane_rename(struct sbx_plane *base, const char *from, const char *to,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	const char *name = plane->container.name;
	enum sbx_type type = SBX_TYPE_FILE;
	int result = check_path(from, "renamed", err);
	if (result == 0)
		result = check_path(to, "replaced", err);
	if (result != 0)
		return result;
	if (is_below(to, from))
		return sbx_fail(err, EINVAL, "%s: \"%s\" cannot be moved below itself", name, from);
	int there = look_type(plane, "rename", from, call, &type, err);
	if (there < 0)
		return there;
	if (!there)
		return sbx_fail(err, ENOENT, "%s: \"%s\" is not there", name, from);
	if (strcmp(from, to) == 0)
		return 0;
	result = clear_target(plane, to, type, call, err);
	if (result != 0)
		return result;
	cleanup_free char *whole_from = sbx_guest_path_join(plane->workdir, from);
	cleanup_free char *whole_to = sbx_guest_path_join(plane->workdir, to);
	cleanup_free char *what = sbx_printf("renaming \"%s\" to \"%s\"", from, to);
	/* Without -T, which not every busybox has; what it guards against was looked at above. */
	const char *const argv[] = { "mv", "-f", "--", whole_from, whole_to, NULL };
	result = sbx_plane_guest_command(plane, argv, what, call, err);
	if (result != 0)
		return result;
	return prove_renamed(plane, from, to, type, call, err);
}
