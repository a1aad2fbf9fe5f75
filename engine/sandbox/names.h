/* names.h: container names and ids as a person types them. */
#ifndef SBX_SANDBOX_NAMES_H
#define SBX_SANDBOX_NAMES_H

#include <sbx/error.h>
#include <stdbool.h>

/* [a-zA-Z0-9][a-zA-Z0-9_.-]+, at most 255: what every engine takes as a name and no URL or host
 * path can be made of. EINVAL. */
int sbx_name_check(const char *name, struct sbx_error *err);

/* 12 to 64 hex digits: enough of an id to mean no other container. */
bool sbx_id_typed(const char *typed);

/* typed means this container: its exact name, or a prefix of its id of at least 12 hex digits. A
 * shorter prefix could mean a stranger's container. */
bool sbx_name_is(const char *typed, const char *name, const char *id);

#endif
