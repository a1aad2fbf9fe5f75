/*
 * identity.c: a sandbox's derived name and its label values (MAF-20, MAF-22).
 *
 * Fields are length-prefixed, so ("a|b", "c") and ("a", "b|c") never meet; label values are
 * digested and never truncated, so two long scopes with one beginning stay two.
 */
#include <sbx/spec.h>

#include "../base/alloc.h"
#include "../base/text.h"

#include <string.h>

#define LABEL_MAX 63
#define DIGEST_PREFIX "sha256-"
#define DIGEST_HEX 48

static void add_field(struct sbx_sha256 *state, const char *text)
{
	text = text ? text : "";
	cleanup_free char *prefix = sbx_printf("%zu:", strlen(text));
	sbx_sha256_update(state, prefix, strlen(prefix));
	sbx_sha256_update(state, text, strlen(text));
}

char *sbx_identity_name(const char *scope, const char *thread, const char *agent, const char *kind,
	const char *call_id)
{
	struct sbx_sha256 state;
	char hex[65];
	sbx_sha256_init(&state);
	add_field(&state, scope);
	add_field(&state, thread);
	add_field(&state, agent);
	add_field(&state, kind);
	if (call_id)
		add_field(&state, call_id);
	sbx_sha256_final(&state, hex);
	return sbx_printf("sbxfs-%.12s", hex);
}

static bool is_digest(const char *value)
{
	if (!sbx_text_has_prefix(value, DIGEST_PREFIX))
		return false;
	const char *hex = value + strlen(DIGEST_PREFIX);
	return strlen(hex) == DIGEST_HEX && strspn(hex, "0123456789abcdef") == DIGEST_HEX;
}

char *sbx_identity_label(const char *value)
{
	value = value ? value : "";
	size_t length = strlen(value);
	bool plain = length >= 1 && length <= LABEL_MAX &&
		     strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "._-") == length;
	/* A value that looks like a digest could otherwise stand for somebody else's scope. */
	if (plain && !is_digest(value))
		return sbx_strdup(value);
	struct sbx_sha256 state;
	char hex[65];
	sbx_sha256_init(&state);
	sbx_sha256_update(&state, value, length);
	sbx_sha256_final(&state, hex);
	return sbx_printf(DIGEST_PREFIX "%.*s", DIGEST_HEX, hex);
}

const char *sbx_identity_label_shown(const char *value)
{
	cleanup_free char *empty = sbx_identity_label("");
	return strcmp(value, empty) == 0 ? "" : value;
}
