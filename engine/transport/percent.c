/* percent.c: percent-encoding for request targets. Everything but the unreserved characters is
 * encoded: engines read a bare '+' as a space and refuse a bare ';' (RFC 3986 section 2.3). */
#include "http.h"

#include "../base/alloc.h"

#include <stdlib.h>
#include <string.h>

static bool unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.' || c == '~';
}

char *sbx_http_encode(const char *text, bool keep_slash)
{
	static const char digits[] = "0123456789ABCDEF";
	char *encoded = sbx_alloc_array(strlen(text) + 1, 3);
	char *out = encoded;
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (unreserved(*c) || (keep_slash && *c == '/')) {
			*out++ = (char)*c;
		} else {
			*out++ = '%';
			*out++ = digits[*c >> 4];
			*out++ = digits[*c & 15];
		}
	}
	return encoded;
}
