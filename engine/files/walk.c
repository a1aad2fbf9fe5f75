/*
 * walk.c: see walk.h.
 *
 * Engines follow links in the middle of a path (and Podman at its end), so a path is given to one
 * only after every component has been described by itself. Nothing here may turn an engine's
 * failure into "not there".
 */
#include "walk.h"

#include "../base/alloc.h"
#include "../base/text.h"
#include "guest_path.h"
#include "mounts.h"
#include "walk_changes.h"
#include "walked.h"

#include <errno.h>
#include <string.h>

int sbx_walk_begin(struct sbx_walk *walk, struct sbx_plane_archive *plane,
	enum sbx_window_kind kind, const char *op, const struct sbx_call *call,
	struct sbx_error *err)
{
	*walk = (struct sbx_walk){ .plane = plane, .op = op };
	int result = sbx_window_enter(plane->windows, kind, call, &walk->ticket, err);
	if (result < 0)
		return result;
	/* Only in a window of ours is it known from when to when nothing ran. */
	walk->key = walk->ticket.frozen ? walk->ticket.serial : sbx_walked_key(plane->walked);
	walk->remembers = walk->ticket.frozen && kind == SBX_WINDOW_READ;
	return 0;
}

int sbx_walk_holds(struct sbx_walk *walk, struct sbx_error *err)
{
	if (sbx_window_holds(walk->plane->windows, &walk->ticket))
		return 0;
	return sbx_fail_kind(err, SBX_KIND_CHANGED, ESTALE,
		"%s was resumed while it was being read or written", walk->plane->container.name);
}

int sbx_walk_confirm(struct sbx_walk *walk, const struct sbx_call *call, struct sbx_error *err)
{
	return sbx_window_check(walk->plane->windows, &walk->ticket, call, err);
}

int sbx_walk_end(
	struct sbx_walk *walk, bool confirm, const struct sbx_call *call, struct sbx_error *err)
{
	int result = sbx_window_leave(walk->plane->windows, &walk->ticket, confirm, call, err);
	if (result < 0)
		sbx_walked_forget(walk->plane->walked, walk->key);
	return result;
}

static void audit(
	const struct sbx_walk *walk, const char *path, const char *component, const char *what)
{
	const struct sbx_plane_host *host = walk->plane->host;
	if (walk->op && host && host->audit)
		host->audit(host->data, walk->op, path, component, what);
}

/* Said in the words of whoever asked, who knows the sandbox by its name.
 *
 * Podman cannot pass on a name that is not UTF-8 while the sandbox is paused, and says "not there":
 * that is no statement about the file. */
static int absent(const struct sbx_plane_archive *plane, const char *path, struct sbx_error *err)
{
	if (!sbx_engine_is_podman(plane->engine) || sbx_utf8_valid(path, strlen(path)))
		return sbx_fail(
			err, ENOENT, "there is no %s in sandbox %s", path, plane->container.name);
	return sbx_fail(err, EILSEQ, "%s: Podman cannot be asked for %s, which is not UTF-8",
		plane->container.name, path);
}

/* One component: described by the engine, and a loop of links is a refusal of ours, too. */
static int describe(struct sbx_walk *walk, const char *path, const char *component,
	const struct sbx_call *call, struct sbx_stat *out, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = walk->plane;
	int result =
		sbx_archive_head(plane->engine, plane->container.id, component, call, out, err);
	if (result == -ELOOP)
		audit(walk, path, component, "symlink");
	return result == -ENOENT ? absent(plane, component, err) : result;
}

static int check_parent(struct sbx_walk *walk, const char *path, const char *component,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = walk->plane;
	if (sbx_walked_has(plane->walked, walk->key, component))
		return 0;
	struct sbx_stat st;
	uint64_t generation = sbx_walked_generation(plane->walked);
	int result = describe(walk, path, component, call, &st, err);
	if (result < 0)
		return result;
	enum sbx_type type = st.type;
	if (walk->remembers && type == SBX_TYPE_DIR)
		sbx_walked_add_stat(plane->walked, walk->key, generation, component, &st);
	else if (type == SBX_TYPE_DIR)
		sbx_walked_add(plane->walked, walk->key, component);
	sbx_stat_finish(&st);
	if (type == SBX_TYPE_LINK) {
		audit(walk, path, component, "symlink");
		return sbx_fail(err, ELOOP, "%s: %s on the way to \"%s\" is a symlink",
			plane->container.name, component, path);
	}
	if (type != SBX_TYPE_DIR)
		return sbx_fail(err, ENOTDIR,
			"%s: %s on the way to \"%s\" is a %s, not a directory",
			plane->container.name, component, path, sbx_type_name(type));
	return 0;
}

