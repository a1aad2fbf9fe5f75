/* container_parse.h: container JSON, from inspect and from the list. */
#ifndef SBX_API_CONTAINER_PARSE_H
#define SBX_API_CONTAINER_PARSE_H

#include "../base/json.h"

#include <sbx/container.h>

/* Takes json over, also on failure. podman: a read-only root brings tmpfs on /run, /tmp and
 * /var/tmp. Errors: EIO where the answer names no full id or no state. */
int sbx_container_parse(cJSON *json, bool podman, struct sbx_container *out, struct sbx_error *err);
int sbx_container_list_parse(
	const cJSON *json, struct sbx_container_list *out, struct sbx_error *err);

enum sbx_state sbx_state_parse(const char *word);
bool sbx_container_id_valid(const char *id); /* 64 lower-case hex digits */
/* String members of an object; others are left out. */
struct sbx_pair *sbx_pairs_parse(const cJSON *object, size_t *count);
void sbx_pairs_free(struct sbx_pair *pairs, size_t count);

#endif
