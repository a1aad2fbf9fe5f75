/* test_http.c: what a server can do wrong ends as one error, in time, and nothing is sent twice. */
#include "base/alloc.h"
#include "scripted_server.h"
#include "transport/http.h"
#include "unit.h"

#include <errno.h>
#include <netinet/tcp.h>

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

static struct scripted_server server;
static struct sbx_http *http;

static void begin(const char *const *answers, size_t count)
{
	directory_enter();
	server.requests = 0;
	server.stopped = false;
	scripted_start(&server, answers, count);
	char url[] = "unix://engine.sock", path[] = "engine.sock";
	struct sbx_endpoint endpoint = { .url = url, .socket_path = path };
	http = sbx_http_create(&endpoint);
}

static void end(void)
{
	sbx_http_destroy(http);
	scripted_stop(&server);
	server = (struct scripted_server){ 0 };
	directory_leave();
}

static int perform(const char *method, struct sbx_http_response *response, struct sbx_error *err)
{
	struct sbx_http_request request = { .method = method, .target = "/x" };
	struct sbx_call call = sbx_call_within(5000, NULL);
	return sbx_http_perform(http, &request, &call, response, err);
}

static int status_of(const char *method)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = perform(method, &response, &err);
	return result ? result : response.status;
}

START_TEST(reads_an_answer_and_its_headers)
{
	static const char *const answers[] = { "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\n"
					       "api-version: 9.99\r\nServer:  Docker/1 \r\n"
					       "X-Docker-Container-Path-Stat: e30=\r\n"
					       "Content-Length: 2\r\n\r\nhi" };
	begin(answers, 1);
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	ck_assert_int_eq(perform("GET", &response, NULL), 0);
	ck_assert_int_eq(response.status, 200);
	ck_assert_str_eq(response.body, "hi");
	ck_assert_str_eq(response.api_version, "1.41");
	ck_assert_str_eq(response.server, "Docker/1");
	ck_assert_str_eq(response.path_stat, "e30=");
	ck_assert_str_eq(server.first_line, "GET /x HTTP/1.1");
	end();
}
END_TEST

/* Which of the two clocks is wrong is not ours to say: the guest's times are told by the engine's.
 */
START_TEST(an_answers_date_tells_the_engines_clock)
{
	static const char *const answers[] = { OK,
		("HTTP/1.1 200 OK\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n"
		 "Content-Length: 2\r\n\r\nhi"),
		"HTTP/1.1 200 OK\r\nDate: some day\r\nContent-Length: 2\r\n\r\nhi" };
	begin(answers, 3);
	ck_assert_int_eq(status_of("GET"), 200);
	ck_assert_int_eq(sbx_http_now_s(http), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(status_of("GET"), 200);
		ck_assert_int_ge(sbx_http_now_s(http), 1700000000);
		ck_assert_int_lt(sbx_http_now_s(http), 1700000010);
	}
	end();
}
END_TEST

START_TEST(a_dead_kept_connection_repeats_a_get)
{
	static const char *const answers[] = { OK, "", OK };
	begin(answers, 3);
	ck_assert_int_eq(status_of("GET"), 200);
	ck_assert_int_eq(status_of("GET"), 200);
	ck_assert_int_eq(server.requests, 3);
	end();
}
END_TEST

/* Were it sent again, a pause would read as somebody else's. */
START_TEST(a_post_is_never_repeated)
{
	static const char *const answers[] = { OK, "", OK };
	begin(answers, 3);
	ck_assert_int_eq(status_of("GET"), 200);
	ck_assert_int_eq(status_of("POST"), -EIO);
	ck_assert_int_eq(server.requests, 2);
	end();
}
END_TEST

