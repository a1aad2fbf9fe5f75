/* conform.c: `sbxfs conform`: the confinement probes against this engine, through the library and
 * through the mount. */
#include "conform.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct tally {
	int passed, failed, skipped;
	cJSON *rows;
};

static void record(struct sbx_tool *tool, struct tally *tally, const struct sbx_probe *probe,
	const char *way, const struct sbx_verdict *verdict)
{
	static const char *const words[] = { "pass", "FAIL", "skip" };
	tally->passed += verdict->result == SBX_VERDICT_PASS;
	tally->failed += verdict->result == SBX_VERDICT_FAIL;
	tally->skipped += verdict->result == SBX_VERDICT_SKIP;
	if (!tool->json) {
		cleanup_free char *text = sbx_text_escape(verdict->text);
		sbx_tool_print("%s  %-5s %-8s %-40s %s\n", words[verdict->result], probe->id, way,
			probe->title, text);
		(void)fflush(stdout); /* each as it comes; main looks at its errors at the end */
		return;
	}
	cJSON *row = cJSON_CreateObject();
	cJSON_AddStringToObject(row, "probe", probe->id);
	cJSON_AddStringToObject(row, "through", way);
	cJSON_AddStringToObject(row, "title", probe->title);
	cJSON_AddStringToObject(row, "why", probe->why);
	cJSON_AddStringToObject(row, "result",
		verdict->result == SBX_VERDICT_FAIL ? "fail" : words[verdict->result]);
	sbx_json_add_text(row, "text", verdict->text);
	cJSON_AddItemToArray(tally->rows, row);
}

static void try_suite(
	struct sbx_conform *world, struct tally *tally, const struct sbx_probe *probes)
{
	for (; probes->id && !sbx_cancel_fired(world->tool->cancel); probes++) {
		struct sbx_verdict verdict = { SBX_VERDICT_FAIL, "the probe gave no verdict" };
		if (probes->library) {
			probes->library(world, &verdict);
			record(world->tool, tally, probes, "library", &verdict);
		}
		if (!probes->mount)
			continue;
		verdict = (struct sbx_verdict){ SBX_VERDICT_FAIL, "the probe gave no verdict" };
		if (world->mount_dir)
			probes->mount(world, &verdict);
		else
			sbx_verdict_skip(&verdict, "no mount: %s", world->mount_why);
		record(world->tool, tally, probes, "mount", &verdict);
	}
}

static int probe_all(struct sbx_tool *tool, const char *image)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_conform world = { .tool = tool };
	struct tally tally = { .rows = tool->json ? cJSON_CreateArray() : NULL };
	if (sbx_conform_build(&world, image, &err) < 0) {
		sbx_conform_clear(&world);
		cJSON_Delete(tally.rows);
		return sbx_tool_fail(tool, &err);
	}
	try_suite(&world, &tally, sbx_conform_read_probes);
	try_suite(&world, &tally, sbx_conform_write_probes);
	try_suite(&world, &tally, sbx_conform_remove_probes);
	try_suite(&world, &tally, sbx_conform_exec_probes);
	sbx_conform_clear(&world);
	if (tool->json) {
		cJSON *json = cJSON_CreateObject();
		cJSON_AddItemToObject(json, "probes", tally.rows);
		sbx_json_add_int(json, "passed", tally.passed);
		sbx_json_add_int(json, "failed", tally.failed);
		sbx_json_add_int(json, "skipped", tally.skipped);
		sbx_tool_print_json(json);
	} else {
		sbx_tool_print("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed,
			tally.skipped);
	}
	if (sbx_cancel_fired(tool->cancel))
		return 130;
	return tally.failed ? 1 : 0;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	const char *image = NULL;
	bool done;
	const struct sbx_option table[] = {
		{ "image", 0, SBX_OPTION_TEXT, &image },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ 0 },
	};
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0 ||
		(!done && sbx_tool_operands(tool, 0, 0, &err) < 0))
		return sbx_tool_fail(tool, &err);
	if (done)
		return 0;
	if (!image) {
		sbx_fail(&err, EINVAL,
			"--image is missing: an image with sh, ln, mkdir, mv, rm, cat, printf, "
			"sleep and mkfifo");
		return sbx_tool_fail(tool, &err);
	}
	if (sbx_tool_open(tool, true, &err) < 0)
		return sbx_tool_fail(tool, &err);
	return probe_all(tool, image);
}

const struct sbx_tool_command sbx_tool_conform = {
	"conform",
	"--image IMG [--json] [--timeout SECONDS]",
	"Tries the known attacks on confinement against this engine, through the library and "
	"through a mount.",
	"\n  --image IMG            with sh, ln, mkdir, mv, rm, cat, printf, sleep and mkfifo\n\n"
	"Sandboxes and a mount of its own are made and taken away. Exit 1 when a probe failed; a "
	"skip is not a pass.\n",
	run,
};
