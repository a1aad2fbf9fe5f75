/* reap.c: `sbxfs reap --older-than AGE`: removes sandboxes by age of creation. */
#include "removals.h"

#include <errno.h>

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_removals removals = { 0 };
	struct sbx_reap reap = { 0 };
	bool done;
	const struct sbx_option table[] = {
		{ "older-than", 0, SBX_OPTION_SECONDS, &reap.older_than_s },
		{ "scope", 0, SBX_OPTION_TEXT, &reap.scope },
		{ "dry-run", 0, SBX_OPTION_FLAG, &reap.dry_run },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ 0 },
	};
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0 ||
		(!done && sbx_tool_operands(tool, 0, 0, &err) < 0))
		return sbx_tool_fail(tool, &err);
	if (done)
		return 0;
	if (reap.older_than_s <= 0) {
		sbx_fail(&err, EINVAL, "--older-than wants an age above zero, such as 24h");
		return sbx_tool_fail(tool, &err);
	}
	const struct sbx_identity_filter whose = { .scope = reap.scope };
	if (sbx_removals_check_identity(&whose, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (sbx_tool_open(tool, false, &err) < 0)
		return sbx_tool_fail(tool, &err);
	struct sbx_call call = sbx_tool_call(tool, 600000);
	int rc = sbx_reap(tool->engine, &reap, &call, &removals, &err);
	int code = sbx_removals_print(tool, &removals, rc, &err);
	sbx_removals_finish(&removals);
	return code;
}

const struct sbx_tool_command sbx_tool_reap = {
	"reap",
	"--older-than AGE [--scope S] [--dry-run]",
	"Removes our sandboxes that were created longer ago than AGE, running ones too.",
	"\n  --older-than 24h       strictly older; s, m, h, d\n"
	"  --scope S              only of that scope; else of every scope\n"
	"  --dry-run              print the same table, remove nothing\n"
	"  --timeout SECONDS      of all of it, default 600\n\n"
	"Age is time since creation: neither idleness nor its host's death. If the sandboxes "
	"cannot all be listed, nothing is\n"
	"removed. Nothing is ever scheduled: call it from cron or a timer. Interrupted, it exits "
	"with 130; the table says what has gone.\n",
	run,
};
