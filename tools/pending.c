/* pending.c: `sbxfs pending`: files that were written under in/ and have not landed, kept after
 * their mount ended. */
#include "mount_options.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"
#include "../fs/pending.h"

#include <errno.h>
#include <stdio.h>

static void tell(void *data, const struct sbx_pending_row *row, const struct sbx_error *failure)
{
	const char *verb = data;
	cleanup_free char *sandbox = sbx_text_escape(row->staged.sandbox_name);
	cleanup_free char *path = sbx_text_escape(row->staged.path);
	cleanup_free char *why = failure ? sbx_text_escape(failure->message) : NULL;
	if (why)
		(void)fprintf(stderr, "%s %s: not %s: %s\n", sandbox, path, verb,
			why); /* nowhere else to say it */
	else
		sbx_tool_print("%s %s %s\n", sandbox, path, verb);
}

static int list(struct sbx_tool *tool, const char *root, const struct sbx_pending_filter *filter)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_pending pending = { 0 };
	if (sbx_pending_list(root, filter, &pending, &err) < 0)
		return sbx_tool_fail(tool, &err);
	cJSON *json = tool->json ? cJSON_CreateArray() : NULL;
	for (size_t i = 0; i < pending.count; i++) {
		const struct sbx_staged *staged = &pending.rows[i].staged;
		if (json) {
			cJSON *row = cJSON_CreateObject();
			sbx_json_add_text(row, "sandbox", staged->sandbox_name);
			sbx_json_add_text(row, "path", staged->path);
			sbx_json_add_int(row, "size", staged->size);
			sbx_json_add_text(row, "reason", staged->reason ? staged->reason : "");
			sbx_json_add_text(row, "engine", pending.rows[i].engine_url);
			cJSON_AddItemToArray(json, row);
			continue;
		}
		cleanup_free char *sandbox = sbx_text_escape(staged->sandbox_name);
		cleanup_free char *path = sbx_text_escape(staged->path);
		cleanup_free char *reason =
			sbx_text_escape(staged->reason ? staged->reason : "not tried yet");
		sbx_tool_print(
			"%s %s (%lld bytes): %s\n", sandbox, path, (long long)staged->size, reason);
	}
	if (json)
		sbx_tool_print_json(json);
	for (size_t i = 0; i < pending.live_count; i++) {
		cleanup_free char *live = sbx_text_escape(pending.live[i]);
		(void)fprintf(stderr, "%s is mounted: its own are in %s/.sbxfs/pending\n", live,
			live); /* a hint */
	}
	sbx_pending_finish(&pending);
	return 0;
}

static int retry(struct sbx_tool *tool, const char *root, const struct sbx_pending_filter *filter,
	struct sbx_error *err)
{
	int rc = sbx_tool_open(tool, true, err);
	if (rc < 0)
		return rc;
	struct sbx_call call = sbx_tool_call(tool, 600000);
	return sbx_pending_retry(
		root, filter, tool->engine, tool->rules, &call, tell, (void *)"uploaded", err);
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_pending_filter filter = { 0 };
	const char *save = NULL, *staging_dir = NULL;
	bool done, try_again = false, discard = false;
	const struct sbx_option table[] = {
		{ "retry", 0, SBX_OPTION_FLAG, &try_again },
		{ "save", 0, SBX_OPTION_TEXT, &save },
		{ "discard", 0, SBX_OPTION_FLAG, &discard },
		{ "sandbox", 0, SBX_OPTION_TEXT, &filter.sandbox },
		{ "staging-dir", 0, SBX_OPTION_TEXT, &staging_dir },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ 0 },
	};
	int rc = sbx_tool_parse(tool, argc, argv, table, &done, &err);
	if (rc == 0 && done)
		return 0;
	if (rc == 0)
		rc = sbx_tool_operands(tool, 0, 0, &err);
	if (rc == 0 && try_again + discard + (save != NULL) > 1)
		rc = sbx_fail(&err, EINVAL, "one of --retry, --save DIR and --discard at a time");
	cleanup_free char *root = rc < 0 ? NULL : sbx_tool_staging_root(tool, staging_dir, &err);
	if (rc < 0 || !root)
		return sbx_tool_fail(tool, &err);
	if (try_again)
		rc = retry(tool, root, &filter, &err);
	else if (save)
		rc = sbx_pending_save(root, &filter, save, tell, (void *)"saved", &err);
	else if (discard)
		rc = sbx_pending_discard(root, &filter, tell, (void *)"discarded", &err);
	else
		return list(tool, root, &filter);
	return rc < 0 ? sbx_tool_fail(tool, &err) : 0;
}

const struct sbx_tool_command sbx_tool_pending = {
	"pending",
	"[--retry | --save DIR | --discard] [--sandbox NAME]",
	"Lists files written under in/ that have not landed, kept after their mount ended.",
	"\n  --retry                upload them to the very sandbox they were written for\n"
	"  --save DIR             copy them to DIR/SANDBOX/PATH; they stay pending\n"
	"  --discard              remove them for good\n"
	"  --sandbox NAME         only these\n"
	"  --staging-dir DIR      where the mount was told to keep them; else as [mount] and "
	"SBXFS_OPTIONS say\n"
	"  --timeout SECONDS      of --retry, default 600\n",
	run,
};
