/* test_percent.c: every byte that an engine's query parser could read otherwise is encoded. */
#include "base/alloc.h"
#include "transport/http.h"
#include "unit.h"

START_TEST(encodes_all_but_the_unreserved)
{
	static const struct {
		const char *in, *out;
		bool keep_slash;
	} rows[] = {
		{ "plain-_.~Z9", "plain-_.~Z9", false },
		{ "a b+c%d;e&f=g?h#i", "a%20b%2Bc%25d%3Be%26f%3Dg%3Fh%23i", false },
		{ "/work/out", "/work/out", true },
		{ "/work/out", "%2Fwork%2Fout", false },
		{ "\n\x01\x7f\xff", "%0A%01%7F%FF", true },
		{ "{\"label\":[\"k=v\"]}", "%7B%22label%22%3A%5B%22k%3Dv%22%5D%7D", false },
		{ "", "", true },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *out = sbx_http_encode(rows[i].in, rows[i].keep_slash);
		ck_assert_str_eq(out, rows[i].out);
	}
}
END_TEST

UNIT_MAIN("percent", encodes_all_but_the_unreserved)
