/* facts.c: the engine's answers about single paths; see tree.h. */
#include "tree.h"

enum {
	FACTS_KEPT = 4096,
	RETRY_MS = 300,
	TRAIL_MS = 10000, /* who has not been there for so long may not go there again */
	TRAIL_MAX = 16,
};

struct stat_job {
	struct sbx_job job;
	char *path;
	size_t deeper; /* how many directories of the trail are asked for, too … */
	char *deeper_paths[TRAIL_MAX];
	struct sbx_stat deeper_stats[TRAIL_MAX];
	size_t deeper_known; /* of how many that was told */
	bool often_new;	     /* most names that are asked for there are about to be made */
	struct sbx_stat st;
	int64_t when_ms, asked_s;
};

bool sbx_tree_fresh(const struct sbx_fs *fs, int64_t when_ms)
{
	int64_t holds_ms = fs->options->entry_timeout_ms;
	/* Without a window of its own, the retry after ESTALE would check anew and could fail for
	 * ever on a file that changes all the time (fuse-guide §2). */
	if (holds_ms < RETRY_MS)
		holds_ms = RETRY_MS;
	return when_ms && sbx_clock_ms() - when_ms <= holds_ms;
}

static struct sbx_fact *find(struct sbx_view *view, const char *path)
{
	struct sbx_fact *fact = NULL;
	HASH_FIND_STR(view->facts, path, fact);
	return fact;
}

static void free_fact(struct sbx_view *view, struct sbx_fact *fact)
{
	HASH_DEL(view->facts, fact);
	sbx_stat_finish(&fact->st);
	free(fact->path);
	free(fact);
}

/* Drops what no longer holds, so that a walk over a large tree leaves nothing behind. */
static void trim(struct sbx_view *view)
{
	if (HASH_COUNT(view->facts) < FACTS_KEPT)
		return;
	struct sbx_fact *fact, *next;
	HASH_ITER(hh, view->facts, fact, next)
	if (!fact->job && !fact->waiters.first && !sbx_tree_fresh(view->fs, fact->when_ms))
		free_fact(view, fact);
}

static void abandoned(struct sbx_waiters *waiters)
{
	struct sbx_fact *fact = waiters->data;
	if (fact->job)
		sbx_job_cancel(fact->job);
}

static struct sbx_fact *get(struct sbx_view *view, const char *path)
{
	struct sbx_fact *fact = find(view, path);
	if (fact)
		return fact;
	trim(view);
	fact = sbx_alloc(sizeof(*fact));
	fact->path = sbx_strdup(path);
	fact->waiters.abandoned = abandoned;
	fact->waiters.data = fact;
	HASH_ADD_KEYPTR(hh, view->facts, fact->path, strlen(fact->path), fact);
	return fact;
}

const struct sbx_fact *sbx_fact_fresh(struct sbx_view *view, const char *path)
{
	const struct sbx_fact *fact = find(view, path);
	return fact && sbx_tree_fresh(view->fs, fact->when_ms) ? fact : NULL;
}

static bool states_something(int result)
{
	return result == 0 || result == -ENOENT || result == -ELOOP || result == -ENOTDIR ||
	       result == -EOPNOTSUPP;
}

void sbx_fact_set(struct sbx_view *view, const char *path, int result, const char *why,
	struct sbx_stat *st, int64_t when_ms, int64_t asked_s)
{
	if (!states_something(result) || view->gone)
		return;
	sbx_refused_reason(view, path, result == -EOPNOTSUPP ? why : NULL);
	struct sbx_fact *fact = get(view, path);
	sbx_stat_finish(&fact->st);
	fact->st = (struct sbx_stat){ 0 };
	fact->result = result;
	fact->when_ms = when_ms;
	fact->asked_s = asked_s;
	if (result == 0 && st) {
		fact->st = *st;
		st->link_target = NULL;
	}
}

/* One after another in one window, which shows each parent once; below what is no directory there
 * is nothing to ask for. */
static int stat_trail(struct stat_job *stat, struct sbx_error *err)
{
	struct sbx_plane *plane = stat->job.view->plane;
	int rc = plane->ops->stat(plane, stat->path, &stat->job.call, &stat->st, err);
	bool directory = !rc && stat->st.type == SBX_TYPE_DIR;
	while (directory && stat->deeper_known < stat->deeper) {
		struct sbx_error ignored = SBX_ERROR_INIT; /* who asks for it is told */
		struct sbx_stat *st = &stat->deeper_stats[stat->deeper_known];
		directory = plane->ops->stat(plane, stat->deeper_paths[stat->deeper_known],
				    &stat->job.call, st, &ignored) == 0;
		stat->deeper_known += directory;
		directory = directory && st->type == SBX_TYPE_DIR;
	}
	return rc;
}

