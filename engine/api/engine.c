/*
 * engine.c: one engine opened, versioned and counted.
 *
 * What a ping said is an identity that is never changed: readers take it without a lock, and an old
 * one stays until close, so that a string handed out stays valid.
 */
#include "api.h"

#include "../base/alloc.h"
#include "../base/log.h"
#include "../base/text.h"

#include <sbx/sha256.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define API_MAJOR 1
#define API_HIGHEST 41
#define API_LOWEST 40

struct identity {
	char api_version[16];
	char *server;
	bool podman;
	struct identity *older;
};

struct sbx_engine {
	struct sbx_http *http;
	struct sbx_endpoint endpoint;
	char key[17];
	pthread_mutex_t identity_lock; /* serialises changes of identity; reading it needs none */
	_Atomic(struct identity *) identity;
	_Atomic uint64_t counts[4];
};

static void endpoint_copy(struct sbx_endpoint *to, const struct sbx_endpoint *from)
{
	*to = *from;
	to->url = sbx_strdup(from->url);
	to->socket_path = sbx_strdup(from->socket_path);
	to->ca_path = sbx_strdup(from->ca_path);
	to->cert_path = sbx_strdup(from->cert_path);
	to->key_path = sbx_strdup(from->key_path);
	to->api_version = sbx_strdup(from->api_version);
	to->source = sbx_strdup(from->source);
}

/* The same engine by two spellings of its socket has one key, or two processes could each open a
 * freeze window on one sandbox. */
static void make_key(char key[17], const struct sbx_endpoint *endpoint)
{
	cleanup_free char *real =
		endpoint->socket_path ? realpath(endpoint->socket_path, NULL) : NULL;
	cleanup_free char *text = real ? sbx_printf("unix://%s", real) : sbx_strdup(endpoint->url);
	struct sbx_sha256 state;
	char hex[65];
	sbx_sha256_init(&state);
	sbx_sha256_update(&state, text, strlen(text));
	sbx_sha256_final(&state, hex);
	memcpy(key, hex, 16);
	key[16] = '\0';
}

/* "1.41" as 41; -1 for anything else. Another major version is not one we know. */
static int minor_of(const char *version)
{
	long long minor;
	if (!version || !sbx_text_has_prefix(version, "1.") ||
		!sbx_text_to_int64(version + 2, &minor) || minor > 100000)
		return -1;
	return (int)minor;
}

static void adopt(struct sbx_engine *engine, const char *version, bool podman, const char *server)
{
	pthread_mutex_lock(&engine->identity_lock);
	struct identity *now = atomic_load(&engine->identity);
	if (!now || strcmp(now->api_version, version) != 0 || now->podman != podman ||
		strcmp(now->server, server) != 0) {
		struct identity *fresh = sbx_alloc(sizeof(*fresh));
		(void)snprintf(fresh->api_version, sizeof(fresh->api_version), "%s",
			version); /* ours, it fits */
		fresh->server = sbx_strdup(server);
		fresh->podman = podman;
		fresh->older = now;
		atomic_store(&engine->identity, fresh);
	}
	pthread_mutex_unlock(&engine->identity_lock);
}

/* The version to speak: the newest that the engine, sbxfs and the user's DOCKER_API_VERSION know.
 */
static int choose(
	const struct sbx_engine *engine, int engine_minor, int *minor, struct sbx_error *err)
{
	const char *text = engine->endpoint.api_version;
	int wished = text ? minor_of(text) : engine_minor;
	if (wished < 0)
		return sbx_fail(err, EINVAL, "DOCKER_API_VERSION='%s' is no version 1.x", text);
	if (wished < API_LOWEST)
		return sbx_fail(err, EOPNOTSUPP,
			"DOCKER_API_VERSION is %s, sbxfs needs 1.%d or newer", text, API_LOWEST);
	if (wished > engine_minor)
		return sbx_fail(err, EOPNOTSUPP,
			"DOCKER_API_VERSION is %s, and the engine at %s speaks API 1.%d at most",
			text, engine->endpoint.url, engine_minor);
	*minor = wished < API_HIGHEST ? wished : API_HIGHEST;
	return 0;
}

/* An engine newer than us may have dropped our version; only a request in that version tells. */
static int check_accepted(struct sbx_engine *engine, int minor, const char *version,
	const struct sbx_call *call, struct sbx_error *err)
{
	if (minor <= API_HIGHEST)
		return 0;
	cleanup_free char *target = sbx_printf("/v%s/_ping", version);
	struct sbx_http_request request = { .method = "GET", .target = target };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = sbx_http_perform(engine->http, &request, call, &response, err);
	if (!result && response.status == 400)
		return sbx_fail(err, EOPNOTSUPP,
			"the engine at %s is too new: it speaks API 1.%d and no longer %s, the "
			"newest that sbxfs knows",
			engine->endpoint.url, minor, version);
	return result;
}

