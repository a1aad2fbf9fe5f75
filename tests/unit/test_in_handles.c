/*
 * test_in_handles.c: files under in/ that are open more than once, or while they are sent: each
 * close sends what its writer meant, and each reader gets one version.
 */
#include "in_mount.h"

/* `: >in/log` under a `tail -f in/log`. */
START_TEST(the_last_writer_sends_whoever_still_reads)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	uint64_t node = save(in, "log", "x").node;
	(void)open_node(node, O_RDONLY);
	struct open_file writer = open_node(node, O_WRONLY | O_TRUNC);
	ck_assert_int_eq(answer(begin_flush(writer), NULL, 0, NULL), 0);
	release(writer);
	wait_until_done("put in/log; put in/log");
	assert_guest_has("in/log", "");
	finish();
}
END_TEST

/* The mount ends under both. */
START_TEST(half_a_file_is_kept_whoever_still_reads)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	struct open_file half = create(in, "half"), local = create(in, "a.part");
	write_text(half, "ha");
	write_text(local, "temp");
	(void)open_node(half.node, O_RDONLY);
	(void)open_node(local.node, O_RDONLY);
	end();
	struct sbx_staged_list list = left_over();
	ck_assert_uint_eq(list.count, 2);
	ck_assert(list.rows[0].damaged && list.rows[1].damaged);
	sbx_staged_list_finish(&list);
	directory_leave();
}
END_TEST

/* The node's pages are shared: a reader of what was there before must bring none of it back. */
START_TEST(what_was_overwritten_is_not_read_again)
{
	prepare();
	options.entry_timeout_ms = 100;
	guest_has("in/f", "old", false);
	begin();
	uint64_t in = in_dir();
	uint64_t node = node_of(in, "f");
	struct open_file reader = open_node(node, O_RDONLY);
	assert_reads(reader, "old");
	struct open_file writer = open_node(node, O_WRONLY | O_TRUNC);
	write_text(writer, "newer");
	ck_assert_int_eq(answer(begin_flush(writer), NULL, 0, NULL), 0);
	release(writer);
	assert_reads(reader, "newer");
	for (int tries = 0; descriptors() && tries < 300; tries++)
		usleep(10000);
	ck_assert_int_eq(descriptors(), 0); /* what is there now is the guest's */
	ck_assert_int_eq(answer(begin_read(reader), NULL, 0, NULL), ESTALE);
	ck_assert_uint_ne(node_of(in, "f"), node);
	assert_reads(open_node(node_of(in, "f"), O_RDONLY), "newer");
	finish();
}
END_TEST

static uint64_t begin_fsync(struct open_file file)
{
	struct fuse_fsync_in in = { .fh = file.handle };
	return tell(FUSE_FSYNC, file.node, &in, sizeof(in));
}

/* `sync FILE` opens it to read. */
START_TEST(a_reader_syncs_what_was_acknowledged)
{
	prepare();
	options.async = true;
	guest_has("in/old", "old", false);
	begin();
	uint64_t in = in_dir();
	struct open_file before = open_node(node_of(in, "old"), O_RDONLY);
	struct open_file old = open_node(before.node, O_WRONLY | O_TRUNC);
	write_text(old, "new");
	ck_assert_int_eq(answer(begin_flush(old), NULL, 0, NULL), 0);
	release(old);
	struct open_file new = open_node(save(in, "new", "text").node, O_RDONLY);
	stall("put");
	uint64_t first = begin_fsync(before);
	assert_silent(100);
	uint64_t second = begin_fsync(new);
	ck_assert_int_eq(answer(begin_flush(new), NULL, 0, NULL), 0);
	assert_silent(100);
	stall(NULL);
	ck_assert_int_eq(answer(first, NULL, 0, NULL), 0);
	ck_assert_int_eq(answer(second, NULL, 0, NULL), 0);
	assert_guest_has("in/old", "new");
	assert_guest_has("in/new", "text");
	finish();
}
END_TEST

static uint64_t begin_cut(uint64_t node, uint64_t size)
{
	struct fuse_setattr_in in = { .valid = FATTR_SIZE, .size = size };
	return tell(FUSE_SETATTR, node, &in, sizeof(in));
}

