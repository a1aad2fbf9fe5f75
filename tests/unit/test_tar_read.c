/* test_tar_read.c: archives as engines send them, and as a guest would like them to be. */
#include "base/alloc.h"
#include "base/buffer.h"
#include "files/tar_number.h"
#include "files/tar_read.h"
#include "unit.h"

#include "tar_build.h"

#include <errno.h>

/* What came out, as text: one line for an entry, its body behind it. */
struct seen {
	struct sbx_buffer text;
	int entry_result;
};

static int on_entry(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	struct seen *seen = data;
	ck_assert(sbx_buffer_printf(&seen->text, "[%c %s>%s %lld %lld.%d %u:%u %o]", entry->type,
		entry->name, entry->link, (long long)entry->size, (long long)entry->mtime_s,
		entry->mtime_ns, entry->uid, entry->gid, entry->mode));
	return seen->entry_result;
}

static int on_body(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct seen *seen = data;
	ck_assert(sbx_buffer_append(&seen->text, bytes, size));
	return 0;
}

static int on_end(void *data, struct sbx_error *err)
{
	struct seen *seen = data;
	ck_assert(sbx_buffer_append_text(&seen->text, ";"));
	return 0;
}

static const struct sbx_tar_events events = { on_entry, on_body, on_end };

/* Reads the first size bytes in pieces of this size; the result of feed, else of finish. */
static int read_pieces(
	const struct sbx_buffer *tar, size_t size, size_t piece, struct seen *seen, bool finish)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_tar *reader = sbx_tar_create(&events, seen);
	int result = 0;
	for (size_t at = 0; at < size && !result; at += piece) {
		size_t take = size - at < piece ? size - at : piece;
		/* A copy of exactly this size: the sanitizer sees a byte too far. */
		cleanup_free char *copy = sbx_strndup(tar->data + at, take);
		result = sbx_tar_feed(reader, copy, take, &err);
	}
	if (!result && finish)
		result = sbx_tar_finish(reader, &err);
	if (result < 0)
		ck_assert_int_eq(err.errnum, -result);
	sbx_tar_destroy(reader);
	return result;
}

static void expect_text(struct sbx_buffer *tar, const char *text)
{
	static const size_t pieces[] = { 1, 7, 511, 512, 513, 1 << 20 };
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct seen seen = { 0 };
		ck_assert_int_eq(read_pieces(tar, tar->size, pieces[i], &seen, true), 0);
		ck_assert_str_eq(sbx_buffer_text(&seen.text), text);
		sbx_buffer_finish(&seen.text);
	}
	sbx_buffer_finish(tar);
}

/* Ends the archive and expects its refusal, in one piece and byte by byte. */
static void expect_refusal(struct sbx_buffer *tar, const char *what)
{
	tar_put_end(tar);
	for (size_t piece = 1; piece <= tar->size; piece += tar->size - 1) {
		struct seen seen = { 0 };
		int result = read_pieces(tar, tar->size, piece, &seen, true);
		ck_assert_msg(result == -EIO, "%s: %d", what, result);
		sbx_buffer_finish(&seen.text);
	}
	sbx_buffer_finish(tar);
}

START_TEST(reads_what_engines_send)
{
	struct sbx_buffer tar = { 0 };
	tar_put(&tar, '5', "three", "");
	tar_put(&tar, '0', "three/a", "hello");
	tar_put_header(
		&tar, &(struct tar_header){ .name = "three/b", .type = '1', .link = "three/a" });
	tar_put_header(
		&tar, &(struct tar_header){ .name = "three/l", .type = '2', .link = "/etc" });
	tar_put(&tar, '6', "three/p", "");
	tar_put_header(
		&tar, &(struct tar_header){
			      .name = "c", .type = '0', .prefix = "three/long", .mtime = 7 });
	tar_put_end(&tar);
	expect_text(&tar, "[5 three> 0 0.-1 1000:1000 644];"
			  "[0 three/a> 5 0.-1 1000:1000 644]hello;"
			  "[1 three/b>three/a 0 0.-1 1000:1000 644];"
			  "[2 three/l>/etc 0 0.-1 1000:1000 644];"
			  "[6 three/p> 0 0.-1 1000:1000 644];"
			  "[0 three/long/c> 0 7.-1 1000:1000 644];");
}
END_TEST

START_TEST(extension_headers_hold_for_one_entry)
{
	struct sbx_buffer tar = { 0 }, records = { 0 };
	tar_put_record(&records, "path", "d/na\xc3\xafve\xff");
	tar_put_record(&records, "size", "3");
	tar_put_record(&records, "mtime", "-5.25");
	tar_put_record(&records, "uid", "4294967294");
	tar_put_record(&records, "SCHILY.xattr.user.a", "any\nthing = 1");
	tar_put(&tar, 'x', "PaxHeaders.0/x", sbx_buffer_text(&records));
	tar_put_header(&tar, &(struct tar_header){ .name = "short", .type = '0', .size = 999 });
	tar_put_body(&tar, "abc", 3);
	tar_put(&tar, 'L', "././@LongLink", "long/name");
	tar_put(&tar, 'K', "././@LongLink", "long/link");
	tar_put_header(&tar, &(struct tar_header){ .name = "cut", .type = '2', .gnu = true });
	tar_put_header(
		&tar, &(struct tar_header){
			      .name = "g", .type = '0', .gnu = true, .prefix = "no prefix here" });
	tar_put_end(&tar);
	expect_text(&tar, "[0 d/na\xc3\xafve\xff> 3 -6.750000000 4294967294:1000 644]abc;"
			  "[2 long/name>long/link 0 0.-1 1000:1000 644];"
			  "[0 g> 0 0.-1 1000:1000 644];");
	sbx_buffer_finish(&records);
}
END_TEST

