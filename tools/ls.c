/* ls.c: `sbxfs ls`: every sandbox of the engine, one line each; `sbxfs ls NAME`: what that one has
 * produced. */
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/buffer.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"

#include <sbx/produced.h>
#include <sbx/transfer.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#define OUTPUTS_MS 120000

static char *age_of(const struct sbx_container *container)
{
	int64_t seconds = (int64_t)time(NULL) - container->created_ns / 1000000000;
	if (!container->created_ns || seconds < 0)
		return sbx_strdup("?");
	if (seconds < 120)
		return sbx_printf("%llds", (long long)seconds);
	if (seconds < 7200)
		return sbx_printf("%lldm", (long long)seconds / 60);
	if (seconds < 172800)
		return sbx_printf("%lldh", (long long)seconds / 3600);
	return sbx_printf("%lldd", (long long)seconds / 86400);
}

static char *outputs_of(const struct sbx_sandbox *sandbox)
{
	struct sbx_buffer text = { 0 };
	if (sandbox->refusal)
		(void)sbx_buffer_printf(
			&text, "refused: %s", sandbox->refusal); /* no limit: cannot fail */
	for (size_t i = 0; i < sandbox->output_count; i++)
		(void)sbx_buffer_printf(&text, "%s%s%s", i ? " " : "", sandbox->outputs[i].path,
			sandbox->outputs[i].directory ? "/" : ""); /* as above */
	char *escaped = sbx_text_escape(sbx_buffer_text(&text));
	sbx_buffer_finish(&text);
	return escaped;
}

static void print_rows(const struct sbx_sandbox_list *list)
{
	int width = 4;
	for (size_t i = 0; i < list->count; i++) {
		int length = (int)strlen(list->rows[i].container.name);
		width = length > width ? length : width;
	}
	if (list->count)
		sbx_tool_print("%-*s  %-8s %5s  %-7s %s\n", width, "NAME", "STATE", "AGE", "MOUNTS",
			"OUTPUTS");
	for (size_t i = 0; i < list->count; i++) {
		const struct sbx_container *container = &list->rows[i].container;
		cleanup_free char *name = sbx_text_escape(container->name);
		cleanup_free char *age = age_of(container);
		cleanup_free char *outputs = outputs_of(&list->rows[i]);
		sbx_tool_print("%-*s  %-8s %5s  %-7s %s\n", width, name,
			sbx_state_name(container->state), age,
			container->mount_count ? "yes" : "no", outputs);
	}
}

static int list_sandboxes(struct sbx_tool *tool)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox_list list = { 0 };
	size_t skipped = 0;
	struct sbx_call call = sbx_tool_call(tool, 30000);
	if (sbx_sandbox_list(tool->engine, tool->rules, NULL, &call, &list, &skipped, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (tool->json) {
		cJSON *json = cJSON_CreateArray();
		for (size_t i = 0; i < list.count; i++)
			cJSON_AddItemToArray(json, sbx_tool_sandbox_json(&list.rows[i]));
		sbx_tool_print_json(json);
	} else {
		print_rows(&list);
	}
	sbx_sandbox_list_finish(&list);
	if (!skipped)
		return 0;
	(void)fprintf(stderr,
		"sbxfs ls: the engine did not answer about %zu more; try again, or `sbxfs "
		"doctor`\n",
		skipped); /* nowhere else to say it */
	return SBX_EXIT_PARTIAL;
}

static const char *type_of(const struct sbx_product *row)
{
	if (row->absent)
		return row->reason ? "refused" : "absent";
	return sbx_type_name(row->st.type);
}

static void print_products(const struct sbx_products *products)
{
	if (products->count)
		sbx_tool_print("%-9s  %12s  %-20s  %s\n", "TYPE", "SIZE", "CHANGED", "PATH");
	for (size_t i = 0; i < products->count; i++) {
		const struct sbx_product *row = &products->rows[i];
		bool file = !row->absent && row->st.type == SBX_TYPE_FILE;
		cleanup_free char *path = sbx_text_escape(row->path);
		cleanup_free char *size =
			file ? sbx_printf("%lld", (long long)row->st.size) : sbx_strdup("-");
		char when[64];
		sbx_tool_print("%-9s  %12s  %-19s%s  %s%s\n", type_of(row), size,
			row->absent ? "-" : sbx_tool_utc(row->st.mtime_s, when),
			row->absent ? " " : "Z", path,
			!row->absent && row->st.type == SBX_TYPE_DIR ? "/" : "");
	}
	for (size_t i = 0; i < products->count; i++) {
		if (!products->rows[i].reason)
			continue;
		cleanup_free char *path = sbx_text_escape(products->rows[i].path);
		cleanup_free char *reason = sbx_text_escape(products->rows[i].reason);
		(void)fprintf(
			stderr, "refused %s: %s\n", path, reason); /* nowhere else to say it */
	}
}

static void print_products_json(const struct sbx_products *products)
{
	cJSON *json = cJSON_CreateArray();
	for (size_t i = 0; i < products->count; i++) {
		const struct sbx_product *row = &products->rows[i];
		cJSON *item = cJSON_CreateObject();
		sbx_json_add_bytes(item, "path", row->path, strlen(row->path));
		cJSON_AddStringToObject(item, "type", type_of(row));
		if (!row->absent && row->st.type == SBX_TYPE_FILE)
			sbx_json_add_int(item, "size", row->st.size);
		if (!row->absent)
			sbx_json_add_int(item, "mtime", row->st.mtime_s);
		if (row->reason)
			sbx_json_add_text(item, "refused", row->reason);
		cJSON_AddItemToArray(json, item);
	}
	sbx_tool_print_json(json);
}

/* What was produced of what is declared. */
static int list_outputs(struct sbx_tool *tool, const struct sbx_sandbox *sandbox, const char *path)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_plane_limits limits;
	struct sbx_products products = { 0 };
	sbx_plane_limits_default(&limits);
	struct sbx_plane *plane = sbx_transfer_plane(tool->engine, sandbox, &limits);
	struct sbx_call call = sbx_tool_call(tool, OUTPUTS_MS);
	int rc = sbx_produced(plane, sandbox, path, &call, &products, &err);
	sbx_plane_destroy(plane);
	if (rc < 0)
		return sbx_tool_fail(tool, &err);
	if (tool->json)
		print_products_json(&products);
	else
		print_products(&products);
	int code = products.refused ? SBX_EXIT_PARTIAL : 0;
	sbx_products_finish(&products);
	return code;
}

