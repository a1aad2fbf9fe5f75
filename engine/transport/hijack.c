/*
 * hijack.c: a raw connection for an exec with stdin, where bytes go both ways after the answer's
 * head. Every wait is bounded by the call: the socket is non-blocking from the start.
 */
#include "inside.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "../base/text.h"
#include "answer.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int connect_within(const struct sbx_http *http, int fd, const struct sockaddr *address,
	socklen_t size, const struct sbx_call *call, struct sbx_error *err)
{
	int failed = connect(fd, address, size) == 0 ? 0 : errno;
	if (failed == EINPROGRESS || failed == EAGAIN) {
		int result = sbx_answer_wait(fd, POLLOUT, call, SBX_HTTP_IDLE_MS, err);
		if (result)
			return result;
		socklen_t length = sizeof(failed);
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &length))
			failed = errno;
	}
	return failed ? sbx_http_fail_connect(http, failed, "", err) : 0;
}

static int connect_unix(
	const struct sbx_http *http, const struct sbx_call *call, struct sbx_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(http->socket_path);
	if (length >= sizeof(address.sun_path))
		return sbx_fail(err, EINVAL, "the socket path %s is too long", http->socket_path);
	memcpy(address.sun_path, http->socket_path, length);
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "socket");
	int result =
		connect_within(http, fd, (struct sockaddr *)&address, sizeof(address), call, err);
	return result ? result : steal_fd(&fd);
}

static void free_addresses(struct addrinfo **addresses)
{
	if (*addresses)
		freeaddrinfo(*addresses);
}

/* The URL is endpoint.c's: http://host:port or http://[v6]:port. */
static int connect_tcp(
	const struct sbx_http *http, const struct sbx_call *call, struct sbx_error *err)
{
	const char *start = strstr(http->url, "://") + 3;
	const char *colon = strrchr(start, ':');
	size_t length = (size_t)(colon - start);
	if (*start == '[' && length >= 2) {
		start++;
		length -= 2;
	}
	cleanup_free char *host = sbx_strndup(start, length);
	cleanup_with(free_addresses) struct addrinfo *addresses = NULL;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int failed = getaddrinfo(host, colon + 1, &hints, &addresses);
	if (failed)
		return sbx_http_fail_connect(http, 0, gai_strerror(failed), err);
	int result = -EHOSTDOWN;
	for (struct addrinfo *each = addresses; each; each = each->ai_next) {
		cleanup_close int fd =
			socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return sbx_fail_errno(err, errno, "socket");
		sbx_http_watch_peer(fd, each->ai_family);
		result = connect_within(http, fd, each->ai_addr, each->ai_addrlen, call, err);
		if (!result)
			return steal_fd(&fd);
		if (result != -EHOSTDOWN)
			break;
	}
	return result;
}

static int send_all(
	int fd, const char *bytes, size_t size, const struct sbx_call *call, struct sbx_error *err)
{
	while (size) {
		ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return sbx_fail_errno(err, EIO, "the engine closed the connection");
		if (sent > 0) {
			bytes += sent;
			size -= (size_t)sent;
			continue;
		}
		int result = sbx_answer_wait(fd, POLLOUT, call, SBX_HTTP_IDLE_MS, err);
		if (result)
			return result;
	}
	return 0;
}

