/* test_upload.c: what a source tree may hold, and how it is cut into batches. */
#include "sandbox/upload_tree.h"

#include <sbx/transfer.h>

#include "directory.h"
#include "fake_plane.h"
#include "unit.h"

#include <sys/resource.h>

static struct sbx_sandbox sandbox = { .container = { .name = (char *)"t1" },
	.in_dir = (char *)"in" };

static struct sbx_upload_tree tree;
static struct sbx_error err;

static int add(const char *source)
{
	sbx_upload_tree_finish(&tree);
	sbx_error_clear(&err);
	return sbx_upload_tree_add(&tree, source, "in", &err);
}

START_TEST(lists_directories_before_what_is_in_them)
{
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0750), 0);
	ck_assert_int_eq(mkdir("d/sub", 0700), 0);
	write_file("d/sub/f", "abc");
	write_file("d/a", "");
	ck_assert_int_eq(chmod("d/a", 04755), 0);
	ck_assert_int_eq(add("d/"), 0);
	ck_assert_uint_eq(tree.count, 4);
	ck_assert_str_eq(tree.entries[0].path, "in/d");
	ck_assert_str_eq(tree.entries[1].path, "in/d/a");
	ck_assert_uint_eq(tree.entries[1].mode, 0755);
	ck_assert_str_eq(tree.entries[2].path, "in/d/sub");
	ck_assert_uint_eq(tree.entries[2].mode, 0700);
	ck_assert_str_eq(tree.entries[3].path, "in/d/sub/f");
	ck_assert_int_eq(tree.entries[3].size, 3);
	ck_assert_int_eq(tree.files, 2);
	ck_assert_int_eq(tree.bytes, 3);
	sbx_upload_tree_finish(&tree);
	directory_leave();
}
END_TEST

START_TEST(refuses_links_and_special_files)
{
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	ck_assert_int_eq(symlink("/etc/passwd", "d/link"), 0);
	ck_assert_int_eq(add("d"), -EPERM);
	ck_assert_ptr_nonnull(strstr(err.message, "d/link is a symbolic link"));
	ck_assert_int_eq(add("d/link"), -EPERM);
	ck_assert_int_eq(unlink("d/link"), 0);
	ck_assert_int_eq(symlink("d", "alias"), 0);
	ck_assert_int_eq(add("alias"), -EPERM);
	ck_assert_int_eq(add("alias/"), -EPERM);
	ck_assert_int_eq(mkfifo("d/pipe", 0600), 0);
	ck_assert_int_eq(add("d"), -EPERM);
	ck_assert_int_eq(add("/dev/null"), -EPERM);
	ck_assert_int_eq(add("none"), -ENOENT);
	sbx_upload_tree_finish(&tree);
	directory_leave();
}
END_TEST

START_TEST(refuses_a_source_without_a_name)
{
	static const char *const sources[] = { "", ".", "..", "/", "./", "d/.", "d/.." };
	directory_enter();
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		ck_assert_int_eq(add(sources[i]), -EINVAL);
	directory_leave();
}
END_TEST

START_TEST(refuses_two_for_one_place)
{
	directory_enter();
	ck_assert_int_eq(mkdir("a", 0755), 0);
	ck_assert_int_eq(mkdir("b", 0755), 0);
	write_file("a/f", "1");
	write_file("b/f", "2");
	ck_assert_int_eq(add("a/f"), 0);
	ck_assert_int_eq(sbx_upload_tree_check(&tree, &err), 0);
	ck_assert_int_eq(sbx_upload_tree_add(&tree, "b/f", "in", &err), 0);
	ck_assert_int_eq(sbx_upload_tree_check(&tree, &err), -EINVAL);
	sbx_upload_tree_finish(&tree);
	directory_leave();
}
END_TEST

/* What this host cannot read is not something that the engine says is absent, nor the engine's
 * failure: a wrong word is usage, the rest the host's own. */
