/*
 * plane_stat.c: describing guest paths: the lexical rule, a walk, and the answer only once the
 * window is known to have held.
 */
#include "../base/alloc.h"
#include "guest_path.h"
#include "plane_command.h"
#include "walk.h"

#include <errno.h>
#include <string.h>

struct many {
	const char *const *paths;
	size_t first, done, count; /* this window begins at first and has come to done */
	struct sbx_stat *out;
	int *results;
	struct sbx_error *errors; /* or NULL */
};

/* A failure that the next path would only meet again. */
static bool ends_all(int result, const struct sbx_error *err)
{
	return result < 0 && (err->kind == SBX_KIND_GONE || err->kind == SBX_KIND_DEADLINE ||
				     err->kind == SBX_KIND_CANCELLED || result == -EHOSTDOWN);
}

static void set_result(struct many *many, size_t i, int result, const struct sbx_error *err)
{
	many->results[i] = result;
	if (many->errors)
		many->errors[i] = *err;
}

/* What a window that did not hold has shown is thrown away. */
static void forget(struct many *many, size_t first)
{
	for (size_t i = first; i < many->done; i++) {
		if (!many->results[i])
			sbx_stat_finish(&many->out[i]);
	}
	many->done = first;
}

/* As many as one window may be held for. */
static int stat_some(
	struct sbx_walk *walk, void *data, const struct sbx_call *call, struct sbx_error *err)
{
	struct many *many = data;
	int64_t until = sbx_clock_ms() + walk->plane->limits.max_hold_ms;
	forget(many, many->first);
	while (many->done < many->count) {
		size_t i = many->done;
		const char *path = many->paths[i];
		struct sbx_error own = SBX_ERROR_INIT;
		int result = *path ? sbx_guest_path_check(path, false, &own) : 0;
		if (!result)
			result = sbx_engine_explain_break(walk->plane->engine,
				sbx_walk_stat(walk, path, call, &many->out[i], &own), &own);
		set_result(many, i, result, &own);
		many->done++;
		if (ends_all(result, &own)) {
			*err = own;
			return result;
		}
		if (sbx_clock_ms() >= until)
			break;
	}
	return 0;
}

/* The lexical rule alone: is there anything to ask an engine for? */
static bool any_to_ask(struct many *many)
{
	bool any = false;
	for (size_t i = 0; i < many->count; i++) {
		struct sbx_error own = SBX_ERROR_INIT;
		const char *path = many->paths[i];
		set_result(many, i, *path ? sbx_guest_path_check(path, false, &own) : 0, &own);
		any = any || !many->results[i];
	}
	return any;
}

int sbx_plane_stat_many(struct sbx_plane *base, const char *const *paths, size_t count,
	const struct sbx_call *call, struct sbx_stat *out, int *results, struct sbx_error *errors,
	struct sbx_error *err)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	struct many many = {
		.paths = paths, .count = count, .out = out, .results = results, .errors = errors
	};
	struct sbx_error local = SBX_ERROR_INIT;
	int result = 0;
	if (!any_to_ask(&many))
		return 0;
	sbx_lane_stat_enter(plane);
	while (!result && many.done < count) {
		result = sbx_walk_run(plane, "stat", stat_some, &many, call, &local);
		many.first = many.done;
	}
	sbx_lane_stat_leave(plane);
	if (result < 0) {
		forget(&many, 0);
		for (size_t i = 0; i < count; i++)
			set_result(&many, i, result, &local);
		if (err)
			*err = local;
	}
	return result;
}

int sbx_plane_stat(struct sbx_plane *base, const char *path, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err)
{
	struct sbx_error own = SBX_ERROR_INIT;
	int own_result = 0;
	int result = sbx_plane_stat_many(base, &path, 1, call, out, &own_result, &own, err);
	if (!result && own_result < 0 && err)
		*err = own;
	return result < 0 ? result : own_result;
}

/* Where a window is open the walk in it costs nothing more, and less on Podman. */
bool sbx_plane_absent(struct sbx_plane *base, const char *path, const struct sbx_call *call)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	struct sbx_error ignored = SBX_ERROR_INIT; /* the walk in a window will say it */
	struct sbx_stat st;
	if (!*path || sbx_guest_path_check(path, false, &ignored) < 0 ||
		sbx_windows_joinable(plane->windows))
		return false;
	sbx_lane_stat_enter(plane);
	int result = sbx_plane_look(plane, NULL, path, call, &st, &ignored);
	sbx_lane_stat_leave(plane);
	if (!result)
		sbx_stat_finish(&st);
	return result == -ENOENT && ignored.kind == SBX_KIND_ABSENT;
}
