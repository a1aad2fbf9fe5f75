/*
 * staging_record.c: see staging_record.h.
 *
 * A path is written as text where it is UTF-8 and as hex where it is not: host programs may use any
 * bytes in a name, and a name that comes back changed would land under another one.
 */
#include "staging_record.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RECORD_VERSION 1

static char *to_hex(const char *bytes)
{
	size_t size = strlen(bytes);
	char *hex = sbx_alloc(2 * size + 1);
	for (size_t i = 0; i < size; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]); /* fits */
	return hex;
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* NULL when it is not hex, is odd or holds a NUL. */
static char *from_hex(const char *hex)
{
	size_t size = strlen(hex);
	if (size % 2)
		return NULL;
	cleanup_free char *bytes = sbx_alloc(size / 2 + 1);
	for (size_t i = 0; i < size; i += 2) {
		int high = digit(hex[i]);
		int low = digit(hex[i + 1]);
		if (high < 0 || low < 0 || high + low == 0)
			return NULL;
		bytes[i / 2] = (char)(high * 16 + low);
	}
	return steal(&bytes);
}

char *sbx_staged_print(const struct sbx_staged *staged)
{
	cleanup_json cJSON *json = cJSON_CreateObject();
	sbx_json_add_int(json, "version", RECORD_VERSION);
	sbx_json_add_text(json, "sandbox_id", staged->sandbox_id);
	sbx_json_add_text(json, "sandbox", staged->sandbox_name);
	sbx_json_add_text(json, "path", staged->path);
	if (!sbx_utf8_valid(staged->path, strlen(staged->path))) {
		cleanup_free char *hex = to_hex(staged->path);
		sbx_json_add_text(json, "path_hex", hex);
	}
	sbx_json_add_int(json, "size", staged->size);
	sbx_json_add_int(json, "mode", staged->mode);
	sbx_json_add_int(json, "mtime_s", staged->mtime_s);
	sbx_json_add_int(json, "mtime_ns", staged->mtime_ns);
	cJSON_AddBoolToObject(json, "local", staged->local);
	cJSON_AddBoolToObject(json, "only_new", staged->only_new);
	cJSON_AddBoolToObject(json, "open", staged->open);
	sbx_json_add_int(json, "attempts", staged->attempts);
	sbx_json_add_int(json, "errno", staged->errnum);
	if (staged->reason)
		sbx_json_add_text(json, "reason", staged->reason);
	return sbx_json_print(json);
}

int sbx_staged_parse(const char *text, size_t size, struct sbx_staged *out, struct sbx_error *err)
{
	*out = (struct sbx_staged){ 0 };
	cleanup_json cJSON *json = sbx_json_parse(text, size, 4, "a staging record", err);
	if (!json)
		return -EIO;
	const char *id = sbx_json_string(json, "sandbox_id");
	const char *name = sbx_json_string(json, "sandbox");
	const char *path = sbx_json_string(json, "path");
	const char *hex = sbx_json_string(json, "path_hex");
	if (sbx_json_int(json, "version", 0) != RECORD_VERSION || !id || !name || !path)
		return sbx_fail(
			err, EIO, "a staging record lacks its sandbox, its path or its version");
	cleanup_free char *exact = hex ? from_hex(hex) : sbx_strdup(path);
	if (!exact)
		return sbx_fail(err, EIO, "a staging record holds a path that is not hex");
	const char *reason = sbx_json_string(json, "reason");
	*out = (struct sbx_staged){
		.sandbox_id = sbx_strdup(id),
		.sandbox_name = sbx_strdup(name),
		.path = steal(&exact),
		.size = sbx_json_int(json, "size", 0),
		.mode = (uint32_t)sbx_json_int(json, "mode", 0644) & 0777,
		.mtime_s = sbx_json_int(json, "mtime_s", 0),
		.mtime_ns = (int32_t)sbx_json_int(json, "mtime_ns", 0),
		.local = sbx_json_bool(json, "local", false),
		.only_new = sbx_json_bool(json, "only_new", false),
		.open = sbx_json_bool(json, "open", false),
		.attempts = (unsigned)sbx_json_int(json, "attempts", 0),
		.errnum = (int)sbx_json_int(json, "errno", 0),
		.reason = sbx_strdup(reason),
	};
	return 0;
}
