/* pass_on.c: see pass_on.h. */
#include "pass_on.h"

#include "../engine/base/alloc.h"
#include "../engine/base/buffer.h"
#include "../engine/base/text.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* 0 once a write of PIPE_BUF bytes does not block, or fails and says why. */
static int await_room(int fd, const struct sbx_call *call)
{
	int cancel_fd = sbx_cancel_fd(call->cancel);
	/* A token without an eventfd (a full descriptor table) is looked at this often. */
	int64_t longest_ms = call->cancel && cancel_fd < 0 ? 100 : INT_MAX;
	for (;;) {
		struct pollfd fds[2] = { { .fd = fd, .events = POLLOUT },
			{ .fd = cancel_fd, .events = POLLIN } };
		if (sbx_cancel_fired(call->cancel))
			return -ECANCELED;
		int64_t left_ms = sbx_call_left_ms(call);
		int ready = poll(fds, 2, (int)(left_ms < longest_ms ? left_ms : longest_ms));
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0 && fds[0].revents)
			return 0;
		if (!left_ms)
			return -ETIMEDOUT;
	}
}

static int write_all(struct sbx_pass_on *pass_on, int stream, const char *bytes, size_t size)
{
	int fd = stream == 2 ? STDERR_FILENO : STDOUT_FILENO;
	while (size) {
		int result = await_room(fd, &pass_on->bounds);
		if (result)
			return result;
		ssize_t written = write(fd, bytes, size < PIPE_BUF ? size : PIPE_BUF);
		if (written < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

int sbx_tool_pass_on(void *data, int stream, const char *bytes, size_t size)
{
	struct sbx_pass_on *pass_on = data;
	pass_on->failed = write_all(pass_on, stream, bytes, size);
	return pass_on->failed;
}

int sbx_tool_show(void *data, int stream, const char *bytes, size_t size)
{
	if (!isatty(stream == 2 ? STDERR_FILENO : STDOUT_FILENO))
		return sbx_tool_pass_on(data, stream, bytes, size);
	struct sbx_buffer shown = { 0 };
	size_t start = 0;
	for (size_t i = 0; i <= size; i++) {
		if (i < size && bytes[i] != '\n' && bytes[i] != '\t')
			continue;
		cleanup_free char *text = sbx_text_escape_n(bytes + start, i - start);
		(void)sbx_buffer_append(&shown, text, strlen(text));  /* no limit is set */
		(void)sbx_buffer_append(&shown, bytes + i, i < size); /* as above */
		start = i + 1;
	}
	int result = sbx_tool_pass_on(data, stream, sbx_buffer_text(&shown), shown.size);
	sbx_buffer_finish(&shown);
	return result;
}
