/* test_text.c: what a guest may have chosen is shown without moving the cursor or starting a line.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "unit.h"

START_TEST(escapes_what_moves_a_terminal)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "plain", "plain" },
		{ "tab\there", "tab\\x09here" },
		{ "a\nb", "a\\x0ab" },
		{ "\033]0;pwn\007", "\\x1b]0;pwn\\x07" },
		{ "\xff", "\\xff" },
		{ "\xc2\x85", "\\x85" },
		{ "\xe2\x80\xae"
		  "abc",
			"\\u{202e}abc" },
		{ "na\xc3\xafve", "na\xc3\xafve" },
		{ "back\\slash", "back\\\\slash" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *out = sbx_text_escape(rows[i].in);
		ck_assert_str_eq(out, rows[i].out);
	}
}
END_TEST

START_TEST(reads_numbers_with_units)
{
	long long value;
	ck_assert(sbx_text_to_bytes("512m", &value) && value == 512LL << 20);
	ck_assert(sbx_text_to_seconds("24h", &value) && value == 86400);
	ck_assert(!sbx_text_to_bytes("", &value));
	ck_assert(!sbx_text_to_bytes("-1", &value));
	ck_assert(!sbx_text_to_bytes("9223372036854775807k", &value));
	ck_assert(!sbx_text_to_int64("9223372036854775808", &value));
	ck_assert(!sbx_text_to_seconds("1x", &value));
}
END_TEST

UNIT_MAIN("text", escapes_what_moves_a_terminal, reads_numbers_with_units)
