/* put_check.c: see put_check.h. What a link could redirect is refused here, while nothing in the
 * guest runs that could put one in afterwards. */
#include "put_check.h"
#include "guest_path.h"
#include "mounts.h"
#include "walk_changes.h"
#include "walked.h"

#include "../base/alloc.h"

#include <errno.h>
#include <string.h>

/* One directory on the way. THERE, MISSING, or -errno. */
static int look_at_directory(struct sbx_walk *walk, struct sbx_put_plan *plan, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat st = { 0 };
	cleanup_free char *whole = sbx_guest_path_join(walk->plane->workdir, path);
	int result = 0;
	if (sbx_walked_has(walk->plane->walked, walk->key, whole))
		st.type = SBX_TYPE_DIR;
	else
		result = sbx_walk_stat(walk, path, call, &st, err);
	if (result == -ENOENT && *path) {
		sbx_put_note(plan, path, SBX_PUT_MISSING);
		return SBX_PUT_MISSING;
	}
	if (result != 0)
		return result;
	enum sbx_type type = st.type;
	if (type == SBX_TYPE_LINK)
		result = sbx_walk_refuse_type(walk, path, &st, err);
	sbx_stat_finish(&st);
	if (result != 0)
		return result;
	if (type != SBX_TYPE_DIR)
		return sbx_fail(err, ENOTDIR, "%s: \"%s\" is a %s, not a directory",
			walk->plane->container.name, path, sbx_type_name(type));
	sbx_put_note(plan, path, SBX_PUT_THERE);
	return SBX_PUT_THERE;
}

/* The directories of an item from the work dir down. THERE when all are, else MISSING, all missing
 * ones noted. */
static int look_at_parents(struct sbx_walk *walk, struct sbx_put_plan *plan, const char *item_path,
	const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_free char *path = sbx_strdup(item_path);
	int found = sbx_put_directory(plan, "");
	if (found == SBX_PUT_UNKNOWN)
		found = look_at_directory(walk, plan, "", call, err);
	for (char *slash = strchr(path, '/'); slash && found >= 0; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int known = (int)sbx_put_directory(plan, path);
		if (known != SBX_PUT_UNKNOWN) {
			found = known;
		} else if (found == SBX_PUT_MISSING) {
			sbx_put_note(plan, path, SBX_PUT_MISSING);
		} else {
			found = look_at_directory(walk, plan, path, call, err);
		}
		*slash = '/';
	}
	return found;
}

