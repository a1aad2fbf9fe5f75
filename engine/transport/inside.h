/* inside.h: the inside of struct sbx_http, for the files of this folder. */
#ifndef SBX_TRANSPORT_INSIDE_H
#define SBX_TRANSPORT_INSIDE_H

#include "http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#define SBX_HTTP_MAX_IDLE_CHANNELS 16
#define SBX_HTTP_NO_CLOCK INT64_MIN

/* A handle with the connections it keeps alive: a multi handle of its own, so that a request waits
 * for nothing but its own sockets. */
struct sbx_channel {
	CURLM *multi;
	CURL *easy;
};

struct sbx_http {
	char *url;   /* without a final slash: "http://localhost" for a unix socket */
	char *shown; /* the endpoint as a person knows it */
	char *socket_path, *ca_path, *cert_path, *key_path;
	bool tls, skip_verify;
	pthread_mutex_t idle_lock; /* guards idle and idle_count */
	struct sbx_channel idle[SBX_HTTP_MAX_IDLE_CHANNELS];
	size_t idle_count;
	_Atomic int64_t ahead_ms; /* of our clock, the engine's; SBX_HTTP_NO_CLOCK: not known */
	_Atomic uint64_t requests, failures, bytes_in, bytes_out;
};

/* false: libcurl gave no handle. */
bool sbx_channel_take(struct sbx_http *http, struct sbx_channel *out);
void sbx_channel_give(
	struct sbx_http *http, struct sbx_channel *channel); /* for the next request */
void sbx_channel_close(struct sbx_channel *channel);	     /* with its connections */

/* A new TCP socket ends by itself within a minute when its peer is gone without a word: a stream of
 * events may be silent for days, and would follow a dead machine for ever. */
void sbx_http_watch_peer(int fd, int family);

/* The Date of an answer that has just begun, NULL if it has none. */
void sbx_http_note_date(struct sbx_http *http, const char *date);

/* EHOSTDOWN for a failed connect, with its cause told apart. errnum 0: unknown, why says it. */
int sbx_http_fail_connect(
	const struct sbx_http *http, int errnum, const char *why, struct sbx_error *err);

#endif
