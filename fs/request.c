/*
 * request.c: see request.h.
 *
 * libfuse calls the interrupt function with the request's lock held, maybe from within the
 * registration: it only marks, and the loop answers. All of it runs on the loop's thread.
 */
#include "context.h"
#include "attr.h"

struct sbx_request *sbx_request_create(struct sbx_fs *fs, fuse_req_t req, struct sbx_node *node)
{
	struct sbx_request *request = sbx_alloc(sizeof(*request));
	request->fs = fs;
	request->req = req;
	request->node = node;
	if (node)
		sbx_node_pin(node);
	request->deadline_ms = sbx_clock_ms() + fs->options->deadline_ms;
	return request;
}

static void leave_waiters(struct sbx_request *request)
{
	struct sbx_waiters *waiters = request->waiting;
	if (!waiters)
		return;
	if (request->prev)
		request->prev->next = request->next;
	else
		waiters->first = request->next;
	if (request->next)
		request->next->prev = request->prev;
	else
		waiters->last = request->prev;
	request->prev = request->next = NULL;
	request->waiting = NULL;
}

static void leave_parked(struct sbx_request *request)
{
	struct sbx_requests *requests = &request->fs->requests;
	if (request->prev_parked)
		request->prev_parked->next_parked = request->next_parked;
	else
		requests->parked = request->next_parked;
	if (request->next_parked)
		request->next_parked->prev_parked = request->prev_parked;
	request->prev_parked = request->next_parked = NULL;
	requests->parked_count--;
}

/* After the answer: the kernel's FORGET or RELEASE can only come later, through the loop. */
static void end(struct sbx_request *request)
{
	struct sbx_fs *fs = request->fs;
	if (request->handle)
		sbx_handle_unpin(fs, request->handle);
	if (request->node)
		sbx_node_unpin(fs, request->node);
	if (request->data_free)
		request->data_free(request->data);
	free(request->name);
	free(request);
}

static void interrupted(fuse_req_t req, void *data)
{
	struct sbx_request *request = data;
	request->interrupted = true;
	request->fs->requests.any_interrupted = true;
	(void)req; /* the same request, which we know by our own pointer */
}

void sbx_request_park(
	struct sbx_request *request, struct sbx_waiters *waiters, sbx_resume_fn resume)
{
	struct sbx_requests *requests = &request->fs->requests;
	request->resume = resume;
	request->waiting = waiters;
	request->prev = waiters->last;
	request->next = NULL;
	if (waiters->last)
		waiters->last->next = request;
	else
		waiters->first = request;
	waiters->last = request;
	request->prev_parked = NULL;
	request->next_parked = requests->parked;
	if (requests->parked)
		requests->parked->prev_parked = request;
	requests->parked = request;
	requests->parked_count++;
	sbx_loop_wake_at(request->fs->loop, request->deadline_ms);
	if (!request->hooked) {
		request->hooked = true;
		fuse_req_interrupt_func(request->req, interrupted, request);
	}
}

void sbx_waiters_resume(struct sbx_waiters *waiters, int result, const struct sbx_error *err)
{
	/* Those who wait now: a resumed request may come back for the next round. */
	struct sbx_request *last = waiters->last;
	while (waiters->first) {
		struct sbx_request *request = waiters->first;
		bool final = request == last;
		leave_waiters(request);
		leave_parked(request);
		request->resume(request, result, err);
		if (final)
			break;
	}
}

/* Ends a parked request that nobody resumed. */
static void give_up(struct sbx_request *request, int errnum)
{
	struct sbx_waiters *waiters = request->waiting;
	leave_waiters(request);
	leave_parked(request);
	if (!waiters->first && waiters->abandoned)
		waiters->abandoned(waiters);
	sbx_answer_error(request, errnum); /* may free what holds the waiters */
}

int64_t sbx_requests_sweep(struct sbx_fs *fs, int64_t now_ms)
{
	int64_t next_ms = INT64_MAX;
	struct sbx_request *request = fs->requests.parked;
	fs->requests.any_interrupted = false;
	while (request) {
		struct sbx_request *next = request->next_parked;
		if (request->interrupted) {
			fs->counters.interrupted++;
			give_up(request, EINTR);
		} else if (request->deadline_ms <= now_ms) {
			fs->counters.timed_out++;
			give_up(request, ETIMEDOUT);
		} else if (request->deadline_ms < next_ms) {
			next_ms = request->deadline_ms;
		}
		request = next;
	}
	return next_ms;
}

