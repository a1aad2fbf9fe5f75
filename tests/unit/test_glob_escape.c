/* test_glob_escape.c: the escapes that Podman 4.3.1 was seen to take literally. */
#include "api/glob_escape.h"
#include "base/alloc.h"
#include "unit.h"

START_TEST(escapes_each_pattern_byte)
{
#define STAR "[^\x01-)+-\xf4\x8f\xbf\xbf]"
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "/work/out/reg", "/work/out/reg" },
		{ "/work/[x]", "/work/\\[x\\]" },
		{ "/work/a?", "/work/a\\?" },
		{ "/work/back\\slash", "/work/back\\\\slash" },
		{ "/d*/f*", "/d" STAR "/f" STAR },
		{ "", "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *out = sbx_glob_escape(rows[i].in);
		ck_assert_str_eq(out, rows[i].out);
	}
}
END_TEST

UNIT_MAIN("glob_escape", escapes_each_pattern_byte)
