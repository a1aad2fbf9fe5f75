/* text.c: see text.h. */
#include "text.h"

#include "alloc.h"
#include "buffer.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

size_t sbx_utf8_sequence(const char *text, size_t size, unsigned *code_point)
{
	const unsigned char *b = (const unsigned char *)text;
	unsigned value, minimum;
	size_t length;
	if (!size)
		return 0;
	if (b[0] < 0x80) {
		*code_point = b[0];
		return 1;
	}
	if ((b[0] & 0xe0) == 0xc0) {
		length = 2;
		value = b[0] & 0x1fu;
		minimum = 0x80;
	} else if ((b[0] & 0xf0) == 0xe0) {
		length = 3;
		value = b[0] & 0x0fu;
		minimum = 0x800;
	} else if ((b[0] & 0xf8) == 0xf0) {
		length = 4;
		value = b[0] & 0x07u;
		minimum = 0x10000;
	} else {
		return 0;
	}
	if (size < length)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (b[i] & 0x3fu);
	}
	if (value < minimum || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*code_point = value;
	return length;
}

bool sbx_utf8_valid(const char *text, size_t size)
{
	unsigned code_point;
	while (size) {
		size_t length = sbx_utf8_sequence(text, size, &code_point);
		if (!length)
			return false;
		text += length;
		size -= length;
	}
	return true;
}

/* What can move a cursor, start a line or reorder what is read: see CVE-2021-42574 for the bidi
 * controls. */
bool sbx_text_unsafe(unsigned code_point)
{
	return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
	       code_point == 0xad || code_point == 0x61c ||
	       (code_point >= 0x200b && code_point <= 0x200f) ||
	       (code_point >= 0x2028 && code_point <= 0x202e) ||
	       (code_point >= 0x2060 && code_point <= 0x206f) || code_point == 0xfeff ||
	       (code_point >= 0xe0000 && code_point <= 0xe0fff);
}

char *sbx_text_escape_n(const char *text, size_t size)
{
	struct sbx_buffer out = { 0 };
	(void)sbx_buffer_append(&out, "", 0); /* no limit is set, appending cannot fail */
	while (size) {
		unsigned code_point = 0;
		size_t length = sbx_utf8_sequence(text, size, &code_point);
		if (!length) {
			(void)sbx_buffer_printf(&out, "\\x%02x", (unsigned char)*text);
			length = 1;
		} else if (code_point == '\\') {
			(void)sbx_buffer_append(&out, "\\\\", 2);
		} else if (sbx_text_unsafe(code_point)) {
			(void)sbx_buffer_printf(
				&out, code_point < 0x100 ? "\\x%02x" : "\\u{%x}", code_point);
		} else {
			(void)sbx_buffer_append(&out, text, length);
		}
		text += length;
		size -= length;
	}
	return out.data ? out.data : sbx_strdup("");
}

char *sbx_text_escape(const char *text)
{
	return sbx_text_escape_n(text, strlen(text));
}

bool sbx_text_to_int64(const char *text, long long *out)
{
	long long value = 0;
	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		int digit = *text - '0';
		if (value > (LLONG_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}

bool sbx_text_has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool sbx_text_has_suffix(const char *text, const char *suffix)
{
	size_t a = strlen(text), b = strlen(suffix);
	return a >= b && memcmp(text + a - b, suffix, b) == 0;
}

static bool with_unit(const char *text, const char *units, const long long *factors, long long *out)
{
	size_t length = strlen(text);
	if (!length)
		return false;
	long long factor = 1;
	const char *unit = strchr(units, tolower((unsigned char)text[length - 1]));
	if (unit && text[length - 1] > '9') {
		factor = factors[unit - units];
		length--;
	}
	cleanup_free char *digits = sbx_strndup(text, length);
	long long value;
	if (!sbx_text_to_int64(digits, &value) || value > LLONG_MAX / factor)
		return false;
	*out = value * factor;
	return true;
}

bool sbx_text_to_bytes(const char *text, long long *out)
{
	static const long long factors[] = { 1, 1024, 1048576, 1073741824, 1099511627776 };
	return with_unit(text, "bkmgt", factors, out);
}

bool sbx_text_to_seconds(const char *text, long long *out)
{
	static const long long factors[] = { 1, 60, 3600, 86400 };
	return with_unit(text, "smhd", factors, out);
}
