/* test_touch_date.c: a time reaches the guest's touch as it was meant. */
#include "base/alloc.h"
#include "files/plane_attributes.h"
#include "unit.h"

START_TEST(says_the_fraction_only_where_every_touch_reads_it_alike)
{
	static const struct {
		int64_t mtime_s;
		int32_t mtime_ns;
		const char *date;
	} rows[] = {
		{ 1700000000, 0, "@1700000000" },
		{ 1700000000, 123456000, "@1700000000.123456000" },
		{ 1700000000, 1000, "@1700000000.000001000" },
		{ 1700000000, -1, "@1700000000" }, /* not known */
		{ 0, 5000, "@0.000005000" },
		{ -1, 500000000, "@-1" },
		{ INT64_C(5000000000), 0, "@5000000000" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *date = sbx_touch_date(rows[i].mtime_s, rows[i].mtime_ns);
		ck_assert_str_eq(date, rows[i].date);
	}
}
END_TEST

UNIT_MAIN("touch_date", says_the_fraction_only_where_every_touch_reads_it_alike)
