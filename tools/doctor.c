/* doctor.c: `sbxfs doctor`: what this engine can do, what is missing and how to get it. */
#include "mount_options.h"
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"

#include <sbx/doctor.h>

#include <string.h>

static bool has_problem(const struct sbx_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->rows[i].level == SBX_FINDING_PROBLEM)
			return true;
	}
	return false;
}

static const char *pause_word(const struct sbx_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct sbx_finding *row = &findings->rows[i];
		if (strcmp(row->topic, "pause") == 0 && row->level != SBX_FINDING_NOTE)
			return row->level == SBX_FINDING_OK ? "works" : "fails";
	}
	return "not-tried";
}

static cJSON *engine_json(const struct sbx_tool *tool, const struct sbx_engine_info *info)
{
	cJSON *json = cJSON_CreateObject();
	sbx_json_add_text(json, "url", sbx_engine_endpoint(tool->engine)->url);
	sbx_json_add_text(json, "name", info->name);
	sbx_json_add_text(json, "version", info->version);
	sbx_json_add_text(json, "api_version", info->api_version);
	sbx_json_add_text(json, "api_in_use", sbx_engine_api_version(tool->engine));
	sbx_json_add_text(json, "os", info->os_type);
	sbx_json_add_text(json, "architecture", info->architecture);
	sbx_json_add_text(json, "storage", info->storage_driver);
	sbx_json_add_text(json, "cgroup_version", info->cgroup_version);
	sbx_json_add_text(json, "runtime", info->default_runtime);
	cJSON_AddBoolToObject(json, "limits", info->keeps_limits);
	cJSON_AddBoolToObject(json, "seccomp_default", info->seccomp_default);
	return json;
}

static void print_json(const struct sbx_tool *tool, const struct sbx_findings *findings,
	const struct sbx_engine_info *info)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddBoolToObject(json, "available", !has_problem(findings));
	cJSON *rows = cJSON_AddArrayToObject(json, "findings");
	for (size_t i = 0; i < findings->count; i++) {
		cJSON *row = cJSON_CreateObject();
		cJSON_AddStringToObject(row, "topic", findings->rows[i].topic);
		cJSON_AddStringToObject(
			row, "level", sbx_finding_level_name(findings->rows[i].level));
		sbx_json_add_text(row, "text", findings->rows[i].text);
		cJSON_AddItemToArray(rows, row);
	}
	cJSON_AddBoolToObject(json, "rootless", info->rootless);
	cJSON_AddBoolToObject(json, "userns", info->userns);
	cJSON_AddStringToObject(json, "pause", pause_word(findings));
	cJSON_AddItemToObject(json, "engine", engine_json(tool, info));
	cJSON_AddItemToObject(json, "declarations", sbx_declarations(info->os_type, &tool->limits));
	sbx_tool_print_json(json);
}

/* What a mount with the configured options leaves open. */
static void look_at_options(const struct sbx_tool *tool, struct sbx_findings *out)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_fs_options options;
	sbx_fs_options_init(&options);
	if (sbx_tool_mount_options(tool, &options, &err) < 0)
		sbx_findings_add(out, "freeze", SBX_FINDING_PROBLEM,
			"mounts are refused by their own options: %s", err.message);
	else
		sbx_findings_add(out, "freeze",
			options.freeze == SBX_FREEZE_ALWAYS && !options.max_frozen_bytes
				? SBX_FINDING_OK
				: SBX_FINDING_WARNING,
			"mounts use freeze=%s; what that leaves open: %s",
			sbx_fs_freeze_name(options.freeze), sbx_fs_residual(&options));
	sbx_fs_options_finish(&options);
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_findings findings = { 0 };
	struct sbx_engine_info info = { 0 };
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
	if (sbx_tool_open(tool, true, &err) < 0)
		return sbx_tool_fail(tool, &err);
	struct sbx_call call = sbx_tool_call(tool, 60000);
	if (sbx_doctor(tool->engine, image, &call, &findings, &info, &err) < 0)
		return sbx_tool_fail(tool, &err);
	look_at_options(tool, &findings);
	sbx_findings_add(&findings, "ceilings", SBX_FINDING_OK,
		"[limits] of the config file holds for runs, put and get, of each call's files and "
		"their sum; a mount holds each file to max_in_bytes or max_file_bytes and keeps no "
		"sums");
	if (tool->isolation_floor > SBX_ISOLATION_CONTAINER)
		sbx_findings_add(&findings, "policy", SBX_FINDING_PROBLEM,
			"min_isolation of the config file's [policy] is above 'container', which "
			"is "
			"what an engine gives: every sandbox is refused");
	for (size_t i = 0; !tool->json && i < findings.count; i++) {
		cleanup_free char *text = sbx_text_escape(findings.rows[i].text);
		sbx_tool_print("%-8s %-9s %s\n", sbx_finding_level_name(findings.rows[i].level),
			findings.rows[i].topic, text);
	}
	if (tool->json)
		print_json(tool, &findings, &info);
	int code = has_problem(&findings) ? sbx_kind_exit_code(SBX_KIND_UNSUPPORTED) : 0;
	sbx_findings_finish(&findings);
	sbx_engine_info_finish(&info);
	return code;
}

const struct sbx_tool_command sbx_tool_doctor = {
	"doctor",
	"[--image IMG] [--json] [--timeout SECONDS]",
	"Says what this engine can do for sandboxes, what is missing and how to get it.",
	"\n  --image IMG            for the throwaway sandbox on which pause and reading are "
	"tried\n"
	"  --json                 one object: available, findings, rootless, userns, pause, "
	"engine, "
	"declarations\n\n"
	"Exit 0: available. 8: something needed is missing. 11: the engine does not answer.\n",
	run,
};