START_TEST(tells_the_hosts_failures_apart)
{
	struct rlimit old, none;
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	write_file("f", "");
	ck_assert_int_eq(add("none"), -ENOENT);
	ck_assert_int_eq(err.kind, SBX_KIND_USAGE);
	ck_assert_int_eq(add("f/none"), -ENOTDIR);
	ck_assert_int_eq(err.kind, SBX_KIND_USAGE);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	int result = add("d");
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_int_eq(result, -EMFILE);
	ck_assert_int_eq(err.kind, SBX_KIND_HOST);
	ck_assert_int_eq(sbx_kind_exit_code(err.kind), 14);
	sbx_upload_tree_finish(&tree);
	directory_leave();
}
END_TEST

/* A file swapped after it was listed: the premise is that a plain open would have read the target.
 */
START_TEST(does_not_send_what_was_swapped_in)
{
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	write_file("secret", "secret");
	write_file("d/f", "public");
	ck_assert_int_eq(add("d"), 0);
	ck_assert_int_eq(unlink("d/f"), 0);
	ck_assert_int_eq(symlink("../secret", "d/f"), 0);
	int premise = open("d/f", O_RDONLY);
	ck_assert_int_ge(premise, 0);
	ck_assert_int_eq(close(premise), 0);
	ck_assert_int_eq(sbx_upload_tree_open(&tree.entries[1], &err), -ESTALE);
	ck_assert_int_eq(unlink("d/f"), 0);
	ck_assert_int_eq(mkfifo("d/f", 0600), 0);
	ck_assert_int_eq(sbx_upload_tree_open(&tree.entries[1], &err), -ESTALE);
	ck_assert_int_eq(unlink("d/f"), 0);
	ck_assert_int_eq(link("secret", "d/f"), 0);
	ck_assert_int_eq(sbx_upload_tree_open(&tree.entries[1], &err), -ESTALE);
	sbx_upload_tree_finish(&tree);
	directory_leave();
}
END_TEST

struct counting_plane {
	struct sbx_plane plane;
	size_t puts, items, largest, fail_at;
	int64_t bytes;
};

static int count_put(struct sbx_plane *plane, struct sbx_put_item *items, size_t count,
	const struct sbx_call *call, struct sbx_error *why)
{
	struct counting_plane *counting = (struct counting_plane *)plane;
	if (++counting->puts == counting->fail_at)
		return sbx_fail(why, EIO, "the engine broke");
	counting->items += count;
	counting->largest = count > counting->largest ? count : counting->largest;
	for (size_t i = 0; i < count; i++) {
		char first[8] = "";
		items[i].result = 0;
		counting->bytes += items[i].size;
		if (!items[i].size)
			continue;
		/* A file's first bytes are its own name. */
		const char *name = strrchr(items[i].path, '/') + 1;
		size_t length = strlen(name);
		ck_assert_int_eq(
			pread(items[i].fd, first, length, items[i].offset), (ssize_t)length);
		ck_assert_str_eq(first, name);
	}
	return 0;
}

static const struct sbx_plane_ops counting_ops = { .put = count_put };

static int upload(struct counting_plane *counting, const char *source, const char *dest,
	const struct sbx_ceilings *options, struct sbx_transfer_totals *totals)
{
	counting->plane.ops = &counting_ops;
	sbx_error_clear(&err);
	return sbx_upload(
		&counting->plane, &sandbox, &source, 1, dest, options, NULL, NULL, totals, &err);
}

START_TEST(sends_each_file_once_in_few_batches)
{
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	for (int i = 0; i < 5000; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "d/%d", i);
		write_file(name, name + 2);
	}
	struct counting_plane counting = { 0 };
	struct sbx_transfer_totals totals;
	ck_assert_int_eq(upload(&counting, "d", NULL, NULL, &totals), 0);
	ck_assert_uint_eq(counting.items, 5001);
	ck_assert_uint_le(counting.puts, 2);
	ck_assert_int_eq(totals.files, 5000);
	ck_assert_int_eq(totals.directories, 1);
	ck_assert_int_eq(totals.bytes, counting.bytes);
	counting = (struct counting_plane){ .fail_at = 2 };
	ck_assert_int_eq(upload(&counting, "d", NULL, NULL, &totals), -EIO);
	ck_assert_int_eq(err.kind, SBX_KIND_PARTIAL);
	ck_assert_int_eq(totals.files, (int64_t)counting.items - 1);
	directory_leave();
}
END_TEST

