/*
 * fuzz_guest_path.c: paths as text. What is accepted holds no part that leads elsewhere, and the
 * percent-encoding of any text decodes to that text and holds nothing that a URL reads otherwise.
 */
#include "files/guest_path.h"
#include "fuzz.h"
#include "transport/http.h"

#include <sbx/guest_path.h>
#include <stdio.h>

static void parts_are_plain(const char *path)
{
	promise(*path && *path != '/' && path[strlen(path) - 1] != '/');
	for (const char *part = path; part;
		part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
		size_t size = strcspn(part, "/");
		promise(size > 0 && size <= 255);
		promise(!(size == 1 && *part == '.') &&
			!(size == 2 && strncmp(part, "..", 2) == 0));
	}
}

static void encode(const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%/";
	cleanup_free char *encoded = sbx_http_encode(text, true);
	promise(strspn(encoded, plain) == strlen(encoded));
	const char *at = encoded;
	for (; *text; text++) {
		unsigned byte = (unsigned char)*at;
		if (*at == '%') {
			promise(sscanf(at + 1, "%2x", &byte) == 1);
			at += 2;
		}
		at++;
		promise(byte == (unsigned char)*text);
	}
	promise(!*at);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *first = next_text(&data, &size);
	cleanup_free char *second = next_text(&data, &size);
	cleanup_free char *normal = NULL, *again = NULL, *joined = NULL;
	encode(first);
	if (sbx_guest_path_check(second, true, &err) == 0)
		parts_are_plain(second);
	if (sbx_guest_path_normalise(first, &normal, &err) < 0)
		return 0;
	promise(*normal == '/' && !strstr(normal, "//") && !strstr(normal, "/../"));
	promise(sbx_guest_path_normalise(normal, &again, &err) == 0 && strcmp(normal, again) == 0);
	promise(sbx_guest_path_within(normal, normal) && sbx_guest_path_within(normal, "/"));
	if (sbx_guest_path_check(second, false, &err) == 0) {
		joined = sbx_guest_path_join(normal, second);
		promise(sbx_guest_path_within(joined, normal));
		promise(!sbx_guest_path_within(normal, joined));
		promise(strlen(sbx_guest_path_base(joined)) > 0);
	}
	return 0;
}