/* One read into bytes: its size, 0 at the end, -errno. */
static ssize_t receive(
	int fd, struct sbx_buffer *bytes, const struct sbx_call *call, struct sbx_error *err)
{
	char part[8192];
	int result = sbx_answer_wait(fd, POLLIN, call, SBX_HTTP_IDLE_MS, err);
	if (result)
		return result;
	ssize_t got = recv(fd, part, sizeof(part), 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return receive(fd, bytes, call, err);
	if (got < 0)
		return sbx_fail_errno(err, EIO, "the connection to the engine broke");
	if (got > 0 && !sbx_buffer_append(bytes, part, (size_t)got))
		return sbx_fail(err, EIO, "the engine's answer has more than 64 KiB of headers");
	return got;
}

/* The head, then for an error its body. *head is the size of the head within bytes. */
static int read_answer(int fd, struct sbx_buffer *bytes, size_t *head, const struct sbx_call *call,
	struct sbx_http_response *response, struct sbx_error *err)
{
	int64_t length = -1;
	bool chunked = false;
	ssize_t parsed;
	bytes->limit = SBX_HTTP_MAX_HEAD;
	while ((parsed = sbx_answer_head(
			response, sbx_buffer_text(bytes), bytes->size, &length, &chunked)) == 0) {
		ssize_t got = receive(fd, bytes, call, err);
		if (got < 0)
			return (int)got;
		if (!got)
			return sbx_fail(err, EIO, "the engine closed the connection unanswered");
	}
	if (parsed < 0)
		return sbx_fail(err, EIO, "the engine did not answer in HTTP");
	*head = (size_t)parsed;
	if (response->status == 101 || response->status == 200)
		return 0;
	bytes->limit = *head + SBX_HTTP_MAX_ERROR_BODY;
	size_t most = length >= 0 && length < (int64_t)SBX_HTTP_MAX_ERROR_BODY
			      ? *head + (size_t)length
			      : bytes->limit;
	while (bytes->size < most &&
		!(chunked && bytes->size >= *head + 5 &&
			memcmp(bytes->data + bytes->size - 5, "0\r\n\r\n", 5) == 0)) {
		struct sbx_error ignored = SBX_ERROR_INIT; /* the status is what counts */
		if (receive(fd, bytes, call, &ignored) <= 0)
			break;
	}
	response->body_size = bytes->size - *head;
	response->body = sbx_strndup(bytes->data + *head, response->body_size);
	if (chunked)
		response->body_size = sbx_answer_dechunk(response->body, response->body_size);
	response->body[response->body_size] = '\0';
	return 0;
}

static int exchange(struct sbx_http *http, const struct sbx_http_request *request,
	const struct sbx_call *call, int *fd_out, char **rest, size_t *rest_size,
	struct sbx_http_response *response, struct sbx_error *err)
{
	cleanup_close int fd =
		http->socket_path ? connect_unix(http, call, err) : connect_tcp(http, call, err);
	if (fd < 0)
		return fd;
	const char *authority = http->socket_path ? "localhost" : strstr(http->url, "://") + 3;
	/* In one piece: a refusal may close the connection before a second one is sent. */
	cleanup_free char *text = sbx_printf("%s %s HTTP/1.1\r\nHost: %s\r\n"
					     "Connection: Upgrade\r\nUpgrade: tcp\r\n"
					     "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%.*s",
		request->method, request->target, authority,
		request->content_type ? request->content_type : "application/json",
		request->body_size, (int)request->body_size, request->body ? request->body : "");
	int result = send_all(fd, text, strlen(text), call, err);
	struct sbx_buffer bytes = { 0 };
	size_t head_size = 0;
	if (!result)
		result = read_answer(fd, &bytes, &head_size, call, response, err);
	if (!result && (response->status == 101 || response->status == 200)) {
		*rest_size = bytes.size - head_size;
		*rest = sbx_strndup(bytes.data + head_size, *rest_size);
		*fd_out = steal_fd(&fd);
	}
	sbx_buffer_finish(&bytes);
	return result;
}

int sbx_http_hijack(struct sbx_http *http, const struct sbx_http_request *request,
	const struct sbx_call *call, int *fd_out, char **rest, size_t *rest_size,
	struct sbx_http_response *response, struct sbx_error *err)
{
	*fd_out = -1;
	*rest = NULL;
	*rest_size = 0;
	*response = (struct sbx_http_response){ 0 };
	if (http->tls)
		return sbx_fail(err, EOPNOTSUPP,
			"input to a command over a TLS endpoint is not "
			"supported");
	atomic_fetch_add(&http->requests, 1);
	atomic_fetch_add(&http->bytes_out, request->body_size);
	int result = exchange(http, request, call, fd_out, rest, rest_size, response, err);
	if (result)
		sbx_http_response_finish(response);
	if (result || response->status >= 500)
		atomic_fetch_add(&http->failures, 1);
	return result;
}
