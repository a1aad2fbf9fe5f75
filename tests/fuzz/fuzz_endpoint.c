/*
 * fuzz_endpoint.c: the engine's address as typed, in DOCKER_HOST or in a context's metadata, which
 * is a file that other programs write. The first byte: 'c' for metadata.
 */
#include "fuzz.h"
#include "transport/context.h"

#include <sbx/sha256.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(int rc, const struct sbx_endpoint *endpoint, const struct sbx_error *err)
{
	if (rc < 0) {
		promise(err->errnum == -rc && err->message[0]);
		return;
	}
	promise(endpoint->url);
	promise(strncmp(endpoint->url, "unix:///", 8) == 0 ||
		strncmp(endpoint->url, "http://", 7) == 0 ||
		strncmp(endpoint->url, "https://", 8) == 0);
	promise(!endpoint->socket_path || endpoint->socket_path[0] == '/');
}

/* $DOCKER_CONFIG/contexts/meta/<digest of "c">/meta.json; made once, removed never: in /tmp. */
static const char *metadata_path(void)
{
	static char directory[] = "/tmp/sbxfs-fuzz.XXXXXX", path[256];
	if (path[0])
		return path;
	struct sbx_sha256 state;
	char hex[65];
	sbx_sha256_init(&state);
	sbx_sha256_update(&state, "c", 1);
	sbx_sha256_final(&state, hex);
	promise(mkdtemp(directory) && setenv("DOCKER_CONFIG", directory, 1) == 0);
	static const char *const parts[] = { "contexts", "contexts/meta" };
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", directory, parts[i]);
		promise(mkdir(path, 0700) == 0);
	}
	(void)snprintf(path, sizeof(path), "%s/contexts/meta/%s", directory, hex);
	promise(mkdir(path, 0700) == 0);
	(void)snprintf(path, sizeof(path), "%s/contexts/meta/%s/meta.json", directory, hex);
	return path;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_endpoint endpoint = { 0 };
	if (!size)
		return 0;
	if (data[0] == 'c') {
		FILE *file = fopen(metadata_path(), "we");
		promise(file && fwrite(data + 1, 1, size - 1, file) == size - 1 &&
			fclose(file) == 0);
		check(sbx_context_load("c", &endpoint, &err), &endpoint, &err);
	} else {
		cleanup_free char *text = sbx_strndup((const char *)data + 1, size - 1);
		check(sbx_endpoint_parse(text, data[0] & 1, &endpoint, &err), &endpoint, &err);
	}
	sbx_endpoint_finish(&endpoint);
	return 0;
}
