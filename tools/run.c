/* run.c: `sbxfs run`: one fresh sandbox for one command, inputs in, outputs out, always removed. */
#include "pass_on.h"
#include "spec_options.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/text.h"

#include <sbx/run.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run_options {
	struct sbx_spec_options spec;
	struct sbx_list inputs, required;
	struct sbx_run_input *parsed;
	struct sbx_run run;
	bool take_stdin;
};

/* SRC or SRC:DEST. A SRC that exists as typed wins, so that a colon in a file's name needs no
 * escape. */
static void take_inputs(struct run_options *options)
{
	options->parsed = sbx_alloc_array(options->inputs.count, sizeof(*options->parsed));
	for (size_t i = 0; i < options->inputs.count; i++) {
		char *text = (char *)options->inputs
				     .items[i]; /* a word of argv, which is ours to change */
		char *colon = strrchr(text, ':');
		options->parsed[i].source = text;
		if (!colon || access(text, F_OK) == 0)
			continue;
		*colon = '\0';
		options->parsed[i].dest = colon + 1;
	}
	options->run.inputs = options->parsed;
	options->run.input_count = options->inputs.count;
}

/* Declared by that, too. */
static void take_required(struct run_options *options)
{
	for (size_t i = 0; i < options->required.count; i++)
		sbx_list_add(&options->spec.outputs, options->required.items[i]);
	options->run.required = options->required.items;
	options->run.required_count = options->required.count;
}

static void print_json(const struct sbx_run_result *result)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddBoolToObject(json, "success", result->success);
	sbx_json_add_int(json, "exit_code", result->exit_code);
	if (result->error) {
		cJSON_AddStringToObject(json, "error_kind", sbx_kind_name(result->error_kind));
		sbx_json_add_text(json, "error", result->error);
	} else {
		cJSON_AddNullToObject(json, "error_kind");
		cJSON_AddNullToObject(json, "error");
	}
	sbx_json_add_bytes(json, "stdout", result->stdout_bytes, result->stdout_size);
	sbx_json_add_bytes(json, "stderr", result->stderr_bytes, result->stderr_size);
	sbx_json_add_int(json, "duration_ms", result->duration_ms);
	sbx_json_add_text(json, "sandbox", result->sandbox ? result->sandbox : "");
	cJSON_AddStringToObject(json, "backend", "sbxfs");
	cJSON_AddBoolToObject(json, "removed", result->removed);
	cJSON *outputs = cJSON_AddArrayToObject(json, "outputs");
	for (size_t i = 0; i < result->outputs.count; i++) {
		const struct sbx_fetched *row = &result->outputs.rows[i];
		cJSON *output = cJSON_CreateObject();
		sbx_json_add_bytes(output, "path", row->path, strlen(row->path));
		sbx_json_add_int(output, "size", row->size);
		cJSON_AddStringToObject(output, "sha256", row->sha256);
		if (row->reason)
			sbx_json_add_text(output, "refused", row->reason);
		cJSON_AddItemToArray(outputs, output);
	}
	cJSON *missing = cJSON_AddArrayToObject(json, "missing");
	for (size_t i = 0; i < result->missing_count; i++)
		cJSON_AddItemToArray(missing, cJSON_CreateString(result->missing[i]));
	sbx_tool_print_json(json);
}

static void print_plain(const struct sbx_tool *tool, const struct sbx_run_result *result)
{
	for (size_t i = 0; i < result->outputs.count; i++) {
		const struct sbx_fetched *row = &result->outputs.rows[i];
		cleanup_free char *path = sbx_text_escape(row->path);
		cleanup_free char *reason = row->reason ? sbx_text_escape(row->reason) : NULL;
		if (reason)
			(void)fprintf(stderr, "refused %s: %s\n", path,
				reason); /* nowhere else to say it */
		else
			sbx_tool_note(tool, "collected %s: %s\n", path, row->sha256);
	}
	for (size_t i = 0; i < result->missing_count; i++) {
		cleanup_free char *path = sbx_text_escape(result->missing[i]);
		sbx_tool_note(tool, "not written: %s\n", path);
	}
	if (result->error) {
		struct sbx_error err = SBX_ERROR_INIT;
		sbx_fail_kind(&err, result->error_kind, EIO, "%s", result->error);
		(void)sbx_tool_fail(tool, &err); /* run's exit code is its own */
	}
}

/* What ends before there is a result: the sentence, and with --json a document of the usual shape.
 */
static int refuse(const struct sbx_tool *tool, const struct sbx_error *err, int code)
{
	struct sbx_tool plain = *tool;
	plain.json = false;
	(void)sbx_tool_fail(&plain, err); /* run's exit code is its own */
	if (tool->json) {
		const struct sbx_run_result nothing = { .exit_code = code,
			.error_kind = err->kind,
			.error = (char *)err->message,
			.removed = true };
		print_json(&nothing);
	}
	return code;
}

