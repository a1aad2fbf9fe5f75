/* test_stat_header.c: what an engine says of a path, in both alphabets, and what is no statement.
 */
#include "api/stat_header.h"
#include "base/alloc.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* Base64 as Docker (standard) or Podman (URL-safe) encodes. */
static char *encode(const char *text, bool url_safe)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t size = strlen(text), out = 0;
	char *encoded = sbx_alloc(size / 3 * 4 + 8);
	for (size_t i = 0; i < size; i += 3) {
		unsigned bits = 0;
		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (i + j < size ? (unsigned char)text[i + j] : 0);
		for (size_t j = 0; j < 4; j++) {
			unsigned digit = bits >> (18 - 6 * j) & 63;
			char c = digit < 62    ? letters[digit]
				 : digit == 62 ? (url_safe ? '-' : '+')
					       : (url_safe ? '_' : '/');
			encoded[out++] = i + j > size ? '=' : c;
		}
	}
	return encoded;
}

static int parse(const char *mode, const char *rest, bool url_safe, struct sbx_stat *out)
{
	char text[512];
	(void)snprintf(text, sizeof(text),
		"{\"name\":\"~\xc3\xbf?>\",\"mode\":%s,\"mtime\":\"2023-11-14T22:13:20.5Z\"%s}",
		mode, rest);
	cleanup_free char *header = encode(text, url_safe);
	return sbx_stat_header_parse(header, out, NULL);
}

START_TEST(reads_all_kinds)
{
	static const struct {
		const char *mode;
		enum sbx_type type;
		uint32_t bits;
	} rows[] = {
		{ "420", SBX_TYPE_FILE, 0644 },
		{ "0", SBX_TYPE_FILE, 0 },
		{ "2147484141", SBX_TYPE_DIR, 0755 },
		{ "134218239", SBX_TYPE_LINK, 0777 },
		{ "67109280", SBX_TYPE_DEVICE, 0640 },
		{ "69206436", SBX_TYPE_DEVICE, 0644 },
		{ "33554852", SBX_TYPE_FIFO, 0644 },
		{ "16777709", SBX_TYPE_SOCKET, 0755 },
		{ "8389101", SBX_TYPE_FILE, 04755 },
		{ "4194797", SBX_TYPE_FILE, 02755 },
		{ "2151678461", SBX_TYPE_DIR, 02775 },
		{ "2148532735", SBX_TYPE_DIR, 01777 },
		{ "1048996", SBX_TYPE_FILE, 01644 },
	};
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_stat st;
		ck_assert_int_eq(
			parse(rows[i / 2].mode,
				",\"size\":10737418240,\"linkTarget\":\"/work/reg\"", i % 2, &st),
			0);
		ck_assert_int_eq(st.type, rows[i / 2].type);
		ck_assert_uint_eq(st.mode, rows[i / 2].bits);
		ck_assert_int_eq(st.size, 10737418240);
		ck_assert_int_eq(st.mtime_s, 1700000000);
		ck_assert_int_eq(st.mtime_ns, 500000000);
		ck_assert((st.link_target != NULL) == (st.type == SBX_TYPE_LINK));
		sbx_stat_finish(&st);
	}
}
END_TEST

/* A type that is two types, or none, must not end up as a regular file. */
START_TEST(refuses_what_is_no_statement)
{
	static const struct {
		const char *mode, *rest;
	} rows[] = {
		{ "420", ",\"size\":-1" },
		{ "420", "" },
		{ "420", ",\"size\":1e300" },
		{ "420", ",\"size\":\"6\"" },
		{ "420", ",\"size\":1.5" },
		{ "-1", ",\"size\":1" },
		{ "4294967296", ",\"size\":1" },
		{ "2281701887", ",\"size\":1" }, /* dir and link */
		{ "2097572", ",\"size\":1" },	 /* char device that is no device */
		{ "524708", ",\"size\":1" },	 /* irregular */
		{ "\"420\"", ",\"size\":1" },
		{ "[[[[[[[[[1]]]]]]]]]", ",\"size\":1" },
	};
	struct sbx_stat st;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(parse(rows[i].mode, rows[i].rest, false, &st) < 0, "row %zu", i);
	static const char *const headers[] = { "", "x", "####",
		"bm90IGpzb24=", "e30=", "bnVsbA==", "AAAA", "e30==\n" };
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		ck_assert_msg(sbx_stat_header_parse(headers[i], &st, NULL) < 0, "%s", headers[i]);
}
END_TEST

UNIT_MAIN("stat_header", reads_all_kinds, refuses_what_is_no_statement)
