/* test_staging.c: what was recorded comes back after a crash, exactly; the rest is told apart. */
#include "staging_store.h"

#include "../../fs/staging_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static struct sbx_staged_list recover(struct sbx_staging *staging)
{
	struct sbx_staged_list list;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_msg(!sbx_staging_recover(staging, &list, &err), "%s", err.message);
	return list;
}

/* The only store's file of that name. */
static char *file_path(const char *root, uint64_t sequence, const char *suffix)
{
	char name[NAME_MAX + 1];
	ck_assert_int_eq(tree_entries(root, name), 1);
	return sbx_printf("%s/%s/%016llx%s", root, name, (unsigned long long)sequence, suffix);
}

START_TEST(gives_back_after_a_crash_what_was_recorded)
{
	char *root = make_root();
	pid_t child = fork();
	if (!child) {
		struct sbx_staging *staging = open_store(root);
		stage(staging, "in/caf\xc3\xa9", "hello", false);
		stage(staging, "in/not\xffutf8\n", "", false);
		uint64_t unrecorded;
		int fd;
		if (sbx_staging_create(staging, &unrecorded, &fd, NULL) || write(fd, "x", 1) != 1)
			_exit(1);
		_exit(0); /* no close: as if killed */
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	struct sbx_staging *staging = open_store(root);
	struct sbx_staged_list list = recover(staging);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.rows[0].path, "in/caf\xc3\xa9");
	ck_assert_str_eq(list.rows[1].path, "in/not\xffutf8\n");
	ck_assert_str_eq(list.rows[0].sandbox_id, "ab12");
	ck_assert_str_eq(list.rows[0].reason, "the engine does not answer");
	ck_assert(list.rows[0].mode == 0640 && list.rows[0].mtime_ns == 123456789);
	ck_assert(list.rows[0].only_new && !list.rows[0].local);
	ck_assert(!list.rows[0].damaged && !list.rows[1].damaged);
	ck_assert(list.rows[0].attempts == 2 && list.rows[0].errnum == EHOSTDOWN);
	char bytes[8] = "";
	int fd;
	ck_assert_int_eq(sbx_staging_reopen(staging, list.rows[0].sequence, &fd, NULL), 0);
	ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 0), 5);
	ck_assert_str_eq(bytes, "hello");
	ck_assert_int_eq(close(fd), 0);
	/* Bytes without a record are gone, and their number is not given out again. */
	cleanup_free char *litter = file_path(root, 3, ".data");
	ck_assert_int_eq(access(litter, F_OK), -1);
	ck_assert_uint_eq(stage(staging, "in/z", "z", false), 4);
	sbx_staged_list_finish(&list);
	sbx_staging_close(staging);
	remove_root(root);
}
END_TEST

