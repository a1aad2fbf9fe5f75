/* pool.c: the life of struct sbx_http and of its channels, its counters, and the words for an
 * engine that is not there. */
#include "inside.h"

#include "../base/alloc.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <time.h>

#define REACH_MS 1000

struct sbx_http *sbx_http_create(const struct sbx_endpoint *endpoint)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT); /* counted and thread-safe since 7.84; a
							failure shows as a missing handle */
	struct sbx_http *http = sbx_alloc(sizeof(*http));
	http->ahead_ms = SBX_HTTP_NO_CLOCK;
	http->shown = sbx_strdup(endpoint->url);
	http->url = sbx_strdup(endpoint->socket_path ? "http://localhost" : endpoint->url);
	http->socket_path = sbx_strdup(endpoint->socket_path);
	http->ca_path = sbx_strdup(endpoint->ca_path);
	http->cert_path = sbx_strdup(endpoint->cert_path);
	http->key_path = sbx_strdup(endpoint->key_path);
	http->tls = endpoint->tls;
	http->skip_verify = endpoint->skip_verify;
	pthread_mutex_init(&http->idle_lock, NULL);
	return http;
}

void sbx_http_destroy(struct sbx_http *http)
{
	if (!http)
		return;
	for (size_t i = 0; i < http->idle_count; i++)
		sbx_channel_close(&http->idle[i]);
	pthread_mutex_destroy(&http->idle_lock);
	free(http->url);
	free(http->shown);
	free(http->socket_path);
	free(http->ca_path);
	free(http->cert_path);
	free(http->key_path);
	free(http);
	curl_global_cleanup();
}

bool sbx_channel_take(struct sbx_http *http, struct sbx_channel *out)
{
	pthread_mutex_lock(&http->idle_lock);
	bool found = http->idle_count > 0;
	if (found)
		*out = http->idle[--http->idle_count];
	pthread_mutex_unlock(&http->idle_lock);
	if (found)
		return true;
	*out = (struct sbx_channel){ .multi = curl_multi_init(), .easy = curl_easy_init() };
	if (out->multi)
		curl_multi_setopt(out->multi, CURLMOPT_MAXCONNECTS, 2L);
	return out->multi && out->easy;
}

void sbx_channel_close(struct sbx_channel *channel)
{
	if (channel->easy)
		curl_easy_cleanup(channel->easy);
	if (channel->multi)
		curl_multi_cleanup(channel->multi);
	*channel = (struct sbx_channel){ 0 };
}

void sbx_channel_give(struct sbx_http *http, struct sbx_channel *channel)
{
	curl_easy_reset(channel->easy);
	pthread_mutex_lock(&http->idle_lock);
	bool kept = http->idle_count < SBX_HTTP_MAX_IDLE_CHANNELS;
	if (kept)
		http->idle[http->idle_count++] = *channel;
	pthread_mutex_unlock(&http->idle_lock);
	if (!kept)
		sbx_channel_close(channel);
}

void sbx_http_response_finish(struct sbx_http_response *response)
{
	free(response->body);
	free(response->path_stat);
	free(response->api_version);
	free(response->libpod_version);
	free(response->server);
	free(response->os_type);
	free(response->date);
	*response = (struct sbx_http_response){ 0 };
}

int sbx_http_fail_connect(
	const struct sbx_http *http, int errnum, const char *why, struct sbx_error *err)
{
	const char *shown = http->shown;
	if (errnum == EMFILE || errnum == ENFILE) /* ours to answer for, not the engine's */
		return sbx_fail_errno(err, errnum, "no connection to the engine at %s", shown);
	switch (http->socket_path ? errnum : 0) {
	case ENOENT:
		return sbx_fail(err, EHOSTDOWN,
			"no engine at %s: there is no such socket; is the engine running?", shown);
	case ECONNREFUSED:
		return sbx_fail(err, EHOSTDOWN,
			"no engine at %s: the socket is there, but nobody listens on it", shown);
	case EACCES:
	case EPERM:
		return sbx_fail(err, EHOSTDOWN,
			"no permission to use the engine's socket %s; its group may be missing",
			shown);
	default:
		return sbx_fail(err, EHOSTDOWN, "the engine at %s cannot be reached: %s", shown,
			errnum ? strerrordesc_np(errnum) : why);
	}
}

static int64_t wall_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A date has no fraction and takes time to arrive: both make the engine's clock look late. */
void sbx_http_note_date(struct sbx_http *http, const char *date)
{
	int64_t date_s = date ? curl_getdate(date, NULL) : -1;
	if (date_s > 0)
		atomic_store(&http->ahead_ms, date_s * 1000 - wall_ms());
}

int64_t sbx_http_now_s(const struct sbx_http *http)
{
	int64_t ahead_ms = atomic_load(&http->ahead_ms);
	return ahead_ms == SBX_HTTP_NO_CLOCK ? 0 : (wall_ms() + ahead_ms) / 1000;
}

void sbx_http_watch_peer(int fd, int family)
{
	static const int on = 1, idle_s = 30, interval_s = 10, probes = 3;
	if (family != AF_INET && family != AF_INET6)
		return;
	/* A socket that takes none of these still ends by the idle limit, where there is one. */
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

bool sbx_http_reachable(struct sbx_http *http)
{
	CURL *easy = curl_easy_init();
	if (!easy)
		return true; /* not known to be gone */
	curl_easy_setopt(easy, CURLOPT_URL, http->url);
	curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)REACH_MS);
	if (http->socket_path)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, http->socket_path);
	CURLcode code = curl_easy_perform(easy);
	curl_easy_cleanup(easy);
	/* A TLS handshake that fails for want of our certificate was answered by somebody. */
	return code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST &&
	       code != CURLE_OPERATION_TIMEDOUT;
}

void sbx_http_counts(const struct sbx_http *http, uint64_t *requests, uint64_t *failures,
	uint64_t *bytes_in, uint64_t *bytes_out)
{
	*requests = atomic_load(&http->requests);
	*failures = atomic_load(&http->failures);
	*bytes_in = atomic_load(&http->bytes_in);
	*bytes_out = atomic_load(&http->bytes_out);
}
