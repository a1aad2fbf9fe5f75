/*
 * http.c: see http.h. One request from the first byte to the last, on a channel (handle and
 * connections) from the pool.
 *
 * A request that changes something never uses a kept connection: libcurl would send it again by
 * itself when that connection turns out to be dead, and a pause sent twice reads as somebody
 * else's. Connecting anew to a local socket costs some 20 µs. Any failed or stopped transfer
 * closes its channel. Never follows redirects and never uses a proxy of the environment.
 */
#include "inside.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "answer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

struct exchange {
	struct sbx_http *http;
	const struct sbx_http_request *request;
	struct sbx_http_response *response;
	const struct sbx_call *call;
	struct sbx_buffer body;
	size_t head_size;
	bool in_body;
	int64_t sent;
	int64_t last_byte_ms;
	int stopped; /* the write function's value */
	int ended;   /* the call's bounds passed inside a callback; err says which */
	struct sbx_error *err;
	const char *refused; /* why we ended it ourselves */
	bool enough;	     /* of an error's body */
	int read_error;
	int socket_error; /* libcurl does not keep it */
	int late_fd;	  /* of an upload: the same socket, for an answer that came before the send
			     failed */
	char text[CURL_ERROR_SIZE];
};

static size_t on_header(char *bytes, size_t one, size_t size, void *data)
{
	struct exchange *exchange = data;
	struct sbx_http_response *response = exchange->response;
	(void)one; /* always 1, says libcurl */
	exchange->last_byte_ms = sbx_clock_ms();
	if (exchange->in_body)
		return size; /* a trailer */
	exchange->head_size += size;
	if (exchange->head_size > SBX_HTTP_MAX_HEAD) {
		exchange->refused = "its answer has more than 64 KiB of headers";
		return 0;
	}
	int status = sbx_answer_status_line(bytes, size);
	if (status)
		response->status = status;
	if (response->status < 200)
		return size;
	sbx_answer_header(response, bytes, size);
	if (size <= 2 && (bytes[0] == '\r' || bytes[0] == '\n')) {
		exchange->in_body = true;
		sbx_http_note_date(exchange->http, response->date);
		if (exchange->request->headers_done)
			exchange->request->headers_done(
				exchange->request->write_data, response->status);
	}
	return size;
}

/* Milliseconds to wait at most, or -errno when the call's bounds are passed. */
static int64_t bound(const struct exchange *exchange, struct sbx_error *err)
{
	const struct sbx_call *call = exchange->call;
	const char *shown = exchange->http->shown;
	if (call && sbx_cancel_fired(call->cancel))
		return sbx_fail(err, ECANCELED, "the request was cancelled");
	int64_t left_ms = sbx_call_left_ms(call);
	if (left_ms == 0)
		return sbx_fail(err, ETIMEDOUT, "the engine at %s did not answer in time", shown);
	if (!exchange->request->no_idle_limit) {
		int64_t idle_ms = call && call->idle_ms ? call->idle_ms : SBX_HTTP_IDLE_MS;
		int64_t idle_left_ms = exchange->last_byte_ms + idle_ms - sbx_clock_ms();
		if (idle_left_ms <= 0)
			return sbx_fail(err, ETIMEDOUT,
				"no byte moved from or to the engine at %s for %lld seconds", shown,
				(long long)(idle_ms / 1000));
		if (idle_left_ms < left_ms)
			left_ms = idle_left_ms;
	}
	/* A token without an eventfd (a full descriptor table) is looked at this often. */
	int64_t longest_ms =
		call && call->cancel && sbx_cancel_fd(call->cancel) < 0 ? 100 : INT_MAX;
	return left_ms < longest_ms ? left_ms : longest_ms;
}

/* One curl_multi_perform may hand on some 25 MB before it returns: with a slow receiver that is
 * long after a cancel. */
static bool bounds_passed(struct exchange *exchange)
{
	int64_t left_ms = bound(exchange, exchange->err);
	exchange->ended = left_ms < 0 ? (int)left_ms : 0;
	return exchange->ended != 0;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *data)
{
	struct exchange *exchange = data;
	const struct sbx_http_request *request = exchange->request;
	(void)one; /* always 1, says libcurl */
	exchange->last_byte_ms = sbx_clock_ms();
	atomic_fetch_add(&exchange->http->bytes_in, size);
	if (bounds_passed(exchange))
		return 0;
	if (exchange->response->status / 100 == 2) {
		if (request->write) {
			exchange->stopped = request->write(request->write_data, bytes, size);
			return exchange->stopped ? 0 : size;
		}
		size_t most = request->max_body ? request->max_body : SBX_HTTP_MAX_BODY;
		if (size <= most - exchange->body.size)
			return sbx_buffer_append(&exchange->body, bytes, size) ? size : 0;
		exchange->refused = "its answer is larger than this answer may be";
		return 0;
	}
	size_t room = SBX_HTTP_MAX_ERROR_BODY - exchange->body.size;
	if (size > room) {
		(void)sbx_buffer_append(&exchange->body, bytes, room); /* fits by construction */
		exchange->enough = true;
		return 0;
	}
	return sbx_buffer_append(&exchange->body, bytes, size) ? size : 0;
}

