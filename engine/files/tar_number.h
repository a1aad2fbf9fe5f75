/* tar_number.h: the number formats of tar headers, each strict: no sign, no overflow, no guess. */
#ifndef SBX_FILES_TAR_NUMBER_H
#define SBX_FILES_TAR_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A header field: octal digits between optional spaces, ended by NUL, space or the field's end; or
 * base-256 when the first byte is 0x80. false: empty, negative, beyond int64_t, other bytes. */
bool sbx_tar_field(const unsigned char *field, size_t size, int64_t *out);

/* A pax value: decimal digits alone. */
bool sbx_tar_decimal(const char *text, size_t size, int64_t *out);

/* A pax time: [-]digits[.digits]. ns is -1 without a fraction; a negative time with a fraction
 * counts up from the second below, as struct timespec does. */
bool sbx_tar_time(const char *text, size_t size, int64_t *seconds, int32_t *ns);

#endif
