/*
 * test_in_rename.c: renames under in/: what is replaced when, and what is on record meanwhile.
 */
#include "in_mount.h"

#include "base/log.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

/* `mv -n`. */
static int rename_only_new(uint64_t parent, const char *from, const char *to)
{
	struct fuse_rename2_in in = { .newdir = parent, .flags = RENAME_NOREPLACE };
	char names[2 * PATH_SIZE], body[sizeof(in) + sizeof(names)];
	int size = snprintf(names, sizeof(names), "%s%c%s", from, '\0', to) + 1;
	memcpy(body, &in, sizeof(in));
	memcpy(body + sizeof(in), names, (size_t)size);
	uint64_t unique = tell(FUSE_RENAME2, parent, body, sizeof(in) + (size_t)size);
	return answer(unique, NULL, 0, NULL);
}

/* What the guest made after the kernel looked. */
START_TEST(one_that_may_not_replace_does_not)
{
	prepare();
	guest_has("in/there", "guest", false);
	begin();
	uint64_t in = in_dir();
	(void)save(in, "landed", "ours");
	(void)save(in, "x.part", "ours");
	ck_assert_int_eq(rename_only_new(in, "landed", "there"), EEXIST);
	ck_assert_int_eq(rename_only_new(in, "x.part", "there"), EEXIST);
	assert_guest_has("in/there", "guest");
	ck_assert(!was_done("mv"));
	ck_assert_int_eq(rename_only_new(in, "landed", "new"), 0);
	ck_assert_int_eq(rename_only_new(in, "x.part", "newer"), 0);
	assert_guest_has("in/new", "ours");
	assert_guest_has("in/newer", "ours");
	finish();
}
END_TEST

/* Also while a file is sent that it has to wait for, and where the new name is sent later. */
START_TEST(one_that_waits_does_not_replace_either)
{
	prepare();
	guest_has("in/there", "guest", false);
	options.async = true;
	begin();
	uint64_t in = in_dir();
	stall("put");
	(void)save(in, "waits", "ours");
	wait_until_stalled();
	struct fuse_rename2_in body = { .newdir = in, .flags = RENAME_NOREPLACE };
	char bytes[sizeof(body) + 12];
	memcpy(bytes, &body, sizeof(body));
	memcpy(bytes + sizeof(body), "waits\0there", 12);
	uint64_t rename = tell(FUSE_RENAME2, in, bytes, sizeof(bytes));
	assert_silent(100);
	stall(NULL);
	ck_assert_int_eq(answer(rename, NULL, 0, NULL), EEXIST);
	(void)save(in, "x.part", "ours");
	ck_assert_int_eq(rename_only_new(in, "x.part", "there"), 0);
	wait_until_done("put in/there");
	assert_guest_has("in/there", "guest");
	finish();
}
END_TEST

/* The disk is full: neither of two acknowledged files may be on record as the other. */
START_TEST(a_rename_that_cannot_be_recorded_fails)
{
	struct rlimit limit, none;
	prepare();
	begin();
	uint64_t in = in_dir();
	(void)save(in, "old.part", "old");
	(void)save(in, "new.part", "newer");
	(void)signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	int result = answer(begin_rename(in, "new.part", "old.part"), NULL, 0, NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(result, EFBIG);
	end();
	struct sbx_staged_list list = left_over();
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.rows[0].path, "in/old.part");
	ck_assert_int_eq(list.rows[0].size, 3);
	ck_assert_str_eq(list.rows[1].path, "in/new.part");
	ck_assert(!list.rows[0].damaged && !list.rows[1].damaged);
	sbx_staged_list_finish(&list);
	directory_leave();
}
END_TEST

static struct open_file rewritten(uint64_t in, const char *name)
{
	struct open_file file = open_node(save(in, name, "old").node, O_WRONLY | O_TRUNC);
	write_text(file, "newer");
	return file;
}

/* A changed file that the guest has is sent under its new name, then removed under the old. */
START_TEST(what_cannot_be_removed_replaces_nothing)
{
	prepare();
	guest_has("in/target", "guest", false);
	begin();
	uint64_t in = in_dir();
	(void)rewritten(in, "a");
	sbx_views_by_name(&fs, "box")->sandbox.container.state = SBX_STATE_EXITED;
	ck_assert_int_eq(answer(begin_rename(in, "a", "target"), NULL, 0, NULL), EOPNOTSUPP);
	assert_guest_has("in/target", "guest");
	finish();
}
END_TEST

static char line[256]; /* the last of the log */

static void keep_line(enum sbx_log_level level, const char *text)
{
	(void)level;
	(void)snprintf(line, sizeof(line), "%s", text);
}

/* Whether an image has an rm is known when it has failed: the error says what it left. */
START_TEST(what_was_replaced_in_vain_is_told)
{
	prepare();
	guest_has("in/target", "guest", false);
	begin();
	uint64_t in = in_dir();
	(void)rewritten(in, "a");
	no_commands = true;
	sbx_log_set_sink(keep_line);
	ck_assert_int_eq(answer(begin_rename(in, "a", "target"), NULL, 0, NULL), EOPNOTSUPP);
	assert_guest_has("in/target", "newer");
	ck_assert_msg(strstr(line, "\"in/target\" holds the new content already"), "%s", line);
	finish();
}
END_TEST

UNIT_MAIN("in_rename", one_that_may_not_replace_does_not, one_that_waits_does_not_replace_either,
	a_rename_that_cannot_be_recorded_fails, what_cannot_be_removed_replaces_nothing,
	what_was_replaced_in_vain_is_told)
