/* rfc3339.h: RFC 3339 times as engines print them. */
#ifndef SBX_API_RFC3339_H
#define SBX_API_RFC3339_H

#include <stdbool.h>
#include <stdint.h>

/* "2023-11-14T22:13:20.123456789Z" or with "+02:00". Years 0 to 9999. A time without a zone is
 * refused: read as local or as UTC it could be hours off, and ages decide what is removed. */
bool sbx_time_parse(const char *text, int64_t *seconds, int32_t *nanoseconds);
/* The same in nanoseconds since 1970; 0 where it is unreadable or beyond what fits. */
int64_t sbx_time_parse_ns(const char *text);

#endif
