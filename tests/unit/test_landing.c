/* test_landing.c: what is planted where files land is never followed and never replaced unasked. */
#include "sandbox/landing.h"

#include "directory.h"
#include "unit.h"

#include <errno.h>

static int land(const char *dest, const char *path, const char *text, bool force)
{
	struct sbx_landing landing;
	struct sbx_error err = SBX_ERROR_INIT;
	size_t number;
	ck_assert_int_eq(sbx_landing_open(&landing, dest, &err), 0);
	int fd = sbx_landing_stage(&landing, 0644, &number, &err);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(close(fd), 0);
	int result = sbx_landing_deliver(&landing, number, path, force, &err);
	sbx_landing_close(&landing);
	return result;
}

START_TEST(makes_the_destination_and_its_directories)
{
	directory_enter();
	ck_assert_int_eq(land("new", "a/b/c.txt", "hello", false), 0);
	ck_assert_str_eq(read_file("new/a/b/c.txt"), "hello");
	ck_assert_int_eq(tree_entries("new", NULL), 1);
	directory_leave();
}
END_TEST

START_TEST(replaces_only_when_forced)
{
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	write_file("d/f", "old");
	ck_assert_int_eq(sbx_landing_check("d", "f", false, false, NULL), -EEXIST);
	ck_assert_int_eq(land("d", "f", "new", false), -EEXIST);
	ck_assert_str_eq(read_file("d/f"), "old");
	ck_assert_int_eq(sbx_landing_check("d", "f", false, true, NULL), 0);
	ck_assert_int_eq(land("d", "f", "new", true), 0);
	ck_assert_str_eq(read_file("d/f"), "new");
	ck_assert_int_eq(tree_entries("d", NULL), 1);
	directory_leave();
}
END_TEST

START_TEST(never_writes_through_a_planted_link)
{
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	ck_assert_int_eq(mkdir("victim", 0755), 0);
	write_file("victim/f", "precious");
	ck_assert_int_eq(symlink("../victim", "d/dir"), 0);
	ck_assert_int_eq(symlink("../victim/f", "d/leaf"), 0);
	ck_assert_int_eq(sbx_landing_check("d", "dir/f", false, true, NULL), -ENOTDIR);
	ck_assert_int_eq(land("d", "dir/f", "evil", true), -ENOTDIR);
	ck_assert_int_eq(land("d", "leaf", "evil", false), -EEXIST);
	/* By force the link itself is replaced, its target is not touched. */
	ck_assert_int_eq(land("d", "leaf", "mine", true), 0);
	ck_assert_str_eq(read_file("d/leaf"), "mine");
	ck_assert_str_eq(read_file("victim/f"), "precious");
	ck_assert_int_eq(tree_entries("victim", NULL), 1);
	directory_leave();
}
END_TEST

START_TEST(premise_an_ordinary_open_follows_the_link)
{
	directory_enter();
	ck_assert_int_eq(mkdir("d", 0755), 0);
	write_file("victim", "precious");
	ck_assert_int_eq(symlink("../victim", "d/leaf"), 0);
	write_file("d/leaf", "evil");
	ck_assert_str_eq(read_file("victim"), "evil");
	directory_leave();
}
END_TEST

START_TEST(refuses_a_file_over_a_directory_and_the_reverse)
{
	directory_enter();
	struct sbx_landing landing;
	ck_assert_int_eq(mkdir("d", 0755), 0);
	ck_assert_int_eq(mkdir("d/sub", 0755), 0);
	write_file("d/f", "old");
	ck_assert_int_eq(sbx_landing_check("d", "sub", false, true, NULL), -EISDIR);
	ck_assert_int_eq(sbx_landing_check("d", "sub", true, false, NULL), 0);
	ck_assert_int_eq(sbx_landing_check("d", "f", true, true, NULL), -ENOTDIR);
	ck_assert_int_eq(sbx_landing_check("absent", "f", false, false, NULL), 0);
	ck_assert_int_lt(land("d", "sub", "x", true), 0);
	ck_assert_int_eq(sbx_landing_open(&landing, "d", NULL), 0);
	ck_assert_int_eq(sbx_landing_directory(&landing, "sub", NULL), 0);
	ck_assert_int_eq(sbx_landing_directory(&landing, "f", NULL), -ENOTDIR);
	sbx_landing_close(&landing);
	directory_leave();
}
END_TEST

START_TEST(leaves_nothing_when_nothing_was_delivered)
{
	directory_enter();
	struct sbx_landing landing;
	size_t number;
	ck_assert_int_eq(sbx_landing_open(&landing, "new", NULL), 0);
	int fd = sbx_landing_stage(&landing, 0644, &number, NULL);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	sbx_landing_close(&landing);
	ck_assert_int_eq(access("new", F_OK), -1);
	ck_assert_int_eq(sbx_landing_open(&landing, "no/parent", NULL), -ENOENT);
	directory_leave();
}
END_TEST

START_TEST(never_lands_set_id_bits_and_stays_readable)
{
	directory_enter();
	struct sbx_landing landing;
	size_t number;
	struct stat st;
	mode_t old = umask(022);
	ck_assert_int_eq(sbx_landing_open(&landing, "d", NULL), 0);
	int fd = sbx_landing_stage(&landing, 07777, &number, NULL);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0755);
	ck_assert_int_eq(close(fd), 0);
	fd = sbx_landing_stage(&landing, 0, &number, NULL);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(close(fd), 0);
	sbx_landing_close(&landing);
	umask(old);
	directory_leave();
}
END_TEST

START_TEST(refuses_parts_that_leave_the_destination)
{
	directory_enter();
	static const char *const paths[] = { "../f", "a/../../f", "/f", "a//f", "./f", "", "a/.." };
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		ck_assert_int_lt(land("d", paths[i], "x", true), 0);
	ck_assert_int_eq(access("f", F_OK), -1);
	directory_leave();
}
END_TEST

START_TEST(says_whether_a_destination_is_possible)
{
	directory_enter();
	write_file("file", "");
	ck_assert_int_eq(sbx_landing_possible("new", NULL), 0);
	ck_assert_int_eq(sbx_landing_possible("new/", NULL), 0);
	ck_assert_int_eq(sbx_landing_possible(".", NULL), 0);
	ck_assert_int_eq(sbx_landing_possible("no/parent", NULL), -ENOENT);
	ck_assert_int_eq(sbx_landing_possible("file", NULL), -ENOTDIR);
	ck_assert_int_eq(sbx_landing_possible("file/below", NULL), -ENOTDIR);
	ck_assert_int_eq(access("new", F_OK), -1);
	directory_leave();
}
END_TEST

UNIT_MAIN("landing", says_whether_a_destination_is_possible,
	makes_the_destination_and_its_directories, replaces_only_when_forced,
	never_writes_through_a_planted_link, premise_an_ordinary_open_follows_the_link,
	refuses_a_file_over_a_directory_and_the_reverse, leaves_nothing_when_nothing_was_delivered,
	never_lands_set_id_bits_and_stays_readable, refuses_parts_that_leave_the_destination)