/* One whose second write failed, closed by its writer, who was told. */
static struct open_file spoil(uint64_t in, const char *name)
{
	struct open_file file = create(in, name);
	write_text(file, "half");
	ck_assert_int_eq(answer(begin_write(file, "and the rest"), NULL, 0, NULL), EFBIG);
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), EFBIG);
	return file;
}

/* Whatever is done to it, until it is begun anew. */
START_TEST(a_part_is_never_sent)
{
	prepare();
	options.max_in_bytes = 10;
	begin();
	uint64_t in = in_dir();
	struct open_file file = spoil(in, "x.part");
	release(file);
	ck_assert_int_eq(answer(begin_chmod(file.node, 0600), NULL, 0, NULL), EFBIG);
	ck_assert_int_eq(answer(begin_cut(file.node, 2), NULL, 0, NULL), EFBIG);
	ck_assert_int_eq(answer(begin_rename(in, "x.part", "x"), NULL, 0, NULL), EFBIG);
	ck_assert_int_eq(unlink_name(in, "x.part"), 0);
	file = spoil(in, "y");
	ck_assert_int_eq(answer(begin_fsync(file), NULL, 0, NULL), EFBIG);
	ck_assert(!was_done("put") && !was_done("mv"));
	ck_assert_int_eq(answer(begin_cut(file.node, 0), NULL, 0, NULL), 0);
	write_text(file, "whole");
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), 0);
	assert_guest_has("in/y", "whole");
	finish();
}
END_TEST

/* Nor is one that waited for its turn to be sent when a later write failed. */
START_TEST(a_part_gives_up_its_turn)
{
	prepare();
	options.async = true;
	options.max_in_bytes = 10;
	begin();
	uint64_t in = in_dir();
	struct open_file file = create(in, "x");
	write_text(file, "half");
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), 0);
	ck_assert_int_eq(answer(begin_write(file, "and the rest"), NULL, 0, NULL), EFBIG);
	usleep((SBX_IN_QUIET_MS + 300) * 1000);
	ck_assert(!was_done("put"));
	release(file);
	(void)save(in, "other", "text");
	wait_until_done("put in/other");
	ck_assert(!was_done("put in/x"));
	finish();
}
END_TEST

/* What is in the guest or on record of it is what was acknowledged before. */
START_TEST(a_part_is_kept_as_one)
{
	prepare();
	options.max_in_bytes = 10;
	begin();
	uint64_t in = in_dir();
	struct open_file file = create(in, "x.part");
	write_text(file, "half");
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), 0);
	ck_assert_int_eq(answer(begin_write(file, "and the rest"), NULL, 0, NULL), EFBIG);
	ck_assert_int_eq(answer(begin_rename(in, "x.part", "y.part"), NULL, 0, NULL), EFBIG);
	end();
	struct sbx_staged_list list = left_over();
	ck_assert_uint_eq(list.count, 1);
	ck_assert(!list.rows[0].damaged);
	ck_assert_str_eq(list.rows[0].path, "in/x.part");
	sbx_staged_list_finish(&list);
	directory_leave();
}
END_TEST

/* The record says so under the new name too. */
START_TEST(a_file_is_renamed_while_it_is_written)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	struct open_file file = create(in, "x.part");
	write_text(file, "half");
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), 0);
	write_text(file, "more");
	ck_assert_int_eq(answer(begin_rename(in, "x.part", "y.part"), NULL, 0, NULL), 0);
	end();
	struct sbx_staged_list list = left_over();
	ck_assert_uint_eq(list.count, 1);
	ck_assert_str_eq(list.rows[0].path, "in/y.part");
	ck_assert(list.rows[0].damaged);
	sbx_staged_list_finish(&list);
	directory_leave();
}
END_TEST

UNIT_MAIN("in_handles", a_part_is_never_sent, a_part_gives_up_its_turn, a_part_is_kept_as_one,
	a_file_is_renamed_while_it_is_written, a_reader_syncs_what_was_acknowledged,
	what_was_overwritten_is_not_read_again, the_last_writer_sends_whoever_still_reads,
	half_a_file_is_kept_whoever_still_reads)
