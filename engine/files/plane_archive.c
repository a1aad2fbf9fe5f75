/*
 * plane_archive.c: the archive plane as an object: made, rested, destroyed; its operations are in
 * the files plane_*.c.
 */
#include "plane_archive.h"

#include "../base/alloc.h"
#include "image_names.h"
#include "walked.h"

void sbx_plane_limits_default(struct sbx_plane_limits *limits)
{
	*limits = (struct sbx_plane_limits){
		.freeze = SBX_FREEZE_ALWAYS,
		.max_file_bytes = INT64_C(1) << 30,
		.max_in_bytes = INT64_C(1) << 30,
		.max_entries = 100000,
		.linger_ms = 20,
		.max_hold_ms = 500,
		.max_duty_percent = 50,
	};
}

static int64_t now_s(struct sbx_plane *base)
{
	return sbx_engine_now_s(sbx_plane_archive_of(base)->engine);
}

static char *freeze_refusal(struct sbx_plane *base)
{
	return sbx_windows_refusal(sbx_plane_archive_of(base)->windows);
}

static void rest(struct sbx_plane *base)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	sbx_lane_cancel(&plane->lane);
	sbx_windows_rest(plane->windows);
}

static void destroy(struct sbx_plane *base)
{
	struct sbx_plane_archive *plane = sbx_plane_archive_of(base);
	sbx_windows_destroy(plane->windows);
	sbx_image_names_destroy(plane->image_names);
	sbx_walked_destroy(plane->walked);
	sbx_lane_finish(&plane->lane);
	sbx_container_finish(&plane->container);
	free(plane->workdir);
	free(plane);
}

static const struct sbx_plane_ops archive_ops = {
	.stat = sbx_plane_stat,
	.absent = sbx_plane_absent,
	.stat_many = sbx_plane_stat_many,
	.list = sbx_plane_list,
	.glance = sbx_plane_glance,
	.read = sbx_plane_read,
	.read_tree = sbx_plane_read_tree,
	.put = sbx_plane_put,
	.remove = sbx_plane_remove,
	.remove_dir = sbx_plane_remove_dir,
	.rename = sbx_plane_rename,
	.set_attributes = sbx_plane_set_attributes,
	.now_s = now_s,
	.freeze_refusal = freeze_refusal,
	.rest = rest,
	.destroy = destroy,
};

struct sbx_plane *sbx_plane_archive_create(struct sbx_engine *engine,
	const struct sbx_container *container, const char *workdir,
	const struct sbx_plane_limits *limits, const struct sbx_plane_host *host)
{
	struct sbx_plane_archive *plane = sbx_alloc(sizeof(*plane));
	plane->base.ops = &archive_ops;
	plane->engine = engine;
	sbx_container_copy(&plane->container, container);
	plane->workdir = sbx_strdup(workdir);
	plane->limits = *limits;
	plane->host = host;
	plane->windows = sbx_windows_create(engine, plane->container.id, &plane->limits);
	sbx_lane_init(&plane->lane);
	plane->walked = sbx_walked_create();
	plane->image_names = sbx_image_names_create();
	return &plane->base;
}

void sbx_plane_destroy(struct sbx_plane *plane)
{
	if (plane)
		plane->ops->destroy(plane);
}
