/* names.h: container names and ids as a person types them. */
#ifndef SBX_SANDBOX_NAMES_H
#define SBX_SANDBOX_NAMES_H

#include <stdbool.h>

/* 12 to 64 hex digits: enough of an id to mean no other container. */
bool sbx_id_typed(const char *typed);

/* typed means this container: its exact name, or a prefix of its id of at least 12 hex digits. A
 * shorter prefix could mean a stranger's container. */
bool sbx_name_is(const char *typed, const char *name, const char *id);

#endif
