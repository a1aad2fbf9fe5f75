/*
 * test_in_files.c: what becomes of files under in/, with the mount's loop spoken to as the kernel
 * does and a guest that is a table: what is sent when, under which name, and what is kept.
 */
#include "in_mount.h"

/* The closes of a copy that was acknowledged are gathered; the directory gets another name while
 * they are. */
START_TEST(what_is_gathered_goes_along_with_its_directory)
{
	prepare();
	options.async = true;
	begin();
	uint64_t in = in_dir();
	ck_assert_int_eq(make_directory(in, "tmp"), 0);
	(void)save(node_of(in, "tmp"), "x", "hello");
	stall("mv");
	uint64_t rename = begin_rename(in, "tmp", "final");
	wait_until_stalled();
	usleep((SBX_IN_QUIET_MS + 300) * 1000); /* its turn to be sent comes meanwhile */
	stall(NULL);
	ck_assert_int_eq(answer(rename, NULL, 0, NULL), 0);
	wait_until_done("put in/final/x");
	assert_guest_has("in/final/x", "hello");
	ck_assert(!was_done("put in/tmp/x"));
	finish();
}
END_TEST

/* Its writer still waits for the upload when another file takes the name. */
START_TEST(what_was_replaced_is_not_sent_over_its_successor)
{
	prepare();
	guest_has("in/a", "new", false);
	begin();
	uint64_t in = in_dir();
	(void)node_of(in, "a");
	struct open_file first = create(in, "first"), old = create(in, "b");
	write_text(first, "1");
	write_text(old, "old");
	stall("put in/first");
	uint64_t first_flush = begin_flush(first);
	wait_until_stalled();
	uint64_t old_flush = begin_flush(old);
	uint64_t rename = begin_rename(in, "a", "b");
	assert_silent(50);
	stall(NULL);
	ck_assert_int_eq(answer(first_flush, NULL, 0, NULL), 0);
	ck_assert_int_eq(answer(old_flush, NULL, 0, NULL), 0);
	ck_assert_int_eq(answer(rename, NULL, 0, NULL), 0);
	assert_silent(100);
	assert_guest_has("in/b", "new");
	ck_assert(!was_done("put in/b"));
	finish();
}
END_TEST

/* The mount ends while a writer is in the middle: closing its file for it must not pass off half as
 * whole, neither to the guest nor to the next mount. */
START_TEST(half_a_file_is_never_taken_for_a_whole_one)
{
	for (int async = 0; async < 2; async++) {
		prepare();
		options.async = async;
		begin();
		uint64_t in = in_dir();
		write_text(create(in, "half"), "ha");
		write_text(create(in, "a.part"), "temp");
		(void)create(in, "blank");
		end();
		ck_assert_msg(!was_done("put"), "%s", done);
		struct sbx_staged_list list = left_over();
		ck_assert_uint_eq(list.count, 2);
		ck_assert_str_eq(list.rows[0].path, "in/half");
		ck_assert_str_eq(list.rows[1].path, "in/a.part");
		ck_assert(list.rows[0].damaged && list.rows[1].damaged);
		sbx_staged_list_finish(&list);
		directory_leave();
	}
}
END_TEST

/* Others use the mount meanwhile. */
START_TEST(a_sandbox_that_goes_stops_nobody_for_a_disk)
{
	prepare();
	options.async = true;
	begin();
	uint64_t in = in_dir();
	(void)save(in, "x", "hello");
	(void)save(in, "y", "hello");
	remove_sandbox();
	assert_silent(50);
	for (int tries = 0; fs.in->orphans.count != 2 && tries < 300; tries++)
		assert_silent(10);
	ck_assert_uint_eq(fs.in->orphans.count, 2);
	ck_assert_int_eq(syncs_of_the_loop, 0);
	finish();
}
END_TEST