int sbx_engine_ping(struct sbx_engine *engine, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_http_request request = { .method = "GET", .target = "/_ping" };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = sbx_http_perform(engine->http, &request, call, &response, err);
	if (result)
		return result;
	const char *url = engine->endpoint.url;
	if (sbx_api_status(&response, err) == -EOPNOTSUPP)
		return sbx_wrap(err, "the engine at %s", url);
	if (response.status != 200)
		return sbx_fail(err, EIO, "the engine at %s answered its ping with status %d", url,
			response.status);
	int minor = minor_of(response.api_version);
	if (minor < 0)
		return sbx_fail(err, EIO,
			"what answers at %s is not a container engine: it names no API version 1.x",
			url);
	if (minor < API_LOWEST)
		return sbx_fail(err, EOPNOTSUPP,
			"the engine at %s is too old: it speaks API 1.%d, sbxfs needs 1.%d or "
			"newer",
			url, minor, API_LOWEST);
	int spoken = 0;
	result = choose(engine, minor, &spoken, err);
	if (result)
		return result;
	char version[16];
	(void)snprintf(
		version, sizeof(version), "%d.%d", API_MAJOR, spoken); /* two small numbers fit */
	result = check_accepted(engine, minor, version, call, err);
	if (!result)
		adopt(engine, version, response.libpod_version != NULL,
			response.server ? response.server : "");
	return result;
}

/* Whoever is in between would read and write everything, and run as root where the engine is. */
static int check_exposed(const struct sbx_endpoint *endpoint, struct sbx_error *err)
{
	if (!sbx_endpoint_exposed(endpoint))
		return 0;
	if (!endpoint->insecure)
		return sbx_fail(err, EPERM,
			"the engine at %s would be reached without TLS, and anybody in between "
			"could see and change what is sent: use https:// with DOCKER_CERT_PATH or "
			"a forwarded socket, or say --insecure",
			endpoint->url);
	sbx_log(SBX_LOG_WARNING,
		"the engine at %s is reached without TLS: anybody in between sees and changes what "
		"is sent",
		endpoint->url);
	return 0;
}

int sbx_engine_open(const struct sbx_endpoint *endpoint, const struct sbx_call *call,
	struct sbx_engine **out, struct sbx_error *err)
{
	*out = NULL;
	int result = check_exposed(endpoint, err);
	if (result)
		return result;
	struct sbx_engine *engine = sbx_alloc(sizeof(*engine));
	endpoint_copy(&engine->endpoint, endpoint);
	engine->http = sbx_http_create(endpoint);
	make_key(engine->key, endpoint);
	pthread_mutex_init(&engine->identity_lock, NULL);
	result = sbx_engine_ping(engine, call, err);
	if (result) {
		sbx_engine_close(engine);
		engine = NULL;
	}
	*out = engine;
	return result;
}

void sbx_engine_close(struct sbx_engine *engine)
{
	if (!engine)
		return;
	struct identity *identity = atomic_load(&engine->identity);
	while (identity) {
		struct identity *older = identity->older;
		free(identity->server);
		free(identity);
		identity = older;
	}
	sbx_http_destroy(engine->http);
	sbx_endpoint_finish(&engine->endpoint);
	pthread_mutex_destroy(&engine->identity_lock);
	free(engine);
}

int64_t sbx_engine_now_s(const struct sbx_engine *engine)
{
	return sbx_http_now_s(engine->http);
}

bool sbx_engine_is_podman(const struct sbx_engine *engine)
{
	return atomic_load(&engine->identity)->podman;
}

const char *sbx_engine_api_version(const struct sbx_engine *engine)
{
	return atomic_load(&engine->identity)->api_version;
}

const char *sbx_engine_server(const struct sbx_engine *engine)
{
	return atomic_load(&engine->identity)->server;
}

const struct sbx_endpoint *sbx_engine_endpoint(const struct sbx_engine *engine)
{
	return &engine->endpoint;
}

bool sbx_engine_reachable(struct sbx_engine *engine)
{
	return sbx_http_reachable(engine->http);
}

int sbx_engine_explain_break(struct sbx_engine *engine, int result, struct sbx_error *err)
{
	if (result != -EIO || !err || err->kind != SBX_KIND_ENGINE || err->http_status ||
		sbx_http_reachable(engine->http))
		return result;
	cleanup_free char *said = sbx_strdup(err->message);
	return sbx_fail(err, EHOSTDOWN, "the engine is gone: %s", said);
}

const char *sbx_engine_key(const struct sbx_engine *engine)
{
	return engine->key;
}

struct sbx_http *sbx_api_http(struct sbx_engine *engine)
{
	return engine->http;
}

char *sbx_api_target(struct sbx_engine *engine, const char *format, ...)
{
	cleanup_free char *path = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&path, format, args);
	va_end(args);
	if (length < 0)
		abort();
	return sbx_printf("/v%s%s", sbx_engine_api_version(engine), path);
}

void sbx_api_count(struct sbx_engine *engine, enum sbx_api_count what)
{
	atomic_fetch_add(&engine->counts[what], 1);
}

void sbx_engine_counters(const struct sbx_engine *engine, struct sbx_engine_counters *out)
{
	sbx_http_counts(
		engine->http, &out->requests, &out->failures, &out->bytes_in, &out->bytes_out);
	out->pauses = atomic_load(&engine->counts[SBX_COUNT_PAUSE]);
	out->archive_heads = atomic_load(&engine->counts[SBX_COUNT_HEAD]);
	out->archive_gets = atomic_load(&engine->counts[SBX_COUNT_GET]);
	out->archive_puts = atomic_load(&engine->counts[SBX_COUNT_PUT]);
}
