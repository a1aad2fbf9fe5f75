/*
 * endpoint.h: where the engine is, found as the docker client finds it, and bound once.
 *
 * Order: the explicit choice (URL or context name), DOCKER_HOST, DOCKER_CONTEXT, the active context
 * of the client's config.json, /var/run/docker.sock, $XDG_RUNTIME_DIR/docker.sock,
 * /run/podman/podman.sock, $XDG_RUNTIME_DIR/podman/podman.sock. A context that does not exist is
 * refused, never replaced by the default.
 */
#ifndef SBX_ENDPOINT_H
#define SBX_ENDPOINT_H

#include <sbx/error.h>
#include <stdbool.h>

struct sbx_endpoint {
	char *url;	   /* unix:///path, http://host:port or https://host:port */
	char *socket_path; /* for unix, else NULL */
	char *ca_path;	   /* PEM files for TLS, or NULL */
	char *cert_path;
	char *key_path;
	bool tls;
	bool insecure;	   /* the caller's: one that is exposed is opened all the same */
	bool skip_verify;  /* the context says SkipTLSVerify; shown by doctor */
	char *api_version; /* DOCKER_API_VERSION as it stands, or NULL: no newer one is spoken */
	char *source; /* how it was found, for doctor: "--engine", "DOCKER_HOST", "context NAME",
			 "default socket" */
};

/* choice: --engine's value, or NULL. Errors: EINVAL (malformed URL, unknown context), EOPNOTSUPP
 * (ssh://, npipe://), ENOENT (no engine found anywhere; the sentence lists where it looked). Reads
 * the environment and files; not safe against a concurrent setenv. */
int sbx_endpoint_find(const char *choice, struct sbx_endpoint *out, struct sbx_error *err);
/* Frees what it holds; it is zeroed then. */
void sbx_endpoint_finish(struct sbx_endpoint *endpoint);

/* Over a network without TLS: whoever is in between reads and writes everything, and whoever
 * reaches the port is root there. sbx_engine_open refuses it, unless insecure is set. */
bool sbx_endpoint_exposed(const struct sbx_endpoint *endpoint);

#endif
