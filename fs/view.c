/*
 * view.c: see view.h.
 *
 * The inventory speaks from its own thread: it copies what it was told and posts it. The loop takes
 * the set over from there, and tells the kernel which names of the root came and went.
 */
#include "view.h"

#include "context.h"
#include "in.h"
#include "sandbox_copy.h"
#include "tree.h"

#include <sbx/guest_user.h>

#include <time.h>

/* What workers may read of a sandbox. */
struct sbx_view_host {
	struct sbx_plane_host calls;
	struct sbx_engine *engine;
	struct sbx_audit *audit;
	struct sbx_container container; /* as first seen: id, name and user do not change */
	pthread_mutex_t user_lock;
	bool user_known; /* guarded by user_lock, as the next */
	struct sbx_guest_user user;
};

struct news {
	struct sbx_post post;
	struct sbx_fs *fs;
	struct sbx_sandbox sandbox; /* of present */
	char *id;		    /* of gone */
	bool up;
	char *trouble;
};

static int guest_user(void *data, struct sbx_windows *windows, const struct sbx_call *call,
	unsigned *uid, unsigned *gid, struct sbx_error *err)
{
	struct sbx_view_host *host = data;
	struct sbx_guest_user user;
	pthread_mutex_lock(&host->user_lock);
	bool known = host->user_known;
	user = host->user;
	pthread_mutex_unlock(&host->user_lock);
	if (!known) {
		int rc = sbx_guest_user_resolve(
			host->engine, &host->container, windows, call, &user, err);
		if (rc)
			return rc;
		pthread_mutex_lock(&host->user_lock);
		host->user = user;
		host->user_known = true;
		pthread_mutex_unlock(&host->user_lock);
	}
	*uid = user.uid;
	*gid = user.gid;
	return 0;
}

static void audit(
	void *data, const char *op, const char *path, const char *component, const char *what)
{
	struct sbx_view_host *host = data;
	sbx_audit_add(host->audit, host->container.name, op, path, component, what);
}

static struct sbx_view_host *host_create(struct sbx_view *view)
{
	struct sbx_view_host *host = sbx_alloc(sizeof(*host));
	host->calls =
		(struct sbx_plane_host){ .guest_user = guest_user, .audit = audit, .data = host };
	host->engine = view->fs->engine;
	host->audit = &view->audit;
	sbx_container_copy(&host->container, &view->sandbox.container);
	pthread_mutex_init(&host->user_lock, NULL);
	return host;
}

static void host_destroy(struct sbx_view_host *host)
{
	sbx_container_finish(&host->container);
	pthread_mutex_destroy(&host->user_lock);
	free(host);
}

/* Two containers never share a directory, and no name can be one of ours or the kernel's. */
static char *shown_name(struct sbx_fs *fs, const struct sbx_container *container)
{
	const char *name = container->name;
	bool usable = *name && *name != '.' && !strchr(name, '/') && strlen(name) <= 240;
	if (usable && !sbx_views_by_name(fs, name))
		return sbx_strdup(name);
	if (usable)
		return sbx_printf("%s-%.12s", name, container->id);
	return sbx_strndup(container->id, 12);
}

static void touch_root(struct sbx_fs *fs)
{
	fs->views.changed_s = time(NULL);
	sbx_notify_attr(fs->notifier, FUSE_ROOT_ID);
}

static void hide(struct sbx_view *view)
{
	struct sbx_fs *fs = view->fs;
	if (!view->name)
		return;
	HASH_DELETE(hh_name, fs->views.by_name, view);
	const struct sbx_node *node = sbx_node_find(fs, view, "");
	if (node)
		sbx_notify_gone(fs->notifier, FUSE_ROOT_ID, node->id, view->name);
	else
		sbx_notify_entry(fs->notifier, FUSE_ROOT_ID, view->name);
	free(view->name);
	view->name = NULL;
	touch_root(fs);
}

static void show(struct sbx_view *view)
{
	struct sbx_fs *fs = view->fs;
	view->name = shown_name(fs, &view->sandbox.container);
	HASH_ADD_KEYPTR(hh_name, fs->views.by_name, view->name, strlen(view->name), view);
	sbx_notify_entry(fs->notifier, FUSE_ROOT_ID, view->name);
	touch_root(fs);
}

static bool wanted(const struct sbx_fs *fs, const struct sbx_view *view)
{
	return !fs->options->state_set || view->sandbox.container.state == fs->options->state;
}

