/* put_survey.c: see put_survey.h. */
#include "put_survey.h"
#include "account_guard.h"
#include "guest_path.h"
#include "put_plan.h"
#include "tar_read.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <string.h>

#define FEWEST_ITEMS 8
#define SPARE_BYTES (INT64_C(1) << 20)
/* What an engine sends in less time than one HEAD takes it: where the rest of the directory makes
 * more than that, the archive is cut and little was lost. */
#define ITEM_BYTES (INT64_C(64) << 10)

struct survey {
	const char *root; /* relative to the work dir */
	size_t root_length;
	struct sbx_put_item *const *items;
	size_t count;
	struct sbx_put_seen *seen;
	struct sbx_tar *tar;
	char *top; /* the root's own name in the archive */
	int64_t left;
	struct sbx_error err; /* why the reading ended; only ever a reason not to know */
};

size_t sbx_put_root(struct sbx_put_item *const *items, size_t count)
{
	const char *first = items[0]->path;
	size_t length = strlen(first);
	for (size_t i = 0; i < count; i++) {
		const char *path = items[i]->path;
		size_t own = items[i]->type == SBX_TYPE_DIR
				     ? strlen(path)
				     : sbx_put_parent_length(path, strlen(path));
		length = sbx_put_common_length(first, length, path, own);
	}
	return length;
}

static int by_path(const void *key, const void *item)
{
	return strcmp(key, (*(struct sbx_put_item *const *)item)->path);
}

/* The item at a path, or NULL. */
static struct sbx_put_seen *place(struct survey *survey, const char *path)
{
	struct sbx_put_item *const *found =
		bsearch(path, survey->items, survey->count, sizeof(*survey->items), by_path);
	return found ? &survey->seen[found - survey->items] : NULL;
}

/* An archive name as a path relative to the work dir; NULL: it does not belong here. */
static char *path_of(struct survey *survey, const struct sbx_tar_entry *entry)
{
	size_t length = strlen(entry->name);
	while (length && entry->name[length - 1] == '/')
		length--;
	if (!survey->top) {
		if (entry->type != '5' || memchr(entry->name, '/', length))
			return NULL;
		survey->top = sbx_strndup(entry->name, length);
		return sbx_strndup(survey->root, survey->root_length);
	}
	size_t top = strlen(survey->top);
	if (length <= top + 1 || strncmp(entry->name, survey->top, top) != 0 ||
		entry->name[top] != '/')
		return NULL;
	cleanup_free char *below = sbx_strndup(entry->name + top + 1, length - top - 1);
	cleanup_free char *root = sbx_strndup(survey->root, survey->root_length);
	return *root ? sbx_printf("%s/%s", root, below) : steal(&below);
}

static int on_entry(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	struct survey *survey = data;
	cleanup_free char *path = path_of(survey, entry);
	if (!path)
		return -1; /* not the archive that was asked for: nothing of it counts */
	struct sbx_put_seen *seen = place(survey, path);
	/* A hard link comes without its size, a link is judged by a HEAD. */
	if (seen && (entry->type == '0' || entry->type == '5'))
		*seen = (struct sbx_put_seen){ .known = true,
			.there = true,
			.type = entry->type == '5' ? SBX_TYPE_DIR : SBX_TYPE_FILE,
			.size = entry->size,
			.mtime_s = entry->mtime_s };
	/* Not even begun to be moved when it is too much. */
	return entry->size > survey->left ? 1 : 0;
}

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct survey *survey = data;
	survey->left -= (int64_t)size;
	return survey->left < 0 ? 1 : sbx_tar_feed(survey->tar, bytes, size, &survey->err);
}

static int64_t budget(struct sbx_put_item *const *items, size_t count)
{
	int64_t bytes = SPARE_BYTES;
	for (size_t i = 0; i < count; i++)
		bytes += ITEM_BYTES + items[i]->size; /* an upload is bounded in both */
	return bytes;
}

