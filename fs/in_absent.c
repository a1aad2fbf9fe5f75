/* in_absent.c: see in_file.h.
 *
 * While files are made in a directory without a pause, it is believed for longer than a name is
 * that others are not there: files made then replace nothing (only_new), so a name that the guest
 * makes meanwhile is found out when they are sent.
 */
#include "in_file.h"

/* A listing costs what a few names do that are there, each of which may need a window of its own;
 * one that is not there is asked for without. */
enum { ENOUGH = 16, EACH_THERE = 7, BURST_MS = 1000, BURST_HOLDS_MS = 5000, DIRECTORIES_KEPT = 64 };

struct name {
	UT_hash_handle hh;
	char text[];
};

struct sbx_in_names {
	char *path;		       /* of the directory */
	struct sbx_snapshot *snapshot; /* NULL: not known */
	struct name *changed;	       /* made or removed by us: not what the snapshot says */
	int64_t created_ms;	       /* the last that was made */
	unsigned asked;		       /* names, one by one, more of those that were there … */
	int64_t asked_ms;	       /* … since then */
	UT_hash_handle hh;
};

static struct sbx_in_names *find(const struct sbx_view *view, const char *directory)
{
	struct sbx_in_names *names = NULL;
	HASH_FIND_STR(sbx_in_home(view)->names, directory, names);
	return names;
}

static int64_t age_ms(const struct sbx_in_names *names)
{
	return names->snapshot ? sbx_clock_ms() - names->snapshot->when_ms : INT64_MAX;
}

static bool fresh(const struct sbx_view *view, const struct sbx_in_names *names)
{
	return age_ms(names) < view->fs->options->entry_timeout_ms;
}

static bool in_burst(const struct sbx_in_names *names)
{
	return sbx_clock_ms() - names->created_ms < BURST_MS && age_ms(names) < BURST_HOLDS_MS;
}

static bool holds(const struct sbx_view *view, const struct sbx_in_names *names)
{
	return fresh(view, names) || in_burst(names);
}

/* Or may have. */
static bool has(const struct sbx_in_names *names, const char *text)
{
	struct name *found = NULL;
	HASH_FIND_STR(names->changed, text, found);
	return found || sbx_snapshot_find(names->snapshot, text);
}

/* all: else only those that the snapshot has, too. */
static void forget_changed(struct sbx_in_names *names, bool all)
{
	struct name *name, *next;
	HASH_ITER(hh, names->changed, name, next)
	{
		if (!all && !sbx_snapshot_find(names->snapshot, name->text))
			continue;
		HASH_DEL(names->changed, name);
		free(name);
	}
}

static void add_changed(struct sbx_in_names *names, const char *text)
{
	size_t size = strlen(text) + 1;
	struct name *name = sbx_alloc(sizeof(*name) + size), *old = NULL;
	memcpy(name->text, text, size);
	HASH_REPLACE_STR(names->changed, text, name, old);
	free(old);
}

static void free_names(struct sbx_in_view *home, struct sbx_in_names *names)
{
	HASH_DEL(home->names, names);
	forget_changed(names, true);
	sbx_snapshot_unref(names->snapshot);
	free(names->path);
	free(names);
}

static struct sbx_in_names *get(struct sbx_view *view, const char *directory)
{
	struct sbx_in_view *home = sbx_in_home(view);
	struct sbx_in_names *names = find(view, directory), *next;
	if (names)
		return names;
	if (HASH_COUNT(home->names) >= DIRECTORIES_KEPT) {
		HASH_ITER(hh, home->names, names, next)
		{
			if (!holds(view, names))
				free_names(home, names);
		}
	}
	names = sbx_alloc(sizeof(*names));
	names->path = sbx_strdup(directory);
	HASH_ADD_KEYPTR(hh, home->names, names->path, strlen(names->path), names);
	return names;
}

void sbx_in_names_note(struct sbx_view *view, const char *directory, struct sbx_snapshot *snapshot)
{
	struct sbx_in_names *names = get(view, directory);
	bool current = names->snapshot && in_burst(names);
	if (snapshot)
		sbx_snapshot_ref(snapshot);
	else
		snapshot = sbx_snapshot_create(true);
	sbx_snapshot_unref(names->snapshot);
	names->snapshot = snapshot;
	forget_changed(names, !current);
}

bool sbx_in_absent(struct sbx_view *view, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash || sbx_in_file_find(view, path) || sbx_in_was_made(view, path))
		return false;
	cleanup_free char *directory = sbx_strndup(path, (size_t)(slash - path));
	const struct sbx_in_names *names = find(view, directory);
	return names && holds(view, names) && !has(names, slash + 1);
}

const struct sbx_entry *sbx_in_names_row(
	struct sbx_view *view, const char *path, int64_t *when_ms, int64_t *asked_s)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *directory = sbx_strndup(path, slash ? (size_t)(slash - path) : 0);
	const struct sbx_in_names *names = slash ? find(view, directory) : NULL;
	struct name *created = NULL;
	if (!names || !fresh(view, names))
		return NULL;
	HASH_FIND_STR(names->changed, slash + 1, created);
	*when_ms = names->snapshot->when_ms;
	*asked_s = names->snapshot->listed_s;
	return created ? NULL : sbx_snapshot_find(names->snapshot, slash + 1);
}

bool sbx_in_names_created(struct sbx_view *view, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return false;
	cleanup_free char *directory = sbx_strndup(path, (size_t)(slash - path));
	struct sbx_in_names *names = find(view, directory);
	if (!names || !names->snapshot)
		return false;
	if (!holds(view, names)) { /* or it would grow with each file for ever */
		free_names(sbx_in_home(view), names);
		return false;
	}
	bool new = fresh(view, names) && !has(names, slash + 1);
	add_changed(names, slash + 1);
	names->created_ms = sbx_clock_ms();
	return new;
}

void sbx_in_names_removed(struct sbx_view *view, const char *path)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *directory = sbx_strndup(path, slash ? (size_t)(slash - path) : 0);
	struct sbx_in_names *names = slash ? find(view, directory) : NULL;
	if (names && holds(view, names))
		add_changed(names, slash + 1);
}

bool sbx_in_names_wanted(struct sbx_view *view, const char *directory)
{
	struct sbx_in_names *names = get(view, directory);
	int64_t now_ms = sbx_clock_ms();
	if (now_ms - names->asked_ms > view->fs->options->entry_timeout_ms) {
		names->asked = 0;
		names->asked_ms = now_ms;
	}
	return ++names->asked > ENOUGH;
}

void sbx_in_names_there(struct sbx_view *view, const char *directory)
{
	struct sbx_in_names *names = find(view, directory);
	if (names)
		names->asked += EACH_THERE;
}

void sbx_in_names_drop(struct sbx_view *view, const char *path)
{
	struct sbx_in_view *home = sbx_in_home(view);
	struct sbx_in_names *names, *next;
	HASH_ITER(hh, home->names, names, next)
	{
		if (sbx_in_below(path, names->path) || sbx_in_below(names->path, path) ||
			!strcmp(names->path, path))
			free_names(home, names);
	}
}

void sbx_in_names_free(struct sbx_in_view *home)
{
	struct sbx_in_names *names, *next;
	HASH_ITER(hh, home->names, names, next)
	free_names(home, names);
}
