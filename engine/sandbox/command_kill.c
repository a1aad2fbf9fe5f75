/*
 * command_kill.c: see command_kill.h.
 *
 * Closing the stream of an exec ends nothing inside the sandbox, and a process tree cannot be found
 * from outside once it has forked away; the container is the only handle that holds all of it.
 */
#include "command_kill.h"

#include <errno.h>

int sbx_command_remove_sandbox(
	struct sbx_engine *engine, const struct sbx_sandbox *sandbox, struct sbx_error *err)
{
	/* No cancel token: a removal that has begun is what a second Ctrl-C must not undo. */
	struct sbx_call call = sbx_call_within(SBX_END_TIMEOUT_MS, NULL);
	struct sbx_error why = SBX_ERROR_INIT;
	int result = sbx_container_remove(engine, sandbox->container.id, &call, &why);
	if (result == 0 || why.kind == SBX_KIND_ABSENT || why.kind == SBX_KIND_GONE)
		return 0;
	return sbx_fail_kind(err, why.kind, why.errnum, "sandbox %s could not be removed: %s",
		sandbox->container.name, why.message);
}

/* 0 when it does not run any more. */
static int settled(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_container now = { 0 };
	struct sbx_error why = SBX_ERROR_INIT;
	int result = sbx_container_inspect(engine, id, call, &now, &why);
	bool running = now.state == SBX_STATE_RUNNING || now.state == SBX_STATE_PAUSED;
	sbx_container_finish(&now);
	if (result == 0)
		return running ? -EBUSY : 0;
	if (why.kind == SBX_KIND_ABSENT)
		return 0;
	*err = why;
	return result;
}

int sbx_command_kill_sandbox(
	struct sbx_engine *engine, const struct sbx_sandbox *sandbox, struct sbx_error *err)
{
	struct sbx_call call = sbx_call_within(SBX_END_TIMEOUT_MS, NULL);
	struct sbx_error why = SBX_ERROR_INIT, state = SBX_ERROR_INIT;
	const char *id = sandbox->container.id;
	int result = sbx_container_kill(engine, id, "KILL", &call, &why);
	if (result == 0)
		result = sbx_container_wait(engine, id, &call, NULL, &why);
	/* The engines word "it does not run" differently, so the state decides. */
	if (result == 0 || settled(engine, id, &call, &state) == 0)
		return 0;
	return sbx_fail_kind(err, why.kind, why.errnum,
		"the processes of sandbox %s could not be killed: %s", sandbox->container.name,
		why.message);
}
