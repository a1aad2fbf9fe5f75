/*
 * plane_list.c: a directory's entries, all of them or a refusal, without reading what they hold.
 *
 * Two sources, used adaptively. The directory's archive is one request, but moves everything below
 * the directory: it is cut when that becomes more than the names are worth. Then the names come
 * from the engine's change list and from the image, and each is asked for by itself: what the guest
 * has removed is absent, what neither source names does not exist. Sockets are in no archive; the
 * change list has them.
 */
#include "../base/alloc.h"
#include "../base/log.h"
#include "../base/text.h"
#include "account_guard.h"
#include "change_names.h"
#include "dir_archive.h"
#include "guest_path.h"
#include "image_names.h"
#include "listing.h"
#include "mounts.h"
#include "walk.h"

#include <errno.h>
#include <string.h>

enum {
	/* A name is worth about what one HEAD takes: 1 ms on Docker, 66 ms on a paused Podman. */
	EACH_DOCKER = 64 * 1024,
	EACH_PODMAN = 256 * 1024,
	SPARE = 4 << 20,
	/* What lies deeper is often wanted next. */
	DEEPER = 2 << 20,
	TOTAL = 64 << 20,
	CONTENT = 16 * 1024,
	/* Where there are no names to ask for, the archive is read to its end, or refused. */
	WHOLE = 256 << 20,
	/* Up to how many entries times are asked for to the nanosecond. */
	EXACT_DOCKER = 200,
	EXACT_PODMAN = 8,
};

struct listing_run {
	struct sbx_plane_archive *plane;
	const char *path;
	char *whole; /* absolute */
	bool podman;
	struct sbx_listing listing;
	struct sbx_changes changes;
	struct sbx_change_names names;
	bool changes_known;
	bool need_image; /* the image's own names are wanted first, outside the window */
	bool glance;	 /* one archive, or nothing */
};

static void reset(struct listing_run *run)
{
	sbx_listing_finish(&run->listing);
	sbx_change_names_finish(&run->names);
	sbx_changes_finish(&run->changes);
	run->changes_known = false;
	run->need_image = false;
}

static int walk_to(struct sbx_walk *walk, struct listing_run *run, const struct sbx_call *call,
	struct sbx_stat *st, struct sbx_error *err)
{
	int result = sbx_walk_stat(walk, run->path, call, st, err);
	if (result < 0 || st->type == SBX_TYPE_DIR)
		return result;
	if (st->type == SBX_TYPE_LINK)
		result = sbx_walk_refuse_type(walk, run->path, st, err);
	else
		result = sbx_fail(err, ENOTDIR, "%s: \"%s\" is a %s, not a directory",
			run->plane->container.name, run->path, sbx_type_name(st->type));
	sbx_stat_finish(st);
	return result;
}

/* Podman fails this call for as long as the guest keeps a file of the image replaced by a
 * directory: then the archive is all there is. */
static int read_changes(struct listing_run *run, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = run->plane;
	int result = sbx_archive_changes(
		plane->engine, plane->container.id, run->whole, call, &run->changes, err);
	if (result < 0 && run->podman && err->http_status == 500 && err->kind != SBX_KIND_GONE) {
		sbx_log(SBX_LOG_INFO, "%s: no change list: %s", plane->container.name,
			err->message);
		sbx_error_clear(err);
		return 0;
	}
	if (result < 0)
		return result;
	run->changes_known = true;
	sbx_change_names_select(&run->changes, run->whole, &run->names);
	return 0;
}

static int read_archive(struct listing_run *run, int64_t each, int64_t spare, int64_t deeper,
	int64_t total, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = run->plane;
	const struct sbx_dir_budget budget = {
		.each = each,
		.spare = spare,
		.deeper = deeper,
		.total = total,
		.content = CONTENT,
		.deep = true,
		.max_entries = plane->limits.max_entries,
	};
	sbx_listing_finish(&run->listing);
	return sbx_dir_archive_get(
		plane->engine, plane->container.id, run->whole, &budget, call, &run->listing, err);
}