static struct sbx_view *by_id(struct sbx_fs *fs, const char *id)
{
	struct sbx_view *view = NULL;
	HASH_FIND_STR(fs->views.by_id, id, view);
	return view;
}

struct sbx_view *sbx_views_by_name(struct sbx_fs *fs, const char *name)
{
	struct sbx_view *view = NULL;
	HASH_FIND(hh_name, fs->views.by_name, name, strlen(name), view);
	return view;
}

struct sbx_plane *sbx_view_archive_plane(struct sbx_view *view)
{
	const struct sbx_fs_options *options = view->fs->options;
	struct sbx_plane_limits limits;
	sbx_plane_limits_default(&limits);
	limits.freeze = options->freeze;
	limits.max_file_bytes = options->max_file_bytes;
	limits.max_in_bytes = options->max_in_bytes;
	limits.max_frozen_bytes = options->max_frozen_bytes;
	limits.linger_ms = options->linger_ms;
	limits.max_hold_ms = options->max_hold_ms;
	limits.max_duty_percent = options->duty_percent;
	return sbx_plane_archive_create(view->fs->engine, &view->sandbox.container,
		view->sandbox.workdir, &limits, &view->host->calls);
}

static void add(struct sbx_fs *fs, struct sbx_sandbox *sandbox)
{
	struct sbx_view *view = sbx_alloc(sizeof(*view));
	view->fs = fs;
	view->refs = 1; /* the set's */
	view->sandbox = *sandbox;
	memset(sandbox, 0, sizeof(*sandbox));
	sbx_audit_init(&view->audit);
	view->host = host_create(view);
	view->plane = fs->make_plane(view);
	HASH_ADD_KEYPTR(hh, fs->views.by_id, view->sandbox.container.id,
		strlen(view->sandbox.container.id), view);
	sbx_in_view_added(view);
	if (wanted(fs, view))
		show(view);
}

/* Names are unique on an engine, so who had to stand aside for this one, since it was told of
 * first, gets it now that it is free. */
static void give_back(struct sbx_fs *fs, const char *name)
{
	struct sbx_view *view, *next;
	HASH_ITER(hh, fs->views.by_id, view, next)
	{
		if (!view->name || strcmp(view->sandbox.container.name, name) != 0 ||
			strcmp(view->name, name) == 0)
			continue;
		hide(view);
		show(view);
		return;
	}
}

static void update(struct sbx_view *view, struct sbx_sandbox *sandbox)
{
	struct sbx_fs *fs = view->fs;
	cleanup_free char *before = sbx_strdup(view->sandbox.container.name);
	bool renamed = strcmp(before, sandbox->container.name) != 0;
	HASH_DEL(fs->views.by_id, view);
	sbx_sandbox_finish(&view->sandbox);
	view->sandbox = *sandbox;
	memset(sandbox, 0, sizeof(*sandbox));
	HASH_ADD_KEYPTR(hh, fs->views.by_id, view->sandbox.container.id,
		strlen(view->sandbox.container.id), view);
	if (view->name && (renamed || !wanted(fs, view)))
		hide(view);
	if (!view->name && wanted(fs, view))
		show(view);
	if (renamed)
		give_back(fs, before);
}

static void on_present(struct sbx_post *post)
{
	struct news *news = (struct news *)post;
	struct sbx_view *view = by_id(news->fs, news->sandbox.container.id);
	if (view)
		update(view, &news->sandbox);
	else
		add(news->fs, &news->sandbox);
	sbx_sandbox_finish(&news->sandbox);
	free(news);
}

/* A plane's end may have to resume its sandbox: that is a worker's to wait for. */
struct plane_job {
	struct sbx_job job;
	struct sbx_queue queue; /* its own: one that is stuck holds up nothing else */
	struct sbx_plane *plane;
	struct sbx_view_host *host;
};

static int run_plane_end(struct sbx_job *job, struct sbx_error *err)
{
	struct plane_job *end = (struct plane_job *)job;
	(void)err; /* a window that cannot be closed is the guardian's to undo */
	sbx_plane_destroy(end->plane);
	end->plane = NULL;
	return 0;
}

static void plane_ended(struct sbx_job *job)
{
	struct plane_job *end = (struct plane_job *)job;
	sbx_plane_destroy(end->plane); /* not yet, if there was no worker left */
	host_destroy(end->host);
	sbx_job_free(job);
}

