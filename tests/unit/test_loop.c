/* test_loop.c: what is posted to the loop runs, once, in its order. */
#include "context.h"
#include "unit.h"

static struct sbx_fs fs;
static char ran[16];
static size_t count;

struct letter {
	struct sbx_post post;
	char name;
	struct letter *next; /* posted by this one */
};

static void note(struct sbx_post *post)
{
	struct letter *letter = (struct letter *)post;
	ran[count++] = letter->name;
	if (letter->next)
		sbx_loop_post(fs.loop, &letter->next->post);
}

static bool idle(struct sbx_fs *context)
{
	(void)context;
	return false;
}

static void begin(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_eq(sbx_loop_create(&fs, &fs.loop, &err), 0);
}

START_TEST(one_that_is_queued_twice_cuts_nobody_off)
{
	struct letter a = { { .run = note }, 'a', NULL }, b = { { .run = note }, 'b', NULL },
		      c = { { .run = note }, 'c', NULL };
	begin();
	sbx_loop_post(fs.loop, &a.post);
	sbx_loop_post(fs.loop, &b.post);
	sbx_loop_post(fs.loop, &a.post);
	sbx_loop_post(fs.loop, &c.post);
	sbx_loop_destroy(fs.loop);
	ck_assert_str_eq(ran, "abc");
}
END_TEST

START_TEST(one_that_runs_can_be_posted_again)
{
	struct letter b = { { .run = note }, 'b', NULL }, a = { { .run = note }, 'a', &b };
	begin();
	b.next = &a;
	sbx_loop_post(fs.loop, &a.post);
	sbx_loop_drain(fs.loop, idle, 0);
	ck_assert_str_eq(ran, "a");
	sbx_loop_drain(fs.loop, idle, 0);
	sbx_loop_drain(fs.loop, idle, 0);
	ck_assert_str_eq(ran, "aba");
	b.next = NULL;
	sbx_loop_destroy(fs.loop);
	ck_assert_str_eq(ran, "abab");
}
END_TEST

UNIT_MAIN("loop", one_that_is_queued_twice_cuts_nobody_off, one_that_runs_can_be_posted_again)
