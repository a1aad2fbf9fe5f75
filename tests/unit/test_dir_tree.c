/* test_dir_tree.c: what one archive tells of a directory and of those below it. */
#include "base/alloc.h"
#include "files/dir_tree.h"
#include "files/listing.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SPARE = 100 };

static struct sbx_listing top;
static struct sbx_dir_tree *tree;
static struct sbx_error err;

static void begin(void)
{
	top = (struct sbx_listing){ 0 };
	err = (struct sbx_error)SBX_ERROR_INIT;
	tree = sbx_dir_tree_create(&top, true, 1000);
}

static void end(void)
{
	sbx_dir_tree_destroy(tree);
	sbx_listing_finish(&top);
}

static int add(const char *name, enum sbx_type type, int64_t size, const char *first)
{
	struct sbx_stat st = { .type = type, .size = size, .mtime_ns = -1 };
	struct sbx_entry *row;
	int result = sbx_dir_tree_add(tree, name, &st, first, &row, &err);
	if (!result && row && type == SBX_TYPE_FILE && size == 2)
		row->content = sbx_strdup("hi");
	return result;
}

static void directory(const char *name)
{
	ck_assert_int_eq(add(name, SBX_TYPE_DIR, 4096, NULL), 0);
}

static void file(const char *name)
{
	ck_assert_int_eq(add(name, SBX_TYPE_FILE, 2, NULL), 0);
}

static const struct sbx_listing *below(const char *name)
{
	const struct sbx_entry *row = sbx_listing_find(&top, name);
	ck_assert_ptr_nonnull(row);
	return row->children;
}

START_TEST(keeps_what_lies_deeper)
{
	begin();
	directory("b");
	directory("b/c");
	file("b/c/deep");
	file("b/z");
	directory("empty");
	file("a");
	ck_assert_int_eq(sbx_dir_tree_close(tree, true, SPARE, &err), 0);
	ck_assert_uint_eq(top.count, 3);
	ck_assert_str_eq(top.rows[0].name, "a");
	ck_assert_uint_eq(below("b")->count, 2);
	ck_assert_str_eq(below("b")->rows[0].children->rows[0].name, "deep");
	ck_assert_uint_eq(below("empty")->count, 0);
	end();
}
END_TEST

START_TEST(a_hard_link_is_what_its_first_name_is)
{
	begin();
	directory("a");
	file("a/one");
	ck_assert_int_eq(add("two", SBX_TYPE_FILE, -1, "a/one"), 0);
	ck_assert_int_eq(add("elsewhere", SBX_TYPE_FILE, -1, "a/nothing"), 0);
	ck_assert_int_eq(add("directory", SBX_TYPE_FILE, -1, "a"), 0);
	ck_assert_int_eq(sbx_dir_tree_close(tree, true, SPARE, &err), 0);
	ck_assert_int_eq(sbx_listing_find(&top, "two")->st.size, 2);
	ck_assert_str_eq(sbx_listing_find(&top, "two")->content, "hi");
	ck_assert_int_eq(sbx_listing_find(&top, "elsewhere")->st.size, -1);
	ck_assert_int_eq(sbx_listing_find(&top, "directory")->st.size, -1);
	end();
}
END_TEST

/* Of a guest that ran meanwhile. */
START_TEST(forgets_contents_and_keeps_names)
{
	begin();
	directory("b");
	file("a");
	ck_assert_int_eq(sbx_dir_tree_close(tree, true, SPARE, &err), 0);
	ck_assert_str_eq(sbx_listing_find(&top, "a")->content, "hi"); /* the premise */
	sbx_listing_forget_contents(&top);
	ck_assert_uint_eq(top.count, 2);
	ck_assert_int_eq(sbx_listing_find(&top, "a")->st.size, 2);
	ck_assert_ptr_null(sbx_listing_find(&top, "a")->content);
	end();
}
END_TEST

/* A guest makes links for nothing: what their contents and targets take up is bounded. */
START_TEST(many_links_to_one_file_take_up_no_more)
{
	int64_t bytes = 0;
	char name[16];
	begin();
	file("first");
	struct sbx_stat st = {
		.type = SBX_TYPE_LINK, .mtime_ns = -1, .link_target = sbx_strdup("/etc/passwd")
	};
	struct sbx_entry *row;
	ck_assert_int_eq(sbx_dir_tree_add(tree, "link", &st, NULL, &row, &err), 0);
	for (int i = 0; i < 500; i++) {
		(void)snprintf(name, sizeof(name), "n%03d", i);
		ck_assert_int_eq(add(name, SBX_TYPE_FILE, -1, i % 2 ? "first" : "link"), 0);
	}
	ck_assert_int_eq(sbx_dir_tree_close(tree, true, SPARE, &err), 0);
	for (size_t i = 0; i < top.count; i++) {
		const struct sbx_entry *entry = &top.rows[i];
		if (entry->name[0] != 'n')
			continue;
		ck_assert_int_eq(entry->st.size, entry->st.type == SBX_TYPE_LINK ? 0 : 2);
		bytes += entry->content ? 3 : 0;
		bytes += entry->st.link_target ? 12 : 0;
	}
	ck_assert_int_gt(bytes, SPARE / 2);
	ck_assert_int_le(bytes, SPARE);
	end();
}
END_TEST

/* An archive that was cut says nothing whole of what lies deeper. */
START_TEST(a_cut_archive_tells_only_the_top)
{
	begin();
	directory("b");
	file("b/one");
	ck_assert_int_eq(sbx_dir_tree_close(tree, false, SPARE, &err), 0);
	ck_assert_uint_eq(top.count, 1);
	ck_assert_ptr_null(below("b"));
	end();
}
END_TEST

/* Below what is no directory, or in none that was named, there can be nothing. */
START_TEST(a_doubt_below_does_not_fail_the_top)
{
	static const char *const doubtful[] = { "a/x", "nowhere/x", "b/..", "b/c/d/x", "b/one" };
	for (size_t i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++) {
		begin();
		file("a");
		directory("b");
		file("b/one");
		file(doubtful[i]);
		file("z");
		ck_assert_int_eq(sbx_dir_tree_close(tree, true, SPARE, &err), 0);
		ck_assert_uint_eq(top.count, 3);
		ck_assert_ptr_null(below("b"));
		end();
	}
}
END_TEST

START_TEST(a_doubt_at_the_top_does)
{
	begin();
	ck_assert_int_eq(add("..", SBX_TYPE_FILE, 0, NULL), -EIO);
	file("a");
	file("a");
	ck_assert_int_eq(sbx_dir_tree_close(tree, true, SPARE, &err), -EIO);
	end();
}
END_TEST

/* Deeper than there is room for: known down to there, unknown below. */
START_TEST(depth_is_bounded)
{
	char path[1000] = "d";
	begin();
	for (size_t length = 1; length <= 199; length += 2) {
		directory(path);
		(void)snprintf(path + length, sizeof(path) - length, "/d"); /* it fits */
	}
	ck_assert_int_eq(sbx_dir_tree_close(tree, true, SPARE, &err), 0);
	ck_assert_uint_eq(top.count, 1);
	ck_assert_ptr_null(below("d"));
	end();
}
END_TEST

UNIT_MAIN("dir_tree", keeps_what_lies_deeper, a_hard_link_is_what_its_first_name_is,
	many_links_to_one_file_take_up_no_more, a_cut_archive_tells_only_the_top,
	forgets_contents_and_keeps_names, a_doubt_below_does_not_fail_the_top,
	a_doubt_at_the_top_does, depth_is_bounded)
