/* test_table.c: what falls into one chain of a hash table is not a guest's to choose. */
#include "base/table.h"
#include "unit.h"

#include <stdbool.h>
#include <string.h>

static uint32_t fnv(const char *text)
{
	unsigned value;
	HASH_FNV(text, strlen(text), value);
	return value;
}

START_TEST(names_that_collide_elsewhere_do_not)
{
	ck_assert_uint_eq(fnv("nakmvxxv"), fnv("tbdxatiq")); /* the premise */
	ck_assert_uint_eq(fnv("kzgbhqbn"), fnv("gqbvhtpq"));
	bool both = sbx_table_hash("nakmvxxv", 8) == sbx_table_hash("tbdxatiq", 8) &&
		    sbx_table_hash("kzgbhqbn", 8) == sbx_table_hash("gqbvhtpq", 8);
	ck_assert(!both);
}
END_TEST

/* Each byte counts, and so does the length: of 2000 keys hardly two are alike. */
START_TEST(every_byte_counts)
{
	char key[40] = "";
	uint32_t seen[2000];
	size_t count = 0, alike = 0;
	for (size_t size = 0; size < sizeof(key); size++)
		for (size_t at = 0; at < size; at++) {
			key[at] = 1;
			seen[count++] = sbx_table_hash(key, size);
			key[at] = 0;
			ck_assert_uint_eq(sbx_table_hash(key, size), sbx_table_hash(key, size));
		}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			alike += seen[i] == seen[j];
	ck_assert_uint_le(alike, 1);
}
END_TEST

UNIT_MAIN("table", names_that_collide_elsewhere_do_not, every_byte_counts)
