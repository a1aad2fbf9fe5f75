/* test_tar_write.c: what we send is read back by libarchive as it was meant, and its size is what
 * was promised. */
#include "base/alloc.h"
#include "base/buffer.h"
#include "files/tar_write.h"
#include "unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <sys/mman.h>

static int staged(const void *bytes, size_t size)
{
	int fd = memfd_create("staged", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), size);
	return fd;
}

/* Reads in pieces of an awkward size, so that every boundary is crossed somewhere. */
static struct sbx_buffer whole(const struct sbx_tar_item *items, size_t count, size_t piece)
{
	struct sbx_buffer out = { 0 };
	struct sbx_tar_writer *writer = sbx_tar_writer_create(items, count);
	char bytes[4096];
	int64_t got;
	while ((got = sbx_tar_writer_read(writer, bytes, piece)) > 0)
		ck_assert(sbx_buffer_append(&out, bytes, (size_t)got));
	ck_assert_int_eq(got, 0);
	ck_assert_int_eq(sbx_tar_writer_size(writer), out.size);
	ck_assert_int_eq(out.size % 512, 0);
	sbx_tar_writer_destroy(writer);
	return out;
}

static void expect(struct archive *reader, const struct sbx_tar_item *item, const char *body)
{
	struct archive_entry *entry;
	ck_assert_int_eq(archive_read_next_header(reader, &entry), ARCHIVE_OK);
	cleanup_free char *name = sbx_printf("./%s%s", item->name, item->directory ? "/" : "");
	ck_assert_str_eq(archive_entry_pathname(entry), name);
	ck_assert_int_eq(archive_entry_filetype(entry), item->directory ? AE_IFDIR : AE_IFREG);
	ck_assert_int_eq(archive_entry_perm(entry), item->mode);
	ck_assert_int_eq(archive_entry_uid(entry), item->uid);
	ck_assert_int_eq(archive_entry_gid(entry), item->gid);
	ck_assert_int_eq(archive_entry_mtime(entry), item->mtime_s);
	ck_assert_int_eq(archive_entry_mtime_nsec(entry), item->mtime_ns);
	ck_assert_int_eq(archive_entry_size(entry), item->directory ? 0 : item->size);
	ck_assert(!archive_entry_uname(entry) || !*archive_entry_uname(entry));
	ck_assert(!archive_entry_gname(entry) || !*archive_entry_gname(entry));
	cleanup_free char *got = sbx_alloc((size_t)item->size + 1);
	ck_assert_int_eq(archive_read_data(reader, got, (size_t)item->size), item->size);
	if (body)
		ck_assert_int_eq(memcmp(got, body, (size_t)item->size), 0);
}

START_TEST(reads_back_as_it_was_meant)
{
	/* libarchive converts names to the locale. */
	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	char long_name[240];
	memset(long_name, 'n', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	char body[1500];
	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (char)i;
	int fd = staged(body, sizeof(body));
	const struct sbx_tar_item items[] = {
		{ .name = "dir",
			.directory = true,
			.mode = 0755,
			.uid = 1000,
			.gid = 1000,
			.fd = -1 },
		{ .name = "dir/file",
			.mode = 0640,
			.uid = 1000,
			.gid = 7,
			.mtime_s = 1700000000,
			.size = sizeof(body),
			.fd = fd },
		{ .name = "ns",
			.mode = 04755,
			.mtime_s = 1700000000,
			.mtime_ns = 123456789,
			.size = 512,
			.fd = fd },
		{ .name = "empty", .mode = 0, .fd = -1 },
		{ .name = long_name,
			.mode = 0644,
			.uid = 3000000000U,
			.gid = 2097152,
			.mtime_s = INT64_C(9999999999),
			.size = 1,
			.fd = fd },
		{ .name = "na\xc3\xafve", .mode = 0644, .size = 513, .fd = fd },
		{ .name = "-rf\nx", .mode = 0644, .fd = -1 },
		{ .name = "BZh91AY", .mode = 0644, .fd = -1 },
	};
	size_t count = sizeof(items) / sizeof(items[0]);
	static const size_t pieces[] = { 1, 7, 511, 512, 513, 4096 };
	for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++) {
		struct sbx_buffer tar = whole(items, count, pieces[p]);
		ck_assert_int_eq(memcmp(tar.data, "./", 2), 0);
		struct archive *reader = archive_read_new();
		(void)archive_read_support_format_tar(reader);
		ck_assert_int_eq(archive_read_open_memory(reader, tar.data, tar.size), ARCHIVE_OK);
		for (size_t i = 0; i < count; i++)
			expect(reader, &items[i], body);
		struct archive_entry *entry;
		ck_assert_int_eq(archive_read_next_header(reader, &entry), ARCHIVE_EOF);
		(void)archive_read_free(reader);
		sbx_buffer_finish(&tar);
	}
	(void)close(fd);
}
END_TEST

