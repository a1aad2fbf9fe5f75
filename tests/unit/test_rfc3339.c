/* test_rfc3339.c: times with their zone, or none at all. */
#include "api/rfc3339.h"
#include "unit.h"

START_TEST(reads_what_engines_print)
{
	static const struct {
		const char *text;
		int64_t seconds;
		int32_t nanoseconds;
	} rows[] = {
		{ "2023-11-14T22:13:20.123456789Z", 1700000000, 123456789 },
		{ "2023-11-15T00:13:20+02:00", 1700000000, 0 },
		{ "2023-11-14T16:43:20.5-05:30", 1700000000, 500000000 },
		{ "1970-01-01T00:00:00Z", 0, 0 },
		{ "1969-12-31T23:59:59.9Z", -1, 900000000 },
		{ "0001-01-01T00:00:00Z", -62135596800, 0 },
		{ "2000-02-29T00:00:00Z", 951782400, 0 },
		{ "9999-12-31T23:59:59Z", 253402300799, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t seconds;
		int32_t nanoseconds;
		ck_assert_msg(
			sbx_time_parse(rows[i].text, &seconds, &nanoseconds), "%s", rows[i].text);
		ck_assert_int_eq(seconds, rows[i].seconds);
		ck_assert_int_eq(nanoseconds, rows[i].nanoseconds);
	}
}
END_TEST

START_TEST(refuses_the_rest)
{
	static const char *const texts[] = { "", "2023-11-14", "2023-11-14T22:13:20",
		"2023-11-14T22:13:20.Z", "2023-13-14T22:13:20Z", "2023-11-14T22:13:20Zx",
		"2023-11-14T22:13:20+0200", "23-11-14T22:13:20Z", "-001-11-14T22:13:20Z" };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int64_t seconds;
		int32_t nanoseconds;
		ck_assert_msg(!sbx_time_parse(texts[i], &seconds, &nanoseconds), "%s", texts[i]);
	}
	ck_assert_int_eq(sbx_time_parse_ns(NULL), 0);
	ck_assert_int_eq(sbx_time_parse_ns("9999-12-31T23:59:59Z"), 0); /* beyond int64 ns */
	ck_assert_int_eq(sbx_time_parse_ns("1970-01-01T00:00:01.000000001Z"), 1000000001);
}
END_TEST

UNIT_MAIN("rfc3339", reads_what_engines_print, refuses_the_rest)
