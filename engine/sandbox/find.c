/*
 * find.c: one sandbox by its name, or by an id long enough to mean no other. Bounded, so that one
 * that does not answer is a sentence and not a hang.
 */
#include "inspect_many.h"
#include "names.h"

#include <errno.h>
#include <sbx/sandbox.h>

int sbx_sandbox_find(struct sbx_engine *engine, const struct sbx_rules *rules, const char *name,
	const struct sbx_call *call, struct sbx_sandbox *out, struct sbx_error *err)
{
	int rc = sbx_sandbox_name_check(name, err);
	if (rc < 0)
		return rc;
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	struct sbx_container container = { 0 };
	struct sbx_call bounded = sbx_call_shorter(call, SBX_INSPECT_BOUND_MS);
	rc = sbx_container_inspect(engine, name, &bounded, &container, err);
	if (rc == -ETIMEDOUT && sbx_call_left_ms(call) > 0)
		return sbx_fail(err, ETIMEDOUT,
			"sandbox %s: the engine does not answer for it within %d s", name,
			SBX_INSPECT_BOUND_MS / 1000);
	if (rc < 0 && err->kind == SBX_KIND_ABSENT)
		return sbx_fail(err, ENOENT, "no sandbox or container is named '%s'", name);
	if (rc < 0)
		return sbx_wrap(err, "sandbox %s", name);
	/* Engines also resolve a short id prefix: that would be a container nobody meant. */
	if (!sbx_name_is(name, container.name, container.id))
		rc = sbx_fail(err, ENOENT, "no sandbox or container is named '%s'", name);
	else if ((rc = sbx_sandbox_recognise(&container, rules, out, err)) == 0)
		rc = sbx_fail(err, ENOENT,
			"container '%s' is not a sandbox: it has no label of one and no rule "
			"matches it",
			name);
	sbx_container_finish(&container);
	return rc == 1 ? 0 : rc;
}