static void it_goes_and_comes_back(size_t left)
{
	remove_sandbox();
	for (int tries = 0; fs.in->orphans.count != left && tries < 300; tries++)
		assert_silent(10);
	ck_assert_uint_eq(fs.in->orphans.count, left);
	show_sandbox();
}

/* A rule by name, and `docker rename` there and back: what was closed is sent, what was still being
 * written is half of something. */
START_TEST(a_sandbox_that_comes_back_gets_what_was_closed)
{
	prepare();
	options.async = true;
	begin();
	uint64_t in = in_dir();
	write_text(create(in, "half"), "hal");
	(void)save(in, "whole", "hello");
	it_goes_and_comes_back(2);
	wait_until_done("put in/whole");
	assert_silent(200);
	ck_assert(!was_done("put in/half"));
	finish();
}
END_TEST

/* Its staged bytes are of use for nothing else while somebody reads them. */
START_TEST(who_has_a_file_open_keeps_its_bytes_when_it_lands_from_another_view)
{
	prepare();
	options.async = true;
	options.entry_timeout_ms = 50;
	begin();
	uint64_t in = in_dir();
	struct open_file reader = open_node(save(in, "f", "old bytes").node, O_RDONLY);
	it_goes_and_comes_back(1);
	wait_until_done("put in/f");
	assert_silent(300); /* and it is the guest's alone */
	ck_assert_int_eq(descriptors(), 1);
	assert_reads(reader, "old bytes");
	finish();
}
END_TEST

/* Enough names for the engine to be asked for all of them. */
static void have_it_listed(uint64_t parent)
{
	for (int i = 0; i <= 16; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "no%d", i);
		ck_assert(!was_done("list"));
		ck_assert(!is_there(parent, name));
	}
	ck_assert(was_done("list"));
}

/* tar and others remove a name to make it anew, and would be told that it is there. */
START_TEST(a_removed_name_is_gone_at_once)
{
	prepare();
	guest_has("in/a", "old", false);
	begin();
	uint64_t in = in_dir();
	have_it_listed(in);
	ck_assert(is_there(in, "a"));
	ck_assert_int_eq(unlink_name(in, "a"), 0);
	ck_assert(was_done("rm in/a"));
	ck_assert(!is_there(in, "a"));
	(void)save(in, "a", "new");
	assert_guest_has("in/a", "new");
	finish();
}
END_TEST

/* mkdir -p looks again when it is told so. */
START_TEST(a_directory_that_is_there_already_is_found)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	have_it_listed(in);
	guest_has("in/d", "", true);
	ck_assert_int_eq(make_directory(in, "d"), EEXIST);
	ck_assert(is_there(in, "d"));
	finish();
}
END_TEST

/* Else each file made later would be remembered for as long as the mount lives. */
START_TEST(names_are_forgotten_when_their_listing_is_old)
{
	prepare();
	options.entry_timeout_ms = 100;
	begin();
	uint64_t in = in_dir();
	have_it_listed(in);
	const struct sbx_in_view *home = sbx_in_home(sbx_views_by_name(&fs, "box"));
	ck_assert_ptr_nonnull(home->names);
	usleep(300 * 1000);
	(void)create(in, "x");
	ck_assert_ptr_null(home->names);
	finish();
}
END_TEST

/* The kernel remembers nodes for long, thousands of them. */
START_TEST(a_file_that_was_removed_while_open_is_closed_with_it)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	struct open_file file = create(in, "x");
	write_text(file, "text");
	ck_assert_int_eq(unlink_name(in, "x"), 0);
	ck_assert_int_eq(descriptors(), 1); /* it can still be read */
	release(file);
	/* RELEASE is answered before its file is put away. */
	for (int tries = 0; descriptors() != 0 && tries < 300; tries++)
		(void)nanosleep(
			&(struct timespec){ .tv_nsec = 10000000 }, NULL); /* cut short is fine */
	ck_assert_int_eq(descriptors(), 0);
	finish();
}
END_TEST

