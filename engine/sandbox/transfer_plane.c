/*
 * transfer_plane.c: a plane for one sandbox that owns what the archive plane borrows: the guest
 * user, resolved when first needed, and an audit that goes to the log. Everything else is passed
 * through.
 */
#include <sbx/transfer.h>

#include <sbx/guest_user.h>

#include "../base/alloc.h"
#include "../base/log.h"

#include <pthread.h>

struct transfer_plane {
	struct sbx_plane plane;
	struct sbx_plane *inner;
	struct sbx_plane_host host;
	struct sbx_engine *engine;
	struct sbx_container container; /* a copy, without json */
	pthread_mutex_t lock;		/* guards user and resolved */
	struct sbx_guest_user user;
	bool resolved;
};

static struct transfer_plane *of(struct sbx_plane *plane)
{
	return (struct transfer_plane *)plane;
}

/* An answer is kept; a failure is asked for again next time (MAF-123). The lock is held while it is
 * asked for, so that it is asked for once. */
static int guest_user(void *data, struct sbx_windows *windows, const struct sbx_call *call,
	unsigned *uid, unsigned *gid, struct sbx_error *err)
{
	struct transfer_plane *self = data;
	int result = 0;
	pthread_mutex_lock(&self->lock);
	if (!self->resolved) {
		result = sbx_guest_user_resolve(
			self->engine, &self->container, windows, call, &self->user, err);
		self->resolved = result == 0;
	}
	*uid = self->user.uid;
	*gid = self->user.gid;
	pthread_mutex_unlock(&self->lock);
	return result;
}

static void audit(
	void *data, const char *op, const char *path, const char *component, const char *what)
{
	struct transfer_plane *self = data;
	sbx_log(SBX_LOG_WARNING, "refused in sandbox %s: %s of %s: %s is a %s",
		self->container.name, op, path, component, what);
}

static int forward_stat(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->stat(inner, path, call, out, err);
}

static int forward_stat_many(struct sbx_plane *plane, const char *const *paths, size_t count,
	const struct sbx_call *call, struct sbx_stat *out, int *results, struct sbx_error *errors,
	struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->stat_many(inner, paths, count, call, out, results, errors, err);
}

static int forward_list(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->list(inner, path, call, out, err);
}

static int forward_read(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	const struct sbx_reader *reader, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->read(inner, path, call, reader, err);
}

static int forward_read_tree(struct sbx_plane *plane, const char *path, int64_t most_bytes,
	const struct sbx_call *call, const struct sbx_tree_reader *reader, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->read_tree(inner, path, most_bytes, call, reader, err);
}

static int forward_put(struct sbx_plane *plane, struct sbx_put_item *items, size_t count,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->put(inner, items, count, call, err);
}

static int forward_remove(struct sbx_plane *plane, const char *path, bool recursive,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->remove(inner, path, recursive, call, err);
}

static int forward_remove_dir(struct sbx_plane *plane, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->remove_dir(inner, path, call, err);
}

static int forward_rename(struct sbx_plane *plane, const char *from, const char *to,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->rename(inner, from, to, call, err);
}

static int forward_set_attributes(struct sbx_plane *plane, const char *path,
	const struct sbx_attributes *want, const struct sbx_call *call, struct sbx_stat *before,
	struct sbx_stat *after, struct sbx_error *err)
{
	struct sbx_plane *inner = of(plane)->inner;
	return inner->ops->set_attributes(inner, path, want, call, before, after, err);
}

static void forward_rest(struct sbx_plane *plane)
{
	struct sbx_plane *inner = of(plane)->inner;
	inner->ops->rest(inner);
}

static void destroy(struct sbx_plane *plane)
{
	struct transfer_plane *self = of(plane);
	sbx_plane_destroy(self->inner);
	sbx_container_finish(&self->container);
	pthread_mutex_destroy(&self->lock);
	free(self);
}

static const struct sbx_plane_ops ops = {
	.stat = forward_stat,
	.stat_many = forward_stat_many,
	.list = forward_list,
	.read = forward_read,
	.read_tree = forward_read_tree,
	.put = forward_put,
	.remove = forward_remove,
	.remove_dir = forward_remove_dir,
	.rename = forward_rename,
	.set_attributes = forward_set_attributes,
	.rest = forward_rest,
	.destroy = destroy,
};

struct sbx_plane *sbx_transfer_plane(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_plane_limits *limits)
{
	struct sbx_plane_limits defaults;
	sbx_plane_limits_default(&defaults);
	struct transfer_plane *self = sbx_alloc(sizeof(*self));
	self->plane.ops = &ops;
	self->engine = engine;
	self->host =
		(struct sbx_plane_host){ .guest_user = guest_user, .audit = audit, .data = self };
	sbx_container_copy(&self->container, &sandbox->container);
	(void)pthread_mutex_init(&self->lock, NULL); /* cannot fail with default attributes */
	self->inner = sbx_plane_archive_create(engine, &sandbox->container, sandbox->workdir,
		limits ? limits : &defaults, &self->host);
	return &self->plane;
}