void sbx_requests_fail_all(struct sbx_fs *fs, int errnum)
{
	while (fs->requests.parked) /* give_up takes it off the list before it is freed */
		give_up(fs->requests.parked, errnum); /* NOLINT(clang-analyzer-unix.Malloc) */
}

/* ENOENT from a reply: the requester has gone, there is nobody to tell. */
static bool taken(int rc)
{
	if (rc && rc != -ENOENT)
		sbx_log(SBX_LOG_DEBUG, "answer to the kernel: %s", strerror(-rc));
	return rc == 0;
}

void sbx_answer_error(struct sbx_request *request, int errnum)
{
	(void)taken(fuse_reply_err(request->req, errnum)); /* nothing was handed over */
	end(request);
}

int sbx_request_errno(int result, const struct sbx_error *err)
{
	int errnum = result < 0 ? -result : result;
	(void)err; /* the errno says it; the sentence goes to the log */
	switch (errnum) {
	case EXDEV: /* lexically outside */
		return ELOOP;
	case ECANCELED:
	case EINVAL:
	case EINTR:
	case EAGAIN:
	case ENOSYS:
	case ESRCH:
	case ENODEV:
	case ENOTCONN:
	case EPIPE:
	case ECONNABORTED:
	case ECONNRESET:
		return EIO;
	default:
		return errnum < 1000 ? errnum : EIO;
	}
}

void sbx_answer_failure(struct sbx_request *request, int result, const struct sbx_error *err)
{
	int errnum = sbx_request_errno(result, err);
	if (err && err->kind == SBX_KIND_GONE && !request->handle)
		errnum = ENOENT;
	if (err && errnum != ENOENT)
		sbx_log(SBX_LOG_INFO, "%s", err->message);
	sbx_answer_error(request, errnum);
}

void sbx_answer_entry(struct sbx_request *request, struct sbx_node *node)
{
	struct fuse_entry_param entry;
	sbx_entry_fill(request->fs, node, &entry);
	node->lookups++;
	if (!taken(fuse_reply_entry(request->req, &entry)))
		node->lookups--;
	sbx_node_release(request->fs, node);
	end(request);
}

void sbx_answer_absent(struct sbx_request *request, double negative_timeout_s)
{
	struct fuse_entry_param entry = { .entry_timeout = negative_timeout_s };
	if (negative_timeout_s <= 0) {
		sbx_answer_error(request, ENOENT);
		return;
	}
	(void)taken(fuse_reply_entry(request->req, &entry)); /* nothing was handed over */
	end(request);
}

void sbx_answer_attr(struct sbx_request *request, struct sbx_node *node)
{
	struct stat st;
	sbx_attr_fill(request->fs, node, &st);
	(void)taken(fuse_reply_attr(request->req, &st, sbx_attr_timeout_s(request->fs, node)));
	end(request);
}

void sbx_answer_open(struct sbx_request *request, struct sbx_handle *handle)
{
	request->fi.fh = handle->id;
	if (!taken(fuse_reply_open(request->req, &request->fi)))
		sbx_handle_release(request->fs, handle);
	end(request);
}

void sbx_answer_create(
	struct sbx_request *request, struct sbx_node *node, struct sbx_handle *handle)
{
	struct fuse_entry_param entry;
	sbx_entry_fill(request->fs, node, &entry);
	request->fi.fh = handle->id;
	node->lookups++;
	if (!taken(fuse_reply_create(request->req, &entry, &request->fi))) {
		node->lookups--;
		sbx_handle_release(request->fs, handle);
	}
	sbx_node_release(request->fs, node);
	end(request);
}

void sbx_answer_bytes(struct sbx_request *request, const void *bytes, size_t size)
{
	(void)taken(fuse_reply_buf(request->req, bytes, size)); /* nothing was handed over */
	end(request);
}

void sbx_answer_file(struct sbx_request *request, int fd, int64_t offset, size_t size)
{
	struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(size);
	bytes.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
	bytes.buf[0].fd = fd;
	bytes.buf[0].pos = offset;
	(void)taken(fuse_reply_data(request->req, &bytes, 0)); /* nothing was handed over */
	end(request);
}

void sbx_answer_written(struct sbx_request *request, size_t size)
{
	(void)taken(fuse_reply_write(request->req, size)); /* nothing was handed over */
	end(request);
}

void sbx_answer_statfs(struct sbx_request *request, const struct statvfs *st)
{
	(void)taken(fuse_reply_statfs(request->req, st)); /* nothing was handed over */
	end(request);
}

void sbx_request_answered(struct sbx_request *request)
{
	end(request);
}
