/*
 * context.c: see context.h. The store is $DOCKER_CONFIG/contexts: meta/<SHA-256 of the
 * name>/meta.json and tls/<the same>/docker/{ca,cert,key}.pem. A named context that cannot be read
 * is refused: falling back to the default would run things on another engine.
 */
#include "context.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "../base/json.h"
#include "../base/text.h"

#include <sbx/sha256.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

char *sbx_context_directory(void)
{
	const char *own = getenv("DOCKER_CONFIG");
	if (own && *own)
		return sbx_strdup(own);
	const char *home = getenv("HOME");
	return home && *home ? sbx_printf("%s/.docker", home) : NULL;
}

/* The JSON of a small file. -ENOENT without an error: it is not there. */
static int load_json(const char *path, cJSON **out, struct sbx_error *err)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -ENOENT
							   : sbx_fail_errno(err, errno, "%s", path);
	struct sbx_buffer bytes = { .limit = (size_t)1 << 20 };
	char part[4096];
	ssize_t got;
	int result = 0;
	while (!result && (got = read(fd, part, sizeof(part))) != 0) {
		if (got < 0)
			result = sbx_fail_errno(err, errno, "%s", path);
		else if (!sbx_buffer_append(&bytes, part, (size_t)got))
			result = sbx_fail(err, EINVAL, "%s is larger than 1 MiB", path);
	}
	if (!result) {
		*out = sbx_json_parse(sbx_buffer_text(&bytes), bytes.size, 0, path, err);
		if (!*out)
			result = sbx_fail(err, EINVAL, "%s is not JSON", path);
	}
	sbx_buffer_finish(&bytes);
	return result;
}

int sbx_context_current(char **name, struct sbx_error *err)
{
	*name = NULL;
	cleanup_free char *directory = sbx_context_directory();
	if (!directory)
		return 0;
	cleanup_free char *path = sbx_printf("%s/config.json", directory);
	cleanup_json cJSON *json = NULL;
	int result = load_json(path, &json, err);
	if (result == -ENOENT)
		return 0;
	if (result)
		return result;
	const char *current = sbx_json_string(json, "currentContext");
	*name = current && *current ? sbx_strdup(current) : NULL;
	return 0;
}

static void keep_if_there(char **place, const char *directory, const char *file)
{
	cleanup_free char *path = sbx_printf("%s/%s", directory, file);
	if (access(path, F_OK) == 0)
		*place = steal(&path);
}

int sbx_context_load(const char *name, struct sbx_endpoint *out, struct sbx_error *err)
{
	struct sbx_sha256 state;
	char hex[65];
	sbx_sha256_init(&state);
	sbx_sha256_update(&state, name, strlen(name));
	sbx_sha256_final(&state, hex);

	cleanup_free char *directory = sbx_context_directory();
	if (!directory)
		return sbx_fail(err, EINVAL,
			"context %s: neither DOCKER_CONFIG nor HOME says where contexts are", name);
	cleanup_free char *path = sbx_printf("%s/contexts/meta/%s/meta.json", directory, hex);
	cleanup_json cJSON *json = NULL;
	int result = load_json(path, &json, err);
	if (result == -ENOENT)
		return sbx_fail(err, EINVAL,
			"there is no docker context %s in %s/contexts (an address is written "
			"unix:///path or tcp://host:port)",
			name, directory);
	if (result)
		return result;
	const cJSON *docker = sbx_json_get(sbx_json_get(json, "Endpoints"), "docker");
	const char *host = sbx_json_string(docker, "Host");
	if (!host || !*host)
		return sbx_fail(err, EINVAL, "context %s names no engine", name);

	cleanup_free char *tls = sbx_printf("%s/contexts/tls/%s/docker", directory, hex);
	keep_if_there(&out->ca_path, tls, "ca.pem");
	keep_if_there(&out->cert_path, tls, "cert.pem");
	keep_if_there(&out->key_path, tls, "key.pem");
	if (!out->cert_path != !out->key_path)
		return sbx_fail(err, EINVAL,
			"context %s: of cert.pem and key.pem one is missing in %s", name, tls);
	out->skip_verify = sbx_json_bool(docker, "SkipTLSVerify", false);
	bool has_tls = out->ca_path || out->cert_path || out->skip_verify;
	result = sbx_endpoint_parse(host, has_tls, out, err);
	return result ? sbx_wrap(err, "context %s", name) : 0;
}
