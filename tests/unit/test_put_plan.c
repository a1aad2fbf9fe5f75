/* test_put_plan.c: which entries one archive holds, and the directory it is extracted in. */
#include "base/alloc.h"
#include "files/put_plan.h"
#include "files/put_survey.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static struct sbx_put_item file(const char *path, int64_t size)
{
	return (struct sbx_put_item){
		.path = path, .type = SBX_TYPE_FILE, .mode = 0644, .size = size, .fd = -1
	};
}

static const struct sbx_stat old_file = { .type = SBX_TYPE_FILE, .size = 3, .mtime_s = 1000 };
static const struct sbx_stat old_directory = { .type = SBX_TYPE_DIR, .mtime_s = 1000 };

static void expect_entry(
	const struct sbx_put_plan *plan, size_t at, const char *name, bool directory)
{
	ck_assert_uint_lt(at, plan->entry_count);
	ck_assert_str_eq(plan->entries[at].name, name);
	ck_assert_int_eq(plan->entries[at].directory, directory);
}

START_TEST(entries_are_relative_to_the_deepest_common_directory)
{
	struct sbx_put_plan plan = { 0 };
	struct sbx_put_item a = file("in/data/a", 1);
	struct sbx_put_item b = file("in/data/new/b", 2);
	sbx_put_note(&plan, "", SBX_PUT_THERE);
	sbx_put_note(&plan, "in", SBX_PUT_THERE);
	sbx_put_note(&plan, "in/data", SBX_PUT_THERE);
	sbx_put_send(&plan, &a, &old_file);
	sbx_put_note(&plan, "in/data/new", SBX_PUT_MISSING);
	sbx_put_send(&plan, &b, NULL);
	sbx_put_plan_finish(&plan, 1000, 1001, 42);
	ck_assert_str_eq(plan.base, "in/data");
	ck_assert_uint_eq(plan.entry_count, 3);
	expect_entry(&plan, 0, "a", false);
	expect_entry(&plan, 1, "new", true);
	ck_assert_int_eq(plan.entries[1].mode, 0755);
	ck_assert_int_eq(plan.entries[1].mtime_s, 42);
	ck_assert_int_eq(plan.entries[1].uid, 1000);
	ck_assert_int_eq(plan.entries[1].gid, 1001);
	expect_entry(&plan, 2, "new/b", false);
	sbx_put_plan_free(&plan);
}
END_TEST

START_TEST(names_that_only_begin_alike_have_no_directory_in_common)
{
	struct sbx_put_plan plan = { 0 };
	struct sbx_put_item a = file("in/ab/x", 1);
	struct sbx_put_item b = file("in/abc/x", 1);
	sbx_put_note(&plan, "", SBX_PUT_THERE);
	sbx_put_note(&plan, "in", SBX_PUT_THERE);
	sbx_put_note(&plan, "in/ab", SBX_PUT_THERE);
	sbx_put_note(&plan, "in/abc", SBX_PUT_THERE);
	sbx_put_send(&plan, &a, NULL);
	sbx_put_send(&plan, &b, NULL);
	sbx_put_plan_finish(&plan, 0, 0, 0);
	ck_assert_str_eq(plan.base, "in");
	expect_entry(&plan, 0, "ab/x", false);
	expect_entry(&plan, 1, "abc/x", false);
	sbx_put_plan_free(&plan);
}
END_TEST