/* Nobody asks the mount for anything after that. */
START_TEST(a_file_that_landed_by_itself_is_closed)
{
	prepare();
	options.async = true;
	options.entry_timeout_ms = 50;
	begin();
	(void)save(in_dir(), "x", "text");
	wait_until_done("put in/x");
	for (int i = 0; i < 1000 && descriptors(); i++)
		usleep(5000);
	ck_assert_int_eq(descriptors(), 0);
	finish();
}
END_TEST

/* Removing or renaming ours does nothing to what the guest made under that name. */
START_TEST(the_guests_own_file_outlives_one_that_may_not_replace_it)
{
	prepare();
	guest_has("in/x", "guest", false);
	guest_has("in/y", "guest", false);
	leave_new_file("in/x", "ours");
	leave_new_file("in/y", "ours");
	begin();
	uint64_t in = in_dir();
	wait_until_done("put in/x");
	wait_until_done("put in/y");
	assert_guest_has("in/x", "guest");
	ck_assert(is_there(in, "x"));
	ck_assert_int_eq(unlink_name(in, "x"), 0);
	ck_assert(is_there(in, "y"));
	ck_assert_int_eq(answer(begin_rename(in, "y", "z"), NULL, 0, NULL), 0);
	ck_assert(!was_done("rm"));
	assert_guest_has("in/x", "guest");
	assert_guest_has("in/y", "guest");
	assert_guest_has("in/z", "ours");
	finish();
}
END_TEST

static void guest_has_large(const char *path)
{
	pthread_mutex_lock(&guest_lock);
	add_row(path, "", false)->size = LARGE;
	pthread_mutex_unlock(&guest_lock);
}

static void assert_mode(uint64_t chmod, uint32_t mode)
{
	struct fuse_attr_out out = { 0 };
	ck_assert_int_eq(answer(chmod, &out, sizeof(out), NULL), 0);
	ck_assert_uint_eq(out.attr.mode, S_IFREG | mode);
}

/* What was opened before the guest had the new mode would put the old one back. */
START_TEST(a_file_is_opened_when_its_mode_is_set)
{
	prepare();
	guest_has_large("in/a");
	begin();
	uint64_t node = node_of(in_dir(), "a");
	struct fuse_open_in cut = { .flags = O_WRONLY | O_TRUNC };
	struct fuse_open_out open = { 0 };
	stall("chmod");
	uint64_t chmod = begin_chmod(node, 0600);
	wait_until_stalled();
	uint64_t opening = tell(FUSE_OPEN, node, &cut, sizeof(cut));
	assert_silent(50);
	stall(NULL);
	ck_assert_int_eq(answer(opening, &open, sizeof(open), NULL), 0);
	assert_mode(chmod, 0600);
	struct open_file file = { node, open.fh };
	write_text(file, "text");
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), 0);
	ck_assert(!was_done("read"));
	assert_guest_has("in/a", "text");
	ck_assert_uint_eq(find_row("in/a")->mode, 0600);
	finish();
}
END_TEST

/* The size decides the way, and where the guest cannot do it the outcome is the same. */
START_TEST(a_mode_goes_with_the_bytes_of_small_files_only)
{
	prepare();
	guest_has_large("in/large");
	begin();
	uint64_t in = in_dir();
	assert_mode(begin_chmod(save(in, "small", "text").node, 0600), 0600);
	ck_assert(!was_done("chmod"));
	assert_mode(begin_chmod(node_of(in, "large"), 0600), 0600);
	ck_assert(was_done("chmod in/large") && !was_done("put in/large"));
	ck_assert_uint_eq(find_row("in/small")->mode, 0600);
	ck_assert_uint_eq(find_row("in/large")->mode, 0600);
	no_commands = true;
	assert_mode(begin_chmod(node_of(in, "large"), 0640), 0640);
	ck_assert(was_done("read; put in/large"));
	ck_assert_uint_eq(find_row("in/large")->mode, 0640);
	finish();
}
END_TEST

