/* get.c: `sbxfs get NAME PATH… [--to DEST]`: declared outputs out of a sandbox, whole or not at
 * all. */
#include "tool.h"

#include "transfer_progress.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"

#include <sbx/transfer.h>

#include <stdio.h>
#include <string.h>

static void print_rows(const struct sbx_tool *tool, const struct sbx_fetches *fetches)
{
	cJSON *json = tool->json ? cJSON_CreateArray() : NULL;
	for (size_t i = 0; i < fetches->count; i++) {
		const struct sbx_fetched *row = &fetches->rows[i];
		if (json) {
			cJSON *item = cJSON_CreateObject();
			sbx_json_add_bytes(item, "path", row->path, strlen(row->path));
			sbx_json_add_int(item, "size", row->size);
			cJSON_AddStringToObject(item, "sha256", row->sha256);
			if (row->reason)
				sbx_json_add_text(item, "refused", row->reason);
			cJSON_AddItemToArray(json, item);
		} else if (row->reason) {
			cleanup_free char *path = sbx_text_escape(row->path);
			cleanup_free char *reason = sbx_text_escape(row->reason);
			(void)fprintf(stderr, "refused %s: %s\n", path,
				reason); /* nowhere else to say it */
		}
	}
	if (json)
		sbx_tool_print_json(json);
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_fetches fetches = { 0 };
	struct sbx_plane_limits limits;
	struct sbx_ceilings asked = { 0 };
	struct sbx_fetch_options options = { 0 };
	const char *dest = ".";
	int code;
	sbx_plane_limits_default(&limits);
	const struct sbx_option table[] = {
		{ "to", 0, SBX_OPTION_TEXT, &dest },
		{ "force", 0, SBX_OPTION_FLAG, &options.force },
		{ "max-file", 0, SBX_OPTION_BYTES, &asked.max_file_bytes },
		{ "max-total", 0, SBX_OPTION_BYTES, &asked.max_total_bytes },
		{ "max-files", 0, SBX_OPTION_COUNT, &asked.max_files },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ "idle-timeout", 0, SBX_OPTION_MS, &tool->idle_ms },
		{ 0 },
	};
	if (!sbx_tool_begin(tool, argc, argv, table, 2, SIZE_MAX, true, &sandbox, &code))
		return code;
	if (sbx_ceilings_ask("out", &asked, &tool->limits.out, &options.ceilings, &err) < 0) {
		sbx_sandbox_finish(&sandbox);
		return sbx_tool_fail(tool, &err);
	}
	if (options.ceilings.max_file_bytes)
		limits.max_file_bytes = options.ceilings.max_file_bytes;
	struct sbx_plane *plane = sbx_transfer_plane(tool->engine, &sandbox, &limits);
	struct sbx_call call = sbx_tool_call(tool, 0);
	struct sbx_transfer_progress progress = { sbx_transfer_progress_tick, NULL };
	int rc = sbx_fetch(plane, &sandbox, tool->operands.items + 1, tool->operands.count - 1,
		dest, &options, &call, &progress, &fetches, &err);
	sbx_transfer_progress_end();
	sbx_plane_destroy(plane);
	struct sbx_tool plain = *tool;
	if (rc == 0 || err.kind == SBX_KIND_PARTIAL) {
		print_rows(tool, &fetches);
		plain.json = false; /* the document is printed already */
	}
	sbx_fetches_finish(&fetches);
	sbx_sandbox_finish(&sandbox);
	return rc < 0 ? sbx_tool_fail(&plain, &err) : 0;
}

const struct sbx_tool_command sbx_tool_get = {
	"get",
	"NAME PATH… [--to DIR] [--force]",
	"Copies declared outputs to the host: each PATH lands in DIR (default: here) under its "
	"last name.",
	"\n  --force                replace what exists there\n"
	"  --max-file SIZE  --max-total SIZE  --max-files N\n"
	"                         ceilings, in all of this call; more is refused and nothing "
	"lands. "
	"Default: those of\n"
	"                         [limits] in the config file, else 1g a file and no other\n"
	"  --timeout SECONDS      default: no bound\n"
	"  --idle-timeout SECONDS without a byte from the engine or to it, default 60\n"
	"  --json                 size and sha256 of each; path_base64 beside a path that is not "
	"UTF-8\n\n"
	"A file has its final name only when it is whole. Links, fifos, sockets and devices are "
	"refused and named; exit 13 when\n"
	"the rest was copied, 14 when this host cannot take them.\n",
	run,
};
