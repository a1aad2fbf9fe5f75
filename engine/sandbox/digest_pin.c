/*
 * digest_pin.c: see digest_pin.h. By hand and not by a regular expression: a `$` that also matches
 * before a final newline let such a pin through elsewhere.
 */
#include "digest_pin.h"

#include "../base/text.h"

#include <errno.h>
#include <string.h>

#define MARK "@sha256:"
#define DIGEST_HEX 64

bool sbx_digest_pinned(const char *image)
{
	static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789._/-:";
	size_t name = strspn(image, name_bytes);
	if (!name || !sbx_text_has_prefix(image + name, MARK))
		return false;
	const char *hex = image + name + strlen(MARK);
	return strspn(hex, "0123456789abcdef") == DIGEST_HEX && hex[DIGEST_HEX] == '\0';
}

int sbx_digest_pin_check(const char *image, struct sbx_error *err)
{
	if (sbx_digest_pinned(image))
		return 0;
	return sbx_fail(err, EPERM,
		"--require-digest-pin: image '%s' is not pinned as NAME@sha256: and 64 lower-case "
		"hex digits; the digest is the last line of a pull, and RepoDigests of an image "
		"inspect",
		image);
}

int sbx_digest_pin_holds(const char *pin, const struct sbx_image *image, struct sbx_error *err)
{
	const char *digest = strchr(pin, '@');
	for (char **held = image->repo_digests; digest && held && *held; held++) {
		if (sbx_text_has_suffix(*held, digest))
			return 0;
	}
	return sbx_fail(err, EPERM,
		"--require-digest-pin: the engine's image %.19s has no repo digest equal to the "
		"pin '%s'",
		image->id, pin);
}
