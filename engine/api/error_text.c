/* error_text.c: see error_text.h. */
#include "error_text.h"

#include "../base/alloc.h"
#include "../base/json.h"
#include "../base/text.h"

#include <ctype.h>
#include <string.h>

static bool ends_path(char c)
{
	return !c || isspace((unsigned char)c) || strchr("\"'`()[]<>:,;=", c);
}

/* Where the storage directory that begins with `marker` at `at` ends: after "<id>" and, if it
 * follows, the name of the mounted tree. */
static char *storage_end(char *at, size_t marker_size)
{
	static const char *const trees[] = { "/merged", "/diff", "/rootfs", "/_data", "/fs" };
	char *end = at + marker_size;
	while (*end != '/' && !ends_path(*end))
		end++;
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		size_t length = strlen(trees[i]);
		if (strncmp(end, trees[i], length) == 0 &&
			(end[length] == '/' || ends_path(end[length])))
			return end + length;
	}
	return end;
}

void sbx_error_text_cut_storage(char *text)
{
	static const char *const markers[] = { "/overlay2/", "/overlay/", "/fuse-overlayfs/",
		"/vfs/dir/", "/aufs/mnt/", "/btrfs/subvolumes/", "/zfs/graph/",
		"/devicemapper/mnt/", "/snapshots/", "/volumes/", "/overlay-containers/",
		"/rootfs/overlayfs/" };
	for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
		char *from = text, *at;
		while ((at = strstr(from, markers[i]))) {
			char *start = at;
			while (start > text && !ends_path(start[-1]))
				start--;
			if (*start != '/') { /* not an absolute path: not the engine's storage */
				from = at + 1;
				continue;
			}
			char *end = storage_end(at, strlen(markers[i]));
			memmove(start, end, strlen(end) + 1);
			from = start;
		}
	}
}

static char *trimmed(const char *text, size_t size)
{
	while (size && isspace((unsigned char)text[size - 1]))
		size--;
	while (size && isspace((unsigned char)*text)) {
		text++;
		size--;
	}
	return sbx_strndup(text, size);
}

/* The cause stands at the end of what engines say, after paths that a guest can make long: the
 * middle goes. */
static void shorten(char *text)
{
	const size_t head = 400, tail = 400;
	size_t size = strlen(text);
	if (size <= head + tail + 5)
		return;
	char *from = text + size - tail, *to = text + head;
	while (((unsigned char)*from & 0xc0) == 0x80)
		from++;
	while (to > text && ((unsigned char)*to & 0xc0) == 0x80)
		to--;
	memset(to, ' ', 5);
	memset(to + 1, '.', 3);
	memmove(to + 5, from, strlen(from) + 1);
}

char *sbx_error_text(const char *body, size_t size)
{
	if (!body || !size)
		return sbx_strdup("");
	cleanup_json cJSON *json =
		*body == '{' ? sbx_json_parse(body, size, 8, "error", NULL) : NULL;
	const char *message = sbx_json_string(json, "message");
	const char *cause = sbx_json_string(json, "cause");
	char *text;
	if (message && cause && !strstr(message, cause)) {
		cleanup_free char *both = sbx_printf("%s: %s", message, cause);
		text = trimmed(both, strlen(both));
	} else if (message || cause) {
		const char *one = message ? message : cause;
		text = trimmed(one, strlen(one));
	} else {
		text = trimmed(body, strnlen(body, size));
	}
	sbx_error_text_cut_storage(text);
	shorten(text);
	return text;
}
