/* ls.c: `sbxfs ls`: every sandbox of the engine, one line each. */
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/buffer.h"
#include "../engine/base/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

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

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox_list list = { 0 };
	size_t skipped = 0;
	bool done;
	const struct sbx_option table[] = { { "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ 0 } };
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (done)
		return 0;
	if (sbx_tool_operands(tool, 0, 0, &err) < 0 || sbx_tool_open(tool, false, &err) < 0)
		return sbx_tool_fail(tool, &err);
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

const struct sbx_tool_command sbx_tool_ls = {
	"ls",
	"[--json] [--timeout SECONDS]",
	"Lists the sandboxes of the engine: name, state, age, whether it has mounts, declared "
	"outputs.",
	"\nSandboxes about which the engine does not answer are counted, and the exit code is then "
	"13.\n",
	run,
};
