/*
 * http.h: one HTTP request to the engine over libcurl, with a keep-alive pool, a deadline and a
 * cancel token.
 *
 * Blocking and thread-safe: each request takes a handle from the pool, runs it on a multi handle of
 * its own with curl_multi_poll, and wakes at once when the call's token fires. Nothing is retried
 * except a GET or HEAD whose reused connection died before a byte of the answer came.
 */
#ifndef SBX_TRANSPORT_HTTP_H
#define SBX_TRANSPORT_HTTP_H

#include <sbx/call.h>
#include <sbx/endpoint.h>
#include <sbx/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_http;

struct sbx_http *sbx_http_create(
	const struct sbx_endpoint *endpoint); /* endpoint copied as needed */
void sbx_http_destroy(struct sbx_http *http);

struct sbx_http_request {
	const char *method;	  /* GET, HEAD, POST, PUT, DELETE */
	const char *target;	  /* "/v1.41/…", already percent-encoded */
	const char *content_type; /* or NULL */
	const char *body;	  /* fixed body, or NULL */
	size_t body_size;
	/* or a streamed body of known size: as sbx_source_fn in sbx/archive.h */
	int64_t (*read)(void *data, void *buffer, size_t size);
	void *read_data;
	int64_t read_size;
	/* Where the body of a 2xx answer goes; NULL collects it in the response. Non-zero ends the
	 * request and is returned. */
	int (*write)(void *data, const void *bytes, size_t size);
	void *write_data;
	void (*headers_done)(void *data, int status); /* may be NULL; uses write_data */
	size_t max_body;    /* of collected bodies; 0: 16 MiB. Over it: EIO */
	bool no_idle_limit; /* event and log streams */
};

struct sbx_http_response {
	int status;
	char *body; /* collected, NUL-terminated, or NULL; of error answers always (at most 64 KiB)
		     */
	size_t body_size;
	char *path_stat; /* X-Docker-Container-Path-Stat as sent, or NULL */
	/* headers of those names, or NULL */
	char *api_version, *libpod_version, *server, *os_type, *date;
};
void sbx_http_response_finish(struct sbx_http_response *response);

/* 0: an answer was read, whatever its status. Errors: EHOSTDOWN (no connection: missing socket,
 * refused, no permission told apart in the sentence), ETIMEDOUT (deadline or idle, the sentence
 * says which), ECANCELED, EIO (the connection broke or the answer is not HTTP), or the write
 * function's own value. Headers over 64 KiB are EIO. */
int sbx_http_perform(struct sbx_http *http, const struct sbx_http_request *request,
	const struct sbx_call *call, struct sbx_http_response *response, struct sbx_error *err);

/* A connection of its own for exec: sends the POST with Connection: Upgrade, returns the connected,
 * non-blocking socket after the answer's headers (101 or 200), bytes read past them in *rest. With
 * another status *fd_out is -1 and the response holds the error's body. Plain unix and tcp
 * endpoints; TLS is EOPNOTSUPP and callers without stdin use sbx_http_perform instead. */
int sbx_http_hijack(struct sbx_http *http, const struct sbx_http_request *request,
	const struct sbx_call *call, int *fd_out, char **rest, size_t *rest_size,
	struct sbx_http_response *response, struct sbx_error *err);

/* Whether something accepts a connection there now; bounded by a second. Nothing is sent. */
bool sbx_http_reachable(struct sbx_http *http);

/* Percent-encodes every byte but A-Za-z0-9-_.~ and, if keep_slash, '/'. malloc'd. */
char *sbx_http_encode(const char *text, bool keep_slash);

/* The engine's clock now, in whole seconds, as its last answer's Date shows it: behind by up to a
 * second and what that answer took to arrive, never ahead. 0: no answer had a date yet.
 * Thread-safe. */
int64_t sbx_http_now_s(const struct sbx_http *http);

void sbx_http_counts(const struct sbx_http *http, uint64_t *requests, uint64_t *failures,
	uint64_t *bytes_in, uint64_t *bytes_out);

#endif
