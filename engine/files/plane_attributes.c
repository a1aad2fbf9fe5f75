/*
 * plane_attributes.c: mode and mtime of a file by the guest's own chmod and touch, run as its user.
 *
 * An engine has no call for them. What plane_command.c says of its commands holds for these: the
 * parents and the file are looked at before, and what the host is told rests on a look afterwards.
 */
#include "plane_attributes.h"

#include "guest_path.h"
#include "plane_command.h"
#include "walk.h"

#include "../base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What it is now; only a regular file is changed, since both commands follow a link. */
static int look_at_file(struct sbx_plane_archive *plane, const char *path,
	const struct sbx_call *call, struct sbx_stat *out, struct sbx_error *err)
{
	struct sbx_stat st = { 0 };
	int result = sbx_plane_look(plane, "attributes", path, call, &st, err);
	if (result != 0)
		return result;
	if (st.type != SBX_TYPE_FILE) {
		struct sbx_walk walk = { .plane = plane, .op = "attributes" };
		result = sbx_walk_refuse_type(&walk, path, &st, err);
	}
	*out = st;
	out->link_target = NULL;
	sbx_stat_finish(&st);
	return result;
}

static int set_mode(struct sbx_plane_archive *plane, const char *whole, const char *what,
	uint32_t mode, const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_free char *octal = sbx_printf("0%o", mode & 0777);
	const char *const argv[] = { "chmod", "--", octal, whole, NULL };
	return sbx_plane_guest_command(plane, argv, what, call, err);
}

static int touch(struct sbx_plane_archive *plane, const char *whole, const char *what,
	const char *date, const struct sbx_call *call, struct sbx_error *err)
{
	/* -c: a file that was removed meanwhile is not made again, empty. Without -m, which not
	 * every busybox has: the time of the last access, which nobody is promised, goes along. */
	const char *const dated[] = { "touch", "-c", "-d", date, "--", whole, NULL };
	const char *const now[] = { "touch", "-c", "--", whole, NULL };
	return sbx_plane_guest_command(plane, date ? dated : now, what, call, err);
}

char *sbx_touch_date(int64_t mtime_s, int32_t mtime_ns)
{
	/* A fraction of a time before 1970 counts backwards for some: left out. */
	if (mtime_s < 0 || mtime_ns <= 0)
		return sbx_printf("@%" PRId64, mtime_s);
	return sbx_printf("@%" PRId64 ".%09" PRId32, mtime_s, mtime_ns);
}

/* GNU's touch takes a fraction of a second, busybox's calls such a date invalid and is then given
 * the whole second, for which it is asked at once the next time. */
static int set_mtime(struct sbx_plane_archive *plane, const char *whole, const char *what,
	const struct sbx_attributes *want, const struct sbx_call *call, struct sbx_error *err)
{
	if (want->now)
		return touch(plane, whole, what, NULL, call, err);
	bool cut = atomic_load(&plane->touch_cuts);
	cleanup_free char *date = sbx_touch_date(want->mtime_s, cut ? 0 : want->mtime_ns);
	int result = touch(plane, whole, what, date, call, err);
	if (result != -EINVAL || !strchr(date, '.'))
		return result;
	cleanup_free char *second = sbx_touch_date(want->mtime_s, 0);
	sbx_error_clear(err);
	result = touch(plane, whole, what, second, call, err);
	if (result == 0)
		atomic_store(&plane->touch_cuts, true);
	return result;
}

static int check(const struct sbx_plane_archive *plane, const char *path,
	const struct sbx_attributes *want, const struct sbx_stat *st, struct sbx_error *err)
{
	bool mode = !want->set_mode || (st->mode & 0777) == (want->mode & 0777);
	bool mtime = !want->set_mtime || want->now || st->mtime_s == want->mtime_s;
	if (mode && mtime)
		return 0;
	return sbx_fail(err, EIO, "%s: \"%s\" has another %s after the guest's %s",
		plane->container.name, path, mode ? "time" : "mode", mode ? "touch" : "chmod");
}

int sbx_plane_set_attributes(struct sbx_plane *base, const char *path,
	const struct sbx_attributes *want, const struct sbx_call *call, struct sbx_stat *before,
	struct sbx_stat *after, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	int result = sbx_guest_path_check(path, false, err);
	if (result == 0)
		result = look_at_file(plane, path, call, before, err);
	if (result != 0)
		return result;
	cleanup_free char *whole = sbx_guest_path_join(plane->workdir, path);
	cleanup_free char *what = sbx_printf("changing \"%s\"", path);
	if (want->set_mode)
		result = set_mode(plane, whole, what, want->mode, call, err);
	if (result == 0 && want->set_mtime)
		result = set_mtime(plane, whole, what, want, call, err);
	if (result == 0)
		result = look_at_file(plane, path, call, after, err);
	return result == 0 ? check(plane, path, want, after, err) : result;
}
