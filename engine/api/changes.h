/* changes.h: the body of GET …/changes. */
#ifndef SBX_API_CHANGES_H
#define SBX_API_CHANGES_H

#include "../base/json.h"

#include <sbx/archive.h>

/* A list, or `null` for none. Sorted by path, each path once. EIO for anything else. */
int sbx_changes_parse(const cJSON *json, struct sbx_changes *out, struct sbx_error *err);

#endif
