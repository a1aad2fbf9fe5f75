/*
 * json.h: JSON from an engine or a label, read with bounds, each field by type or refused.
 */
#ifndef SBX_BASE_JSON_H
#define SBX_BASE_JSON_H

#include <sbx/error.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most max_depth levels (0: 64); the whole text must be one value. NULL with err EIO, naming
 * what. Depth is checked before cJSON sees the text. Embedded NUL bytes are refused. */
cJSON *sbx_json_parse(
	const char *text, size_t size, unsigned max_depth, const char *what, struct sbx_error *err);

/* Case-sensitive, first of duplicates. NULL where it is missing or of another type. */
const cJSON *sbx_json_get(const cJSON *object, const char *key);
const char *sbx_json_string(const cJSON *object, const char *key); /* NULL if not a string */
/* fallback where missing, not a number, not whole or beyond ±2^53. */
int64_t sbx_json_int(const cJSON *object, const char *key, int64_t fallback);
bool sbx_json_bool(const cJSON *object, const char *key, bool fallback);

static inline void sbx_cleanup_json_p(cJSON **json)
{
	cJSON_Delete(*json);
}
#define cleanup_json __attribute__((__cleanup__(sbx_cleanup_json_p)))

/* The printed form on one line, malloc'd (free()). Strings are escaped for JSON, invalid UTF-8
 * becomes U+FFFD. */
char *sbx_json_print(const cJSON *json);
/* The same value for a terminal to show: what sbx_text_unsafe names is \uXXXX in it. malloc'd. */
char *sbx_json_print_shown(const cJSON *json);
/* Adds a string that may hold bytes that are not UTF-8 (they become U+FFFD). */
void sbx_json_add_text(cJSON *object, const char *key, const char *text);
/* Adds size bytes of any kind, a NUL too. Where they are not UTF-8 a second string, key_base64, has
 * them exactly. For printing only: the strings are raw text to cJSON. */
void sbx_json_add_bytes(cJSON *object, const char *key, const char *bytes, size_t size);
/* int64 exactly (cJSON's numbers are doubles): added as raw digits. */
void sbx_json_add_int(cJSON *object, const char *key, int64_t value);

#endif