START_TEST(names_that_are_not_utf8_are_sent_as_they_are)
{
	const struct sbx_tar_item item = { .name = "bad\xff", .mode = 0644, .fd = -1 };
	struct sbx_buffer tar = whole(&item, 1, 4096);
	ck_assert_ptr_nonnull(memmem(tar.data, tar.size, "path=./bad\xff\n", 12));
	ck_assert_int_eq(memcmp(tar.data, "./pax", 6), 0);
	sbx_buffer_finish(&tar);
}
END_TEST

START_TEST(times_before_1970)
{
	const struct sbx_tar_item item = {
		.name = "old", .mode = 0644, .mtime_s = -6, .mtime_ns = 500000000, .fd = -1
	};
	struct sbx_buffer tar = whole(&item, 1, 4096);
	ck_assert_ptr_nonnull(memmem(tar.data, tar.size, "mtime=-5.500000000\n", 19));
	sbx_buffer_finish(&tar);
}
END_TEST

START_TEST(many_files_may_share_one_descriptor)
{
	int fd = staged("onetwothree", 11);
	struct sbx_tar_item items[] = { { .name = "1", .size = 3, .fd = fd },
		{ .name = "2", .size = 3, .fd = fd, .offset = 3 },
		{ .name = "3", .size = 5, .fd = fd, .offset = 6 } };
	struct sbx_buffer tar = whole(items, 3, 100);
	struct archive *reader = archive_read_new();
	ck_assert_int_eq(archive_read_support_format_tar(reader), ARCHIVE_OK);
	ck_assert_int_eq(archive_read_open_memory(reader, tar.data, tar.size), ARCHIVE_OK);
	expect(reader, &items[0], "one");
	expect(reader, &items[1], "two");
	expect(reader, &items[2], "three");
	ck_assert_int_eq(archive_read_free(reader), ARCHIVE_OK);
	sbx_buffer_finish(&tar);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(a_staged_file_that_shrank_is_an_error)
{
	int fd = staged("abc", 3);
	const struct sbx_tar_item item = { .name = "short", .mode = 0644, .size = 600, .fd = fd };
	struct sbx_tar_writer *writer = sbx_tar_writer_create(&item, 1);
	char bytes[4096];
	int64_t got;
	while ((got = sbx_tar_writer_read(writer, bytes, sizeof(bytes))) > 0)
		;
	ck_assert_int_eq(got, -EIO);
	ck_assert_int_eq(sbx_tar_writer_read(writer, bytes, sizeof(bytes)), -EIO);
	ck_assert_ptr_nonnull(strstr(sbx_tar_writer_error(writer)->message, "short"));
	sbx_tar_writer_destroy(writer);
	(void)close(fd);
}
END_TEST

START_TEST(sizes_beyond_the_octal_field)
{
	int fd = staged("", 0);
	int64_t size = INT64_C(9) << 30;
	ck_assert_int_eq(ftruncate(fd, size), 0);
	const struct sbx_tar_item item = { .name = "huge", .mode = 0644, .size = size, .fd = fd };
	struct sbx_tar_writer *writer = sbx_tar_writer_create(&item, 1);
	ck_assert_int_eq(sbx_tar_writer_size(writer), 512 + 512 + 512 + size + 1024);
	char bytes[2048];
	ck_assert_int_eq(sbx_tar_writer_read(writer, bytes, 1536), 1536);
	ck_assert_ptr_nonnull(memmem(bytes, 1536, "size=9663676416\n", 16));
	sbx_tar_writer_destroy(writer);
	(void)close(fd);
}
END_TEST

UNIT_MAIN("tar_write", many_files_may_share_one_descriptor, reads_back_as_it_was_meant,
	names_that_are_not_utf8_are_sent_as_they_are, times_before_1970,
	a_staged_file_that_shrank_is_an_error, sizes_beyond_the_octal_field)