static int execute(struct sbx_tool *tool, struct run_options *options)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_run_result result = { 0 };
	struct sbx_run *run = &options->run;
	tool->timeout_ms = run->timeout_ms;
	if (sbx_tool_open(tool, true, &err) < 0)
		return refuse(tool, &err, SBX_EXIT_OURS);
	struct sbx_progress progress = { sbx_tool_progress_line, tool };
	run->progress = &progress;
	run->spec = options->spec.spec;
	run->argv = tool->rest && tool->rest[0] ? tool->rest : NULL;
	run->capture = tool->json;
	struct sbx_pass_on streams = { 0 };
	run->output = tool->json ? NULL : sbx_tool_show;
	run->data = &streams;
	run->bounds = &streams.bounds;
	run->stdin_fd = options->take_stdin ? STDIN_FILENO : -1;
	struct sbx_call call = { .cancel = tool->cancel, .idle_ms = tool->idle_ms };
	if (sbx_run(tool->engine, run, &call, &result, &err) < 0) {
		bool wrong = err.kind == SBX_KIND_USAGE || err.kind == SBX_KIND_POLICY ||
			     err.kind == SBX_KIND_CONFINED || err.kind == SBX_KIND_TOO_BIG ||
			     err.kind == SBX_KIND_UNSUPPORTED || err.kind == SBX_KIND_HOST;
		sbx_run_result_finish(&result);
		return refuse(tool, &err, wrong ? sbx_kind_exit_code(err.kind) : SBX_EXIT_OURS);
	}
	if (result.error_kind == SBX_KIND_CANCELLED)
		result.exit_code = 130;
	if (tool->json)
		print_json(&result);
	else
		print_plain(tool, &result);
	int code = result.exit_code;
	sbx_run_result_finish(&result);
	return code;
}

static int run_command(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct run_options options = { .run = {
					       .max_output_bytes = 8 << 20, .timeout_ms = 60000 } };
	struct sbx_option table[SBX_SPEC_OPTION_ROWS + 11] = { 0 };
	bool done;
	sbx_spec_options_init(&options.spec);
	struct sbx_spec *spec = &options.spec.spec;
	size_t rows = sbx_spec_options_rows(&options.spec, table);
	table[rows++] = (struct sbx_option){ "in", 0, SBX_OPTION_LIST, &options.inputs };
	table[rows++] =
		(struct sbx_option){ "collect", 0, SBX_OPTION_TEXT, &options.run.collect_dir };
	table[rows++] =
		(struct sbx_option){ "require-output", 0, SBX_OPTION_LIST, &options.required };
	table[rows++] = (struct sbx_option){ "force", 0, SBX_OPTION_FLAG, &options.run.force };
	table[rows++] = (struct sbx_option){ "stdin", 'i', SBX_OPTION_FLAG, &options.take_stdin };
	table[rows++] = (struct sbx_option){ "max-output", 0, SBX_OPTION_BYTES,
		&options.run.max_output_bytes };
	table[rows++] =
		(struct sbx_option){ "max-file", 0, SBX_OPTION_BYTES, &spec->asked.max_file_bytes };
	table[rows++] = (struct sbx_option){ "max-total", 0, SBX_OPTION_BYTES,
		&spec->asked.max_total_bytes };
	table[rows++] =
		(struct sbx_option){ "max-files", 0, SBX_OPTION_COUNT, &spec->asked.max_files };
	table[rows++] = (struct sbx_option){ "idle-timeout", 0, SBX_OPTION_MS, &tool->idle_ms };
	table[rows] = (struct sbx_option){ "timeout", 0, SBX_OPTION_MS, &options.run.timeout_ms };
	int code = 0;
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0) {
		code = refuse(tool, &err, sbx_kind_exit_code(err.kind));
	} else if (!done) {
		options.spec.spec.limits = sbx_limits_fill(&tool->limits);
		options.spec.spec.isolation_floor = tool->isolation_floor;
		take_inputs(&options);
		take_required(&options);
		if (sbx_tool_operands(tool, 0, 0, &err) < 0 ||
			sbx_spec_options_take(&options.spec, &err) < 0)
			code = refuse(tool, &err, sbx_kind_exit_code(err.kind));
		else
			code = execute(tool, &options);
	}
	sbx_spec_options_finish(&options.spec);
	sbx_list_finish(&options.inputs);
	sbx_list_finish(&options.required);
	free(options.parsed);
	return code;
}

const struct sbx_tool_command sbx_tool_run = {
	"run",
	"--image IMG [--timeout S] [--in SRC[:DEST]]… [--output P]… [--collect DIR] [options] [-- "
	"CMD…]",
	"Runs one command in a fresh sandbox and removes the sandbox, whatever happens.",
	"\n  CMD                    default: the image's own\n"
	"  --timeout SECONDS      of the sandbox, inputs, command and collection together, "
	"default "
	"60; the pull has its\n"
	"                         own, and collecting after a timeout gets 60 more\n"
	"  --idle-timeout SECONDS without a byte from the engine or to it, default 60; not of the "
	"command, nor of the pull\n"
	"  --in SRC[:DEST]        a file or tree, to DEST below the in dir, before the command "
	"starts\n"
	"  --collect DIR          declared outputs are copied there, also after a timeout\n"
	"  --require-output P     a declared output that must be there to collect; without it "
	"nothing "
	"is (exit 123)\n"
	"  --force                replace files that exist there\n"
	"  -i, --stdin            pass our stdin on\n"
	"  --max-output 8m        stdout and stderr together\n"
	"  --max-file 64m  --max-total 256m  --max-files 256\n"
	"                         ceilings of the inputs, and of what is collected; [limits] in "
	"the "
	"config file raises them\n"
	"  --json                 one object: success, exit_code, error_kind, error, stdout, "
	"stderr, duration_ms, outputs, missing\n\n"
	"Exit codes: the command's own; 123 a required output is missing, 124 deadline, 125 ours "
	"or the engine's failure, 126 not "
	"executable, 127 not found,\n"
	"2 usage, 4, 7, 8, 12 and 14 refused before anything was made, 130 interrupted, 141 where "
	"who "
	"reads\n"
	"our output has gone (`| head`): the command is ended, its outputs are collected.\n",
	run_command,
	sbx_spec_options_help,
};
