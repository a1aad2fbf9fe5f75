/*
 * plane_put.c: uploads. Lexical rule and ceilings, then per archive one window: walk, look, one
 * PUT, look again.
 *
 * The guest never sees a half-written file, since it does not run meanwhile. A PUT that was cut in
 * the middle leaves a partial file under its final name (there is no rename in the archive call):
 * it is sent once more in the same window. Where that fails too, what was not there before is
 * removed by the guest's own rm after the window, and for the rest the error says so.
 */
#include "guest_path.h"
#include "plane_command.h"
#include "put_check.h"
#include "walk.h"
#include "walked.h"

#include "../base/alloc.h"
#include "../base/json.h"
#include "../base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define CLEAN_UP_MS 10000
#define CLEAN_UP_PATHS 64 /* of one command */
/* Up to how many HEADs cost less than an archive: 1 ms on Docker, 67 ms on a paused Podman. */
#define FEW_DOCKER 16
#define FEW_PODMAN 3

struct put {
	struct sbx_plane_archive *plane;
	unsigned uid, gid;
};

static void fail_item(struct sbx_put_item *item, const struct sbx_error *err)
{
	item->result = -err->errnum;
	item->err = *err;
}

/* All that can be said without an engine. */
static int check_item(const struct put *put, struct sbx_put_item *item)
{
	const struct sbx_plane_limits *limits = &put->plane->limits;
	struct sbx_error *err = &item->err;
	if (!*item->path)
		return sbx_fail(err, EXDEV, "the work dir itself cannot be written");
	int result = sbx_guest_path_check(item->path, false, err);
	if (result != 0)
		return result;
	if (item->type == SBX_TYPE_DIR)
		return 0;
	if (item->type != SBX_TYPE_FILE)
		return sbx_fail(
			err, EINVAL, "only files and directories are uploaded: %s", item->path);
	if (item->size < 0 || (item->size > 0 && item->fd < 0))
		return sbx_fail(err, EINVAL, "\"%s\" has no staged bytes", item->path);
	if (item->size > limits->max_in_bytes)
		return sbx_fail(err, EFBIG,
			"\"%s\" has %" PRId64 " bytes, and the ceiling is %" PRId64
			" (a mount's max_in_bytes, --max-file of put and run)",
			item->path, item->size, limits->max_in_bytes);
	struct stat st;
	if (item->fd >= 0 && (item->offset < 0 || fstat(item->fd, &st) != 0 ||
				     st.st_size - item->offset < item->size))
		return sbx_fail(
			err, EIO, "the staged file of \"%s\" is shorter than its size", item->path);
	return 0;
}

/* Podman writes into a read-only root file system while its container is paused. */
static int check_root(
	struct sbx_plane_archive *plane, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_container container cleanup_with(sbx_container_finish) = { 0 };
	int result =
		sbx_container_inspect(plane->engine, plane->container.id, call, &container, err);
	if (result != 0 && err->kind == SBX_KIND_ABSENT)
		return sbx_fail_kind(
			err, SBX_KIND_GONE, ESTALE, "%s is gone", plane->container.name);
	if (result != 0)
		return result;
	const cJSON *host = sbx_json_get(container.json, "HostConfig");
	if (host && sbx_json_bool(host, "ReadonlyRootfs", false))
		return sbx_fail(err, EROFS,
			"%s has a read-only root file system, into which engines upload nothing; "
			"what its guest can write, a tmpfs for one, takes a file by `sbxfs exec %s "
			"--shell 'cat >FILE' <FILE`",
			plane->container.name, plane->container.name);
	return 0;
}

static int send(struct put *put, struct sbx_put_plan *plan, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_plane_archive *plane = put->plane;
	cleanup_free char *base = sbx_guest_path_join(plane->workdir, plan->base);
	struct sbx_tar_writer *writer = sbx_tar_writer_create(plan->entries, plan->entry_count);
	int result = sbx_archive_put(plane->engine, plane->container.id, base,
		sbx_tar_writer_size(writer), sbx_tar_writer_read, writer, call, err);
	/* Our own staging file failed: that is the reason, not what the engine made of it. */
	const struct sbx_error *local = sbx_tar_writer_error(writer);
	if (result != 0 && local) {
		*err = *local;
		result = -local->errnum;
	} else if (result == -ENOSPC)
		(void)sbx_wrap(err,
			"no space is left in %s: remove something in it (sbxfs exec %s -- rm …), "
			"or "
			"make room where the engine keeps its containers; the engine says",
			plane->container.name, plane->container.name); /* as it was */
	sbx_tar_writer_destroy(writer);
	return result;
}

/* Sends, and again if the connection broke and the engine is still there: nothing in the guest has
 * run meanwhile, so nobody has seen the part. *partial: some of it may be in the guest. */