static void end_plane(struct sbx_view *view)
{
	struct plane_job *end = sbx_job_create(view->fs, NULL, sizeof(*end), 0);
	end->job.queue = &end->queue;
	end->job.run = run_plane_end;
	end->job.done = plane_ended;
	end->plane = steal(&view->plane);
	end->host = steal(&view->host);
	end->host->audit = NULL; /* the view's; no call of the plane is running */
	sbx_job_start(&end->job);
}

/* The kernel may remember nodes of a sandbox that is gone for as long as it likes, and each holds
 * the view. The plane, with its threads and descriptors, does not wait for that. */
static void end_idle_plane(struct sbx_view *view)
{
	if (view->gone && !view->jobs && view->plane)
		end_plane(view);
}

void sbx_view_job_added(struct sbx_view *view)
{
	view->jobs++;
}

void sbx_view_job_ended(struct sbx_view *view)
{
	view->jobs--;
	end_idle_plane(view);
}

static void remove_view(struct sbx_view *view)
{
	struct sbx_fs *fs = view->fs;
	view->gone = true;
	hide(view);
	HASH_DEL(fs->views.by_id, view);
	give_back(fs, view->sandbox.container.name);
	sbx_spools_forget(fs->spools, view->sandbox.container.id);
	sbx_in_view_gone(view);
	end_idle_plane(view);
	sbx_view_unref(view);
}

static void on_gone(struct sbx_post *post)
{
	struct news *news = (struct news *)post;
	struct sbx_view *view = by_id(news->fs, news->id);
	if (view)
		remove_view(view);
	free(news->id);
	free(news);
}

static void on_connection(struct sbx_post *post)
{
	struct news *news = (struct news *)post;
	struct sbx_fs *fs = news->fs;
	if (fs->engine_up && !news->up)
		sbx_log(SBX_LOG_WARNING, "the engine does not answer: %s", news->trouble);
	if (!fs->engine_up && news->up)
		sbx_log(SBX_LOG_INFO, "the engine answers");
	fs->engine_up = news->up;
	free(fs->engine_trouble);
	fs->engine_trouble = news->trouble;
	free(news);
}

static struct news *news_create(void *data, void (*run)(struct sbx_post *post))
{
	struct news *news = sbx_alloc(sizeof(*news));
	news->fs = data;
	news->post.run = run;
	return news;
}

static void present(void *data, const struct sbx_sandbox *sandbox)
{
	struct news *news = news_create(data, on_present);
	sbx_sandbox_copy(&news->sandbox, sandbox);
	sbx_loop_post(news->fs->loop, &news->post);
}

static void gone(void *data, const char *id)
{
	struct news *news = news_create(data, on_gone);
	news->id = sbx_strdup(id);
	sbx_loop_post(news->fs->loop, &news->post);
}

static void connection(void *data, bool up, const struct sbx_error *err)
{
	struct news *news = news_create(data, on_connection);
	news->up = up;
	if (!up)
		news->trouble = sbx_strdup(err ? err->message : "no reason was given");
	sbx_loop_post(news->fs->loop, &news->post);
}

struct sbx_inventory_listener sbx_views_listener(struct sbx_fs *fs)
{
	return (struct sbx_inventory_listener){
		.present = present,
		.gone = gone,
		.connection = connection,
		.data = fs,
	};
}

void sbx_view_ref(struct sbx_view *view)
{
	view->refs++;
}

void sbx_view_unref(struct sbx_view *view)
{
	if (--view->refs)
		return;
	if (view->plane)
		end_plane(view);
	sbx_in_view_free(view);
	sbx_facts_free(view);
	sbx_directories_free(view);
	sbx_refused_free(view);
	sbx_audit_finish(&view->audit);
	sbx_sandbox_finish(&view->sandbox);
	free(view->name);
	free(view);
}

void sbx_views_finish(struct sbx_fs *fs)
{
	struct sbx_view *view, *next;
	HASH_ITER(hh, fs->views.by_id, view, next)
	{
		if (view->name)
			HASH_DELETE(hh_name, fs->views.by_name, view);
		HASH_DEL(fs->views.by_id, view);
		view->gone = true;
		sbx_view_unref(view);
	}
	free(fs->engine_trouble);
	fs->engine_trouble = NULL;
}

void sbx_view_changed(struct sbx_view *view, const char *path)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *parent = sbx_strndup(path, slash ? (size_t)(slash - path) : 0);
	sbx_facts_drop(view, path);
	sbx_directories_drop(view, path);
	sbx_directories_drop(view, parent);
}