int sbx_walk_stat(struct sbx_walk *walk, const char *path, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = walk->plane;
	cleanup_free char *whole = sbx_guest_path_join(plane->workdir, path);
	int result = sbx_mounts_check(&plane->container, whole, err);
	if (result < 0)
		return sbx_wrap(err, "%s", plane->container.name);
	bool gone = sbx_walk_by_changes(walk, whole, call);
	/* "/" itself can be nothing but a directory. */
	for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		result = check_parent(walk, path, whole, call, err);
		*slash = '/';
		if (result < 0)
			return result;
	}
	/* Below a link it would be absent as well. */
	if (gone)
		return absent(plane, whole, err);
	if (walk->remembers && sbx_walked_stat(plane->walked, walk->key, whole, out))
		return 0;
	uint64_t generation = sbx_walked_generation(plane->walked);
	result = describe(walk, path, whole, call, out, err);
	if (result < 0)
		return result;
	if (walk->remembers)
		sbx_walked_add_stat(plane->walked, walk->key, generation, whole, out);
	else if (out->type == SBX_TYPE_DIR)
		sbx_walked_add(plane->walked, walk->key, whole);
	return 0;
}

int sbx_walk_child(struct sbx_walk *walk, const char *directory, const char *name,
	const struct sbx_call *call, struct sbx_stat *out, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = walk->plane;
	cleanup_free char *whole = sbx_guest_path_join(directory, name);
	int result = sbx_archive_head(plane->engine, plane->container.id, whole, call, out, err);
	return result == -ENOENT ? absent(plane, whole, err) : result;
}

int sbx_walk_refuse_type(
	struct sbx_walk *walk, const char *path, const struct sbx_stat *st, struct sbx_error *err)
{
	const char *name = walk->plane->container.name;
	if (st->type == SBX_TYPE_LINK) {
		cleanup_free char *whole = sbx_guest_path_join(walk->plane->workdir, path);
		audit(walk, path, whole, "symlink");
		return sbx_fail(
			err, ELOOP, "%s: \"%s\" is a symlink, which is never followed", name, path);
	}
	if (st->type == SBX_TYPE_DIR)
		return sbx_fail(err, EISDIR, "%s: \"%s\" is a directory", name, path);
	return sbx_fail(
		err, ENXIO, "%s: \"%s\" is a %s, not a file", name, path, sbx_type_name(st->type));
}

/* Is the outcome a statement about the guest's files, or did the request not get that far? */
static bool says_something(int result, const struct sbx_error *err)
{
	return result >= 0 || (err->kind != SBX_KIND_DEADLINE && err->kind != SBX_KIND_CANCELLED &&
				      err->kind != SBX_KIND_GONE);
}

static int run_once(struct sbx_plane_archive *plane, const char *op, sbx_walk_fn fn, void *data,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_walk walk;
	int result = sbx_walk_begin(&walk, plane, SBX_WINDOW_READ, op, call, err);
	if (result < 0)
		return result;
	result = fn(&walk, data, call, err);
	struct sbx_error leaving = SBX_ERROR_INIT;
	int left = sbx_walk_end(&walk, says_something(result, err), call, &leaving);
	/* What an unconfirmed window showed does not count; else the first failure is the one. */
	if (left < 0 && (result >= 0 || leaving.kind == SBX_KIND_CHANGED)) {
		*err = leaving;
		return left;
	}
	return result;
}

int sbx_walk_run(struct sbx_plane_archive *plane, const char *op, sbx_walk_fn fn, void *data,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	int result = run_once(plane, op, fn, data, call, &local);
	if (result == -ESTALE && local.kind == SBX_KIND_CHANGED) {
		sbx_error_clear(&local);
		result = run_once(plane, op, fn, data, call, &local);
	}
	result = sbx_engine_explain_break(plane->engine, result, &local);
	if (result < 0 && err)
		*err = local;
	return result;
}
