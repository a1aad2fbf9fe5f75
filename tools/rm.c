/* rm.c: `sbxfs rm NAME… | --scope S [--thread T] [--agent A] [--kind K]`: force-removes sandboxes,
 * never stops them. */
#include "tool.h"

#include "removals.h"

#include "../engine/base/alloc.h"

#include <sbx/dispose.h>

#include <errno.h>

static int remove_named(struct sbx_tool *tool, const char *instance, struct sbx_removals *removals,
	struct sbx_error *err)
{
	int first = 0;
	for (size_t i = 0; i < tool->operands.count; i++) {
		struct sbx_removed row = { 0 };
		struct sbx_error own = SBX_ERROR_INIT;
		struct sbx_call call = sbx_tool_call(tool, 30000);
		int rc = sbx_dispose(tool->engine, tool->rules, tool->operands.items[i], instance,
			&call, &row, &own);
		if (rc < 0 && !first) {
			first = rc;
			*err = own;
		}
		sbx_removals_take(removals, &row, rc);
	}
	return first;
}

/* No engine: every name has its row all the same. */
static int unreached(struct sbx_tool *tool, struct sbx_removals *removals, struct sbx_error *err)
{
	for (size_t i = 0; i < tool->operands.count && err->kind != SBX_KIND_USAGE; i++) {
		struct sbx_removed row = { .name = sbx_strdup(tool->operands.items[i]),
			.result = SBX_REMOVAL_UNREACHABLE,
			.reason = sbx_strdup(err->message) };
		sbx_removals_take(removals, &row, -err->errnum);
	}
	return -err->errnum;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_removals removals = { 0 };
	struct sbx_identity_filter filter = { 0 };
	const char *instance = NULL;
	bool done;
	const struct sbx_option table[] = {
		{ "scope", 0, SBX_OPTION_TEXT, &filter.scope },
		{ "thread", 0, SBX_OPTION_TEXT, &filter.thread },
		{ "agent", 0, SBX_OPTION_TEXT, &filter.agent },
		{ "kind", 0, SBX_OPTION_TEXT, &filter.kind },
		{ "instance", 0, SBX_OPTION_TEXT, &instance },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ 0 },
	};
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (done)
		return 0;
	bool narrowed = filter.thread || filter.agent || filter.kind;
	if (filter.scope ? tool->operands.count != 0 : !tool->operands.count || narrowed) {
		sbx_fail(&err, EINVAL,
			"either names or --scope [--thread --agent --kind]; usage: sbxfs rm %s",
			tool->command->usage);
		return sbx_tool_fail(tool, &err);
	}
	if (sbx_removals_check_identity(&filter, &err) < 0)
		return sbx_tool_fail(tool, &err);
	/* All of them before the first is removed: a slip in one word leaves everything in place.
	 */
	for (size_t i = 0; i < tool->operands.count; i++) {
		if (sbx_sandbox_name_check(tool->operands.items[i], &err) < 0)
			return sbx_tool_fail(tool, &err);
	}
	if (instance && tool->operands.count != 1) {
		sbx_fail(&err, EINVAL, "--instance goes with exactly one name");
		return sbx_tool_fail(tool, &err);
	}
	int rc;
	if (sbx_tool_open(tool, false, &err) < 0) {
		rc = unreached(tool, &removals, &err);
	} else if (filter.scope) {
		struct sbx_call call = sbx_tool_call(tool, 120000);
		rc = sbx_dispose_identity(tool->engine, &filter, &call, &removals, &err);
	} else {
		rc = remove_named(tool, instance, &removals, &err);
	}
	int code = sbx_removals_print(tool, &removals, rc, &err);
	sbx_removals_finish(&removals);
	return code;
}

const struct sbx_tool_command sbx_tool_rm = {
	"rm",
	"NAME… | --scope S [--thread T] [--agent A] [--kind K]",
	"Removes sandboxes at once, with everything in them.",
	"\n  --scope S              all of that scope, from whichever process they are\n"
	"  --thread T, --agent A, --kind K\n"
	"                         only these of the scope; what is not given means every one\n"
	"  --instance ID          only if the sandbox of that name is this very container\n"
	"  --timeout SECONDS      for each name, default 30\n\n"
	"One that is not there is no failure. A container that is no sandbox is never removed "
	"(exit 12). A word that can be\n"
	"no name, or is only the beginning of several ids, is exit 2. Interrupted, it exits with "
	"130, whatever has gone by then.\n",
	run,
};