START_TEST(a_missing_directory_is_never_the_base)
{
	struct sbx_put_plan plan = { 0 };
	struct sbx_put_item dir = {
		.path = "in/new", .type = SBX_TYPE_DIR, .mode = 0700, .fd = -1
	};
	struct sbx_put_item b = file("in/new/b", 2);
	sbx_put_note(&plan, "", SBX_PUT_THERE);
	sbx_put_note(&plan, "in", SBX_PUT_MISSING);
	sbx_put_note(&plan, "in/new", SBX_PUT_MISSING);
	sbx_put_send(&plan, &dir, NULL);
	sbx_put_send(&plan, &b, NULL);
	sbx_put_plan_finish(&plan, 0, 0, 0);
	ck_assert_str_eq(plan.base, "");
	ck_assert_uint_eq(plan.entry_count, 3);
	expect_entry(&plan, 0, "in", true);
	expect_entry(&plan, 1, "in/new", true);
	ck_assert_int_eq(plan.entries[1].mode, 0700);
	expect_entry(&plan, 2, "in/new/b", false);
	sbx_put_plan_free(&plan);
}
END_TEST

START_TEST(items_at_the_top_of_the_work_dir)
{
	struct sbx_put_plan plan = { 0 };
	struct sbx_put_item a = file("a", 1);
	struct sbx_put_item b = file("b/c", 1);
	sbx_put_note(&plan, "", SBX_PUT_THERE);
	sbx_put_note(&plan, "b", SBX_PUT_THERE);
	sbx_put_send(&plan, &a, NULL);
	sbx_put_send(&plan, &b, NULL);
	sbx_put_plan_finish(&plan, 0, 0, 0);
	ck_assert_str_eq(plan.base, "");
	expect_entry(&plan, 0, "a", false);
	expect_entry(&plan, 1, "b/c", false);
	sbx_put_plan_free(&plan);
}
END_TEST

START_TEST(nothing_to_send_makes_no_archive)
{
	struct sbx_put_plan plan = { 0 };
	sbx_put_note(&plan, "", SBX_PUT_THERE);
	sbx_put_plan_finish(&plan, 0, 0, 0);
	ck_assert_uint_eq(plan.entry_count, 0);
	sbx_put_plan_free(&plan);
}
END_TEST

START_TEST(batches_are_bounded)
{
	enum { MANY = SBX_PUT_BATCH_ITEMS + 100 };
	static struct sbx_put_item items[MANY];
	static struct sbx_put_item *order[MANY];
	static char names[MANY][8];
	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%05zu", MANY - 1 - i);
		items[i] = file(names[i], 10);
		order[i] = &items[i];
	}
	sbx_put_sort(order, MANY);
	ck_assert_str_eq(order[0]->path, "f00000");
	ck_assert_str_eq(order[MANY - 1]->path, names[0]);
	ck_assert_uint_eq(sbx_put_batch(order, MANY), SBX_PUT_BATCH_ITEMS);
	ck_assert_uint_eq(sbx_put_batch(order, 3), 3);
	order[0]->size = INT64_MAX;
	ck_assert_uint_eq(sbx_put_batch(order, MANY), 1);
	order[0]->size = 10;
	order[1]->size = SBX_PUT_BATCH_BYTES - 9;
	ck_assert_uint_eq(sbx_put_batch(order, MANY), 1);
	order[1]->size = SBX_PUT_BATCH_BYTES - 10;
	ck_assert_uint_eq(sbx_put_batch(order, MANY), 2);
}
END_TEST

static void expect_root(struct sbx_put_item *items, size_t count, const char *root)
{
	struct sbx_put_item *order[4];
	for (size_t i = 0; i < count; i++)
		order[i] = &items[i];
	sbx_put_sort(order, count);
	size_t length = sbx_put_root(order, count);
	ck_assert_uint_eq(length, strlen(root));
	ck_assert_int_eq(strncmp(order[0]->path, root, length), 0);
}

START_TEST(a_survey_is_of_the_deepest_directory_that_holds_all)
{
	struct sbx_put_item tree[] = { { .path = "in/d", .type = SBX_TYPE_DIR }, file("in/d/a", 1),
		file("in/d/sub/b", 1) };
	expect_root(tree, 3, "in/d");
	expect_root(tree + 1, 2, "in/d");
	expect_root(tree + 2, 1, "in/d/sub");
	struct sbx_put_item alike[] = { file("in/ab/x", 1), file("in/abc/x", 1) };
	expect_root(alike, 2, "in");
	struct sbx_put_item apart[] = { file("in/x", 1), file("other/x", 1) };
	expect_root(apart, 2, "");
	struct sbx_put_item flat[] = { file("x", 1) };
	expect_root(flat, 1, "");
}
END_TEST