/* One child as the engine describes it now. A link whose target cannot be resolved is still a link,
 * and that is all that is said of it. */
static int describe(struct sbx_walk *walk, struct listing_run *run, const char *name,
	const struct sbx_call *call, struct sbx_stat *st, struct sbx_error *err)
{
	int result = sbx_walk_child(walk, run->whole, name, call, st, err);
	if (result != -ELOOP && (result != -ENAMETOOLONG || !sbx_listing_name_good(name)))
		return result;
	sbx_error_clear(err);
	*st = (struct sbx_stat){ .type = SBX_TYPE_LINK, .mode = 0777, .mtime_ns = -1 };
	return 0;
}

/* A name another source gave, as the engine describes it now. 1: it is there and was added. */
static int add_described(struct sbx_walk *walk, struct listing_run *run, const char *name,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat st = { 0 };
	int result = describe(walk, run, name, call, &st, err);
	if (result == -ENOENT && err->kind == SBX_KIND_ABSENT) {
		sbx_error_clear(err);
		return 0;
	}
	if (result < 0)
		return result;
	if (sbx_listing_add(&run->listing, name, &st, run->plane->limits.max_entries, err))
		return 1;
	sbx_stat_finish(&st);
	return -err->errnum;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names that a change list cannot spell, as it would spell them, sorted. */
static void spell_odd_names(const struct sbx_listing *listing, struct sbx_names *out)
{
	for (size_t i = 0; i < listing->count; i++) {
		const char *name = listing->rows[i].name;
		if (sbx_utf8_valid(name, strlen(name)))
			continue;
		out->rows = sbx_realloc_array(out->rows, out->count + 1, sizeof(*out->rows));
		out->rows[out->count++] = sbx_change_names_spell(name);
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_text);
}

/* A change list's name that the engine does not find: gone, unless it was spelled otherwise. */
static int explain_absence(struct listing_run *run, const struct sbx_names *odd, const char *name,
	struct sbx_error *err)
{
	if (!sbx_change_names_lossy(name) ||
		(odd->count && bsearch(&name, odd->rows, odd->count, sizeof(*odd->rows), by_text)))
		return 0;
	return sbx_fail(err, EILSEQ,
		"%s: \"%s\" holds an entry whose name is not UTF-8 and which the engine's archive "
		"leaves out",
		run->plane->container.name, run->path);
}

/* Adds those of the names that exist and are not listed yet. */
static int add_names(struct sbx_walk *walk, struct listing_run *run, const char *const *names,
	size_t count, const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_with(sbx_names_finish) struct sbx_names odd = { 0 };
	size_t sorted = run->listing.count; /* new rows come behind */
	int result = 0;
	spell_odd_names(&run->listing, &odd);
	for (size_t i = 0; i < count && result >= 0; i++) {
		const struct sbx_listing known = { run->listing.rows, sorted };
		if (sbx_listing_has(&known, names[i]))
			continue;
		result = add_described(walk, run, names[i], call, err);
		if (!result)
			result = explain_absence(run, &odd, names[i], err);
	}
	return result < 0 ? result : sbx_listing_sort(&run->listing, err);
}

/* The archive would be too large: names from both sources, each asked for. */
static int list_by_names(struct sbx_walk *walk, struct listing_run *run,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = run->plane;
	const struct sbx_names none = { 0 }, *image = &none;
	if (!run->changes_known || run->names.lossy) {
		int result = read_archive(run, WHOLE, WHOLE, WHOLE, WHOLE, call, err);
		if (result != SBX_DIR_CUT)
			return result;
		return sbx_fail(err, EOPNOTSUPP,
			"%s: \"%s\" cannot be listed: the engine's change list %s, and its archive "
			"is larger than 256 MiB",
			plane->container.name, run->path,
			run->changes_known ? "cannot name all that is in it" : "fails");
	}
	if (!run->names.added) {
		image = sbx_image_names_find(plane->image_names, run->whole);
		run->need_image = !image;
	}
	if (!image)
		return 0;
	int result = add_names(walk, run, run->names.rows, run->names.count, call, err);
	if (!result)
		result = add_names(
			walk, run, (const char *const *)image->rows, image->count, call, err);
	return result;
}

static int changed(const struct listing_run *run, struct sbx_error *err)
{
	return sbx_fail(err, ESTALE, "%s: \"%s\" changed while it was listed",
		run->plane->container.name, run->path);
}

/* Engines pack whatever has a second name as a hard link: only then may the type be another one. */
static bool agrees(const struct sbx_stat *archive, const struct sbx_stat *head)
{
	if (archive->size < 0)
		return head->type != SBX_TYPE_DIR;
	return archive->type == head->type &&
	       (head->type != SBX_TYPE_FILE || archive->size == head->size);
}

/* What only a HEAD tells: a hard link's size, and times to the nanosecond where that is cheap. */
static int describe_exactly(struct sbx_walk *walk, struct listing_run *run,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_listing *listing = &run->listing;
	bool all = !run->glance && listing->count <= (run->podman ? EXACT_PODMAN : EXACT_DOCKER);
	for (size_t i = 0; i < listing->count; i++) {
		struct sbx_entry *entry = &listing->rows[i];
		struct sbx_stat st;
		bool wanted = entry->st.size < 0 || (all && entry->st.mtime_ns < 0);
		if (!wanted || entry->st.type == SBX_TYPE_LINK)
			continue;
		int result = describe(walk, run, entry->name, call, &st, err);
		if (result == -ENOENT && err->kind == SBX_KIND_ABSENT)
			return changed(run, err);
		if (result == -EILSEQ && entry->st.size >= 0) {
			sbx_error_clear(err); /* what the archive said of it will do */
			continue;
		}
		if (result < 0)
			return result;
		bool same = agrees(&entry->st, &st);
		sbx_stat_finish(&entry->st);
		entry->st = st;
		if (!same)
			return changed(run, err);
	}
	return 0;
}

/*
 * Of what lies deeper only that is kept which the archive tells whole: not what lies on a mount,
 * nor a directory that the change list knows a socket in, nor one with a hard link to elsewhere.
 */
static void trim_below(
	const struct listing_run *run, const char *directory, struct sbx_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		struct sbx_entry *entry = &listing->rows[i];
		cleanup_free char *path = sbx_guest_path_join(directory, entry->name);
		struct sbx_error ignored = SBX_ERROR_INIT; /* its own listing will say it */
		if ((entry->children || entry->content) &&
			sbx_mounts_check(&run->plane->container, path, &ignored) < 0) {
			sbx_listing_forget_children(entry);
			free(entry->content);
			entry->content = NULL;
		}
		bool whole = true;
		for (size_t j = 0; entry->children && j < entry->children->count; j++)
			whole = whole && entry->children->rows[j].st.size >= 0;
		if (!whole)
			sbx_listing_forget_children(entry);
		else if (entry->children)
			trim_below(run, path, entry->children);
	}
}