START_TEST(a_global_header_changes_nothing)
{
	struct sbx_buffer tar = { 0 }, records = { 0 };
	tar_put_record(&records, "path", "/etc/passwd");
	tar_put(&tar, 'g', "global", sbx_buffer_text(&records));
	tar_put(&tar, '0', "a", "b");
	tar_put_end(&tar);
	expect_text(&tar, "[0 a> 1 0.-1 1000:1000 644]b;");
	sbx_buffer_finish(&records);
}
END_TEST

START_TEST(an_empty_value_takes_an_override_back)
{
	struct sbx_buffer tar = { 0 };
	tar_put(&tar, 'x', "x", "10 path=b\n8 path=\n9 size=9\n8 size=\n");
	tar_put(&tar, '0', "a", "b");
	tar_put_end(&tar);
	expect_text(&tar, "[0 a> 1 0.-1 1000:1000 644]b;");
}
END_TEST

START_TEST(a_name_may_fill_its_field)
{
	char name[101], text[200];
	memset(name, 'n', 100);
	name[100] = '\0';
	(void)snprintf(text, sizeof(text), "[0 %s> 0 0.-1 1000:1000 644];", name);
	struct sbx_buffer tar = { 0 };
	tar_put(&tar, '0', name, "");
	tar_put_end(&tar);
	expect_text(&tar, text);
}
END_TEST

/* Engines end a file that shrank, or a directory in which something shrank, as a clean 200. */
START_TEST(cut_anywhere_is_never_whole)
{
	struct sbx_buffer tar = { 0 };
	tar_put(&tar, 'L', "././@LongLink", "long");
	tar_put(&tar, '0', "a", "hello");
	tar_put(&tar, '0', "b", "");
	tar_put_end(&tar);
	for (size_t size = 0; size < tar.size; size++) {
		struct seen seen = { 0 };
		ck_assert_int_eq(read_pieces(&tar, size, 512, &seen, true), -EIO);
		sbx_buffer_finish(&seen.text);
	}
	sbx_buffer_finish(&tar);
}
END_TEST

/* MAF-87 */
START_TEST(refuses_malformed_headers)
{
	static const struct {
		const char *what;
		struct tar_header header;
	} rows[] = {
		{ "checksum", { .name = "a", .type = '0', .bad_checksum = true } },
		{ "magic", { .name = "a", .type = '0', .no_magic = true } },
		{ "unknown type", { .name = "a", .type = '7' } },
		{ "sparse", { .name = "a", .type = 'S' } },
		{ "volume", { .name = "a", .type = 'V' } },
		{ "size not octal", { .name = "a", .type = '0', .size_field = "00000000009" } },
		{ "size empty", { .name = "a", .type = '0', .size_field = "           " } },
		{ "size minus", { .name = "a", .type = '0', .size_field = "-0000000001" } },
		{ "size negative",
			{ .name = "a",
				.type = '0',
				.size_field =
					"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" } },
		{ "size over 63 bits", { .name = "a",
					       .type = '0',
					       .size_field = "\x80\0\0\0\x80\0\0\0\0\0\0\0" } },
		{ "directory with a body", { .name = "a", .type = '5', .size = 1 } },
		{ "link with a body", { .name = "a", .type = '2', .size = 1, .link = "b" } },
		{ "long name of 2^40", { .name = "a",
					       .type = 'L',
					       .size_field = "\x80\0\0\0\0\0\x01\0\0\0\0\0" } },
		{ "long name over 64 KiB", { .name = "a", .type = 'L', .size = 65537 } },
		{ "extension without an entry", { .name = "a", .type = 'L' } },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_buffer tar = { 0 };
		tar_put_header(&tar, &rows[i].header);
		expect_refusal(&tar, rows[i].what);
	}
}
END_TEST