static int send_whole(struct put *put, struct sbx_walk *walk, struct sbx_put_plan *plan,
	const struct sbx_call *call, bool *partial, struct sbx_error *err)
{
	sbx_put_plan_finish(plan, put->uid, put->gid, time(NULL));
	*partial = false;
	/* What was looked at must still be so when the engine opens the directory. */
	int result = sbx_walk_confirm(walk, call, err);
	if (result != 0)
		return result;
	for (size_t i = 0; i < plan->send_count; i++) {
		const struct sbx_put_item *item = plan->sends[i].item;
		if (item->begins)
			item->begins(item->data);
	}
	result = send(put, plan, call, err);
	*partial = result != 0 && result != -EHOSTDOWN && result != -EROFS;
	if (result == -EIO && err->kind == SBX_KIND_ENGINE && !err->http_status &&
		sbx_walk_confirm(walk, call, err) == 0 && send(put, plan, call, err) == 0)
		result = 0;
	*partial = *partial && result != 0;
	return result != 0 ? -err->errnum : 0;
}

static void fail_sent(struct sbx_put_plan *plan, bool partial, const struct sbx_error *err)
{
	for (size_t i = 0; i < plan->send_count; i++) {
		fail_item(plan->sends[i].item, err);
		plan->sends[i].item->touched = partial;
	}
}

/* Is the failure one of the whole sandbox, so that further items need not be tried? */
static bool ends_everything(const struct sbx_error *err)
{
	return err->kind == SBX_KIND_GONE || err->kind == SBX_KIND_CANCELLED ||
	       err->kind == SBX_KIND_DEADLINE || err->errnum == EHOSTDOWN;
}

/* Is what was sent there? An engine that takes an archive and drops it does so for a whole
 * directory (a tmpfs, /proc) or from some entry on, so where directories are few one file of each,
 * as late as can be, is witness for the rest; many are looked at by their archive, like before the
 * PUT. */
static void verify(struct sbx_walk *walk, struct sbx_put_plan *plan, const struct sbx_call *call)
{
	size_t count = plan->send_count;
	cleanup_free const struct sbx_put_send **sent =
		sbx_alloc_array(count, sizeof(const struct sbx_put_send *));
	cleanup_free struct sbx_put_item **items =
		sbx_alloc_array(count, sizeof(struct sbx_put_item *));
	cleanup_free struct sbx_put_seen *seen = sbx_alloc_array(count, sizeof(*seen));
	size_t few = sbx_engine_is_podman(walk->plane->engine) ? FEW_PODMAN : FEW_DOCKER;
	size_t witnesses = sbx_put_witnesses(plan, sent);
	if (witnesses <= few) {
		count = witnesses;
	} else {
		for (size_t i = 0; i < count; i++) {
			sent[i] = &plan->sends[i];
			items[i] = sent[i]->item;
		}
		sbx_put_survey(walk, items, count, false, call, seen);
	}
	for (size_t i = 0; i < count; i++) {
		struct sbx_put_item *item = sent[i]->item;
		item->result = sbx_put_verify(walk, sent[i], &seen[i], call, &item->err);
		if (item->result < 0 && count == witnesses)
			sbx_put_fail_beside(plan, item);
	}
}

/* Inside the window. Returns whether the PUT may have left something that is not whole. */
static bool put_inside(struct put *put, struct sbx_walk *walk, struct sbx_put_plan *plan,
	struct sbx_put_item **items, size_t count, const struct sbx_call *call)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free struct sbx_put_seen *seen = sbx_alloc_array(count, sizeof(*seen));
	sbx_put_survey(walk, items, count, true, call, seen);
	for (size_t i = 0; i < count; i++)
		items[i]->result =
			sbx_put_look(walk, plan, items[i], &seen[i], call, &items[i]->err);
	if (plan->send_count == 0)
		return false;
	bool partial;
	int sent_result = send_whole(put, walk, plan, call, &partial, &err);
	/* Those who read meanwhile, be it in a window that is not ours (freeze=reads), shall not be
	 * told what was there before. */
	sbx_walked_forget_stats(put->plane->walked,
		walk->ticket.frozen ? walk->key : sbx_walked_key(put->plane->walked));
	if (sent_result != 0) {
		fail_sent(plan, partial, &err);
		return partial;
	}
	/* Whatever is found wrong from here on, what the next try finds there may be ours. */
	for (size_t i = 0; i < plan->send_count; i++)
		plan->sends[i].item->touched = true;
	verify(walk, plan, call);
	return false;
}

static void note_left(struct sbx_plane_archive *plane, struct sbx_put_item *item, const char *why)
{
	sbx_log(SBX_LOG_WARNING, "%s: a partial file may be left at \"%s\": %s",
		plane->container.name, item->path, why);
	cleanup_free char *said = sbx_strdup(item->err.message);
	(void)sbx_fail_kind(&item->err, item->err.kind, item->err.errnum,
		"%s; a partial file may be left at \"%s\"", said, item->path); /* result is kept */
}

static void remove_parts(struct sbx_plane_archive *plane, struct sbx_put_item **items, size_t count,
	const struct sbx_call *call)
{
	const char *argv[CLEAN_UP_PATHS + 4] = { "rm", "-f", "--" };
	struct sbx_error err = SBX_ERROR_INIT;
	for (size_t i = 0; i < count; i++)
		argv[3 + i] = sbx_guest_path_join(plane->workdir, items[i]->path);
	int result = sbx_plane_guest_command(plane, argv, "removing a partial upload", call, &err);
	for (size_t i = 0; i < count; i++) {
		if (result != 0)
			note_left(plane, items[i], err.message);
		items[i]->touched = result != 0;
		free((char *)argv[3 + i]);
	}
}