/* A changed path that exists and is not in the archive's listing of its directory. */
static void trim_by_change(struct listing_run *run, const char *below)
{
	struct sbx_listing *listing = &run->listing;
	struct sbx_entry *directory = NULL;
	for (;;) {
		size_t length = strcspn(below, "/");
		cleanup_free char *name = sbx_strndup(below, length);
		struct sbx_entry *entry = sbx_listing_find(listing, name);
		if (!entry && directory)
			sbx_listing_forget_children(directory);
		if (!entry || !below[length] || !entry->children)
			return;
		directory = entry;
		listing = entry->children;
		below += length + 1;
	}
}

static void trim(const struct sbx_walk *walk, struct listing_run *run)
{
	size_t above = strlen(run->whole);
	/* While the guest ran, the directory's own time vouches for its own names only: a file may
	 * have got another content, and with it the time that it is asked for next. */
	if (!walk->ticket.frozen && !walk->ticket.still && !walk->ticket.foreign) {
		sbx_listing_forget_below(&run->listing);
		sbx_listing_forget_contents(&run->listing);
		return;
	}
	trim_below(run, run->whole, &run->listing);
	for (size_t i = 0; i < run->changes.count; i++) {
		const struct sbx_change *change = &run->changes.rows[i];
		if (change->kind != 2 && strncmp(change->path, run->whole, above) == 0 &&
			change->path[above] == '/')
			trim_by_change(run, change->path + above + 1);
	}
}