static int run_stat(struct sbx_job *job, struct sbx_error *err)
{
	struct stat_job *stat = (struct stat_job *)job;
	struct sbx_plane *plane = job->view->plane;
	stat->asked_s = plane->ops->now_s(plane);
	if (stat->often_new && !stat->deeper && plane->ops->absent &&
		plane->ops->absent(plane, stat->path, &job->call)) {
		stat->when_ms = sbx_clock_ms();
		return sbx_fail(err, ENOENT, "there is no \"%s\"", stat->path);
	}
	int rc = stat->deeper ? stat_trail(stat, err)
			      : plane->ops->stat(plane, stat->path, &job->call, &stat->st, err);
	stat->when_ms = sbx_clock_ms();
	return rc;
}

static void start(struct sbx_view *view, struct sbx_fact *fact);

static void keep_trail(struct stat_job *stat)
{
	struct sbx_view *view = stat->job.view;
	for (size_t i = 0; i < stat->deeper; i++) {
		/* One that is asked for alone is waited for, or was told later. */
		const struct sbx_fact *other = find(view, stat->deeper_paths[i]);
		if (i < stat->deeper_known &&
			!(other && (other->job || other->when_ms > stat->when_ms)))
			sbx_fact_set(view, stat->deeper_paths[i], 0, NULL, &stat->deeper_stats[i],
				stat->when_ms, stat->asked_s);
		sbx_stat_finish(&stat->deeper_stats[i]);
		free(stat->deeper_paths[i]);
	}
}

static void stat_done(struct sbx_job *job)
{
	struct stat_job *stat = (struct stat_job *)job;
	struct sbx_view *view = job->view;
	struct sbx_fact *fact = find(view, stat->path);
	int result = job->result;
	keep_trail(stat); /* before somebody goes on, and asks for it */
	fact->job = NULL; /* one with a job is never freed */
	if (result == -ECANCELED && fact->waiters.first) {
		/* Somebody came after the last one had left. */
		start(view, fact);
	} else {
		/* Not kept when the sandbox itself is gone: then the path says nothing. */
		if (job->err.kind != SBX_KIND_GONE)
			sbx_fact_set(view, stat->path, result, job->err.message, &stat->st,
				stat->when_ms, stat->asked_s);
		bool stated = states_something(result) && job->err.kind != SBX_KIND_GONE;
		sbx_waiters_resume(&fact->waiters, stated ? 0 : result, &job->err);
	}
	sbx_stat_finish(&stat->st);
	free(stat->path);
	sbx_job_free(job);
}

/* Of a way down the kernel asks again for what it believes no longer, which may be its upper part
 * alone: that does not make it shorter. */
void sbx_trail_note(struct sbx_view *view, const char *directory)
{
	size_t length = strlen(directory);
	int64_t now_ms = sbx_clock_ms();
	bool same = view->trail && strncmp(view->trail, directory, length) == 0;
	if (same && view->trail[length] == '/' && now_ms - view->trail_ms <= TRAIL_MS)
		return;
	view->trail_ms = now_ms;
	if (same && !view->trail[length])
		return;
	free(view->trail);
	view->trail = sbx_strdup(directory);
}

/* The trail's directories below the job's path. */
static void follow_trail(struct stat_job *stat)
{
	const struct sbx_view *view = stat->job.view;
	size_t length = strlen(stat->path);
	const char *trail = view->trail;
	if (!trail || sbx_clock_ms() - view->trail_ms > TRAIL_MS ||
		strncmp(trail, stat->path, length) != 0 || trail[length] != '/')
		return;
	for (const char *end = trail + length; *end && stat->deeper < TRAIL_MAX;) {
		const char *slash = strchr(end + 1, '/');
		end = slash ? slash : trail + strlen(trail);
		stat->deeper_paths[stat->deeper++] = sbx_strndup(trail, (size_t)(end - trail));
	}
}

static void start(struct sbx_view *view, struct sbx_fact *fact)
{
	struct stat_job *stat =
		sbx_job_create(view->fs, view, sizeof(*stat), view->fs->options->deadline_ms);
	stat->job.run = run_stat;
	stat->job.done = stat_done;
	stat->path = sbx_strdup(fact->path);
	stat->often_new = sbx_place_of(&view->sandbox, fact->path, NULL) == SBX_PLACE_IN;
	follow_trail(stat);
	fact->job = &stat->job;
	view->fs->counters.stats++;
	sbx_job_start(&stat->job);
}

void sbx_fact_wait(
	struct sbx_request *request, struct sbx_view *view, const char *path, sbx_resume_fn resume)
{
	struct sbx_fact *fact = get(view, path);
	sbx_request_park(request, &fact->waiters, resume);
	if (!fact->job)
		start(view, fact);
}

void sbx_facts_drop(struct sbx_view *view, const char *path)
{
	struct sbx_fact *fact = find(view, path);
	if (fact)
		fact->when_ms = 0;
}

void sbx_facts_drop_below(struct sbx_view *view, const char *directory)
{
	size_t length = strlen(directory);
	for (struct sbx_fact *fact = view->facts; fact; fact = fact->hh.next)
		if (strncmp(fact->path, directory, length) == 0 && fact->path[length] == '/')
			fact->when_ms = 0;
}

void sbx_facts_free(struct sbx_view *view)
{
	free(steal(&view->trail));
	struct sbx_fact *fact, *next;
	HASH_ITER(hh, view->facts, fact, next)
	free_fact(view, fact);
}