/* After a cut PUT, outside the window: new files go, so that the guest is not left with a part. */
static void clean_up(struct sbx_plane_archive *plane, struct sbx_put_plan *plan)
{
	struct sbx_call call = sbx_call_within(CLEAN_UP_MS, NULL);
	struct sbx_put_item *items[CLEAN_UP_PATHS];
	size_t count = 0;
	bool there = sbx_engine_reachable(plane->engine); /* else nobody is kept waiting for it */
	for (size_t i = 0; i < plan->send_count; i++) {
		struct sbx_put_item *item = plan->sends[i].item;
		if (item->type == SBX_TYPE_FILE && plan->sends[i].existed)
			note_left(plane, item, "it replaced a file that was there");
		else if (item->type == SBX_TYPE_FILE && !there)
			note_left(plane, item, "the engine is gone");
		else if (item->type == SBX_TYPE_FILE)
			items[count++] = item;
		if (count == CLEAN_UP_PATHS) {
			remove_parts(plane, items, count, &call);
			count = 0;
		}
	}
	if (count)
		remove_parts(plane, items, count, &call);
}

static void put_batch(struct put *put, struct sbx_put_item **items, size_t count,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane_archive *plane = put->plane;
	struct sbx_walk walk;
	struct sbx_put_plan plan = { 0 };
	if (sbx_walk_begin(&walk, plane, SBX_WINDOW_WRITE, "put", call, err) != 0) {
		for (size_t i = 0; i < count; i++)
			fail_item(items[i], err);
		return;
	}
	bool partial = put_inside(put, &walk, &plan, items, count, call);
	struct sbx_error left = SBX_ERROR_INIT;
	/* After a failure there is nothing to be sure of; the window closes all the same. */
	bool unsure = sbx_walk_end(&walk, !partial, call, &left) != 0;
	for (size_t i = 0; i < plan.send_count; i++) {
		struct sbx_put_item *item = plan.sends[i].item;
		if (unsure && item->result == 0)
			fail_item(item, &left);
		item->touched = item->touched && item->result != 0;
	}
	if (partial)
		clean_up(plane, &plan);
	for (size_t i = 0; i < count && !err->errnum; i++)
		if (items[i]->result != 0 && ends_everything(&items[i]->err))
			*err = items[i]->err;
	sbx_put_plan_free(&plan);
}

static void put_all(
	struct put *put, struct sbx_put_item **items, size_t count, const struct sbx_call *call)
{
	struct sbx_error fatal = SBX_ERROR_INIT;
	for (size_t at = 0; at < count;) {
		size_t batch = sbx_put_batch(items + at, count - at);
		struct sbx_call moving;
		if (!fatal.errnum && sbx_lane_enter(put->plane, call, &moving, &fatal) == 0) {
			put_batch(put, items + at, batch, &moving, &fatal);
			sbx_lane_leave(put->plane, &moving);
		} else {
			for (size_t i = 0; i < batch; i++)
				fail_item(items[at + i], &fatal);
		}
		at += batch;
	}
}

/* What broke because the engine went away is told so, by one look for all. */
static void explain_breaks(
	struct sbx_plane_archive *plane, struct sbx_put_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sbx_put_item *item = &items[i];
		if (item->result != -EIO || item->err.http_status)
			continue;
		item->result = sbx_engine_explain_break(plane->engine, item->result, &item->err);
		if (item->result == -EIO)
			return;
	}
}

int sbx_plane_put(struct sbx_plane *base, struct sbx_put_item *items, size_t count,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct put put = { .plane = sbx_plane_archive_of(base) };
	cleanup_free struct sbx_put_item **good =
		sbx_alloc_array(count, sizeof(struct sbx_put_item *));
	size_t good_count = 0;
	for (size_t i = 0; i < count; i++) {
		sbx_error_clear(&items[i].err);
		items[i].touched = items[i].kept = false;
		items[i].result = check_item(&put, &items[i]);
		if (items[i].result == 0)
			good[good_count++] = &items[i];
	}
	if (good_count > 0) {
		const struct sbx_plane_host *host = put.plane->host;
		struct sbx_error whole = SBX_ERROR_INIT;
		int result = check_root(put.plane, call, &whole);
		/* Before any window: it may have to run a command in the guest. */
		if (result == 0)
			result = host->guest_user(
				host->data, put.plane->windows, call, &put.uid, &put.gid, &whole);
		sbx_put_sort(good, good_count);
		if (result == 0)
			put_all(&put, good, good_count, call);
		for (size_t i = 0; i < good_count && result != 0; i++)
			fail_item(good[i], &whole);
		explain_breaks(put.plane, items, count);
	}
	for (size_t i = 0; i < count; i++)
		if (items[i].result != 0) {
			if (err)
				*err = items[i].err;
			return items[i].result;
		}
	return 0;
}
