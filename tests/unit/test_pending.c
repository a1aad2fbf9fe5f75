/* test_pending.c: what no mount holds can be listed, saved and discarded, and nothing else is
 * touched. */
#include "pending.h"
#include "staging_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct told {
	unsigned done, failed;
	int errnum;
};

static void tell(void *data, const struct sbx_pending_row *row, const struct sbx_error *failure)
{
	struct told *told = data;
	if (!failure) {
		told->done++;
		return;
	}
	told->failed++;
	told->errnum = failure->errnum;
}

START_TEST(lists_and_discards_what_no_mount_holds)
{
	char *root = make_root();
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_pending pending;
	ck_assert_int_eq(sbx_pending_list(root, NULL, &pending, &err), 0);
	ck_assert_uint_eq(pending.count, 0);
	struct sbx_staging *staging = open_store(root);
	stage(staging, "in/a", "a", false);
	stage(staging, "in/b", "b", true);
	ck_assert_int_eq(sbx_pending_list(root, NULL, &pending, &err), 0);
	ck_assert(pending.count == 0 && pending.live_count == 1);
	ck_assert_str_eq(pending.live[0], "/mnt/x");
	sbx_pending_finish(&pending);
	ck_assert_int_eq(sbx_pending_discard(root, NULL, NULL, NULL, &err), 0);
	sbx_staging_close(staging);

	struct sbx_pending_filter other = { .sandbox = "other" };
	struct sbx_pending_filter box = { .sandbox = "box", .mount_dir = "/mnt/x" };
	ck_assert_int_eq(sbx_pending_list(root, &other, &pending, &err), 0);
	ck_assert_uint_eq(pending.count, 0);
	ck_assert_int_eq(sbx_pending_list(root, &box, &pending, &err), 0);
	ck_assert_uint_eq(pending.count, 2);
	ck_assert(!pending.rows[0].staged.damaged && pending.rows[1].staged.damaged);
	sbx_pending_finish(&pending);
	struct told told = { 0 };
	ck_assert_int_eq(sbx_pending_discard(root, &box, tell, &told, &err), 2);
	ck_assert(told.done == 2 && told.failed == 0);
	ck_assert_int_eq(sbx_pending_list(root, NULL, &pending, &err), 0);
	ck_assert(pending.count == 0 && pending.live_count == 0);
	remove_root(root);
}
END_TEST

START_TEST(saves_whole_files_and_replaces_nothing)
{
	char *root = make_root();
	struct sbx_error err = SBX_ERROR_INIT;
	struct stat st;
	struct sbx_staging *staging = open_store(root);
	stage(staging, "in/dir/a", "hello", false);
	stage(staging, "../../escape", "evil", false);
	sbx_staging_close(staging);
	cleanup_free char *directory = sbx_printf("%s/../../saved", root);
	struct told told = { 0 };
	ck_assert_int_eq(sbx_pending_save(root, NULL, directory, tell, &told, &err), -EIO);
	ck_assert_int_eq(err.kind, SBX_KIND_PARTIAL);
	ck_assert(told.done == 1 && told.failed == 1 && told.errnum == EXDEV);
	cleanup_free char *path = sbx_printf("%s/box/in/dir/a", directory);
	ck_assert(stat(path, &st) == 0 && st.st_size == 5 && (st.st_mode & 07777) == 0640);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 123456789);
	ck_assert_int_eq(sbx_pending_save(root, NULL, directory, tell, &told, &err), -EIO);
	ck_assert(told.done == 1 && told.failed == 3);

	/* A link planted at the destination is not entered. */
	cleanup_free char *box = sbx_printf("%s/box", directory);
	cleanup_free char *moved = sbx_printf("%s/moved", directory);
	ck_assert(rename(box, moved) == 0 && symlink("moved", box) == 0 && unlink(path) == 0);
	ck_assert_int_eq(sbx_pending_save(root, NULL, directory, NULL, NULL, &err), -EIO);
	ck_assert_int_eq(stat(path, &st), -1);
	remove_root(root);
}
END_TEST

UNIT_MAIN("pending", lists_and_discards_what_no_mount_holds, saves_whole_files_and_replaces_nothing)
