/* context.h: docker contexts, as the docker client stores them. */
#ifndef SBX_TRANSPORT_CONTEXT_H
#define SBX_TRANSPORT_CONTEXT_H

#include <sbx/endpoint.h>

/* $DOCKER_CONFIG or $HOME/.docker; NULL when neither is set. malloc'd. */
char *sbx_context_directory(void);
/* currentContext of config.json, or NULL where there is none. EINVAL: the file is there and is not
 * the client's. */
int sbx_context_current(char **name, struct sbx_error *err);
/* Fills url, socket_path, TLS files and skip_verify. EINVAL: no such context. */
int sbx_context_load(const char *name, struct sbx_endpoint *out, struct sbx_error *err);

/* endpoint.c's: an address as typed. tls: a tcp:// address is https. */
int sbx_endpoint_parse(const char *text, bool tls, struct sbx_endpoint *out, struct sbx_error *err);

#endif
