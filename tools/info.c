/* info.c: `sbxfs info NAME [PATH]`: a sandbox's identity and state, or what a guest path is,
 * unfollowed. */
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"

#include <sbx/guest_user.h>
#include <sbx/transfer.h>

#include <stdio.h>
#include <string.h>

static int print_sandbox(struct sbx_tool *tool, const struct sbx_sandbox *sandbox)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_guest_user user = { 0 };
	cJSON *json = sbx_tool_sandbox_json(sandbox);
	struct sbx_call call = sbx_tool_call(tool, 10000);
	if (sbx_guest_user_resolve(tool->engine, &sandbox->container, NULL, &call, &user, &err) ==
		0) {
		sbx_json_add_int(json, "guest_uid", user.uid);
		sbx_json_add_int(json, "guest_gid", user.gid);
	} else {
		sbx_json_add_text(json, "guest_user_unresolved", err.message);
	}
	const char *caveat = sbx_guest_root_caveat(&sandbox->container);
	if (caveat)
		sbx_json_add_text(json, "guest_user_note", caveat);
	if (tool->json) {
		sbx_tool_print_json(json);
		return 0;
	}
	for (const cJSON *item = json->child; item; item = item->next) {
		cleanup_free char *text = cJSON_IsString(item) ? sbx_text_escape(item->valuestring)
							       : sbx_json_print_shown(item);
		sbx_tool_print("%-10s %s\n", item->string, text);
	}
	cJSON_Delete(json);
	return 0;
}

static void print_path(const struct sbx_tool *tool, const char *path, const struct sbx_stat *st)
{
	char when[64];
	if (tool->json) {
		cJSON *json = cJSON_CreateObject();
		char mode[8];
		(void)snprintf(mode, sizeof(mode), "%04o", st->mode & 07777u); /* always fits */
		sbx_json_add_text(json, "path", path);
		cJSON_AddStringToObject(json, "type", sbx_type_name(st->type));
		cJSON_AddStringToObject(json, "mode", mode);
		if (st->type == SBX_TYPE_FILE)
			sbx_json_add_int(json, "size", st->size);
		sbx_json_add_int(json, "mtime", st->mtime_s);
		sbx_json_add_int(json, "mtime_ns", st->mtime_ns < 0 ? 0 : st->mtime_ns);
		if (st->link_target)
			sbx_json_add_text(json, "target", st->link_target);
		sbx_tool_print_json(json);
		return;
	}
	cleanup_free char *shown = sbx_text_escape(path);
	sbx_tool_print("%s: %s, mode %04o", shown, sbx_type_name(st->type), st->mode & 07777u);
	if (st->type == SBX_TYPE_FILE)
		sbx_tool_print(", %lld bytes", (long long)st->size);
	sbx_tool_print(", changed %s.%09dZ", sbx_tool_utc(st->mtime_s, when),
		st->mtime_ns < 0 ? 0 : st->mtime_ns);
	if (st->type == SBX_TYPE_LINK) {
		cleanup_free char *target =
			sbx_text_escape(st->link_target ? st->link_target : "?");
		sbx_tool_print(
			", to %s inside the sandbox: never followed; declare or ask for that path",
			target);
	}
	sbx_tool_print("\n");
}

static int stat_path(struct sbx_tool *tool, const struct sbx_sandbox *sandbox, const char *path)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_plane_limits limits;
	struct sbx_stat st = { 0 };
	sbx_plane_limits_default(&limits);
	struct sbx_plane *plane = sbx_transfer_plane(tool->engine, sandbox, &limits);
	struct sbx_call call = sbx_tool_call(tool, 30000);
	int rc = plane->ops->stat(plane, path, &call, &st, &err);
	if (rc == 0)
		print_path(tool, path, &st);
	sbx_stat_finish(&st);
	sbx_plane_destroy(plane);
	return rc < 0 ? sbx_tool_fail(tool, &err) : 0;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_sandbox sandbox = { 0 };
	int code;
	const struct sbx_option table[] = { { "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ 0 } };
	if (!sbx_tool_begin(tool, argc, argv, table, 1, 2, true, &sandbox, &code))
		return code;
	code = tool->operands.count == 2 ? stat_path(tool, &sandbox, tool->operands.items[1])
					 : print_sandbox(tool, &sandbox);
	sbx_sandbox_finish(&sandbox);
	return code;
}

const struct sbx_tool_command sbx_tool_info = {
	"info",
	"NAME [PATH] [--json] [--timeout SECONDS]",
	"Shows a sandbox's identity, declaration and guest user, or what a path in it is.",
	"\nPATH is relative to the work dir. A link is described with where it points, never "
	"followed.\n",
	run,
};
