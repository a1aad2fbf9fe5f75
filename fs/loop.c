/*
 * loop.c: see loop.h.
 *
 * Nothing here may wait except epoll: one blocked step would block every process that touches the
 * mount. The session's descriptor is non-blocking and read in bounded batches, so that results of
 * workers are never starved by a busy reader.
 */
#include "context.h"
#include "in.h"
#include "transfer.h"
#include "tree.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { BATCH = 64, DRAIN_MS = 20000 };

struct sbx_loop {
	struct sbx_fs *fs;
	int epoll_fd, event_fd, signal_fd;
	struct fuse_buf buffer; /* grown by libfuse, kept between requests */
	int64_t wake_ms;
	bool stopping;
	pthread_mutex_t post_lock;
	struct sbx_post *first, *last; /* guarded by post_lock */
};

static int watch(struct sbx_loop *loop, int fd, struct sbx_error *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return sbx_fail_errno(err, errno, "epoll");
	return 0;
}

static int open_descriptors(struct sbx_loop *loop, struct sbx_error *err)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	int rc = pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (rc)
		return sbx_fail_errno(err, rc, "signals");
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (loop->epoll_fd < 0 || loop->event_fd < 0 || loop->signal_fd < 0)
		return sbx_fail_errno(err, errno, "event descriptors");
	rc = watch(loop, loop->event_fd, err);
	return rc ? rc : watch(loop, loop->signal_fd, err);
}

int sbx_loop_create(struct sbx_fs *fs, struct sbx_loop **out, struct sbx_error *err)
{
	struct sbx_loop *loop = sbx_alloc(sizeof(*loop));
	loop->fs = fs;
	loop->epoll_fd = loop->event_fd = loop->signal_fd = -1;
	loop->wake_ms = INT64_MAX;
	pthread_mutex_init(&loop->post_lock, NULL);
	int rc = open_descriptors(loop, err);
	if (rc) {
		sbx_loop_destroy(loop);
		return rc;
	}
	*out = loop;
	return 0;
}

static void run_posts(struct sbx_loop *loop)
{
	pthread_mutex_lock(&loop->post_lock);
	const struct sbx_post *last = loop->last; /* what comes meanwhile has to wait */
	for (struct sbx_post *post = NULL; post != last && loop->first;) {
		post = loop->first;
		loop->first = post->next;
		if (!loop->first)
			loop->last = NULL;
		post->queued = false;
		pthread_mutex_unlock(&loop->post_lock);
		post->run(post);
		pthread_mutex_lock(&loop->post_lock);
	}
	pthread_mutex_unlock(&loop->post_lock);
}

void sbx_loop_destroy(struct sbx_loop *loop)
{
	if (!loop)
		return;
	while (loop->first)
		run_posts(loop);
	free(loop->buffer.mem);
	int descriptors[] = { loop->epoll_fd, loop->event_fd, loop->signal_fd };
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	pthread_mutex_destroy(&loop->post_lock);
	free(loop);
}

void sbx_loop_post(struct sbx_loop *loop, struct sbx_post *post)
{
	pthread_mutex_lock(&loop->post_lock);
	bool queued = post->queued;
	post->queued = true;
	if (!queued) {
		post->next = NULL;
		if (loop->last)
			loop->last->next = post;
		else
			loop->first = post;
		loop->last = post;
	}
	pthread_mutex_unlock(&loop->post_lock);
	uint64_t one = 1;
	if (!queued && write(loop->event_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		sbx_log(SBX_LOG_ERROR, "the loop cannot be woken: %s", strerror(errno));
}

void sbx_loop_wake_at(struct sbx_loop *loop, int64_t when_ms)
{
	if (when_ms < loop->wake_ms)
		loop->wake_ms = when_ms;
}

/* false: the mount is gone. */
static bool serve_requests(struct sbx_loop *loop)
{
	struct fuse_session *session = loop->fs->session;
	for (int i = 0; i < BATCH; i++) {
		int size = fuse_session_receive_buf(session, &loop->buffer);
		if (size == -EINTR)
			continue;
		if (size == -EAGAIN)
			break;
		if (size <= 0)
			return false;
		fuse_session_process_buf(session, &loop->buffer);
		if (fuse_session_exited(session))
			return false;
	}
	return true;
}

static void read_signals(struct sbx_loop *loop)
{
	struct signalfd_siginfo info;
	while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP && !loop->fs->options->foreground)
			continue;
		sbx_log(SBX_LOG_INFO, "stopping: %s", strsignal((int)info.ssi_signo));
		loop->stopping = true;
	}
}

static void sweep(struct sbx_loop *loop)
{
	int64_t now = sbx_clock_ms();
	if (now < loop->wake_ms && !loop->fs->requests.any_interrupted)
		return;
	loop->wake_ms = INT64_MAX;
	sbx_loop_wake_at(loop, sbx_requests_sweep(loop->fs, now));
	sbx_loop_wake_at(loop, sbx_transfers_sweep(loop->fs, now));
	sbx_loop_wake_at(loop, sbx_directories_sweep(loop->fs, now));
	sbx_loop_wake_at(loop, sbx_in_sweep(loop->fs, now));
}

static int wait_ms(const struct sbx_loop *loop, int64_t until_ms)
{
	int64_t until = loop->wake_ms < until_ms ? loop->wake_ms : until_ms;
	if (until == INT64_MAX)
		return -1;
	int64_t left = until - sbx_clock_ms();
	if (left < 0)
		return 0;
	return left > 60000 ? 60000 : (int)left;
}

/* One round. session_fd < 0: requests are not read. Returns false when the mount is gone. */
static bool turn(struct sbx_loop *loop, int session_fd, int64_t until_ms)
{
	struct epoll_event events[8];
	int count = epoll_wait(loop->epoll_fd, events, 8, wait_ms(loop, until_ms));
	bool alive = true, requests = false;
	for (int i = 0; i < count; i++) {
		uint64_t value;
		if (events[i].data.fd == loop->event_fd) {
			if (read(loop->event_fd, &value, sizeof(value)) < 0)
				continue; /* somebody's earlier wake-up was read already */
		} else if (events[i].data.fd == loop->signal_fd) {
			read_signals(loop);
		} else if (events[i].data.fd == session_fd) {
			requests = true;
		}
	}
	/* What workers found out first: requests then see the newest. */
	run_posts(loop);
	if (requests)
		alive = serve_requests(loop);
	sweep(loop);
	return alive;
}

int sbx_loop_run(struct sbx_loop *loop, struct sbx_error *err)
{
	int fd = fuse_session_fd(loop->fs->session);
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return sbx_fail_errno(err, errno, "the session's descriptor");
	int rc = watch(loop, fd, err);
	if (rc)
		return rc;
	sweep(loop);
	bool alive = true;
	while (alive && !loop->stopping)
		alive = turn(loop, fd, INT64_MAX);
	/* Dirty files get a bounded time to land, while the mount still answers. */
	sbx_in_drain(loop->fs);
	int64_t until = sbx_clock_ms() + DRAIN_MS;
	while (alive && sbx_in_busy(loop->fs) && sbx_clock_ms() < until)
		alive = turn(loop, fd, until);
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* the session closes it anyway */
	sbx_loop_drain(loop, sbx_in_busy, until);
	return 0;
}

void sbx_loop_drain(struct sbx_loop *loop, bool (*busy)(struct sbx_fs *fs), int64_t until_ms)
{
	run_posts(loop);
	while (busy(loop->fs) && sbx_clock_ms() < until_ms)
		(void)turn(loop, -1, until_ms); /* there is no session to be gone */
}
