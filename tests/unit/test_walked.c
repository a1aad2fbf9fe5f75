/* test_walked.c: what a window has shown is known in that window, and in no other. */
#include "base/alloc.h"
#include "files/walked.h"
#include "unit.h"

static const struct sbx_stat file = { .type = SBX_TYPE_FILE, .size = 7, .mtime_ns = 3 };
static const struct sbx_stat directory = { .type = SBX_TYPE_DIR, .mode = 0755 };

START_TEST(is_known_in_the_same_window)
{
	struct sbx_walked *walked = sbx_walked_create();
	struct sbx_stat st;
	sbx_walked_add_stat(walked, 1, 0, "/work", &directory);
	sbx_walked_add_stat(walked, 1, 0, "/work/f", &file);
	sbx_walked_add(walked, 1, "/seen");
	ck_assert(sbx_walked_has(walked, 1, "/work"));
	ck_assert(!sbx_walked_has(walked, 1, "/work/f"));
	ck_assert(sbx_walked_stat(walked, 1, "/work/f", &st));
	ck_assert_int_eq(st.size, 7);
	ck_assert(sbx_walked_has(walked, 1, "/seen"));
	ck_assert(!sbx_walked_stat(walked, 1, "/seen", &st));
	sbx_walked_destroy(walked);
}
END_TEST

START_TEST(is_not_known_in_another)
{
	struct sbx_walked *walked = sbx_walked_create();
	struct sbx_stat st;
	sbx_walked_add_stat(walked, 1, 0, "/work/f", &file);
	ck_assert(!sbx_walked_stat(walked, 2, "/work/f", &st));
	sbx_walked_add_stat(walked, 2, 0, "/work", &directory);
	ck_assert(!sbx_walked_stat(walked, 1, "/work/f", &st));
	ck_assert(!sbx_walked_stat(walked, 2, "/work/f", &st));
	sbx_walked_forget(walked, 2);
	ck_assert(!sbx_walked_has(walked, 2, "/work"));
	sbx_walked_destroy(walked);
}
END_TEST

/* What is refused is asked for each time: the refusal names what the engine said. */
START_TEST(a_link_is_not_remembered)
{
	struct sbx_walked *walked = sbx_walked_create();
	struct sbx_stat link = { .type = SBX_TYPE_LINK, .link_target = (char *)"/etc/passwd" }, st;
	sbx_walked_add_stat(walked, 1, 0, "/work/l", &link);
	ck_assert(!sbx_walked_stat(walked, 1, "/work/l", &st));
	ck_assert(!sbx_walked_has(walked, 1, "/work/l"));
	sbx_walked_destroy(walked);
}
END_TEST

/* A reader asks the engine, an upload is acknowledged, then the reader remembers what it was told.
 */
START_TEST(an_answer_from_before_a_write_is_not_remembered)
{
	struct sbx_walked *walked = sbx_walked_create();
	struct sbx_stat st;
	uint64_t before = sbx_walked_generation(walked);
	sbx_walked_forget_stats(walked, 0);
	sbx_walked_add_stat(walked, 1, before, "/work/f", &file);
	ck_assert(!sbx_walked_stat(walked, 1, "/work/f", &st));
	sbx_walked_add_stat(walked, 1, sbx_walked_generation(walked), "/work/f", &file);
	ck_assert(sbx_walked_stat(walked, 1, "/work/f", &st));
	sbx_walked_destroy(walked);
}
END_TEST

/* With freeze=reads an upload is in no window, and a window that is read in stays open beside it.
 */
START_TEST(a_write_outside_a_window_is_seen_in_it)
{
	struct sbx_walked *walked = sbx_walked_create();
	struct sbx_stat st;
	sbx_walked_add_stat(walked, 1, 0, "/work/f", &file);
	sbx_walked_forget(walked, sbx_walked_key(walked));
	ck_assert(sbx_walked_stat(walked, 1, "/work/f", &st)); /* the key of another does nothing */
	sbx_walked_forget_stats(walked, 0);
	ck_assert(!sbx_walked_stat(walked, 1, "/work/f", &st));
	sbx_walked_destroy(walked);
}
END_TEST

/* An upload in the window itself: times and sizes are new, a directory is one still. */
START_TEST(a_write_leaves_its_own_windows_directories)
{
	struct sbx_walked *walked = sbx_walked_create();
	struct sbx_stat st;
	sbx_walked_add_stat(walked, 1, 0, "/work/d", &directory);
	sbx_walked_add_stat(walked, 1, 0, "/work/f", &file);
	sbx_walked_forget_stats(walked, 1);
	ck_assert(sbx_walked_has(walked, 1, "/work/d"));
	ck_assert(!sbx_walked_stat(walked, 1, "/work/d", &st));
	ck_assert(!sbx_walked_stat(walked, 1, "/work/f", &st));
	sbx_walked_forget_stats(walked, 2);
	ck_assert(!sbx_walked_has(walked, 1, "/work/d"));
	sbx_walked_destroy(walked);
}
END_TEST

UNIT_MAIN("walked", a_write_leaves_its_own_windows_directories, is_known_in_the_same_window,
	is_not_known_in_another, a_link_is_not_remembered,
	an_answer_from_before_a_write_is_not_remembered, a_write_outside_a_window_is_seen_in_it)