static size_t on_read(char *buffer, size_t one, size_t size, void *data)
{
	struct exchange *exchange = data;
	const struct sbx_http_request *request = exchange->request;
	size_t room = one * size;
	exchange->last_byte_ms = sbx_clock_ms();
	int64_t left = request->read_size - exchange->sent;
	if (left <= 0)
		return 0;
	if (bounds_passed(exchange))
		return CURL_READFUNC_ABORT;
	if ((int64_t)room > left)
		room = (size_t)left;
	int64_t got = request->read(request->read_data, buffer, room);
	if (got <= 0 || got > (int64_t)room) {
		exchange->read_error = got < 0 ? (int)-got : EIO;
		return CURL_READFUNC_ABORT;
	}
	exchange->sent += got;
	atomic_fetch_add(&exchange->http->bytes_out, (uint64_t)got);
	return (size_t)got;
}

static curl_socket_t on_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct exchange *exchange = data;
	(void)purpose; /* there is only one */
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	exchange->socket_error = fd < 0 ? errno : 0;
	if (fd >= 0)
		sbx_http_watch_peer(fd, address->family);
	if (fd >= 0 && exchange->request->read) {
		if (exchange->late_fd >= 0)
			(void)close(exchange->late_fd); /* an earlier address that did not answer */
		exchange->late_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static struct curl_slist *prepare_body(CURL *easy, const struct sbx_http_request *request)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
	if (request->content_type) {
		cleanup_free char *line = sbx_printf("Content-Type: %s", request->content_type);
		headers = curl_slist_append(headers, line);
	} else {
		headers = curl_slist_append(headers, "Content-Type:");
	}
	if (request->read) {
		curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->read_size);
		curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
	} else if (strcmp(request->method, "HEAD") == 0) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	} else if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "DELETE") != 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
	}
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST,
		strcmp(request->method, "HEAD") == 0 ? NULL : request->method);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	return headers;
}

static void prepare(CURL *easy, struct exchange *exchange, const char *url)
{
	const struct sbx_http *http = exchange->http;
	const char *method = exchange->request->method;
	bool repeatable = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, repeatable ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)SBX_HTTP_IDLE_MS);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 262144L);
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 524288L);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->text);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
	curl_easy_setopt(easy, CURLOPT_READDATA, exchange);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, exchange);
	if (http->socket_path)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, http->socket_path);
	if (http->tls) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, http->skip_verify ? 0L : 1L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, http->skip_verify ? 0L : 2L);
		curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
		if (http->ca_path)
			curl_easy_setopt(easy, CURLOPT_CAINFO, http->ca_path);
		if (http->cert_path)
			curl_easy_setopt(easy, CURLOPT_SSLCERT, http->cert_path);
		if (http->key_path)
			curl_easy_setopt(easy, CURLOPT_SSLKEY, http->key_path);
	}
}

/* Runs the transfer to its end. *code is libcurl's verdict where 0 is returned. */
static int drive(CURLM *multi, struct exchange *exchange, CURLcode *code, struct sbx_error *err)
{
	int cancel_fd = sbx_cancel_fd(exchange->call ? exchange->call->cancel : NULL);
	struct curl_waitfd cancel = { .fd = cancel_fd, .events = CURL_WAIT_POLLIN };
	int running = 1, queued;
	for (;;) {
		CURLMcode failed = curl_multi_perform(multi, &running);
		if (failed)
			return sbx_fail(err, EIO, "libcurl: %s", curl_multi_strerror(failed));
		if (!running)
			break;
		int64_t wait_ms = bound(exchange, err);
		if (wait_ms < 0)
			return (int)wait_ms;
		failed =
			curl_multi_poll(multi, &cancel, cancel_fd >= 0 ? 1 : 0, (int)wait_ms, NULL);
		if (failed)
			return sbx_fail(err, EIO, "libcurl: %s", curl_multi_strerror(failed));
	}
	const CURLMsg *message = curl_multi_info_read(multi, &queued);
	*code = message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_RECV_ERROR;
	return 0;
}

/* D28 and Podman answer a refused upload and close; where our send met the closed socket first,
 * the answer still lies in the socket. false: there is none. */
