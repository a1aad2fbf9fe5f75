/* sync.c: `sbxfs sync DIR`: the barrier for uploads that were acknowledged before they landed (-o
 * async). */
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"
#include "../fs/pending.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Files under a saver's temporary name are no failure, but whoever gave one such a name by chance
 * would wait for it in vain. */
static void name_local(const char *directory)
{
	cleanup_free char *path = sbx_printf("%s/.sbxfs/pending", directory);
	cleanup_free char *line = NULL;
	size_t room = 0;
	FILE *pending = fopen(path, "re");
	for (ssize_t size; pending && (size = getline(&line, &room, pending)) > 0;) {
		struct sbx_error err = SBX_ERROR_INIT;
		cleanup_json cJSON *json =
			sbx_json_parse(line, (size_t)size, 4, "a line of .sbxfs/pending", &err);
		const char *state = json ? sbx_json_string(json, "state") : NULL;
		if (state && !strcmp(state, "local"))
			sbx_tool_say_local(
				sbx_json_string(json, "sandbox"), sbx_json_string(json, "path"));
	}
	if (pending)
		(void)fclose(pending); /* only read */
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	bool done;
	const struct sbx_option table[] = { { 0 } };
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0 ||
		(!done && sbx_tool_operands(tool, 1, 1, &err) < 0) ||
		(!done && sbx_sync(tool->operands.items[0], &err) < 0))
		return sbx_tool_fail(tool, &err);
	if (!done)
		name_local(tool->operands.items[0]);
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
