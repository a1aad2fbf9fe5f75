/* put.c: `sbxfs put NAME SRC… [--to DEST]`: host files and trees into a sandbox's in dir. */
#include "tool.h"

#include "transfer_progress.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"

#include <sbx/transfer.h>

#include <errno.h>
#include <stdio.h>

static int upload(struct sbx_tool *tool, const struct sbx_sandbox *sandbox, const char *dest,
	const struct sbx_ceilings *ceilings)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_plane_limits limits;
	struct sbx_transfer_totals totals = { 0 };
	struct sbx_transfer_progress progress = { sbx_transfer_progress_tick, NULL };
	if (!dest && !sandbox->in_dir) {
		sbx_fail(&err, EOPNOTSUPP, "sandbox %s has no in dir", sandbox->container.name);
		return sbx_tool_fail(tool, &err);
	}
	sbx_plane_limits_default(&limits);
	if (ceilings->max_file_bytes)
		limits.max_in_bytes = ceilings->max_file_bytes;
	struct sbx_plane *plane = sbx_transfer_plane(tool->engine, sandbox, &limits);
	struct sbx_call call = sbx_tool_call(tool, 0);
	int rc = sbx_upload(plane, sandbox, tool->operands.items + 1, tool->operands.count - 1,
		dest ? dest : sandbox->in_dir, ceilings, &call, &progress, &totals, &err);
	sbx_transfer_progress_end();
	sbx_plane_destroy(plane);
	if (rc < 0)
		return sbx_tool_fail(tool, &err);
	if (tool->json) {
		cJSON *json = cJSON_CreateObject();
		sbx_json_add_int(json, "files", totals.files);
		sbx_json_add_int(json, "directories", totals.directories);
		sbx_json_add_int(json, "bytes", totals.bytes);
		sbx_tool_print_json(json);
	} else {
		(void)fprintf(stderr, "%lld files, %lld bytes\n", (long long)totals.files,
			(long long)totals.bytes); /* a courtesy: the exit code is the result */
	}
	return 0;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_ceilings asked = { 0 }, ceilings;
	struct sbx_error err = SBX_ERROR_INIT;
	const char *dest = NULL;
	int code;
	const struct sbx_option table[] = {
		{ "to", 0, SBX_OPTION_TEXT, &dest },
		{ "max-file", 0, SBX_OPTION_BYTES, &asked.max_file_bytes },
		{ "max-total", 0, SBX_OPTION_BYTES, &asked.max_total_bytes },
		{ "max-files", 0, SBX_OPTION_COUNT, &asked.max_files },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ "idle-timeout", 0, SBX_OPTION_MS, &tool->idle_ms },
		{ 0 },
	};
	if (!sbx_tool_begin(tool, argc, argv, table, 2, SIZE_MAX, true, &sandbox, &code))
		return code;
	if (sbx_ceilings_ask("in", &asked, &tool->limits.in, &ceilings, &err) < 0)
		code = sbx_tool_fail(tool, &err);
	else
		code = upload(tool, &sandbox, dest, &ceilings);
	sbx_sandbox_finish(&sandbox);
	return code;
}

const struct sbx_tool_command sbx_tool_put = {
	"put",
	"NAME SRC… [--to DEST]",
	"Copies host files and directories into a sandbox, owned by its guest.",
	"\n  --to DEST              the in dir (the default) or a directory below it, as a path "
	"relative to the work dir\n"
	"  --max-file SIZE  --max-total SIZE  --max-files N\n"
	"                         ceilings, in all of this call; more is refused before anything "
	"is "
	"sent. Default: those of\n"
	"                         [limits] in the config file, else 1g a file and no other\n"
	"  --timeout SECONDS      default: no bound\n"
	"  --idle-timeout SECONDS without a byte from the engine or to it, default 60\n\n"
	"Links and special files in a source are refused before anything is sent. A colon or a "
	"trailing slash in a name has\n"
	"no meaning. Exit 14 where this host cannot read a source.\n",
	run,
};
