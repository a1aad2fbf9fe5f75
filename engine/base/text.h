/*
 * text.h: text that a guest may have chosen, made safe to show, and checks of text.
 */
#ifndef SBX_BASE_TEXT_H
#define SBX_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Printable on a terminal and in a log line: C0, C1, DEL, line and paragraph separators, bidi
 * controls and bytes that are not UTF-8 become \xNN or \u{N…}; a backslash becomes \\. malloc'd. */
char *sbx_text_escape(const char *text);
char *sbx_text_escape_n(const char *text, size_t size);

/* One of those, or of the invisible ones: not to be shown as it is. */
bool sbx_text_unsafe(unsigned code_point);

/* Length in bytes of the valid UTF-8 sequence at text (1–4), 0 if there is none. No surrogates, no
 * overlong forms. */
size_t sbx_utf8_sequence(const char *text, size_t size, unsigned *code_point);
bool sbx_utf8_valid(const char *text, size_t size);

/* Decimal digits only, no sign, no space, no overflow of int64_t. */
bool sbx_text_to_int64(const char *text, long long *out);

bool sbx_text_has_prefix(const char *text, const char *prefix);
bool sbx_text_has_suffix(const char *text, const char *suffix);

/* "512m", "1g", "64k", "10": bytes. false if it is none of these or too large. */
bool sbx_text_to_bytes(const char *text, long long *out);
/* "90", "90s", "15m", "24h", "7d": seconds. */
bool sbx_text_to_seconds(const char *text, long long *out);

#endif
