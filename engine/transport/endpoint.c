/*
 * endpoint.c: see sbx/endpoint.h. Order as the docker client's. An answer is bound once: later
 * changes of the environment or of the client's config reach no engine that is already open.
 */
#include <sbx/endpoint.h>

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "../base/text.h"
#include "context.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

void sbx_endpoint_finish(struct sbx_endpoint *endpoint)
{
	free(endpoint->url);
	free(endpoint->socket_path);
	free(endpoint->ca_path);
	free(endpoint->cert_path);
	free(endpoint->key_path);
	free(endpoint->api_version);
	free(endpoint->source);
	*endpoint = (struct sbx_endpoint){ 0 };
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* host or host:port or [v6]:port, as the authority of a URL; NULL when it is malformed. */
static char *authority(const char *text, const char *default_port)
{
	size_t length = strcspn(text, "/?#");
	if (!length || strspn(text + length, "/") != strlen(text + length))
		return NULL;
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] <= ' ' || text[i] == '@' ||
			(unsigned char)text[i] >= 0x7f)
			return NULL;
	}
	cleanup_free char *host = sbx_strndup(text, length);
	const char *after = *host == '[' ? strchr(host, ']') : host;
	if (!after || *host == ':')
		return NULL;
	const char *colon = strchr(after, ':');
	if (!colon)
		return sbx_printf("%s:%s", host, default_port);
	long long port;
	if (!sbx_text_to_int64(colon + 1, &port) || port < 1 || port > 65535)
		return NULL;
	return steal(&host);
}

int sbx_endpoint_parse(const char *text, bool tls, struct sbx_endpoint *out, struct sbx_error *err)
{
	if (sbx_text_has_prefix(text, "ssh://"))
		return sbx_fail(err, EOPNOTSUPP,
			"%s: an engine over ssh is not supported; forward its socket with `ssh -L "
			"/path/local.sock:/var/run/docker.sock` and use unix:///path/local.sock",
			text);
	if (sbx_text_has_prefix(text, "npipe://"))
		return sbx_fail(err, EOPNOTSUPP, "%s: Windows pipes are not supported", text);
	if (sbx_text_has_prefix(text, "unix://")) {
		const char *path = text + strlen("unix://");
		if (*path != '/')
			return sbx_fail(err, EINVAL, "%s: a socket is written unix:///path", text);
		out->url = sbx_strdup(text);
		out->socket_path = sbx_strdup(path);
		return 0;
	}
	const char *rest = strstr(text, "://");
	rest = rest ? rest + 3 : NULL;
	bool http = sbx_text_has_prefix(text, "http://");
	bool https = sbx_text_has_prefix(text, "https://");
	if (!rest || !(http || https || sbx_text_has_prefix(text, "tcp://")))
		return sbx_fail(err, EINVAL,
			"%s: not an engine's address (unix:///path, tcp://host:port, "
			"https://host:port)",
			text);
	out->tls = https || (tls && !http);
	cleanup_free char *host = authority(rest, out->tls ? "2376" : "2375");
	if (!host)
		return sbx_fail(err, EINVAL, "%s: malformed host or port", text);
	out->url = sbx_printf("%s://%s", out->tls ? "https" : "http", host);
	return 0;
}

/* The client's own TLS variables apply to addresses given as such, not to contexts. */
static int from_address(
	const char *text, const char *source, struct sbx_endpoint *out, struct sbx_error *err)
{
	const char *directory = environment("DOCKER_CERT_PATH");
	bool tls = directory || environment("DOCKER_TLS_VERIFY");
	int result = sbx_endpoint_parse(text, tls, out, err);
	if (result)
		return sbx_wrap(err, "%s", source);
	if (out->tls && tls) {
		cleanup_free char *own = sbx_context_directory();
		const char *from = directory ? directory : own;
		if (!from)
			return sbx_fail(err, EINVAL,
				"%s: TLS is asked for, but neither DOCKER_CERT_PATH nor HOME is "
				"set",
				source);
		out->ca_path = sbx_printf("%s/ca.pem", from);
		out->cert_path = sbx_printf("%s/cert.pem", from);
		out->key_path = sbx_printf("%s/key.pem", from);
	}
	out->source = sbx_strdup(source);
	return 0;
}