START_TEST(what_is_not_http_is_an_error)
{
	static const char *const answers[] = { "SSH-2.0-OpenSSH_9\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nBroken" };
	server.one_each = true;
	begin(answers, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(status_of("GET"), -EIO);
	end();
}
END_TEST

START_TEST(a_flood_of_headers_is_refused)
{
	static char flood[80000] = "HTTP/1.1 200 OK\r\n";
	static const char line[] =
		"X-Padding: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\r\n";
	char *end_of = flood + strlen(flood);
	while (end_of < flood + sizeof(flood) - 200)
		end_of = stpcpy(end_of, line);
	(void)stpcpy(end_of, "\r\n"); /* nothing comes after it */
	const char *const answers[] = { flood };
	begin(answers, 1);
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_http_response response;
	ck_assert_int_eq(perform("GET", &response, &err), -EIO);
	ck_assert_ptr_nonnull(strstr(err.message, "64 KiB of headers"));
	end();
}
END_TEST

START_TEST(a_body_over_its_bound_is_refused)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789",
		"HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n123456789"
	};
	begin(answers, 2);
	struct sbx_http_request request = { .method = "GET", .target = "/x", .max_body = 8 };
	struct sbx_call call = sbx_call_within(5000, NULL);
	struct sbx_http_response response;
	ck_assert_int_eq(sbx_http_perform(http, &request, &call, &response, NULL), -EIO);
	scripted_stop(&server);
	server = (struct scripted_server){ 0 };
	scripted_start(&server, answers + 1, 1);
	ck_assert_int_eq(sbx_http_perform(http, &request, &call, &response, NULL), 0);
	ck_assert_str_eq(response.body, "123456789"); /* an error's text has a bound of its own */
	sbx_http_response_finish(&response);
	end();
}
END_TEST

static void *fire_soon(void *data)
{
	usleep(100000);
	sbx_cancel_fire(data);
	return NULL;
}

/* Each says which bound it was (bug case 37). */
START_TEST(silence_ends_by_deadline_idle_or_cancel)
{
	static const char *const answers[] = { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1" };
	server.hold = true;
	begin(answers, 1);
	struct sbx_http_request request = { .method = "GET", .target = "/x" };
	struct sbx_http_response response;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(100, NULL);
	int64_t start_ms = sbx_clock_ms();
	ck_assert_int_eq(sbx_http_perform(http, &request, &call, &response, &err), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(err.message, "in time"));
	call = (struct sbx_call){ .idle_ms = 100 };
	ck_assert_int_eq(sbx_http_perform(http, &request, &call, &response, &err), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(err.message, "no byte"));
	struct sbx_cancel *cancel = sbx_cancel_create();
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, fire_soon, cancel), 0);
	call = (struct sbx_call){ .cancel = cancel };
	ck_assert_int_eq(sbx_http_perform(http, &request, &call, &response, &err), -ECANCELED);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_lt(sbx_clock_ms() - start_ms, 2000);
	ck_assert_int_eq(sbx_http_perform(http, &request, &call, &response, &err), -ECANCELED);
	sbx_cancel_unref(cancel);
	end();
}
END_TEST

static int slow_receiver(void *data, const void *bytes, size_t size)
{
	usleep(20000);
	return 0;
}

START_TEST(a_slow_receiver_does_not_outlast_the_call)
{
	static char answer[2000000] = "HTTP/1.1 200 OK\r\nContent-Length: 1900000\r\n\r\n";
	memset(answer + strlen(answer), 'x', 1900000);
	const char *const answers[] = { answer };
	begin(answers, 1);
	struct sbx_http_request request = {
		.method = "GET", .target = "/x", .write = slow_receiver
	};
	struct sbx_call call = sbx_call_within(100, NULL);
	struct sbx_http_response response;
	int64_t start_ms = sbx_clock_ms();
	ck_assert_int_eq(sbx_http_perform(http, &request, &call, &response, NULL), -ETIMEDOUT);
	ck_assert_int_lt(sbx_clock_ms() - start_ms, 1000); /* the whole body takes over two */
	end();
}
END_TEST

static int64_t zeros(void *data, void *buffer, size_t size)
{
	memset(buffer, 0, size);
	return (int64_t)size;
}

static int64_t nothing(void *data, void *buffer, size_t size)
{
	return 0;
}

