/* walk_changes.c: see walk_changes.h. */
#include "walk_changes.h"

#include "../base/alloc.h"
#include "../base/text.h"
#include "change_names.h"
#include "guest_path.h"
#include "walked.h"

#include <string.h>

enum {
	LISTS = 8,	     /* of one walk: a guest can make each last nearly as long as it may */
	WORTH = 2,	     /* HEADs that it may spare, itself counted */
	DEAR_MS = 100,	     /* a list that took so long is of a guest that has written much … */
	LONGEST_MS = 250,    /* that it may take: the guest stands still meanwhile */
	DEAR_FOR_MS = 60000, /* … and is not asked for again so soon */
};

/* How many directories above the path would have to be asked for. */
static size_t unknown_above(const struct sbx_walk *walk, char *whole)
{
	size_t count = 0;
	for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		count += !sbx_walked_has(walk->plane->walked, walk->key, whole);
		*slash = '/';
	}
	return count;
}

static bool worth_it(const struct sbx_walk *walk, char *whole)
{
	const struct sbx_plane_archive *plane = walk->plane;
	bool runs = !walk->ticket.frozen && !walk->ticket.still;
	int64_t dear_ms = atomic_load(&plane->changes_dear_ms);
	return sbx_engine_is_podman(plane->engine) && !runs && walk->lists < LISTS &&
	       sbx_utf8_valid(whole, strlen(whole)) && !sbx_change_names_lossy(whole) &&
	       !(dear_ms && sbx_clock_ms() - dear_ms < DEAR_FOR_MS) &&
	       unknown_above(walk, whole) >= WORTH;
}

/* An entry that is there, below the directory. Rows are sorted, but "a-b" comes before "a/b". */
static bool has_below(const struct sbx_changes *changes, const char *directory)
{
	size_t length = strlen(directory);
	for (size_t i = 0; i < changes->count; i++) {
		const struct sbx_change *row = &changes->rows[i];
		if (row->kind != 2 && strncmp(row->path, directory, length) == 0 &&
			row->path[length] == '/' && row->path[length + 1])
			return true;
	}
	return false;
}

static void remember_above(
	const struct sbx_walk *walk, const struct sbx_changes *changes, char *whole)
{
	for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (has_below(changes, whole))
			sbx_walked_add(walk->plane->walked, walk->key, whole);
		*slash = '/';
	}
}

/* What Podman leaves out of the list, being its own. */
static bool is_left_out(const char *whole)
{
	static const char *const paths[] = { "/etc/hostname", "/etc/hosts", "/etc/resolv.conf",
		"/run", "/run/.containerenv", "/run/secrets" };
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strcmp(whole, paths[i]) == 0)
			return true;
	return false;
}

/* Below a directory that the image does not have the list names everything. */
static bool shows_absence(const struct sbx_changes *changes, const char *whole)
{
	bool added = false;
	if (is_left_out(whole))
		return false;
	for (size_t i = 0; i < changes->count; i++) {
		const struct sbx_change *row = &changes->rows[i];
		if (strcmp(row->path, whole) == 0)
			return false;
		added = added || (row->kind == 1 && sbx_guest_path_within(whole, row->path));
	}
	return added;
}

bool sbx_walk_by_changes(struct sbx_walk *walk, const char *path, const struct sbx_call *call)
{
	struct sbx_plane_archive *plane = walk->plane;
	cleanup_free char *whole = sbx_strdup(path);
	if (!worth_it(walk, whole))
		return false;
	struct sbx_error why = SBX_ERROR_INIT; /* the walk will meet it, too */
	struct sbx_call soon = sbx_call_shorter(call, LONGEST_MS);
	struct sbx_changes changes cleanup_with(sbx_changes_finish) = { 0 };
	cleanup_free char *above = sbx_strndup(whole, (size_t)(strrchr(whole, '/') - whole));
	int64_t asked_ms = sbx_clock_ms();
	int result = sbx_archive_changes(
		plane->engine, plane->container.id, above, &soon, &changes, &why);
	walk->lists++;
	if ((result != 0 && why.kind != SBX_KIND_CANCELLED) || sbx_clock_ms() - asked_ms > DEAR_MS)
		atomic_store(&plane->changes_dear_ms, sbx_clock_ms());
	if (result != 0)
		return false;
	remember_above(walk, &changes, whole);
	return shows_absence(&changes, whole);
}
