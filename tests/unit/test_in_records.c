/*
 * test_in_records.c: what is on record of files under in/ while they are sent and after that
 * failed, so that neither a crash nor a full disk makes anything of it that was not meant.
 */
#include "in_mount.h"

#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/xattr.h>

/* Of the only file that is staged, wherever its record is. */
static bool record_says(const char *what)
{
	cleanup_free char *names = sbx_printf("%s/staging/*/0*.json", directory);
	cleanup_free char *data = sbx_printf("%s/staging/*/0*.data", directory);
	char text[4096] = "";
	glob_t found;
	int missing = glob(names, 0, NULL, &found);
	if (missing) {
		ck_assert_int_eq(glob(data, 0, NULL, &found), 0);
		ck_assert_int_gt(
			getxattr(found.gl_pathv[0], "user.sbxfs.record", text, sizeof(text) - 1),
			0);
	}
	ck_assert_uint_eq(found.gl_pathc, 1);
	bool says = strstr(missing ? text : read_file(found.gl_pathv[0]), what);
	globfree(&found);
	return says;
}

/* Killed before a byte of it was sent, the next mount must not replace what the guest has. */
START_TEST(only_what_may_be_there_in_part_may_be_replaced)
{
	prepare();
	leave_new_file("in/x", "ours");
	stall("put in/x");
	puts_fail = true;
	begin();
	wait_until_stalled();
	ck_assert(record_says("\"only_new\":true"));
	stall(NULL);
	wait_until_done("put in/x");
	for (int tries = 0; record_says("\"attempts\":0") && tries < 300; tries++)
		usleep(10000);
	ck_assert(record_says("\"only_new\":false"));
	finish();
}
END_TEST

static void allow_writing(bool allow)
{
	struct rlimit limit;
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = allow ? limit.rlim_max : 0;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The disk is full: what could not be recorded is not taken for recorded. */
START_TEST(a_failure_that_cannot_be_recorded_is_not)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	struct open_file file = create(in, "x");
	write_text(file, "text");
	puts_fail = true;
	allow_writing(false);
	int result = answer(begin_flush(file), NULL, 0, NULL);
	assert_silent(100);
	allow_writing(true);
	ck_assert_int_eq(result, EIO);
	const struct sbx_in_file *staged = sbx_in_file_find(sbx_views_by_name(&fs, "box"), "in/x");
	ck_assert(!staged->recorded && !staged->noted_version && !staged->kept_version);
	finish();
}
END_TEST

/* It landed all the same: nothing is left to be sent. */
START_TEST(what_landed_in_a_sandbox_that_went_is_not_pending)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	struct open_file file = create(in, "x");
	write_text(file, "text");
	stall("put in/x");
	uint64_t flush = begin_flush(file);
	wait_until_stalled();
	remove_sandbox();
	ck_assert_int_eq(answer(flush, NULL, 0, NULL), ESTALE);
	stall(NULL);
	wait_until_done("put in/x");
	assert_silent(100);
	ck_assert_uint_eq(fs.in->orphans.count, 0);
	finish();
}
END_TEST

/* Nothing would ever take the bytes: a shell, which looks at no close, hears of it too. */
START_TEST(nothing_is_written_to_a_sandbox_that_went)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	struct open_file file = create(in, "x");
	write_text(file, "kept");
	remove_sandbox();
	int result = 0; /* until the loop has heard of it */
	for (int tries = 0; !result && tries < 500; tries++) {
		assert_silent(10);
		result = answer(begin_write(file, "kept"), NULL, 0, NULL);
	}
	ck_assert_int_eq(result, ESTALE);
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), ESTALE);
	ck_assert_uint_eq(fs.in->orphans.count, 1);
	ck_assert_str_eq(fs.in->orphans.rows[0].path, "in/x");
	ck_assert_int_eq(fs.in->orphans.rows[0].size, strlen("kept"));
	finish();
}
END_TEST

/* Thousands may wait for an engine that is away. */
START_TEST(what_failed_is_closed_until_it_is_used)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	puts_fail = true;
	struct open_file file = create(in, "x");
	write_text(file, "text");
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), EIO);
	release(file);
	for (int tries = 0; descriptors() && tries < 50; tries++)
		usleep(10000);
	ck_assert_int_eq(descriptors(), 0);
	assert_reads(open_node(file.node, O_RDONLY), "text");
	puts_fail = false;
	wait_until_done("put in/x; put in/x");
	assert_guest_has("in/x", "text");
	finish();
}
END_TEST

UNIT_MAIN("in_records", only_what_may_be_there_in_part_may_be_replaced,
	a_failure_that_cannot_be_recorded_is_not, what_landed_in_a_sandbox_that_went_is_not_pending,
	nothing_is_written_to_a_sandbox_that_went, what_failed_is_closed_until_it_is_used)