START_TEST(marks_what_may_not_be_what_was_meant)
{
	char *root = make_root();
	struct sbx_staging *staging = open_store(root);
	uint64_t cut = stage(staging, "in/cut", "bytes", false);
	uint64_t missing = stage(staging, "in/missing", "bytes", false);
	uint64_t grown = stage(staging, "in/grown", "bytes", false);
	stage(staging, "in/open", "bytes", true);
	stage(staging, "in/good", "bytes", false);
	cleanup_free char *cut_path = file_path(root, cut, ".json");
	ck_assert_int_eq(truncate(cut_path, 30), 0);
	cleanup_free char *unfinished = sbx_printf("%s.tmp", cut_path);
	int fd = open(unfinished, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	cleanup_free char *missing_path = file_path(root, missing, ".data");
	ck_assert_int_eq(unlink(missing_path), 0);
	cleanup_free char *grown_path = file_path(root, grown, ".data");
	ck_assert_int_eq(truncate(grown_path, 4096), 0);
	sbx_staging_close(staging);

	staging = open_store(root);
	struct sbx_staged_list list = recover(staging);
	ck_assert_uint_eq(list.count, 5);
	for (size_t i = 0; i < 4; i++)
		ck_assert_msg(list.rows[i].damaged && list.rows[i].reason, "row %zu", i);
	ck_assert_str_eq(list.rows[1].reason, "the staged bytes are missing");
	ck_assert(!list.rows[4].damaged);
	ck_assert_int_eq(access(unfinished, F_OK), -1);
	sbx_staged_list_finish(&list);
	sbx_staging_close(staging);
	remove_root(root);
}
END_TEST

START_TEST(is_private_locked_and_gone_when_empty)
{
	char *root = make_root();
	struct sbx_staging *staging = open_store(root);
	struct sbx_staging *second = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	struct stat st;
	ck_assert_int_eq(
		sbx_staging_open(root, "0123456789abcdef", "", "/mnt/x", &second, &err), -EBUSY);
	ck_assert_int_eq(err.kind, SBX_KIND_CONFLICT);
	ck_assert_int_eq(
		sbx_staging_open(root, "0123456789abcdef", "", "/mnt/y", &second, &err), 0);
	sbx_staging_close(second);
	uint64_t sequence = stage(staging, "in/a", "a", false);
	cleanup_free char *path = file_path(root, sequence, ".data");
	ck_assert(stat(root, &st) == 0 && (st.st_mode & 07777) == 0700);
	ck_assert(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
	*strrchr(path, '/') = '\0';
	ck_assert(stat(path, &st) == 0 && (st.st_mode & 07777) == 0700);
	sbx_staging_close(staging);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(
		sbx_staging_open_existing(root, strrchr(path, '/') + 1, &staging, &err), 0);
	ck_assert_str_eq(sbx_staging_mount_dir(staging), "/mnt/x");
	struct sbx_staged_list list = recover(staging);
	ck_assert_uint_eq(list.count, 1);
	sbx_staged_list_finish(&list);
	ck_assert_int_eq(sbx_staging_forget(staging, sequence, &err), 0);
	sbx_staging_close(staging);
	ck_assert_int_eq(access(path, F_OK), -1);
	remove_root(root);
}
END_TEST

START_TEST(refuses_a_link_in_its_place)
{
	char *root = make_root();
	struct sbx_staging *staging = open_store(root);
	struct sbx_error err = SBX_ERROR_INIT;
	uint64_t sequence = stage(staging, "in/a", "a", false);
	cleanup_free char *store = file_path(root, sequence, "");
	*strrchr(store, '/') = '\0';
	sbx_staging_close(staging);
	cleanup_free char *moved = sbx_printf("%s-moved", store);
	ck_assert_int_eq(rename(store, moved), 0);
	ck_assert_int_eq(symlink(moved, store), 0);
	ck_assert_int_eq(
		sbx_staging_open(root, "0123456789abcdef", "", "/mnt/x", &staging, &err), -EPERM);
	remove_root(root);
}
END_TEST

static int note(struct sbx_staging *staging, uint64_t sequence, const char *path, int fd)
{
	const struct sbx_staged staged = { .sequence = sequence,
		.sandbox_id = (char *)"ab12",
		.sandbox_name = (char *)"box",
		.path = (char *)path,
		.mode = 0644,
		.size = 1 };
	return sbx_staging_record(staging, &staged, fd, false, NULL);
}

/* The path on record after a crash; NULL: none is. */
static const char *path_after_crash(char *root, struct sbx_staging **staging)
{
	static char path[64];
	sbx_staging_close(*staging);
	*staging = open_store(root);
	struct sbx_staged_list list = recover(*staging);
	ck_assert_uint_le(list.count, 1);
	ck_assert(!list.count || !list.rows[0].damaged);
	(void)snprintf(path, sizeof(path), "%s", list.count ? list.rows[0].path : "");
	sbx_staged_list_finish(&list);
	return *path ? path : NULL;
}

/* Where the file system has no attributes all of it is in names, and the same holds. */
START_TEST(the_newest_record_counts_wherever_it_is)
{
	char *root = make_root();
	struct sbx_staging *staging = open_store(root);
	struct sbx_error err = SBX_ERROR_INIT;
	uint64_t sequence;
	int fd;
	ck_assert_int_eq(sbx_staging_create(staging, &sequence, &fd, &err), 0);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	ck_assert_int_eq(note(staging, sequence, "in/attribute", fd), 0);
	ck_assert_str_eq(path_after_crash(root, &staging), "in/attribute");
	ck_assert_int_eq(note(staging, sequence, "in/name", -1), 0);
	ck_assert_str_eq(path_after_crash(root, &staging), "in/name");
	ck_assert_int_eq(note(staging, sequence, "in/newest", fd), 0);
	ck_assert_str_eq(path_after_crash(root, &staging), "in/newest");
	/* It landed; its bytes stay for those who have it open. None of the older ones comes back.
	 */
	ck_assert_int_eq(sbx_staging_forget_record(staging, sequence, fd, &err), 0);
	cleanup_free char *data = file_path(root, sequence, ".data");
	ck_assert_int_eq(access(data, F_OK), 0);
	ck_assert_ptr_null(path_after_crash(root, &staging));
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(sbx_staging_create(staging, &sequence, &fd, &err), 0);
	ck_assert_int_eq(note(staging, sequence, "in/gone", fd), 0);
	ck_assert_int_eq(sbx_staging_forget(staging, sequence, &err), 0);
	ck_assert_ptr_null(path_after_crash(root, &staging));
	ck_assert_int_eq(close(fd), 0);
	sbx_staging_close(staging);
	remove_root(root);
}
END_TEST

/* What landed serves the next file, which begins empty, is a later one, and has no record. */
START_TEST(a_file_that_is_done_with_is_used_again)
{
	char *root = make_root();
	struct sbx_staging *staging = open_store(root);
	struct sbx_error err = SBX_ERROR_INIT;
	uint64_t first, second;
	struct stat before, after;
	int fd;
	ck_assert_int_eq(sbx_staging_create(staging, &first, &fd, &err), 0);
	ck_assert_int_eq(write(fd, "secret", 6), 6);
	ck_assert_int_eq(note(staging, first, "in/old", fd), 0);
	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(sbx_staging_recycle(staging, first, fd, &err), 0);
	ck_assert_int_eq(close(fd), 0);
	cleanup_free char *spare = file_path(root, first, ".data");
	ck_assert_int_eq(stat(spare, &after), 0);
	ck_assert(after.st_size == 0 && after.st_blocks == 0); /* the bytes are gone now */
	ck_assert_int_eq(getxattr(spare, "user.sbxfs.record", NULL, 0), -1);
	ck_assert_int_eq(sbx_staging_create(staging, &second, &fd, &err), 0);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_uint_eq(after.st_ino, before.st_ino);
	ck_assert_int_eq(after.st_size, 0);
	ck_assert_int_eq(after.st_mode & 07777, 0600);
	ck_assert_uint_gt(second, first);
	ck_assert_int_eq(access(spare, F_OK), -1);
	ck_assert_ptr_null(path_after_crash(root, &staging));
	ck_assert_int_eq(close(fd), 0);
	sbx_staging_close(staging);
	remove_root(root);
}
END_TEST

/* A store that keeps a record keeps no spares; nor are there ever more than so many. */
START_TEST(spares_are_few_and_end_with_the_store)
{
	char *root = make_root();
	struct sbx_staging *staging = open_store(root);
	struct sbx_error err = SBX_ERROR_INIT;
	static uint64_t sequences[SBX_STAGING_SPARES + 10];
	char name[NAME_MAX + 1];
	int fd;
	for (size_t i = 0; i < SBX_STAGING_SPARES + 10; i++) {
		ck_assert_int_eq(sbx_staging_create(staging, &sequences[i], &fd, &err), 0);
		ck_assert_int_eq(close(fd), 0);
	}
	(void)stage(staging, "in/kept", "kept", false);
	for (size_t i = 0; i < SBX_STAGING_SPARES + 10; i++)
		ck_assert_int_eq(sbx_staging_recycle(staging, sequences[i], -1, &err), 0);
	ck_assert_int_eq(tree_entries(root, name), 1);
	cleanup_free char *store = sbx_printf("%s/%s", root, name);
	/* about.json, the record and its data. */
	ck_assert_int_eq(tree_entries(store, name), SBX_STAGING_SPARES + 3);
	sbx_staging_close(staging);
	ck_assert_int_eq(tree_entries(store, name), 3);
	remove_root(root);
}
END_TEST

UNIT_MAIN("staging", a_file_that_is_done_with_is_used_again, spares_are_few_and_end_with_the_store,
	the_newest_record_counts_wherever_it_is, gives_back_after_a_crash_what_was_recorded,
	marks_what_may_not_be_what_was_meant, is_private_locked_and_gone_when_empty,
	refuses_a_link_in_its_place)
