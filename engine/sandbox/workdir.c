/*
 * workdir.c: the work dir and the in dir of a sandbox in which nothing runs yet (MAF-38, MAF-103).
 *
 * What the image brings keeps its owner, mode and contents; what is missing below is made for the
 * guest user, what is missing above for root. Docker makes a missing WorkingDir itself, for root,
 * when the container is created: that one is handed over. A link or a file in the way is refused.
 * The archive is written directly, not through the plane, because the plane leaves directories that
 * exist as they are; every component was just walked and no process is there to swap one.
 */
#include "acquiring.h"

#include "../base/alloc.h"
#include "../base/log.h"
#include "../files/tar_write.h"

#include <errno.h>
#include <sbx/guest_user.h>
#include <sbx/plane.h>
#include <string.h>
#include <time.h>

struct places {
	struct sbx_engine *engine;
	const struct sbx_container *container;
	const struct sbx_call *call;
	struct sbx_plane *plane; /* of the whole root */
	size_t workdir_length;
	struct sbx_tar_item *items;
	size_t count;
};

static int no_guest_user(void *data, struct sbx_windows *windows, const struct sbx_call *call,
	unsigned *uid, unsigned *gid, struct sbx_error *err)
{
	return sbx_fail(err, EOPNOTSUPP, "this plane writes nothing");
}

static void audit(
	void *data, const char *op, const char *path, const char *component, const char *what)
{
	sbx_log(SBX_LOG_WARNING, "%s of the work dir: %s is a %s", op, component, what);
}

static const struct sbx_plane_host plain_host = { .guest_user = no_guest_user, .audit = audit };

/* Nothing of ours is to be frozen for a look: either nothing runs, or the look is advice and every
 * later access walks again in a window. */
static struct sbx_plane *root_plane(
	struct sbx_engine *engine, const struct sbx_container *container)
{
	struct sbx_plane_limits limits;
	sbx_plane_limits_default(&limits);
	limits.freeze = SBX_FREEZE_NEVER;
	return sbx_plane_archive_create(engine, container, "/", &limits, &plain_host);
}

/* 1: a directory; 0: not there; else why it cannot be one. path is relative to "/". */
static int is_directory(struct sbx_plane *plane, const char *name, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat st = { 0 };
	int rc = plane->ops->stat(plane, path, call, &st, err);
	if (rc < 0)
		return err->kind == SBX_KIND_ABSENT ? 0
						    : sbx_wrap(err, "work dir of sandbox %s", name);
	rc = 1;
	if (st.type == SBX_TYPE_LINK)
		rc = sbx_fail(err, ELOOP,
			"work dir of sandbox %s: /%s is a symlink in the image, not a directory",
			name, path);
	else if (st.type != SBX_TYPE_DIR)
		rc = sbx_fail(err, ENOTDIR, "work dir of sandbox %s: /%s is a %s, not a directory",
			name, path, sbx_type_name(st.type));
	sbx_stat_finish(&st);
	return rc;
}

static void add_place(struct places *places, const char *path)
{
	places->items = sbx_realloc_array(places->items, places->count + 1, sizeof(*places->items));
	places->items[places->count++] = (struct sbx_tar_item){ .name = sbx_strdup(path),
		.directory = true,
		.mode = 0755,
		.mtime_s = time(NULL),
		.fd = -1 };
}

/* Every component of path, from the top, that is not there yet. */
static int add_missing(struct places *places, const char *path, struct sbx_error *err)
{
	const char *name = places->container->name;
	for (const char *slash = path; slash;) {
		slash = strchr(slash + 1, '/');
		cleanup_free char *prefix =
			sbx_strndup(path, slash ? (size_t)(slash - path) : strlen(path));
		int rc = is_directory(places->plane, name, prefix, places->call, err);
		if (rc < 0)
			return rc;
		bool listed = false;
		for (size_t i = 0; i < places->count; i++)
			listed |= strcmp(places->items[i].name, prefix) == 0;
		if (rc == 0 && !listed)
			add_place(places, prefix);
	}
	return 0;
}