START_TEST(the_last_of_each_directory_is_witness_for_what_lies_beside_it)
{
	struct sbx_put_plan plan = { 0 };
	struct sbx_put_item items[] = { { .path = "in", .type = SBX_TYPE_DIR }, file("in/a", 1),
		{ .path = "in/b", .type = SBX_TYPE_DIR }, file("in/b/1", 1), file("in/b/2", 1),
		file("in/b.txt", 1), file("in/bc/1", 1) };
	struct sbx_put_item *sorted[7];
	const struct sbx_put_send *last[7];
	for (size_t i = 0; i < 7; i++)
		sorted[i] = &items[i];
	sbx_put_sort(sorted, 7);
	for (size_t i = 0; i < 7; i++)
		sbx_put_send(&plan, sorted[i], NULL);
	ck_assert_uint_eq(sbx_put_witnesses(&plan, last), 4);
	ck_assert_str_eq(last[0]->item->path, "in");
	ck_assert_str_eq(last[1]->item->path, "in/b.txt");
	ck_assert_str_eq(last[2]->item->path, "in/b/2");
	ck_assert_str_eq(last[3]->item->path, "in/bc/1");
	last[2]->item->result = -5;
	sbx_put_fail_beside(&plan, last[2]->item);
	ck_assert_int_eq(items[3].result, -5);
	for (size_t i = 0; i < 7; i++)
		ck_assert(items[i].result == 0 || i == 3 || i == 4);
	sbx_put_plan_free(&plan);
}
END_TEST

/* What looks afterwards as it did before proves nothing, even if it is the last. */
START_TEST(a_witness_is_one_that_was_not_there_before)
{
	struct sbx_put_item items[] = { file("in/new", 3), file("in/old", 3),
		{ .path = "in/sub", .type = SBX_TYPE_DIR, .mtime_s = 9000 } };
	const struct sbx_put_send *witness[3];
	const struct {
		int64_t mtime_s, size;
		const char *path;
	} rows[] = {
		{ 1000, 3, "in/new" },
		{ 1001, 3, "in/new" }, /* an archive of Podman's gives 999.6 as 1000 */
		{ 999, 3, "in/new" },
		{ 5000, 3, "in/old" }, /* the last that tells */
		{ 0, 3, "in/old" },
		{ 1000, 4, "in/old" },
		{ -5, 3, "in/new" }, /* becomes 0 in Docker */
		{ INT64_C(1) << 32, 3, "in/new" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_put_plan plan = { 0 };
		items[1].mtime_s = rows[i].mtime_s;
		items[1].size = rows[i].size;
		sbx_put_send(&plan, &items[0], NULL);
		sbx_put_send(&plan, &items[1], &old_file);
		sbx_put_send(&plan, &items[2], &old_directory);
		ck_assert_uint_eq(sbx_put_witnesses(&plan, witness), 1);
		ck_assert_str_eq(witness[0]->item->path, rows[i].path);
		sbx_put_plan_free(&plan);
	}
}
END_TEST

UNIT_MAIN("put_plan", entries_are_relative_to_the_deepest_common_directory,
	names_that_only_begin_alike_have_no_directory_in_common,
	a_missing_directory_is_never_the_base, items_at_the_top_of_the_work_dir,
	nothing_to_send_makes_no_archive, batches_are_bounded,
	a_survey_is_of_the_deepest_directory_that_holds_all,
	the_last_of_each_directory_is_witness_for_what_lies_beside_it,
	a_witness_is_one_that_was_not_there_before)
