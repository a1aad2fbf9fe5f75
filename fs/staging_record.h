/* staging_record.h: the record of one staged file as JSON. Paths keep their exact bytes. */
#ifndef SBX_FS_STAGING_RECORD_H
#define SBX_FS_STAGING_RECORD_H

#include "staging.h"

/* One line of JSON, malloc'd. */
char *sbx_staged_print(const struct sbx_staged *staged);
/* Reads it back; sequence is the caller's. EIO when it is cut, of another version or lacks a
 * field. */
int sbx_staged_parse(const char *text, size_t size, struct sbx_staged *out, struct sbx_error *err);

#endif
