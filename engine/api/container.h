/* container.h: what the files about one container share: its target and its error answers. */
#ifndef SBX_API_CONTAINER_H
#define SBX_API_CONTAINER_H

#include "api.h"

#include <sbx/container.h>

/* "/v1.41/containers/ID" + suffix. NULL with EINVAL where id is neither an id nor a name: the rest
 * of the target must not be chosen by it. malloc'd. */
char *sbx_container_target(
	struct sbx_engine *engine, const char *id, const char *suffix, struct sbx_error *err);

/* Whether an error answer says that the container itself is not there, in each engine's words. */
bool sbx_container_error_absent(const struct sbx_error *err);

/* Refines the failure of a request about container id: ABSENT where the engine said so (words that
 * only hint at it are checked by inspect), else errno as it was; names the container. Returns the
 * errno. */
int sbx_container_refine(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	int result, struct sbx_error *err);

/* Asks whether the container is there: 1 yes, 0 the engine says no (or it is being removed), or
 * -errno. */
int sbx_container_exists(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err);

#endif