/* What differs from the image anywhere. */
static int list_changes(struct sbx_tool *tool, const struct sbx_sandbox *sandbox)
{
	static const char *const words[] = { "changed", "added", "deleted" };
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_changed_list list = { 0 };
	struct sbx_call call = sbx_tool_call(tool, OUTPUTS_MS);
	if (sbx_changed(tool->engine, sandbox, &call, &list, &err) < 0)
		return sbx_tool_fail(tool, &err);
	cJSON *json = tool->json ? cJSON_CreateArray() : NULL;
	if (!json && list.count)
		sbx_tool_print("%-7s  %-8s  %s\n", "CHANGE", "DECLARED", "PATH");
	for (size_t i = 0; i < list.count; i++) {
		const struct sbx_changed *row = &list.rows[i];
		if (json) {
			cJSON *item = cJSON_CreateObject();
			sbx_json_add_bytes(item, "path", row->path, strlen(row->path));
			cJSON_AddStringToObject(item, "change", words[row->kind]);
			cJSON_AddBoolToObject(item, "declared", row->declared);
			cJSON_AddItemToArray(json, item);
		} else {
			cleanup_free char *path = sbx_text_escape(row->path);
			sbx_tool_print("%-7s  %-8s  %s\n", words[row->kind],
				row->declared ? "yes" : "no", path);
		}
	}
	if (json)
		sbx_tool_print_json(json);
	sbx_changed_list_finish(&list);
	return 0;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox sandbox = { 0 };
	bool done, changes = false;
	const struct sbx_option table[] = { { "changes", 0, SBX_OPTION_FLAG, &changes },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms }, { 0 } };
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (done)
		return 0;
	const struct sbx_list *words = &tool->operands;
	if (sbx_tool_operands(tool, changes ? 1 : 0, changes ? 1 : 2, &err) < 0 ||
		(words->count && sbx_sandbox_name_check(words->items[0], &err) < 0) ||
		sbx_tool_open(tool, words->count > 0, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (!words->count)
		return list_sandboxes(tool);
	if (sbx_tool_find_sandbox(tool, words->items[0], &sandbox, &err) < 0)
		return sbx_tool_fail(tool, &err);
	int code =
		changes ? list_changes(tool, &sandbox)
			: list_outputs(tool, &sandbox, words->count == 2 ? words->items[1] : NULL);
	sbx_sandbox_finish(&sandbox);
	return code;
}

const struct sbx_tool_command sbx_tool_ls = {
	"ls",
	"[NAME [PATH] | NAME --changes] [--json] [--timeout SECONDS]",
	"Lists the sandboxes of the engine, or what the one of that name has produced.",
	"\nWithout NAME: name, state, age, whether it has mounts, declared outputs. Sandboxes "
	"about "
	"which the engine does not\n"
	"answer are counted, and the exit code is then 13.\n"
	"With NAME: every declared output and all that is below it, with type, size and time; one "
	"that is not there is\n"
	"\"absent\". PATH, a declared output or below one, is looked at alone. What cannot be "
	"served "
	"is said; exit 13.\n\n"
	"  --changes              every path that was added, changed or deleted since the image, "
	"and "
	"whether it is declared\n"
	"  --timeout SECONDS      default 30; with NAME 30 to find it and 120 to look\n",
	run,
};