static bool late_answer(struct exchange *exchange)
{
	struct sbx_buffer bytes = { .limit = SBX_HTTP_MAX_HEAD + SBX_HTTP_MAX_ERROR_BODY };
	char part[4096];
	ssize_t got;
	while ((got = recv(exchange->late_fd, part, sizeof(part), MSG_DONTWAIT)) > 0) {
		if (!sbx_buffer_append(&bytes, part, (size_t)got))
			break;
	}
	int64_t length = -1;
	bool chunked = false;
	ssize_t head = bytes.size ? sbx_answer_head(exchange->response, bytes.data, bytes.size,
					    &length, &chunked)
				  : 0;
	if (head > 0) {
		char *body = bytes.data + head;
		size_t size = bytes.size - (size_t)head;
		sbx_buffer_clear(&exchange->body);
		(void)sbx_buffer_append(&exchange->body, body,
			chunked ? sbx_answer_dechunk(body, size) : size); /* cut at its limit */
	}
	sbx_buffer_finish(&bytes);
	return head > 0;
}

/* What libcurl's verdict means. */
static int judge(CURL *easy, CURLcode code, struct exchange *exchange, struct sbx_error *err)
{
	const char *shown = exchange->http->shown;
	const char *why = exchange->text[0] ? exchange->text : curl_easy_strerror(code);
	if (code == CURLE_OK)
		return exchange->response->status
			       ? 0
			       : sbx_fail(err, EIO, "the engine at %s did not answer in HTTP",
					 shown);
	if (exchange->ended)
		return exchange->ended;
	if (exchange->stopped)
		return exchange->stopped;
	if (exchange->enough)
		return 0;
	if (exchange->refused)
		return sbx_fail(err, EIO, "the engine at %s: %s", shown, exchange->refused);
	if (exchange->read_error)
		return sbx_fail_errno(err, exchange->read_error, "the upload's source ended early");
	if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST) {
		long errnum = 0;
		curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &errnum);
		return sbx_http_fail_connect(exchange->http,
			exchange->socket_error ? exchange->socket_error : (int)errnum, why, err);
	}
	if (code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
		code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE)
		return sbx_fail(err, EHOSTDOWN, "no TLS connection to %s: %s", shown, why);
	if (exchange->late_fd >= 0 && !exchange->response->status && late_answer(exchange))
		return 0;
	if (exchange->response->status >= 300 && exchange->in_body && exchange->request->read)
		return 0; /* refused early, then cut: the status is what counts */
	return sbx_fail(err, EIO, "the connection to the engine at %s broke: %s", shown, why);
}

static int run(struct sbx_channel *channel, struct exchange *exchange, struct sbx_error *err)
{
	cleanup_free char *url = sbx_printf("%s%s", exchange->http->url, exchange->request->target);
	struct curl_slist *headers = prepare_body(channel->easy, exchange->request);
	prepare(channel->easy, exchange, url);
	CURLcode code = CURLE_OK;
	int result;
	CURLMcode added = curl_multi_add_handle(channel->multi, channel->easy);
	if (added) {
		result = sbx_fail(err, EIO, "libcurl: %s", curl_multi_strerror(added));
	} else {
		result = drive(channel->multi, exchange, &code, err);
		if (!result)
			result = judge(channel->easy, code, exchange, err);
		curl_multi_remove_handle(channel->multi, channel->easy);
	}
	curl_slist_free_all(headers);
	if (result || code)
		sbx_channel_close(channel);
	return result;
}

int sbx_http_perform(struct sbx_http *http, const struct sbx_http_request *request,
	const struct sbx_call *call, struct sbx_http_response *response, struct sbx_error *err)
{
	struct exchange exchange = { .http = http,
		.request = request,
		.response = response,
		.call = call,
		.err = err,
		.late_fd = -1,
		.last_byte_ms = sbx_clock_ms() };
	*response = (struct sbx_http_response){ 0 };
	atomic_fetch_add(&http->requests, 1);
	if (!request->read)
		atomic_fetch_add(&http->bytes_out, request->body_size);
	struct sbx_channel channel;
	int result;
	if (call && sbx_cancel_fired(call->cancel))
		result = sbx_fail(err, ECANCELED, "the request was cancelled");
	else if (!sbx_channel_take(http, &channel))
		result = sbx_fail(err, EIO, "libcurl gave no handle");
	else {
		result = run(&channel, &exchange, err);
		if (channel.easy)
			sbx_channel_give(http, &channel);
	}
	if (exchange.late_fd >= 0)
		(void)close(exchange.late_fd); /* a duplicate, everything was read */
	if (result || response->status >= 500)
		atomic_fetch_add(&http->failures, 1);
	if (result) {
		sbx_buffer_finish(&exchange.body);
		sbx_http_response_finish(response);
		return result;
	}
	response->body_size = exchange.body.size;
	response->body = exchange.body.data;
	return 0;
}
