/* json.c: see json.h. */
#include "json.h"

#include "alloc.h"
#include "buffer.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* cJSON recurses: a deep text must not reach it. Brackets inside strings do not count. */
static bool depth_within(const char *text, size_t size, unsigned max_depth)
{
	unsigned depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > max_depth)
				return false;
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
	}
	return true;
}

cJSON *sbx_json_parse(
	const char *text, size_t size, unsigned max_depth, const char *what, struct sbx_error *err)
{
	if (memchr(text, '\0', size)) {
		sbx_fail(err, EIO, "%s: the JSON holds a NUL byte", what);
		return NULL;
	}
	if (!depth_within(text, size, max_depth ? max_depth : 64)) {
		sbx_fail(err, EIO, "%s: the JSON is nested too deeply", what);
		return NULL;
	}
	cleanup_free char *copy = sbx_strndup(text, size);
	cJSON *json = cJSON_ParseWithLengthOpts(copy, size + 1, NULL, 1);
	if (!json)
		sbx_fail(err, EIO, "%s: the answer is not JSON", what);
	return json;
}

const cJSON *sbx_json_get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

const char *sbx_json_string(const cJSON *object, const char *key)
{
	const cJSON *item = sbx_json_get(object, key);
	return cJSON_IsString(item) ? item->valuestring : NULL;
}

int64_t sbx_json_int(const cJSON *object, const char *key, int64_t fallback)
{
	const cJSON *item = sbx_json_get(object, key);
	if (!cJSON_IsNumber(item) || fabs(item->valuedouble) > 9007199254740992.0)
		return fallback;
	int64_t value = (int64_t)item->valuedouble;
	return (double)value < item->valuedouble || (double)value > item->valuedouble ? fallback
										      : value;
}

bool sbx_json_bool(const cJSON *object, const char *key, bool fallback)
{
	const cJSON *item = sbx_json_get(object, key);
	return cJSON_IsBool(item) ? cJSON_IsTrue(item) : fallback;
}

char *sbx_json_print(const cJSON *json)
{
	char *text = cJSON_PrintUnformatted(json);
	return text ? text : sbx_strdup("null");
}

/* Outside strings a printed text is plain ASCII: what is replaced here stood in one. */
char *sbx_json_print_shown(const cJSON *json)
{
	cleanup_free char *printed = sbx_json_print(json);
	struct sbx_buffer shown = { 0 };
	const char *text = printed;
	size_t size = strlen(text);
	while (size) {
		unsigned code_point = 0xfffd;
		size_t length = sbx_utf8_sequence(text, size, &code_point);
		if (length && !sbx_text_unsafe(code_point))
			(void)sbx_buffer_append(&shown, text, length); /* no limit is set */
		else if (code_point < 0x10000)
			(void)sbx_buffer_printf(&shown, "\\u%04x", code_point);
		else
			(void)sbx_buffer_printf(&shown, "\\u%04x\\u%04x",
				0xd800 + ((code_point - 0x10000) >> 10),
				0xdc00 + (code_point & 0x3ff));
		text += length ? length : 1;
		size -= length ? length : 1;
	}
	return shown.data ? shown.data : sbx_strdup("");
}

void sbx_json_add_text(cJSON *object, const char *key, const char *text)
{
	struct sbx_buffer valid = { 0 };
	size_t size = strlen(text);
	while (size) {
		unsigned code_point;
		size_t length = sbx_utf8_sequence(text, size, &code_point);
		(void)sbx_buffer_append(
			&valid, length ? text : "\xef\xbf\xbd", length ? length : 3);
		text += length ? length : 1;
		size -= length ? length : 1;
	}
	cJSON_AddStringToObject(object, key, sbx_buffer_text(&valid));
	sbx_buffer_finish(&valid);
}

static void add_base64(cJSON *object, const char *key, const char *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct sbx_buffer text = { 0 };
	for (size_t i = 0; i < size; i += 3) {
		size_t have = size - i < 3 ? size - i : 3;
		unsigned char part[3] = { 0 };
		memcpy(part, bytes + i, have);
		unsigned bits = (unsigned)part[0] << 16 | (unsigned)part[1] << 8 | part[2];
		char four[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
			have > 1 ? digits[bits >> 6 & 63] : '=',
			have > 2 ? digits[bits & 63] : '=' };
		(void)sbx_buffer_append(&text, four, sizeof(four)); /* no limit is set */
	}
	cleanup_free char *name = sbx_printf("%s_base64", key);
	cJSON_AddStringToObject(object, name, sbx_buffer_text(&text));
	sbx_buffer_finish(&text);
}

/* cJSON's strings end at a NUL, so that this one is written here. */
void sbx_json_add_bytes(cJSON *object, const char *key, const char *bytes, size_t size)
{
	struct sbx_buffer text = { 0 };
	bool valid = true;
	(void)sbx_buffer_append(&text, "\"", 1); /* no limit is set, here and below */
	for (size_t at = 0, length; at < size; at += length ? length : 1) {
		unsigned code_point = 0xfffd;
		length = sbx_utf8_sequence(bytes + at, size - at, &code_point);
		valid = valid && length;
		if (code_point == '\n')
			(void)sbx_buffer_append(&text, "\\n", 2);
		else if (!length || code_point < 0x20 || code_point == '"' || code_point == '\\')
			(void)sbx_buffer_printf(&text, "\\u%04x", code_point);
		else
			(void)sbx_buffer_append(&text, bytes + at, length);
	}
	(void)sbx_buffer_append(&text, "\"", 1);
	cJSON_AddRawToObject(object, key, sbx_buffer_text(&text));
	sbx_buffer_finish(&text);
	if (!valid)
		add_base64(object, key, bytes, size);
}

void sbx_json_add_int(cJSON *object, const char *key, int64_t value)
{
	char digits[24];
	(void)snprintf(digits, sizeof(digits), "%" PRId64, value); /* always fits */
	cJSON_AddRawToObject(object, key, digits);
}
