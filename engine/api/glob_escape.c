/* glob_escape.c: see glob_escape.h; the rule was found by measurement on Podman 4.3.1. */
#include "glob_escape.h"

#include "../base/alloc.h"

#include <string.h>

/* Podman refuses any '*' byte, escaped or not. This class matches every character but those it
 * names: 0x01 to ')' and '+' to U+10FFFF, which leaves '*' (and NUL, which no path holds). */
static const char star[] = "[^\x01-)+-\xf4\x8f\xbf\xbf]";

char *sbx_glob_escape(const char *path)
{
	char *escaped = sbx_alloc_array(strlen(path) + 1, sizeof(star));
	char *out = escaped;
	for (; *path; path++) {
		if (*path == '*') {
			memcpy(out, star, sizeof(star) - 1);
			out += sizeof(star) - 1;
			continue;
		}
		if (strchr("\\?[]", *path))
			*out++ = '\\';
		*out++ = *path;
	}
	return escaped;
}
