/* plane_attributes.h: what of plane_attributes.c is tested alone. */
#ifndef SBX_FILES_PLANE_ATTRIBUTES_H
#define SBX_FILES_PLANE_ATTRIBUTES_H

#include <stdint.h>

/* A time as `touch -d` takes it: "@SECONDS" or "@SECONDS.NANOSECONDS"; malloc'd. */
char *sbx_touch_date(int64_t mtime_s, int32_t mtime_ns);

#endif
