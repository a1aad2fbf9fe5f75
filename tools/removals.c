/* removals.c: see removals.h. */
#include "removals.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"

#include <errno.h>

void sbx_removals_take(struct sbx_removals *removals, struct sbx_removed *row, int result)
{
	removals->rows =
		sbx_realloc_array(removals->rows, removals->count + 1, sizeof(*removals->rows));
	removals->rows[removals->count++] = *row;
	*row = (struct sbx_removed){ 0 };
	if (result < 0)
		removals->failed++;
	else if (removals->rows[removals->count - 1].result == SBX_REMOVAL_REMOVED)
		removals->removed++;
}

int sbx_removals_check_identity(const struct sbx_identity_filter *filter, struct sbx_error *err)
{
	const char *const values[] = { filter->scope, filter->thread, filter->agent, filter->kind };
	static const char *const names[] = { "scope", "thread", "agent", "kind" };
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (values[i] && !*values[i])
			return sbx_fail(err, EINVAL,
				"--%s is empty, and would mean every sandbox that was made without "
				"one",
				names[i]);
	}
	return 0;
}

static void print_plain(const struct sbx_removals *removals)
{
	for (size_t i = 0; i < removals->count; i++) {
		const struct sbx_removed *row = &removals->rows[i];
		cleanup_free char *name = sbx_text_escape(row->name ? row->name
							  : row->id ? row->id
								    : "?");
		cleanup_free char *reason = sbx_text_escape(row->reason ? row->reason : "");
		sbx_tool_print("%s %s%s%s\n", name, sbx_removal_name(row->result),
			*reason ? ": " : "", reason);
	}
}

static void print_json(const struct sbx_removals *removals)
{
	cJSON *json = cJSON_CreateObject();
	cJSON *rows = cJSON_AddArrayToObject(json, "sandboxes");
	for (size_t i = 0; i < removals->count; i++) {
		const struct sbx_removed *row = &removals->rows[i];
		cJSON *item = cJSON_CreateObject();
		sbx_json_add_text(item, "name", row->name ? row->name : "");
		sbx_json_add_text(item, "id", row->id ? row->id : "");
		cJSON_AddStringToObject(item, "result", sbx_removal_name(row->result));
		if (row->reason)
			sbx_json_add_text(item, "reason", row->reason);
		if (row->age_s)
			sbx_json_add_int(item, "age_s", row->age_s);
		cJSON_AddItemToArray(rows, item);
	}
	sbx_json_add_int(json, "removed", (int64_t)removals->removed);
	sbx_json_add_int(json, "failed", (int64_t)removals->failed);
	sbx_tool_print_json(json);
}

int sbx_removals_print(const struct sbx_tool *tool, const struct sbx_removals *removals, int result,
	const struct sbx_error *err)
{
	if (result < 0 && !removals->count)
		return sbx_tool_fail(tool, err);
	if (tool->json)
		print_json(removals);
	else
		print_plain(removals);
	if (result >= 0)
		return removals->failed ? SBX_EXIT_PARTIAL : 0;
	struct sbx_tool plain = *tool;
	plain.json = false; /* the document is printed already */
	int code = sbx_tool_fail(&plain, err);
	if (sbx_cancel_fired(tool->cancel))
		return SBX_EXIT_INTERRUPTED;
	return removals->removed ? SBX_EXIT_PARTIAL : code;
}
