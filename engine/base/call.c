/* call.c: see sbx/call.h. A token is a flag, and an eventfd once somebody asks for one: most tokens
 * are never waited for in poll, and a mount has several for each sandbox. */
#include <sbx/call.h>

#include "alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>

/* A child's place in the list of one parent. */
struct link {
	struct sbx_cancel *parent, *child; /* a reference on the parent, none on the child */
	LIST_ENTRY(link) entry;
};

struct sbx_cancel {
	atomic_int refs;
	atomic_bool fired;
	pthread_mutex_t lock; /* guards the next two; taken from parent to child only */
	int fd;		      /* -1: nobody has asked for it, or there was none to be had */
	LIST_HEAD(, link) children;
	struct link links[2];
};

struct sbx_cancel *sbx_cancel_create(void)
{
	struct sbx_cancel *cancel = sbx_alloc(sizeof(*cancel));
	atomic_init(&cancel->refs, 1);
	atomic_init(&cancel->fired, false);
	(void)pthread_mutex_init(&cancel->lock, NULL); /* cannot fail without attributes */
	LIST_INIT(&cancel->children);
	cancel->fd = -1;
	return cancel;
}

struct sbx_cancel *sbx_cancel_create_child(struct sbx_cancel *first, struct sbx_cancel *second)
{
	struct sbx_cancel *child = sbx_cancel_create();
	struct sbx_cancel *parents[2] = { first, second };
	for (size_t i = 0; i < 2; i++) {
		struct link *link = &child->links[i];
		if (!parents[i])
			continue;
		link->parent = sbx_cancel_ref(parents[i]);
		link->child = child;
		(void)pthread_mutex_lock(&link->parent->lock);
		LIST_INSERT_HEAD(&link->parent->children, link, entry);
		(void)pthread_mutex_unlock(&link->parent->lock);
		/* A parent sets its flag before it walks its list: here it shows, or the walk sees
		 * us. */
		if (sbx_cancel_fired(link->parent))
			sbx_cancel_fire(child);
	}
	return child;
}

struct sbx_cancel *sbx_cancel_ref(struct sbx_cancel *cancel)
{
	if (cancel)
		atomic_fetch_add(&cancel->refs, 1);
	return cancel;
}

void sbx_cancel_unref(struct sbx_cancel *cancel)
{
	if (!cancel || atomic_fetch_sub(&cancel->refs, 1) != 1)
		return;
	for (size_t i = 0; i < 2; i++) {
		struct link *link = &cancel->links[i];
		if (!link->parent)
			continue;
		(void)pthread_mutex_lock(&link->parent->lock);
		LIST_REMOVE(link, entry);
		(void)pthread_mutex_unlock(&link->parent->lock);
		sbx_cancel_unref(link->parent);
	}
	(void)pthread_mutex_destroy(&cancel->lock);
	if (cancel->fd >= 0)
		(void)close(cancel->fd); /* an eventfd has nothing to flush */
	free(cancel);
}

void sbx_cancel_fire(struct sbx_cancel *cancel)
{
	if (!cancel || atomic_exchange(&cancel->fired, true))
		return;
	(void)pthread_mutex_lock(&cancel->lock);
	if (cancel->fd >= 0)
		(void)eventfd_write(cancel->fd, 1); /* nobody reads it: 2 at most, so no wait */
	struct link *link;
	LIST_FOREACH(link, &cancel->children, entry)
	sbx_cancel_fire(link->child);
	(void)pthread_mutex_unlock(&cancel->lock);
}

bool sbx_cancel_fired(const struct sbx_cancel *cancel)
{
	return cancel && atomic_load(&cancel->fired);
}

int sbx_cancel_fd(struct sbx_cancel *cancel)
{
	if (!cancel)
		return -1;
	(void)pthread_mutex_lock(&cancel->lock);
	/* The flag is set before the lock is taken to tell the descriptor: it shows here, or the
	 * descriptor there. Under a full table there is none, and the flag still works. */
	if (cancel->fd < 0)
		cancel->fd =
			eventfd(atomic_load(&cancel->fired) ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
	int fd = cancel->fd;
	(void)pthread_mutex_unlock(&cancel->lock);
	return fd;
}

int64_t sbx_clock_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A bound past the end of the clock ends there. */
static int64_t ends_ms(int64_t timeout_ms)
{
	int64_t now_ms = sbx_clock_ms();
	return timeout_ms < INT64_MAX - now_ms ? now_ms + timeout_ms : INT64_MAX;
}

struct sbx_call sbx_call_within(int64_t timeout_ms, struct sbx_cancel *cancel)
{
	struct sbx_call call = { .cancel = cancel };
	if (timeout_ms > 0)
		call.deadline_ms = ends_ms(timeout_ms);
	return call;
}

struct sbx_call sbx_call_shorter(const struct sbx_call *call, int64_t timeout_ms)
{
	struct sbx_call shorter = call ? *call : (struct sbx_call){ 0 };
	if (timeout_ms <= 0)
		return shorter;
	int64_t deadline_ms = ends_ms(timeout_ms);
	if (!shorter.deadline_ms || deadline_ms < shorter.deadline_ms)
		shorter.deadline_ms = deadline_ms;
	return shorter;
}

int64_t sbx_call_left_ms(const struct sbx_call *call)
{
	if (!call || !call->deadline_ms)
		return INT64_MAX;
	int64_t left = call->deadline_ms - sbx_clock_ms();
	return left > 0 ? left : 0;
}
