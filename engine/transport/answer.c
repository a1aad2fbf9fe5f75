/*
 * answer.c: see answer.h. Used where libcurl does not read the answer itself: a hijacked exec
 * connection, and an answer that came before an upload was refused by the kernel.
 */
#include "answer.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

int sbx_answer_status_line(const char *line, size_t size)
{
	if (size < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ')
		return 0;
	int status = 0;
	for (size_t i = 9; i < 12; i++) {
		if (line[i] < '0' || line[i] > '9')
			return 0;
		status = status * 10 + (line[i] - '0');
	}
	return status >= 100 ? status : 0;
}

/* The value of header `name` in the line, trimmed, or NULL when the line is another header. */
static char *value_of(const char *line, size_t size, const char *name)
{
	size_t length = strlen(name);
	if (size <= length || line[length] != ':' || strncasecmp(line, name, length) != 0)
		return NULL;
	const char *start = line + length + 1, *end = line + size;
	while (start < end && isspace((unsigned char)*start))
		start++;
	while (end > start && isspace((unsigned char)end[-1]))
		end--;
	return sbx_strndup(start, (size_t)(end - start));
}

void sbx_answer_header(struct sbx_http_response *response, const char *line, size_t size)
{
	const struct {
		const char *name;
		char **place;
	} kept[] = {
		{ "X-Docker-Container-Path-Stat", &response->path_stat },
		{ "Api-Version", &response->api_version },
		{ "Libpod-Api-Version", &response->libpod_version },
		{ "Server", &response->server },
		{ "Ostype", &response->os_type },
		{ "Date", &response->date },
	};
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (!*kept[i].place)
			*kept[i].place = value_of(line, size, kept[i].name);
	}
}

static void framing(const char *line, size_t size, int64_t *content_length, bool *chunked)
{
	cleanup_free char *length = value_of(line, size, "Content-Length");
	long long value;
	if (length && sbx_text_to_int64(length, &value))
		*content_length = value;
	cleanup_free char *encoding = value_of(line, size, "Transfer-Encoding");
	if (encoding && strcasecmp(encoding, "chunked") == 0)
		*chunked = true;
}

ssize_t sbx_answer_head(struct sbx_http_response *response, const char *bytes, size_t size,
	int64_t *content_length, bool *chunked)
{
	const char *head = bytes;
	for (;;) {
		const char *end = bytes + size;
		const char *blank = memmem(head, (size_t)(end - head), "\r\n\r\n", 4);
		if (!blank)
			return 0;
		response->status = sbx_answer_status_line(head, (size_t)(blank - head));
		if (!response->status)
			return -1;
		const char *next = blank + 4;
		if (response->status < 200 && response->status != 101) {
			head = next;
			continue;
		}
		*content_length = -1;
		*chunked = false;
		for (const char *line = head; line < blank;) {
			const char *stop = memmem(line, (size_t)(next - line), "\r\n", 2);
			sbx_answer_header(response, line, (size_t)(stop - line));
			framing(line, (size_t)(stop - line), content_length, chunked);
			line = stop + 2;
		}
		return next - bytes;
	}
}

size_t sbx_answer_dechunk(char *body, size_t size)
{
	size_t in = 0, out = 0;
	while (in < size) {
		size_t length = 0, digits = 0;
		for (; in < size && isxdigit((unsigned char)body[in]) && digits < 8;
			in++, digits++) {
			char c = (char)tolower((unsigned char)body[in]);
			length = length * 16 + (size_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		}
		const char *line_end = memchr(body + in, '\n', size - in);
		if (!digits || !length || !line_end)
			break;
		in = (size_t)(line_end - body) + 1;
		if (length > size - in)
			length = size - in;
		memmove(body + out, body + in, length);
		out += length;
		in += length;
		if (in + 2 <= size)
			in += 2;
	}
	return out;
}

int sbx_answer_wait(
	int fd, short events, const struct sbx_call *call, int64_t idle_ms, struct sbx_error *err)
{
	struct pollfd fds[2] = { { .fd = fd, .events = events },
		{ .fd = sbx_cancel_fd(call ? call->cancel : NULL), .events = POLLIN } };
	int64_t since_ms = sbx_clock_ms();
	for (;;) {
		if (call && sbx_cancel_fired(call->cancel))
			return sbx_fail(err, ECANCELED, "the request was cancelled");
		int64_t left_ms = sbx_call_left_ms(call);
		if (left_ms == 0)
			return sbx_fail(err, ETIMEDOUT, "the engine did not answer in time");
		int64_t wait_ms = left_ms < 1000 ? left_ms : 1000;
		if (idle_ms >= 0) {
			int64_t idle_left_ms = since_ms + idle_ms - sbx_clock_ms();
			if (idle_left_ms <= 0)
				return sbx_fail(err, ETIMEDOUT,
					"no byte came from the engine for %lld seconds",
					(long long)(idle_ms / 1000));
			if (idle_left_ms < wait_ms)
				wait_ms = idle_left_ms;
		}
		int ready = poll(fds, 2, (int)wait_ms);
		if (ready < 0 && errno != EINTR)
			return sbx_fail_errno(err, errno, "poll");
		if (ready > 0 && fds[0].revents)
			return 0;
	}
}
