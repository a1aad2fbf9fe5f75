/* inspect_many.c: see inspect_many.h. Workers take the next row until none is left. */
#include "inspect_many.h"

#include "../base/alloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define PARALLEL 4

struct work {
	struct sbx_engine *engine;
	struct sbx_inspected *rows; /* each row is written by the worker that took it */
	size_t count;
	const struct sbx_call *call;
	atomic_size_t next;
};

static void inspect_one(struct work *work, struct sbx_inspected *row)
{
	if (sbx_cancel_fired(work->call->cancel)) {
		row->result = sbx_fail(
			&row->err, ECANCELED, "looking at container %.12s was cancelled", row->id);
		return;
	}
	struct sbx_call bounded = sbx_call_shorter(work->call, SBX_INSPECT_BOUND_MS);
	row->result =
		sbx_container_inspect(work->engine, row->id, &bounded, &row->container, &row->err);
}

static void *run(void *data)
{
	struct work *work = data;
	for (;;) {
		size_t index = atomic_fetch_add(&work->next, 1);
		if (index >= work->count)
			return NULL;
		inspect_one(work, &work->rows[index]);
	}
}

void sbx_inspect_many(struct sbx_engine *engine, struct sbx_inspected *rows, size_t count,
	const struct sbx_call *call)
{
	struct work work = { .engine = engine, .rows = rows, .count = count, .call = call };
	atomic_init(&work.next, 0);
	pthread_t threads[PARALLEL - 1];
	size_t started = 0;
	/* Fewer threads than wished for is slower, nothing else: this thread works as well. */
	while (started < PARALLEL - 1 && started + 1 < count &&
		pthread_create(&threads[started], NULL, run, &work) == 0)
		started++;
	(void)run(&work); /* always NULL */
	while (started)
		(void)pthread_join(threads[--started], NULL); /* joinable and ours: cannot fail */
}