/* The server reads a little, answers and closes: the reason must not be lost in EPIPE. */
START_TEST(an_early_answer_to_an_upload_is_read)
{
	static const char *const answers[] = {
		"HTTP/1.1 500 No\r\nConnection: close\r\nContent-Length: 23\r\n\r\n"
		"no space left on device"
	};
	for (int i = 0; i < 20; i++) {
		server.one_each = server.unread = true;
		begin(answers, 1);
		struct sbx_http_request request = { .method = "PUT",
			.target = "/x",
			.read = zeros,
			.read_size = (int64_t)64 << 20 };
		struct sbx_call call = sbx_call_within(5000, NULL);
		struct sbx_error err = SBX_ERROR_INIT;
		cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
		int result = sbx_http_perform(http, &request, &call, &response, &err);
		ck_assert_msg(result == 0, "%s", err.message);
		ck_assert_int_eq(response.status, 500);
		ck_assert_str_eq(response.body, "no space left on device");
		end();
	}
}
END_TEST

START_TEST(a_source_that_ends_early_is_an_error)
{
	static const char *const answers[] = { OK };
	server.hold = true;
	begin(answers, 1);
	struct sbx_http_request request = {
		.method = "PUT", .target = "/x", .read = nothing, .read_size = 100
	};
	struct sbx_call call = sbx_call_within(5000, NULL);
	struct sbx_http_response response;
	ck_assert_int_lt(sbx_http_perform(http, &request, &call, &response, NULL), 0);
	end();
}
END_TEST

static int stop_with_seven(void *data, const void *bytes, size_t size)
{
	return 7;
}

START_TEST(the_write_functions_value_is_returned)
{
	static const char *const answers[] = { OK };
	begin(answers, 1);
	struct sbx_http_request request = {
		.method = "GET", .target = "/x", .write = stop_with_seven
	};
	struct sbx_http_response response;
	ck_assert_int_eq(sbx_http_perform(http, &request, NULL, &response, NULL), 7);
	end();
}
END_TEST

START_TEST(tells_a_missing_socket_from_a_deaf_one)
{
	directory_enter();
	char url[] = "unix://none.sock", path[] = "none.sock";
	struct sbx_endpoint endpoint = { .url = url, .socket_path = path };
	http = sbx_http_create(&endpoint);
	struct sbx_http_response response;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_eq(perform("GET", &response, &err), -EHOSTDOWN);
	ck_assert_ptr_nonnull(strstr(err.message, "no such socket"));
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "none.sock" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(perform("GET", &response, &err), -EHOSTDOWN);
	ck_assert_ptr_nonnull(strstr(err.message, "nobody listens"));
	sbx_http_destroy(http);
	directory_leave();
}
END_TEST

START_TEST(hijacks_after_101_and_reads_a_refusal)
{
	static const char *const answers[] = {
		"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\n\r\nrest",
		"HTTP/1.1 409 Conflict\r\nTransfer-Encoding: "
		"chunked\r\n\r\n4\r\npaus\r\n2\r\ned\r\n"
		"0\r\n\r\n"
	};
	server.one_each = true;
	begin(answers, 2);
	struct sbx_http_request request = {
		.method = "POST", .target = "/x", .body = "{}", .body_size = 2
	};
	struct sbx_call call = sbx_call_within(5000, NULL);
	cleanup_free char *rest = NULL;
	size_t rest_size;
	int fd;
	struct sbx_http_response response;
	ck_assert_int_eq(
		sbx_http_hijack(http, &request, &call, &fd, &rest, &rest_size, &response, NULL), 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_le(rest_size, 4);
	ck_assert_int_eq(close(fd), 0);
	sbx_http_response_finish(&response);
	free(steal(&rest));
	ck_assert_int_eq(
		sbx_http_hijack(http, &request, &call, &fd, &rest, &rest_size, &response, NULL), 0);
	ck_assert_int_eq(fd, -1);
	ck_assert_int_eq(response.status, 409);
	ck_assert_str_eq(response.body, "paused");
	sbx_http_response_finish(&response);
	end();
}
END_TEST

static bool is_watched(int fd)
{
	int on = 0, idle_s = 0;
	socklen_t size = sizeof(int);
	return getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size) == 0 && on &&
	       getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, &size) == 0 && idle_s == 30;
}

/* In the middle of an answer: of our sockets the one that is connected to the server's port. */
static int look_at_the_socket(void *data, const void *bytes, size_t size)
{
	unsigned port = *(unsigned *)data;
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_in peer = { 0 };
		socklen_t length = sizeof(peer);
		if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
			peer.sin_family == AF_INET && ntohs(peer.sin_port) == port)
			return is_watched(fd) ? 1 : 2;
	}
	return 3;
}

