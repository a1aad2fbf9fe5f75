/* notify.c: see notify.h. */
#include "context.h"

#include <pthread.h>
#include <time.h>

enum notice_kind { NOTICE_ENTRY, NOTICE_GONE, NOTICE_ATTR };

struct notice {
	enum notice_kind kind;
	uint64_t parent, node;
	char *name;
	struct notice *next;
};

struct sbx_notifier {
	struct sbx_fs *fs;
	pthread_t thread;
	pthread_mutex_t notices_lock;
	pthread_cond_t changed;
	struct notice *first, *last; /* guarded by notices_lock, as the next */
	bool stopping, joined;
};

static void tell(struct fuse_session *session, const struct notice *notice)
{
	int rc = 0;
	size_t length = notice->name ? strlen(notice->name) : 0;
	switch (notice->kind) {
	case NOTICE_ENTRY:
		rc = fuse_lowlevel_notify_inval_entry(
			session, notice->parent, notice->name, length);
		break;
	case NOTICE_GONE:
		rc = fuse_lowlevel_notify_delete(
			session, notice->parent, notice->node, notice->name, length);
		break;
	case NOTICE_ATTR:
		rc = fuse_lowlevel_notify_inval_inode(session, notice->node, -1, 0);
		break;
	}
	/* ENOENT: the kernel does not know the name, which is what we want. Anything else leaves a
	 * name that ends by its timeout. */
	if (rc && rc != -ENOENT)
		sbx_log(SBX_LOG_DEBUG, "notice to the kernel: %s", strerror(-rc));
}

static void *run(void *data)
{
	struct sbx_notifier *notifier = data;
	pthread_mutex_lock(&notifier->notices_lock);
	for (;;) {
		while (!notifier->first && !notifier->stopping)
			pthread_cond_wait(&notifier->changed, &notifier->notices_lock);
		struct notice *notice = notifier->first;
		if (!notice || notifier->stopping)
			break;
		notifier->first = notice->next;
		if (!notifier->first)
			notifier->last = NULL;
		pthread_mutex_unlock(&notifier->notices_lock);
		tell(notifier->fs->session, notice);
		free(notice->name);
		free(notice);
		pthread_mutex_lock(&notifier->notices_lock);
	}
	pthread_mutex_unlock(&notifier->notices_lock);
	return NULL;
}

int sbx_notifier_create(struct sbx_fs *fs, struct sbx_notifier **out, struct sbx_error *err)
{
	struct sbx_notifier *notifier = sbx_alloc(sizeof(*notifier));
	notifier->fs = fs;
	pthread_mutex_init(&notifier->notices_lock, NULL);
	pthread_cond_init(&notifier->changed, NULL);
	int rc = pthread_create(&notifier->thread, NULL, run, notifier);
	if (rc) {
		pthread_cond_destroy(&notifier->changed);
		pthread_mutex_destroy(&notifier->notices_lock);
		free(notifier);
		return sbx_fail_errno(err, rc, "the thread that talks to the kernel");
	}
	*out = notifier;
	return 0;
}

void sbx_notifier_stop(struct sbx_notifier *notifier)
{
	struct timespec until;
	if (!notifier)
		return;
	pthread_mutex_lock(&notifier->notices_lock);
	notifier->stopping = true;
	pthread_cond_signal(&notifier->changed);
	pthread_mutex_unlock(&notifier->notices_lock);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	notifier->joined =
		pthread_clockjoin_np(notifier->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

void sbx_notifier_destroy(struct sbx_notifier *notifier)
{
	if (!notifier)
		return;
	if (!notifier->joined)
		pthread_join(notifier->thread, NULL);
	while (notifier->first) {
		struct notice *notice = notifier->first;
		notifier->first = notice->next;
		free(notice->name);
		free(notice);
	}
	pthread_cond_destroy(&notifier->changed);
	pthread_mutex_destroy(&notifier->notices_lock);
	free(notifier);
}

static void queue(struct sbx_notifier *notifier, enum notice_kind kind, uint64_t parent,
	uint64_t node, const char *name)
{
	if (!notifier)
		return; /* the mount ends: there is no kernel to tell */
	struct notice *notice = sbx_alloc(sizeof(*notice));
	*notice = (struct notice){
		.kind = kind, .parent = parent, .node = node, .name = sbx_strdup(name)
	};
	pthread_mutex_lock(&notifier->notices_lock);
	if (notifier->last)
		notifier->last->next = notice;
	else
		notifier->first = notice;
	notifier->last = notice;
	pthread_cond_signal(&notifier->changed);
	pthread_mutex_unlock(&notifier->notices_lock);
}

void sbx_notify_entry(struct sbx_notifier *notifier, uint64_t parent, const char *name)
{
	queue(notifier, NOTICE_ENTRY, parent, 0, name);
}

void sbx_notify_gone(
	struct sbx_notifier *notifier, uint64_t parent, uint64_t child, const char *name)
{
	queue(notifier, NOTICE_GONE, parent, child, name);
}

void sbx_notify_attr(struct sbx_notifier *notifier, uint64_t node)
{
	queue(notifier, NOTICE_ATTR, 0, node, NULL);
}