static bool is_socket(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int from_default_sockets(struct sbx_endpoint *out, struct sbx_error *err)
{
	const char *runtime = environment("XDG_RUNTIME_DIR");
	struct sbx_buffer looked = { 0 };
	cleanup_free char *rootless_docker = runtime ? sbx_printf("%s/docker.sock", runtime) : NULL;
	cleanup_free char *rootless_podman =
		runtime ? sbx_printf("%s/podman/podman.sock", runtime) : NULL;
	const char *const places[] = { "/var/run/docker.sock", rootless_docker,
		"/run/podman/podman.sock", rootless_podman };
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i])
			continue;
		if (is_socket(places[i])) {
			out->url = sbx_printf("unix://%s", places[i]);
			out->socket_path = sbx_strdup(places[i]);
			out->source = sbx_strdup("default socket");
			sbx_buffer_finish(&looked);
			return 0;
		}
		(void)sbx_buffer_printf(
			&looked, "%s%s", looked.size ? ", " : "", places[i]); /* no limit is set */
	}
	int result = sbx_fail(err, ENOENT,
		"no container engine found: DOCKER_HOST and DOCKER_CONTEXT are not set, there is "
		"no "
		"docker context, and no socket at %s; start one, or say where it is with --engine",
		sbx_buffer_text(&looked));
	sbx_buffer_finish(&looked);
	return result;
}

static int from_context(
	const char *name, const char *source, struct sbx_endpoint *out, struct sbx_error *err)
{
	int result = sbx_context_load(name, out, err);
	if (result)
		return sbx_wrap(err, "%s", source);
	out->source = sbx_printf("context %s", name);
	return 0;
}

static int find(const char *choice, struct sbx_endpoint *out, struct sbx_error *err)
{
	if (choice && strstr(choice, "://"))
		return from_address(choice, "--engine", out, err);
	if (choice && strcmp(choice, "default") != 0)
		return from_context(choice, "--engine", out, err);
	const char *host = environment("DOCKER_HOST");
	if (host)
		return from_address(host, "DOCKER_HOST", out, err);
	if (choice)
		return from_default_sockets(out, err);
	const char *name = environment("DOCKER_CONTEXT");
	if (name && strcmp(name, "default") != 0)
		return from_context(name, "DOCKER_CONTEXT", out, err);
	cleanup_free char *current = NULL;
	int result = name ? 0 : sbx_context_current(&current, err);
	if (result)
		return result;
	if (current && strcmp(current, "default") != 0)
		return from_context(current, "the docker client's config.json", out, err);
	return from_default_sockets(out, err);
}

/* A name may lead anywhere, but for the one that every host keeps for itself. */
static bool is_loopback(const char *host)
{
	struct in_addr four;
	return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
	       (inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127);
}

bool sbx_endpoint_exposed(const struct sbx_endpoint *endpoint)
{
	const char *host = strstr(endpoint->url, "://");
	const char *port = strrchr(endpoint->url, ':');
	if (endpoint->socket_path || endpoint->tls || !host || port <= host)
		return false;
	cleanup_free char *name = sbx_strndup(host + 3, (size_t)(port - host) - 3);
	return !is_loopback(name);
}

int sbx_endpoint_find(const char *choice, struct sbx_endpoint *out, struct sbx_error *err)
{
	*out = (struct sbx_endpoint){ 0 };
	int result = find(choice && *choice ? choice : NULL, out, err);
	const char *version = environment("DOCKER_API_VERSION");
	if (version && !result)
		out->api_version = sbx_strdup(version);
	if (result)
		sbx_endpoint_finish(out);
	return result;
}
