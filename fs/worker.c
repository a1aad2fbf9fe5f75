/*
 * worker.c: see worker.h.
 *
 * A queue with jobs is either on the ready list or served by exactly one thread, so jobs of one
 * sandbox never run at once. After each job the queue goes to the end of the ready list: no sandbox
 * keeps a thread from another for longer than one job.
 */
#include "context.h"

#include <pthread.h>
#include <time.h>

struct sbx_workers {
	struct sbx_fs *fs;
	struct sbx_job *all; /* of all jobs not done; the loop's */
	pthread_mutex_t queues_lock;
	pthread_cond_t changed;
	struct sbx_queue *first_ready, *last_ready; /* guarded by queues_lock, as the rest */
	unsigned ready, threads,
		idle; /* queues on the list; threads, and those that wait for one */
	bool stopping;
};

void *sbx_job_create(struct sbx_fs *fs, struct sbx_view *view, size_t size, int64_t timeout_ms)
{
	struct sbx_job *job = sbx_alloc(size);
	job->fs = fs;
	job->view = view;
	job->queue = view ? &view->queue : NULL;
	if (view) {
		sbx_view_ref(view);
		sbx_view_job_added(view);
	}
	job->call = sbx_call_within(timeout_ms, sbx_cancel_create());
	/* A long upload may take its time, but an engine that says nothing for a deadline is
	 * silent. */
	job->call.idle_ms = fs && fs->options ? fs->options->deadline_ms : 0;
	return job;
}

void sbx_job_cancel(struct sbx_job *job)
{
	sbx_cancel_fire(job->call.cancel);
}

static void link_job(struct sbx_workers *workers, struct sbx_job *job)
{
	job->next_all = workers->all;
	if (workers->all)
		workers->all->prev_all = job;
	workers->all = job;
}

void sbx_job_free(struct sbx_job *job)
{
	struct sbx_workers *workers = job->fs->workers;
	if (job->prev_all)
		job->prev_all->next_all = job->next_all;
	else if (workers->all == job)
		workers->all = job->next_all;
	if (job->next_all)
		job->next_all->prev_all = job->prev_all;
	sbx_cancel_unref(job->call.cancel);
	if (job->view) {
		sbx_view_job_ended(job->view);
		sbx_view_unref(job->view);
	}
	free(job);
}

static void run_done(struct sbx_post *post)
{
	struct sbx_job *job = (struct sbx_job *)((char *)post - offsetof(struct sbx_job, post));
	job->done(job);
}

static void push_ready(struct sbx_workers *workers, struct sbx_queue *queue)
{
	queue->ready = true;
	queue->next_ready = NULL;
	if (workers->last_ready)
		workers->last_ready->next_ready = queue;
	else
		workers->first_ready = queue;
	workers->last_ready = queue;
	workers->ready++;
}

static struct sbx_queue *pop_ready(struct sbx_workers *workers)
{
	struct sbx_queue *queue = workers->first_ready;
	if (!queue)
		return NULL;
	workers->first_ready = queue->next_ready;
	if (!workers->first_ready)
		workers->last_ready = NULL;
	queue->ready = false;
	workers->ready--;
	return queue;
}

static void push_job(struct sbx_queue *queue, struct sbx_job *job)
{
	struct sbx_job **first = &queue->first_short, **last = &queue->last_short;
	if (job->length == SBX_JOB_LONG) {
		first = &queue->first_long;
		last = &queue->last_long;
	}
	job->next = NULL;
	if (*last)
		(*last)->next = job;
	else
		*first = job;
	*last = job;
}

static struct sbx_job *pop_job(struct sbx_queue *queue)
{
	struct sbx_job **first = &queue->first_short, **last = &queue->last_short;
	if (!*first || (queue->first_long && queue->passed == SBX_SHORT_IN_A_ROW)) {
		first = &queue->first_long;
		last = &queue->last_long;
	}
	struct sbx_job *job = *first;
	if (!job)
		return NULL;
	bool passes = queue->first_long && job->length == SBX_JOB_SHORT;
	queue->passed = passes ? queue->passed + 1 : 0;
	*first = job->next;
	if (!*first)
		*last = NULL;
	return job;
}

static void perform(struct sbx_job *job)
{
	if (job->from_turn_ms)
		job->call.deadline_ms = sbx_clock_ms() + job->from_turn_ms;
	if (sbx_cancel_fired(job->call.cancel))
		job->result = sbx_fail(&job->err, ECANCELED,
			"a request of the sandbox was cancelled before its turn");
	else if (sbx_call_left_ms(&job->call) <= 0)
		job->result = sbx_fail(&job->err, ETIMEDOUT,
			"the sandbox was busy with other requests until the deadline");
	else
		job->result = job->run(job, &job->err);
}

