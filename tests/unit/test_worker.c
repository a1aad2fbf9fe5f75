/* test_worker.c: whose jobs wait for whose. */
#include "context.h"
#include "unit.h"

#include <unistd.h>

static struct sbx_fs fs;
static struct sbx_queue queues[2]; /* of two sandboxes */
static _Atomic bool stuck;
static _Atomic int ran;

static int run(struct sbx_job *job, struct sbx_error *err)
{
	(void)err;
	while (job->queue == &queues[0] && stuck)
		usleep(1000);
	ran++;
	return 0;
}

static bool busy(struct sbx_fs *context)
{
	return sbx_workers_busy(context->workers);
}

static void start(struct sbx_queue *queue)
{
	struct sbx_job *job = sbx_job_create(&fs, NULL, sizeof(*job), 0);
	job->queue = queue;
	job->run = run;
	job->done = sbx_job_free;
	sbx_job_start(job);
}

/* Both jobs come while one thread is idle, and it has not woken up yet. */
START_TEST(a_stuck_sandbox_sticks_no_other)
{
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_eq(sbx_loop_create(&fs, &fs.loop, &err), 0);
	for (int round = 0; round < 20; round++) {
		ck_assert_int_eq(sbx_workers_create(&fs, &fs.workers, &err), 0);
		stuck = false;
		start(&queues[1]);
		sbx_loop_drain(fs.loop, busy, sbx_clock_ms() + 5000);
		ran = 0;
		stuck = true;
		start(&queues[0]);
		start(&queues[1]);
		for (int i = 0; i < 2000 && !ran; i++)
			usleep(1000);
		ck_assert_int_eq(ran, 1);
		stuck = false;
		sbx_loop_drain(fs.loop, busy, sbx_clock_ms() + 5000);
		sbx_workers_stop(fs.workers);
		sbx_workers_destroy(fs.workers);
	}
	sbx_loop_destroy(fs.loop);
}
END_TEST

UNIT_MAIN("worker", a_stuck_sandbox_sticks_no_other)