/* mv -T would find it empty in the guest. */
START_TEST(a_directory_with_staged_files_is_not_replaced)
{
	prepare();
	options.async = true;
	begin();
	uint64_t in = in_dir();
	ck_assert_int_eq(make_directory(in, "from"), 0);
	ck_assert_int_eq(make_directory(in, "to"), 0);
	stall("put in/to/");
	(void)save(node_of(in, "to"), "x", "hello");
	ck_assert_int_eq(answer(begin_rename(in, "from", "to"), NULL, 0, NULL), ENOTEMPTY);
	stall(NULL);
	wait_until_done("put in/to/x");
	ck_assert(!was_done("mv"));
	finish();
}
END_TEST

/* Who writes a hundred files into a directory passes it a hundred times: that it is still there was
 * shown by each that landed. Bounded, since its mode and time were not. */
START_TEST(a_directory_that_uploads_pass_through_is_not_asked_for_each_time)
{
	enum { HOLDS_MS = 800 };
	prepare();
	options.entry_timeout_ms = HOLDS_MS;
	begin();
	uint64_t in = in_dir();
	ck_assert_int_eq(make_directory(in, "d"), 0);
	uint64_t parent = node_of(in, "d");
	usleep((HOLDS_MS * 5 / 8) * 1000);
	(void)save(parent, "one", "1");
	usleep((HOLDS_MS * 5 / 8) * 1000);
	/* It was looked at longer ago than it holds. */
	unsigned before = looks_so_far();
	ck_assert(is_there(in, "d"));
	ck_assert_uint_eq(looks_so_far(), before);
	for (int i = 0; i < 12; i++) {
		(void)save(parent, "more", "1");
		usleep((HOLDS_MS / 2) * 1000);
		ck_assert(is_there(in, "d"));
	}
	ck_assert_uint_gt(looks_so_far(), before);
	finish();
}
END_TEST

/* The kernel believes the lower part of a way still, and asks for the upper one alone. */
START_TEST(a_way_down_is_not_forgotten_half_way)
{
	prepare();
	options.entry_timeout_ms = 300;
	begin();
	uint64_t in = in_dir();
	ck_assert_int_eq(make_directory(in, "d"), 0);
	uint64_t d = node_of(in, "d");
	ck_assert_int_eq(make_directory(d, "e"), 0);
	ck_assert(!is_there(node_of(d, "e"), "x"));
	for (int times = 0; times < 2; times++) {
		usleep(500 * 1000);
		unsigned before = looks_so_far();
		ck_assert(is_there(in, "d"));
		/* And at e, which it will come to. */
		ck_assert_uint_eq(looks_so_far(), before + 2);
	}
	finish();
}
END_TEST

UNIT_MAIN("in_files", a_way_down_is_not_forgotten_half_way,
	a_directory_that_uploads_pass_through_is_not_asked_for_each_time,
	a_directory_with_staged_files_is_not_replaced, a_file_is_opened_when_its_mode_is_set,
	a_mode_goes_with_the_bytes_of_small_files_only,
	what_is_gathered_goes_along_with_its_directory,
	the_guests_own_file_outlives_one_that_may_not_replace_it,
	a_file_that_was_removed_while_open_is_closed_with_it,
	a_file_that_landed_by_itself_is_closed, names_are_forgotten_when_their_listing_is_old,
	a_directory_that_is_there_already_is_found, a_removed_name_is_gone_at_once,
	a_sandbox_that_comes_back_gets_what_was_closed,
	who_has_a_file_open_keeps_its_bytes_when_it_lands_from_another_view,
	a_sandbox_that_goes_stops_nobody_for_a_disk, half_a_file_is_never_taken_for_a_whole_one,
	what_was_replaced_is_not_sent_over_its_successor)
