/*
 * exec_stdin.c: an exec's stdin and output over one hijacked connection. One loop for both
 * directions: a command that writes before it reads must not block us, nor one that never reads.
 */
#include "exec_run.h"

#include "../base/alloc.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

struct pump {
	struct sbx_exec_run *run;
	int fd;	      /* the connection */
	int input_fd; /* -1 once stdin has ended, or the command does not read it any more */
	char pending[65536];
	size_t from, to; /* of pending, not yet sent */
	bool closed;	 /* our direction */
};

static void close_input(struct pump *pump)
{
	pump->input_fd = -1;
	pump->from = pump->to = 0;
	if (!pump->closed)
		(void)shutdown(pump->fd, SHUT_WR); /* it may be gone already, which is the same */
	pump->closed = true;
}

static int fill(struct pump *pump)
{
	ssize_t got = read(pump->input_fd, pump->pending, sizeof(pump->pending));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0)
		return sbx_fail_errno(pump->run->err, errno, "reading the command's input");
	pump->from = 0;
	pump->to = (size_t)got;
	if (!got)
		close_input(pump);
	return 0;
}

static void drain(struct pump *pump)
{
	ssize_t sent =
		send(pump->fd, pump->pending + pump->from, pump->to - pump->from, MSG_NOSIGNAL);
	if (sent > 0)
		pump->from += (size_t)sent;
	else if (sent < 0 && errno != EAGAIN && errno != EINTR)
		close_input(pump); /* the command has ended or closed its stdin: output goes on */
}

/* 1 at the end of the output, 0 to go on, else the output function's value or -errno. */
static int receive(struct pump *pump, bool *ended)
{
	char part[32768];
	ssize_t got = recv(pump->fd, part, sizeof(part), 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0 && errno != ECONNRESET)
		return sbx_fail_errno(pump->run->err, EIO, "the connection to the engine broke");
	if (got <= 0) {
		*ended = true; /* a reset after the last frame is Podman's way to end */
		return 0;
	}
	return sbx_frames_feed(&pump->run->frames, part, (size_t)got, pump->run->err);
}

static int wait_for(struct pump *pump, struct pollfd fds[3])
{
	const struct sbx_call *call = pump->run->call;
	bool sending = pump->from < pump->to;
	fds[0] = (struct pollfd){ .fd = pump->fd, .events = POLLIN | (sending ? POLLOUT : 0) };
	fds[1] = (struct pollfd){ .fd = sending ? -1 : pump->input_fd, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = sbx_cancel_fd(call ? call->cancel : NULL),
		.events = POLLIN };
	if (call && sbx_cancel_fired(call->cancel))
		return sbx_fail(pump->run->err, ECANCELED, "the command was cancelled");
	int64_t left_ms = sbx_call_left_ms(call);
	if (!left_ms)
		return sbx_fail(pump->run->err, ETIMEDOUT, "the command did not end in time");
	int ready = poll(fds, 3, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
	if (ready < 0 && errno != EINTR)
		return sbx_fail_errno(pump->run->err, errno, "poll");
	if (ready <= 0)
		fds[0].revents = fds[1].revents = 0;
	return 0;
}

static int pump_both(struct pump *pump)
{
	struct pollfd fds[3];
	bool ended = false;
	int result = 0;
	while (!result && !ended) {
		result = wait_for(pump, fds);
		if (!result && fds[0].revents & POLLOUT)
			drain(pump);
		if (!result && fds[1].revents)
			result = fill(pump);
		if (!result && fds[0].revents & (POLLIN | POLLHUP | POLLERR))
			result = receive(pump, &ended);
	}
	return result;
}

int sbx_exec_run_with_stdin(struct sbx_exec_run *run, struct sbx_http_response *response)
{
	struct sbx_http_request request = { .method = "POST",
		.target = run->start_target,
		.content_type = "application/json",
		.body = run->start_body,
		.body_size = strlen(run->start_body) };
	cleanup_close int fd = -1;
	cleanup_free char *rest = NULL;
	size_t rest_size = 0;
	int result = sbx_http_hijack(sbx_api_http(run->engine), &request, run->call, &fd, &rest,
		&rest_size, response, run->err);
	if (result || fd < 0)
		return result;
	sbx_exec_run_answered(run);
	result = sbx_frames_feed(&run->frames, rest, rest_size, run->err);
	if (result)
		return result;
	cleanup_free struct pump *pump = sbx_alloc(sizeof(*pump));
	pump->run = run;
	pump->fd = fd;
	pump->input_fd = run->exec->stdin_fd;
	return pump_both(pump);
}