/* Was the work dir made by the engine at create? Then it is root's, and nobody's wish. */
static int add_engine_made(struct places *places, const char *workdir, struct sbx_error *err)
{
	if (places->container->state != SBX_STATE_CREATED)
		return 0;
	struct sbx_changes changes = { 0 };
	int rc = sbx_archive_changes(
		places->engine, places->container->id, workdir, places->call, &changes, err);
	for (size_t i = 0; rc == 0 && i < changes.count; i++) {
		if (changes.rows[i].kind == 1 && strcmp(changes.rows[i].path, workdir) == 0)
			add_place(places, workdir + 1);
	}
	sbx_changes_finish(&changes);
	return rc;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(
		((const struct sbx_tar_item *)a)->name, ((const struct sbx_tar_item *)b)->name);
}

static int make(struct places *places, struct sbx_error *err)
{
	struct sbx_guest_user user = { 0 };
	int rc = sbx_guest_user_resolve(
		places->engine, places->container, NULL, places->call, &user, err);
	/* The user's resolution takes any failure for "unresolved"; an expired bound is not that.
	 */
	if (rc < 0 && sbx_call_left_ms(places->call) == 0)
		return sbx_fail(err, ETIMEDOUT,
			"the deadline passed while the user of sandbox %s was looked up",
			places->container->name);
	if (rc < 0)
		return sbx_wrap(err, "the work dir of sandbox %s cannot be given to its user",
			places->container->name);
	qsort(places->items, places->count, sizeof(*places->items), by_path);
	for (size_t i = 0; i < places->count; i++) {
		struct sbx_tar_item *item = &places->items[i];
		if (strlen(item->name) < places->workdir_length)
			continue; /* above the work dir: root's */
		item->uid = user.uid;
		item->gid = user.gid;
	}
	struct sbx_tar_writer *writer = sbx_tar_writer_create(places->items, places->count);
	rc = sbx_archive_put(places->engine, places->container->id, "/",
		sbx_tar_writer_size(writer), sbx_tar_writer_read, writer, places->call, err);
	sbx_tar_writer_destroy(writer);
	return rc < 0 ? sbx_wrap(err, "the work dir of sandbox %s cannot be made",
				places->container->name)
		      : 0;
}

/* Engines answer 200 for archives that went nowhere. */
static int check_made(struct places *places, struct sbx_error *err)
{
	for (size_t i = 0; i < places->count; i++) {
		const char *name = places->container->name;
		int rc =
			is_directory(places->plane, name, places->items[i].name, places->call, err);
		if (rc == 0)
			return sbx_fail(err, EIO,
				"sandbox %s: the engine took the directory /%s and does not have "
				"it",
				name, places->items[i].name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int sbx_workdir_prepare(struct sbx_engine *engine, const struct sbx_container *container,
	const char *workdir, const char *in_dir, const struct sbx_call *call, struct sbx_error *err)
{
	struct places places = { .engine = engine,
		.container = container,
		.call = call,
		.plane = root_plane(engine, container),
		.workdir_length = strlen(workdir) - 1 };
	cleanup_free char *in_path = sbx_printf("%s/%s", workdir + 1, in_dir);
	int rc = add_engine_made(&places, workdir, err);
	if (rc == 0)
		rc = add_missing(&places, in_path, err);
	if (rc == 0 && places.count)
		rc = make(&places, err);
	if (rc == 0 && places.count)
		rc = check_made(&places, err);
	for (size_t i = 0; i < places.count; i++)
		free((char *)places.items[i].name);
	free(places.items);
	sbx_plane_destroy(places.plane);
	return rc;
}

int sbx_workdir_verify(struct sbx_engine *engine, const struct sbx_container *container,
	const char *workdir, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane *plane = root_plane(engine, container);
	int rc = is_directory(plane, container->name, workdir + 1, call, err);
	sbx_plane_destroy(plane);
	if (rc == 0)
		return sbx_fail(err, ENOENT,
			"sandbox %s has lost its work dir %s: its guest removed it",
			container->name, workdir);
	return rc < 0 ? rc : 0;
}
