/* stat_header.h: X-Docker-Container-Path-Stat, what an engine says of one guest path. */
#ifndef SBX_API_STAT_HEADER_H
#define SBX_API_STAT_HEADER_H

#include <sbx/archive.h>

/* Errors: EIO where it is not base64 of such a JSON object, or names no type or a size that cannot
 * be. */
int sbx_stat_header_parse(const char *header, struct sbx_stat *out, struct sbx_error *err);

#endif
