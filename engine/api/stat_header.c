/*
 * stat_header.c: see stat_header.h. The engine's word on a path decides whether it may be opened,
 * so what is doubtful here is an error and never a regular file.
 */
#include "stat_header.h"

#include "../base/alloc.h"
#include "../base/json.h"
#include "rfc3339.h"

#include <errno.h>
#include <string.h>

/* Go's os.FileMode. */
#define GO_DIR ((int64_t)1 << 31)
#define GO_SYMLINK ((int64_t)1 << 27)
#define GO_DEVICE ((int64_t)1 << 26)
#define GO_FIFO ((int64_t)1 << 25)
#define GO_SOCKET ((int64_t)1 << 24)
#define GO_SETUID ((int64_t)1 << 23)
#define GO_SETGID ((int64_t)1 << 22)
#define GO_CHAR_DEVICE ((int64_t)1 << 21)
#define GO_STICKY ((int64_t)1 << 20)
#define GO_IRREGULAR ((int64_t)1 << 19)
#define GO_TYPES (GO_DIR | GO_SYMLINK | GO_DEVICE | GO_FIFO | GO_SOCKET | GO_IRREGULAR)

const char *sbx_type_name(enum sbx_type type)
{
	static const char *const names[] = { "file", "directory", "symlink", "fifo", "socket",
		"device" };
	return (size_t)type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

void sbx_stat_finish(struct sbx_stat *st)
{
	free(st->link_target);
	*st = (struct sbx_stat){ 0 };
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

/* Both alphabets: Docker's is the standard one, Podman's the URL-safe one. NULL when malformed. */
static char *base64_decode(const char *text, size_t *size)
{
	size_t length = strlen(text);
	for (int i = 0; i < 2 && length && text[length - 1] == '='; i++)
		length--;
	if (length % 4 == 1)
		return NULL;
	cleanup_free char *out = sbx_alloc(length / 4 * 3 + 3);
	unsigned bits = 0, held = 0;
	*size = 0;
	for (size_t i = 0; i < length; i++) {
		int digit = base64_digit(text[i]);
		if (digit < 0)
			return NULL;
		held = held << 6 | (unsigned)digit;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			out[(*size)++] = (char)(held >> bits & 0xff);
		}
	}
	return steal(&out);
}

static bool type_of(int64_t mode, enum sbx_type *type)
{
	switch (mode & GO_TYPES) {
	case 0:
		*type = SBX_TYPE_FILE;
		return !(mode & GO_CHAR_DEVICE);
	case GO_DIR:
		*type = SBX_TYPE_DIR;
		return true;
	case GO_SYMLINK:
		*type = SBX_TYPE_LINK;
		return true;
	case GO_DEVICE:
		*type = SBX_TYPE_DEVICE;
		return true;
	case GO_FIFO:
		*type = SBX_TYPE_FIFO;
		return true;
	case GO_SOCKET:
		*type = SBX_TYPE_SOCKET;
		return true;
	default:
		return false;
	}
}

static int fill(const cJSON *json, struct sbx_stat *out, struct sbx_error *err)
{
	int64_t mode = sbx_json_int(json, "mode", -1);
	int64_t size = sbx_json_int(json, "size", -1);
	const char *mtime = sbx_json_string(json, "mtime");
	struct sbx_stat st = { .size = size };
	if (mode < 0 || mode > UINT32_MAX || !type_of(mode, &st.type))
		return sbx_fail(err, EIO, "the engine's stat names no file type");
	if (size < 0)
		return sbx_fail(err, EIO, "the engine's stat names no size");
	if (!mtime || !sbx_time_parse(mtime, &st.mtime_s, &st.mtime_ns))
		return sbx_fail(err, EIO, "the engine's stat names no time");
	st.mode = (uint32_t)(mode & 0777) | (mode & GO_SETUID ? 04000u : 0) |
		  (mode & GO_SETGID ? 02000u : 0) | (mode & GO_STICKY ? 01000u : 0);
	if (st.type == SBX_TYPE_LINK)
		st.link_target = sbx_strdup(sbx_json_string(json, "linkTarget"));
	*out = st;
	return 0;
}

int sbx_stat_header_parse(const char *header, struct sbx_stat *out, struct sbx_error *err)
{
	*out = (struct sbx_stat){ 0 };
	size_t size = 0;
	cleanup_free char *text = base64_decode(header, &size);
	if (!text)
		return sbx_fail(err, EIO, "the engine's stat is not base64");
	cleanup_json cJSON *json = sbx_json_parse(text, size, 4, "the engine's stat", err);
	if (!json)
		return -EIO;
	return fill(json, out, err);
}