START_TEST(large_files_keep_descriptors_and_batches_their_bounds)
{
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	for (int i = 0; i < 200; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "d/%d", i);
		write_file(name, name + 2);
		ck_assert_int_eq(truncate(name, 100000), 0);
	}
	write_file("d/huge", "huge");
	ck_assert_int_eq(truncate("d/huge", INT64_C(100) << 20), 0);
	struct counting_plane counting = { 0 };
	struct sbx_transfer_totals totals;
	ck_assert_int_eq(upload(&counting, "d", NULL, NULL, &totals), 0);
	ck_assert_uint_eq(counting.items, 202);
	ck_assert_uint_le(counting.largest, 129);
	ck_assert_uint_eq(counting.puts, 3);
	ck_assert_int_eq(totals.bytes, INT64_C(200) * 100000 + (INT64_C(100) << 20));
	directory_leave();
}
END_TEST

START_TEST(ceilings_and_places_are_checked_before_anything_is_sent)
{
	directory_enter();
	write_file("f", "f our");
	struct counting_plane counting = { 0 };
	ck_assert_int_eq(upload(&counting, "f", "out", NULL, NULL), -EROFS);
	ck_assert_int_eq(upload(&counting, "f", "inner", NULL, NULL), -EROFS);
	ck_assert_int_eq(upload(&counting, "f", "in/../out", NULL, NULL), -EXDEV);
	struct sbx_ceilings small = { .max_file_bytes = 4 };
	ck_assert_int_eq(upload(&counting, "f", NULL, &small, NULL), -EFBIG);
	ck_assert_uint_eq(counting.puts, 0);
	struct sbx_ceilings exact = { .max_file_bytes = 5, .max_total_bytes = 5, .max_files = 1 };
	ck_assert_int_eq(upload(&counting, "f", "in/deep/", &exact, NULL), 0);
	ck_assert_uint_eq(counting.puts, 1);
	directory_leave();
}
END_TEST

static int upload_as(struct counting_plane *counting, const char *source, int fd, const char *name)
{
	*counting = (struct counting_plane){ .plane.ops = &counting_ops };
	sbx_error_clear(&err);
	return sbx_upload_as(
		&counting->plane, &sandbox, source, fd, name, NULL, NULL, NULL, NULL, NULL, &err);
}

/* What a descriptor holds is sent from its beginning, wherever it stands; small files are packed.
 */
START_TEST(one_source_lands_under_another_name)
{
	struct counting_plane counting;
	directory_enter();
	for (int size = 5; size <= 100000; size += 99995) {
		write_file("f", "named");
		ck_assert_int_eq(truncate("f", size), 0);
		int fd = open("f", O_RDWR);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(lseek(fd, 0, SEEK_END), size);
		ck_assert_int_eq(unlink("f"), 0);
		ck_assert_int_eq(upload_as(&counting, "standard input", fd, "named"), 0);
		ck_assert_int_eq(counting.bytes, size);
		ck_assert_uint_eq(counting.items, 1);
		ck_assert_int_eq(close(fd), 0);
	}
	write_file("f", "named");
	ck_assert_int_eq(upload_as(&counting, "f", -1, "named"), 0);
	ck_assert_uint_eq(counting.items, 1);
	static const char *const wrong[] = { "", ".", "..", "a/b", "/a" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_int_eq(upload_as(&counting, "f", -1, wrong[i]), -EINVAL);
		ck_assert_uint_eq(counting.puts, 0);
	}
	directory_leave();
}
END_TEST

UNIT_MAIN("upload", lists_directories_before_what_is_in_them, refuses_links_and_special_files,
	refuses_a_source_without_a_name, tells_the_hosts_failures_apart, refuses_two_for_one_place,
	does_not_send_what_was_swapped_in, sends_each_file_once_in_few_batches,
	large_files_keep_descriptors_and_batches_their_bounds,
	ceilings_and_places_are_checked_before_anything_is_sent,
	one_source_lands_under_another_name)