/* Waits for work. false: nothing came for long, or the mount ends. */
static bool wait_for_work(struct sbx_workers *workers)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SBX_WORKER_IDLE_MS / 1000;
	int rc = 0;
	workers->idle++;
	while (!workers->first_ready && !workers->stopping && !rc)
		rc = pthread_cond_timedwait(&workers->changed, &workers->queues_lock, &until);
	workers->idle--;
	return workers->first_ready;
}

static void *work(void *data)
{
	struct sbx_workers *workers = data;
	pthread_mutex_lock(&workers->queues_lock);
	while (workers->first_ready || wait_for_work(workers)) {
		struct sbx_queue *queue = pop_ready(workers);
		struct sbx_job *job = pop_job(queue);
		queue->served = true;
		queue->running = job;
		pthread_mutex_unlock(&workers->queues_lock);
		perform(job);
		pthread_mutex_lock(&workers->queues_lock);
		queue->served = false;
		queue->running = NULL;
		if (queue->first_short || queue->first_long)
			push_ready(workers, queue);
		pthread_mutex_unlock(&workers->queues_lock);
		/* From here the loop may free the job, its sandbox and the queue. */
		sbx_loop_post(workers->fs->loop, &job->post);
		pthread_mutex_lock(&workers->queues_lock);
	}
	workers->threads--;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->queues_lock);
	return NULL;
}

/* With queues_lock held. */
static bool start_thread(struct sbx_workers *workers)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int rc = pthread_create(&thread, &attributes, work, workers);
	pthread_attr_destroy(&attributes);
	if (rc) {
		sbx_log(SBX_LOG_WARNING, "no thread for a sandbox's requests: %s", strerror(rc));
		return workers->threads > 0;
	}
	workers->threads++;
	return true;
}

void sbx_job_start(struct sbx_job *job)
{
	struct sbx_workers *workers = job->fs->workers;
	struct sbx_queue *queue = job->queue;
	job->post.run = run_done;
	link_job(workers, job);
	bool ended = job->view && !job->view->plane;
	pthread_mutex_lock(&workers->queues_lock);
	bool taken = !ended && !workers->stopping;
	/* A thread that was woken counts as idle until it runs: it serves what woke it. */
	if (taken && !queue->served && !queue->ready && workers->ready >= workers->idle &&
		workers->threads < SBX_WORKERS_MAX)
		taken = start_thread(workers);
	if (taken) {
		push_job(queue, job);
		if (!queue->served && !queue->ready)
			push_ready(workers, queue);
		pthread_cond_signal(&workers->changed);
	}
	pthread_mutex_unlock(&workers->queues_lock);
	if (taken)
		return;
	if (ended)
		job->result =
			sbx_fail_kind(&job->err, SBX_KIND_GONE, ESTALE, "the sandbox was removed");
	else
		job->result = sbx_fail(&job->err, EIO, "no thread is left to ask the engine");
	sbx_loop_post(workers->fs->loop, &job->post);
}

int sbx_workers_create(struct sbx_fs *fs, struct sbx_workers **out, struct sbx_error *err)
{
	struct sbx_workers *workers = sbx_alloc(sizeof(*workers));
	pthread_condattr_t attributes;
	workers->fs = fs;
	pthread_mutex_init(&workers->queues_lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	int rc = pthread_cond_init(&workers->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (rc) {
		free(workers);
		return sbx_fail_errno(err, rc, "workers");
	}
	*out = workers;
	return 0;
}

unsigned sbx_workers_count(struct sbx_workers *workers)
{
	pthread_mutex_lock(&workers->queues_lock);
	unsigned count = workers->threads;
	pthread_mutex_unlock(&workers->queues_lock);
	return count;
}

bool sbx_workers_busy(struct sbx_workers *workers)
{
	return workers->all;
}

void sbx_workers_cancel(struct sbx_workers *workers)
{
	for (struct sbx_job *job = workers->all; job; job = job->next_all)
		sbx_job_cancel(job);
}

void sbx_workers_stop(struct sbx_workers *workers)
{
	sbx_workers_cancel(workers);
	pthread_mutex_lock(&workers->queues_lock);
	workers->stopping = true;
	pthread_cond_broadcast(&workers->changed);
	while (workers->threads)
		pthread_cond_wait(&workers->changed, &workers->queues_lock);
	pthread_mutex_unlock(&workers->queues_lock);
}

void sbx_workers_destroy(struct sbx_workers *workers)
{
	if (!workers)
		return;
	pthread_cond_destroy(&workers->changed);
	pthread_mutex_destroy(&workers->queues_lock);
	free(workers);
}