/* Items come sorted, so the sends are sorted, too. */
static const struct sbx_put_item *planned(
	const struct sbx_put_plan *plan, const char *path, size_t length)
{
	size_t low = 0, high = plan->send_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *there = plan->sends[middle].item->path;
		int order = strncmp(there, path, length);
		if (order == 0 && !there[length])
			return plan->sends[middle].item;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Within one upload: nothing twice, nothing below a file. */
static int check_against_plan(
	const struct sbx_put_plan *plan, const struct sbx_put_item *item, struct sbx_error *err)
{
	if (planned(plan, item->path, strlen(item->path)))
		return sbx_fail(err, EINVAL, "\"%s\" is in one upload twice", item->path);
	for (const char *slash = strchr(item->path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const struct sbx_put_item *above =
			planned(plan, item->path, (size_t)(slash - item->path));
		if (above && above->type == SBX_TYPE_FILE)
			return sbx_fail(err, ENOTDIR, "\"%s\" lies below a file of the same upload",
				item->path);
	}
	return 0;
}

/* By what a survey has seen of it, else by a HEAD. */
static int stat_item(struct sbx_walk *walk, const struct sbx_put_item *item,
	const struct sbx_put_seen *seen, const struct sbx_call *call, struct sbx_stat *st,
	struct sbx_error *err)
{
	if (!seen->known)
		return sbx_walk_stat(walk, item->path, call, st, err);
	if (!seen->there)
		return sbx_fail(err, ENOENT, "%s: \"%s\" is not there", walk->plane->container.name,
			item->path);
	*st = (struct sbx_stat){ .type = seen->type, .size = seen->size, .mtime_s = seen->mtime_s };
	return 0;
}

static int look_at_leaf(struct sbx_walk *walk, struct sbx_put_plan *plan, struct sbx_put_item *item,
	const struct sbx_put_seen *seen, const struct sbx_call *call, struct sbx_error *err)
{
	const char *name = walk->plane->container.name;
	struct sbx_stat st cleanup_with(sbx_stat_finish) = { 0 };
	int result = stat_item(walk, item, seen, call, &st, err);
	if (result == -ENOENT) {
		if (item->type == SBX_TYPE_DIR)
			sbx_put_note(plan, item->path, SBX_PUT_MISSING);
		sbx_put_send(plan, item, NULL);
		return 0;
	}
	if (result != 0)
		return result;
	enum sbx_type type = st.type;
	if (type == SBX_TYPE_LINK || (item->type == SBX_TYPE_FILE && type != SBX_TYPE_FILE))
		result = sbx_walk_refuse_type(walk, item->path, &st, err);
	else if (item->type == SBX_TYPE_DIR && type != SBX_TYPE_DIR)
		result = sbx_fail(err, EEXIST, "%s: \"%s\" is there already and is a %s", name,
			item->path, sbx_type_name(type));
	else if (item->only_new)
		result = sbx_fail(err, EEXIST,
			"%s: \"%s\" was made in the sandbox meanwhile and is not replaced", name,
			item->path);
	if (result != 0)
		return result;
	/* A directory that exists keeps its owner and mode: it is not sent unasked. */
	if (type == SBX_TYPE_DIR)
		sbx_put_note(plan, item->path, SBX_PUT_THERE);
	item->kept = type == SBX_TYPE_DIR;
	if (type != SBX_TYPE_DIR || item->attributes)
		sbx_put_send(plan, item, &st);
	return 0;
}

/* Whether what is above the item is still to be asked for: not below what is missing, nor in a
 * directory that an item before it was in. */
static bool parents_unknown(const struct sbx_put_plan *plan, const char *item_path)
{
	cleanup_free char *path = sbx_strdup(item_path);
	bool first = true;
	for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		enum sbx_put_found found = sbx_put_directory(plan, path);
		if (found != SBX_PUT_UNKNOWN)
			return found == SBX_PUT_THERE && !first;
		first = false;
	}
	return true;
}

int sbx_put_look(struct sbx_walk *walk, struct sbx_put_plan *plan, struct sbx_put_item *item,
	const struct sbx_put_seen *seen, const struct sbx_call *call, struct sbx_error *err)
{
	const struct sbx_plane_archive *plane = walk->plane;
	cleanup_free char *whole = sbx_guest_path_join(plane->workdir, item->path);
	int result = sbx_mounts_check(&plane->container, whole, err);
	if (result != 0)
		return sbx_wrap(err, "%s", plane->container.name);
	result = check_against_plan(plan, item, err);
	if (result != 0)
		return result;
	struct sbx_put_seen absent = { .known = true };
	if (!seen->known && parents_unknown(plan, item->path) &&
		sbx_walk_by_changes(walk, whole, call))
		seen = &absent;
	result = look_at_parents(walk, plan, item->path, call, err);
	if (result < 0)
		return result;
	if (result == SBX_PUT_THERE)
		return look_at_leaf(walk, plan, item, seen, call, err);
	if (item->type == SBX_TYPE_DIR)
		sbx_put_note(plan, item->path, SBX_PUT_MISSING);
	sbx_put_send(plan, item, NULL);
	return 0;
}

int sbx_put_verify(struct sbx_walk *walk, const struct sbx_put_send *send,
	const struct sbx_put_seen *seen, const struct sbx_call *call, struct sbx_error *err)
{
	const char *name = walk->plane->container.name;
	const struct sbx_put_item *item = send->item;
	struct sbx_stat st = { 0 };
	int result = stat_item(walk, item, seen, call, &st, err);
	if (result == -ENOENT || result == -ELOOP || result == -ENOTDIR)
		return sbx_fail(err, EIO,
			"%s: the engine accepted \"%s\", but it is not there: it may have gone "
			"elsewhere",
			name, item->path);
	if (result != 0)
		return result;
	bool same = st.type == item->type && (item->type != SBX_TYPE_FILE || st.size == item->size);
	long long size = (long long)st.size;
	enum sbx_type type = st.type;
	bool old = sbx_put_time_tells(send) && st.mtime_s == send->old_mtime_s;
	sbx_stat_finish(&st);
	if (same && old)
		return sbx_fail(err, EIO,
			"%s: the engine accepted \"%s\", but what is there is still the old file",
			name, item->path);
	if (same)
		return 0;
	return sbx_fail(err, EIO,
		"%s: the engine accepted \"%s\" (%lld bytes), but what is there is a %s of %lld "
		"bytes",
		name, item->path, (long long)item->size, sbx_type_name(type), size);
}