/* MAF-87 */
START_TEST(refuses_malformed_records)
{
	static const char *const rows[] = {
		"x",
		"99 path=a\n", /* beyond the header */
		"5 path=a\n",  /* ends inside itself */
		"0 path=a\n",
		"-9 path=a\n",
		"99999999999999999999 path=a\n",
		"9 path=ab\n", /* no newline where it ends */
		"8 patha\n",   /* no value */
		"5 =a\n",      /* no key */
		"9 path:a\n",
		"11 size=-1\n",
		"10 size=-1\n",
		"28 size=9223372036854775808\n",
		"10 size=1x\n",
		"19 uid=4294967296\n",
		"10 uid=-1\n",
		"12 mtime=1.\n",
		"12 mtime=.5\n",
		"11 mtime=-\n",
		"21 GNU.sparse.major=1\n",
		"22 GNU.sparse.major=1\n",
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_buffer tar = { 0 };
		tar_put(&tar, 'x', "x", rows[i]);
		tar_put(&tar, '0', "a", "");
		expect_refusal(&tar, rows[i]);
	}
	struct sbx_buffer tar = { 0 };
	tar_put_header(&tar, &(struct tar_header){ .name = "x", .type = 'x', .size = 11 });
	tar_put_body(&tar, "11 path=a\0b\n", 12);
	tar_put(&tar, '0', "a", "");
	expect_refusal(&tar, "NUL in a name");
}
END_TEST

/* MAF-87: 32 headers and 64 KiB. */
START_TEST(bounds_extension_headers)
{
	struct sbx_buffer tar = { 0 };
	for (unsigned i = 0; i < 32; i++)
		tar_put(&tar, 'L', "l", "name");
	tar_put(&tar, '0', "a", "");
	tar_put_end(&tar);
	expect_text(&tar, "[0 name> 0 0.-1 1000:1000 644];");
	for (unsigned i = 0; i < 33; i++)
		tar_put(&tar, 'L', "l", "name");
	tar_put(&tar, '0', "a", "");
	expect_refusal(&tar, "33 extension headers");

	cleanup_free char *half = sbx_alloc(33001);
	memset(half, 'n', 33000);
	tar_put(&tar, 'L', "l", half);
	tar_put(&tar, 'K', "l", half);
	tar_put(&tar, '0', "a", "");
	expect_refusal(&tar, "64 KiB in two headers");
}
END_TEST

START_TEST(the_end_is_two_blocks)
{
	static const char zeros[512];
	struct sbx_buffer tar = { 0 };
	tar_put(&tar, '0', "a", "");
	ck_assert(sbx_buffer_append(&tar, zeros, sizeof(zeros)));
	tar_put(&tar, '0', "b", "");
	expect_refusal(&tar, "one zero block in the middle");

	tar_put_end(&tar);
	cleanup_free char *junk = sbx_alloc(1 << 20);
	memset(junk, 'j', 1 << 20);
	ck_assert(sbx_buffer_append(&tar, junk, 1 << 20));
	struct seen seen = { 0 };
	ck_assert_int_eq(read_pieces(&tar, tar.size, 4096, &seen, true), 0);
	ck_assert(sbx_buffer_append(&tar, junk, 1));
	ck_assert_int_eq(read_pieces(&tar, tar.size, 4096, &seen, true), -EIO);
	sbx_buffer_finish(&seen.text);
	sbx_buffer_finish(&tar);
}
END_TEST

START_TEST(a_callback_ends_it)
{
	struct sbx_buffer tar = { 0 };
	tar_put(&tar, '0', "a", "x");
	tar_put_end(&tar);
	struct seen seen = { .entry_result = 5 };
	ck_assert_int_eq(read_pieces(&tar, tar.size, 100, &seen, true), 5);
	sbx_buffer_finish(&seen.text);
	sbx_buffer_finish(&tar);
}
END_TEST

START_TEST(numbers)
{
	static const struct {
		const char *field;
		bool good;
		int64_t value;
	} rows[] = {
		{ "00000000017", true, 15 },
		{ "  17       ", true, 15 },
		{ "777777777777", true, 68719476735 },
		{ "17 17      ", false, 0 },
		{ "\x80\0\0\0\0\0\0\0\0\0\x01\0", true, 256 },
		{ "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", true, INT64_MAX },
		{ "\x80\0\0\x01\0\0\0\0\0\0\0\0", false, 0 },
		{ "\x81\0\0\0\0\0\0\0\0\0\0\0", false, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t value = 0;
		bool good = sbx_tar_field((const unsigned char *)rows[i].field, 12, &value);
		ck_assert_msg(good == rows[i].good, "row %zu", i);
		ck_assert_int_eq(value, rows[i].value);
	}
	int64_t seconds;
	int32_t ns;
	ck_assert(sbx_tar_time("9223372036854775807", 19, &seconds, &ns));
	ck_assert(sbx_tar_time("-1.000000001", 12, &seconds, &ns));
	ck_assert_int_eq(seconds, -2);
	ck_assert_int_eq(ns, 999999999);
	ck_assert(sbx_tar_time("1.1234567899", 12, &seconds, &ns));
	ck_assert_int_eq(ns, 123456789);
	ck_assert(!sbx_tar_time("", 0, &seconds, &ns));
}
END_TEST

UNIT_MAIN("tar_read", reads_what_engines_send, extension_headers_hold_for_one_entry,
	a_global_header_changes_nothing, an_empty_value_takes_an_override_back,
	a_name_may_fill_its_field, cut_anywhere_is_never_whole, refuses_malformed_headers,
	refuses_malformed_records, bounds_extension_headers, the_end_is_two_blocks,
	a_callback_ends_it, numbers)
