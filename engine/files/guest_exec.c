/* guest_exec.c: see guest_exec.h. */
#include "guest_exec.h"
#include "account_guard.h"
#include "window.h"

struct start {
	int block; /* -1 once released */
	const struct sbx_exec *exec;
};

static void release(struct start *start)
{
	sbx_window_unblock(start->block);
	start->block = -1;
}

static void started(void *data)
{
	struct start *start = data;
	release(start);
	if (start->exec->started)
		start->exec->started(start->exec->data);
}

static int output(void *data, int stream, const char *bytes, size_t size)
{
	struct start *start = data;
	return start->exec->output ? start->exec->output(start->exec->data, stream, bytes, size)
				   : 0;
}

int sbx_guest_exec(struct sbx_engine *engine, const char *id, const struct sbx_exec *exec,
	const struct sbx_call *call, int *exit_code, char **failure, struct sbx_error *err)
{
	struct start start = { .exec = exec };
	start.block = sbx_window_block(engine, id, call, err);
	if (start.block < 0)
		return start.block;
	/* The guest runs: whoever is root in there can still change the file before the start. */
	int result = sbx_account_guard(engine, id, call, err);
	if (result < 0) {
		release(&start);
		return result;
	}
	struct sbx_exec guarded = *exec;
	guarded.started = started;
	guarded.output = output;
	guarded.data = &start;
	result = sbx_exec(engine, id, &guarded, call, exit_code, failure, err);
	release(&start); /* where it ended before it was known to have started */
	return result;
}