static int gather(struct sbx_walk *walk, struct listing_run *run, const struct sbx_call *call,
	struct sbx_error *err)
{
	int result = sbx_account_guard_walk(walk, call, err);
	if (!result)
		result = read_changes(run, call, err);
	if (result < 0)
		return result;
	result = read_archive(
		run, run->podman ? EACH_PODMAN : EACH_DOCKER, SPARE, DEEPER, TOTAL, call, err);
	if (!result && run->changes_known)
		result = add_names(walk, run, run->names.rows, run->names.count, call, err);
	else if (result == SBX_DIR_CUT && !run->glance)
		result = list_by_names(walk, run, call, err);
	if (!result)
		trim(walk, run);
	if (!result && !run->need_image)
		result = describe_exactly(walk, run, call, err);
	return result;
}

static int list_inside(
	struct sbx_walk *walk, void *data, const struct sbx_call *call, struct sbx_error *err)
{
	struct listing_run *run = data;
	struct sbx_stat before, after;
	reset(run);
	int result = walk_to(walk, run, call, &before, err);
	if (result < 0)
		return result;
	sbx_stat_finish(&before);
	result = gather(walk, run, call, err);
	if (result || walk->ticket.frozen || walk->ticket.still || walk->ticket.foreign)
		return result;
	/* With freeze=never the guest ran meanwhile: then this is all that can be said. */
	result = walk_to(walk, run, call, &after, err);
	if (result < 0)
		return result;
	sbx_stat_finish(&after);
	bool same = before.mtime_s == after.mtime_s && before.mtime_ns == after.mtime_ns;
	return same ? 0 : changed(run, err);
}

static int list(struct listing_run *run, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = run->plane;
	int result = sbx_walk_run(plane, "list", list_inside, run, call, err);
	if (result || !run->need_image)
		return result;
	result = sbx_image_names_read(plane->image_names, plane->engine, &plane->container,
		run->whole, plane->limits.max_entries, call, err);
	return result ? result : sbx_walk_run(plane, "list", list_inside, run, call, err);
}

static int list_or_glance(struct sbx_plane *base, const char *path, bool glance,
	const struct sbx_call *call, struct sbx_listing *out, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	struct listing_run run = { .plane = plane, .path = path, .glance = glance };
	struct sbx_error local = SBX_ERROR_INIT;
	struct sbx_call moving;
	int result = *path ? sbx_guest_path_check(path, false, &local) : 0;
	if (!result)
		result = sbx_lane_enter(plane, call, &moving, &local);
	if (result < 0) {
		if (err)
			*err = local;
		return result;
	}
	run.whole = sbx_guest_path_join(plane->workdir, path);
	run.podman = sbx_engine_is_podman(plane->engine);
	result = list(&run, &moving, &local);
	sbx_lane_leave(plane, &moving);
	if (result == SBX_DIR_CUT) {
		result = 1;
	} else if (!result) {
		*out = run.listing;
		run.listing = (struct sbx_listing){ 0 };
	} else if (err) {
		*err = local;
	}
	reset(&run);
	free(run.whole);
	return result;
}

int sbx_plane_list(struct sbx_plane *base, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err)
{
	return list_or_glance(base, path, false, call, out, err);
}

int sbx_plane_glance(struct sbx_plane *base, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err)
{
	return list_or_glance(base, path, true, call, out, err);
}
