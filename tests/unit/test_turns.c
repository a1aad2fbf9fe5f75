/* test_turns.c: whose turn it is among the jobs of one sandbox, and how long each may take. */
#include "context.h"

#include "unit.h"

#include <string.h>
#include <unistd.h>

static struct sbx_fs fs;
static struct sbx_fs_options options;
static struct sbx_queue queue;
static int64_t left_ms; /* of the last that counts from its turn */
static char turns[128]; /* a letter a job, in the order they ran */

struct letter {
	struct sbx_job job; /* first */
	char name;
	int takes_ms;
};

static int run(struct sbx_job *job, struct sbx_error *err)
{
	const struct letter *letter = (struct letter *)job;
	(void)err;
	turns[strlen(turns)] = letter->name;
	if (letter->job.from_turn_ms)
		left_ms = sbx_call_left_ms(&job->call);
	usleep((unsigned)letter->takes_ms * 1000);
	return 0;
}

static void done(struct sbx_job *job)
{
	ck_assert_int_eq(job->result, 0);
	sbx_job_free(job);
}

static struct letter *make(char name, enum sbx_job_length length, int takes_ms)
{
	struct letter *letter = sbx_job_create(&fs, NULL, sizeof(*letter), 0);
	letter->job.run = run;
	letter->job.done = done;
	letter->job.queue = &queue;
	letter->job.length = length;
	letter->name = name;
	letter->takes_ms = takes_ms;
	return letter;
}

static void begin(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	sbx_fs_options_init(&options);
	fs = (struct sbx_fs){ .options = &options };
	ck_assert_int_eq(sbx_loop_create(&fs, &fs.loop, &err), 0);
	ck_assert_int_eq(sbx_workers_create(&fs, &fs.workers, &err), 0);
}

static bool jobs_left(struct sbx_fs *context)
{
	return sbx_workers_busy(context->workers);
}

static void finish(void)
{
	sbx_loop_drain(fs.loop, jobs_left, sbx_clock_ms() + 20000);
	ck_assert(!jobs_left(&fs));
	sbx_workers_stop(fs.workers);
	sbx_loop_destroy(fs.loop);
	sbx_workers_destroy(fs.workers);
}

/* A reader of many small files would otherwise keep an upload waiting for ever. */
START_TEST(short_ones_go_first_but_not_for_ever)
{
	begin();
	sbx_job_start(&make('.', SBX_JOB_SHORT, 200)->job);
	sbx_job_start(&make('L', SBX_JOB_LONG, 0)->job);
	sbx_job_start(&make('M', SBX_JOB_LONG, 0)->job);
	for (int i = 0; i < 50; i++)
		sbx_job_start(&make('s', SBX_JOB_SHORT, 0)->job);
	finish();
	ck_assert_msg(!strncmp(turns, ".sss", 4), "%s", turns);
	ck_assert_msg(strstr(turns, "sLsss") && strstr(turns, "sMsss"), "%s", turns);
}
END_TEST

/* What came before it says nothing of the engine. */
START_TEST(its_time_counts_from_its_turn)
{
	begin();
	struct letter *second = make('b', SBX_JOB_LONG, 0);
	second->job.from_turn_ms = 300;
	sbx_job_start(&make('a', SBX_JOB_LONG, 600)->job);
	sbx_job_start(&second->job);
	finish();
	ck_assert_str_eq(turns, "ab");
	ck_assert_int_gt(left_ms, 100);
	ck_assert_int_le(left_ms, 300);
}
END_TEST

UNIT_MAIN("turns", short_ones_go_first_but_not_for_ever, its_time_counts_from_its_turn)