/* An event stream is silent for as long as nothing happens, and so is a machine that was unplugged.
 */
START_TEST(a_lost_peer_is_noticed)
{
	static const char *const answers[] = { OK };
	unsigned port = 0;
	directory_enter();
	ck_assert(scripted_start_tcp(&server, AF_INET, answers, 1, &port));
	cleanup_free char *url = sbx_printf("http://127.0.0.1:%u", port);
	struct sbx_endpoint endpoint = { .url = url };
	http = sbx_http_create(&endpoint);
	struct sbx_http_request request = { .method = "GET",
		.target = "/x",
		.write = look_at_the_socket,
		.write_data = &port,
		.no_idle_limit = true };
	struct sbx_http_response response;
	ck_assert_int_eq(sbx_http_perform(http, &request, NULL, &response, NULL), 1);
	end();
}
END_TEST

/* The result of a hijack at a URL without a socket: 101 for a connection that was handed over. */
static int hijack_at(const char *url)
{
	cleanup_free char *copy = sbx_strdup(url);
	struct sbx_endpoint endpoint = { .url = copy };
	struct sbx_http *remote = sbx_http_create(&endpoint);
	struct sbx_http_request request = {
		.method = "POST", .target = "/x", .body = "{}", .body_size = 2
	};
	struct sbx_call call = sbx_call_within(5000, NULL);
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *rest = NULL;
	size_t rest_size;
	int fd = -1;
	struct sbx_http_response response;
	int result =
		sbx_http_hijack(remote, &request, &call, &fd, &rest, &rest_size, &response, &err);
	if (result == 0)
		result = response.status;
	else
		ck_assert_str_ne(err.message, "");
	if (fd >= 0) {
		ck_assert(is_watched(fd));
		ck_assert_int_eq(close(fd), 0);
	}
	sbx_http_response_finish(&response);
	sbx_http_destroy(remote);
	return result;
}

START_TEST(hijacks_over_tcp_of_both_families)
{
	static const char *const answers[] = { "HTTP/1.1 101 UPGRADED\r\n\r\n",
		"HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\nbad", "SSH-2.0-OpenSSH_9.2\r\n\r\n",
		"" };
	static const int families[] = { AF_INET, AF_INET6 };
	for (size_t i = 0; i < 2; i++) {
		unsigned port = 0;
		server = (struct scripted_server){ .one_each = true };
		directory_enter();
		if (scripted_start_tcp(&server, families[i], answers, 4, &port)) {
			cleanup_free char *url =
				sbx_printf("http://%s:%u", i ? "[::1]" : "127.0.0.1", port);
			ck_assert_int_eq(hijack_at(url), 101);
			ck_assert_int_eq(hijack_at(url), 500);
			ck_assert_int_eq(hijack_at(url), -EIO); /* not HTTP */
			ck_assert_int_eq(hijack_at(url), -EIO); /* closed unanswered */
			scripted_stop(&server);
			ck_assert_int_eq(hijack_at(url), -EHOSTDOWN);
		} else {
			ck_assert_int_eq(families[i], AF_INET6);
		}
		directory_leave();
	}
	ck_assert_int_eq(hijack_at("http://no-such-host.invalid:1"), -EHOSTDOWN);
	server = (struct scripted_server){ 0 };
}
END_TEST

UNIT_MAIN("http", an_answers_date_tells_the_engines_clock, a_lost_peer_is_noticed,
	reads_an_answer_and_its_headers, a_dead_kept_connection_repeats_a_get,
	a_post_is_never_repeated, what_is_not_http_is_an_error, a_flood_of_headers_is_refused,
	a_body_over_its_bound_is_refused, silence_ends_by_deadline_idle_or_cancel,
	a_slow_receiver_does_not_outlast_the_call, an_early_answer_to_an_upload_is_read,
	a_source_that_ends_early_is_an_error, the_write_functions_value_is_returned,
	tells_a_missing_socket_from_a_deaf_one, hijacks_after_101_and_reads_a_refusal,
	hijacks_over_tcp_of_both_families)