/* True when the whole archive has been seen. */
static bool read_archive(struct sbx_walk *walk, struct survey *survey, const struct sbx_call *call)
{
	static const struct sbx_tar_events events = { .entry = on_entry };
	struct sbx_plane_archive *plane = walk->plane;
	struct sbx_error ignored = SBX_ERROR_INIT;
	cleanup_free char *root = sbx_strndup(survey->root, survey->root_length);
	cleanup_free char *whole = sbx_guest_path_join(plane->workdir, root);
	survey->tar = sbx_tar_create(&events, survey);
	int result = sbx_archive_get(
		plane->engine, plane->container.id, whole, call, on_bytes, survey, &ignored);
	bool complete = result == 0 && sbx_tar_finish(survey->tar, &survey->err) == 0;
	sbx_tar_destroy(survey->tar);
	/* What stood in the archive of another place says nothing of this one. */
	if (result < 0 || !survey->top)
		memset(survey->seen, 0, survey->count * sizeof(*survey->seen));
	free(survey->top);
	return complete;
}

static int by_change(const void *key, const void *row)
{
	return strcmp(key, ((const struct sbx_change *)row)->path);
}

/* What the change list says of an item, or NULL. */
static const struct sbx_change *change_of(const struct sbx_plane_archive *plane,
	const struct sbx_put_item *item, const struct sbx_changes *changes)
{
	cleanup_free char *path = sbx_guest_path_join(plane->workdir, item->path);
	return !changes->count ? NULL
			       : bsearch(path, changes->rows, changes->count,
					 sizeof(*changes->rows), by_change);
}

/* Below a directory that the image does not have the change list names everything, sockets too, and
 * spells every name that is UTF-8 as it is: what it does not name is not there, and no archive is
 * needed to know that. Returns how many items are left. */
static size_t note_absent_of_new(const struct survey *survey, const struct sbx_plane_archive *plane,
	const char *root, const struct sbx_changes *changes)
{
	bool new = false;
	size_t left = survey->count;
	for (size_t i = 0; i < changes->count && !new; i++)
		new = changes->rows[i].kind == 1 &&
		      sbx_guest_path_within(root, changes->rows[i].path);
	for (size_t i = 0; i < survey->count && new; i++) {
		const struct sbx_put_item *item = survey->items[i];
		bool absent = sbx_utf8_valid(item->path, strlen(item->path)) &&
			      !change_of(plane, item, changes);
		survey->seen[i].known = absent;
		left -= absent;
	}
	return left;
}

/* Docker leaves sockets out of an archive, but not out of the changes: only what is in neither is
 * not there. */
static void note_absent(const struct survey *survey, const struct sbx_plane_archive *plane,
	const struct sbx_changes *changes)
{
	for (size_t i = 0; i < survey->count; i++) {
		const struct sbx_change *row = change_of(plane, survey->items[i], changes);
		if (!survey->seen[i].known && (!row || row->kind == 2))
			survey->seen[i].known = true;
	}
}

void sbx_put_survey(struct sbx_walk *walk, struct sbx_put_item *const *items, size_t count,
	bool absent, const struct sbx_call *call, struct sbx_put_seen *seen)
{
	struct sbx_error ignored = SBX_ERROR_INIT;
	struct sbx_stat st = { 0 };
	memset(seen, 0, count * sizeof(*seen));
	if (count < FEWEST_ITEMS || !(walk->ticket.frozen || walk->ticket.still))
		return;
	struct survey survey = { .root = items[0]->path,
		.root_length = sbx_put_root(items, count),
		.items = items,
		.count = count,
		.seen = seen,
		.left = budget(items, count) };
	/* Walked: the archive of a path with a link in it would be that of another place. */
	cleanup_free char *root = sbx_strndup(survey.root, survey.root_length);
	if (sbx_walk_stat(walk, root, call, &st, &ignored) < 0)
		return;
	bool directory = st.type == SBX_TYPE_DIR;
	sbx_stat_finish(&st);
	if (!directory)
		return;
	const struct sbx_plane_archive *plane = walk->plane;
	struct sbx_changes changes cleanup_with(sbx_changes_finish) = { 0 };
	cleanup_free char *whole = sbx_guest_path_join(plane->workdir, root);
	bool told = absent && sbx_archive_changes(plane->engine, plane->container.id, whole, call,
				      &changes, &ignored) == 0;
	size_t left = told ? note_absent_of_new(&survey, plane, whole, &changes) : count;
	if (left < FEWEST_ITEMS || sbx_account_guard_walk(walk, call, &ignored) < 0)
		return;
	if (read_archive(walk, &survey, call) && told)
		note_absent(&survey, plane, &changes);
}
