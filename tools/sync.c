/* sync.c: `sbxfs sync DIR`: the barrier for uploads that were acknowledged before they landed (-o
 * async). */
#include "tool.h"

#include "../fs/pending.h"

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	bool done;
	const struct sbx_option table[] = { { 0 } };
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0 ||
		(!done && sbx_tool_operands(tool, 1, 1, &err) < 0) ||
		(!done && sbx_sync(tool->operands.items[0], &err) < 0))
		return sbx_tool_fail(tool, &err);
	return 0;
}

const struct sbx_tool_command sbx_tool_sync = {
	"sync",
	"DIR",
	"Waits until everything written under in/ of the mount on DIR has landed, or says what has "
	"not.",
	"\nsync(1) and syncfs(2) never reach a file system like this one: use this.\n",
	run,
};
