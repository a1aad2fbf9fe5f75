/* create.c: `sbxfs create`: reuse, restart, create or adopt a sandbox; prints its name. */
#include "spec_options.h"

#include "../engine/base/alloc.h"
#include "../engine/base/text.h"

#include <sbx/acquire.h>
#include <sbx/guest_user.h>

#include <stdio.h>
#include <string.h>

static int acquire(struct sbx_tool *tool, const struct sbx_spec *spec)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox sandbox = { 0 };
	enum sbx_outcome outcome;
	if (sbx_tool_open(tool, true, &err) < 0)
		return sbx_tool_fail(tool, &err);
	struct sbx_call call = sbx_tool_call(tool, 120000);
	struct sbx_progress progress = { sbx_tool_progress_line, tool };
	if (sbx_acquire(tool->engine, spec, &call, &progress, &sandbox, &outcome, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (tool->json) {
		cJSON *json = sbx_tool_sandbox_json(&sandbox);
		cJSON_AddStringToObject(json, "outcome", sbx_outcome_name(outcome));
		sbx_tool_print_json(json);
	} else {
		cleanup_free char *name = sbx_text_escape(sandbox.container.name);
		sbx_tool_print("%s\n", name);
		sbx_tool_note(tool, "%s\n", sbx_outcome_name(outcome));
	}
	const char *caveat = sbx_guest_root_caveat(&sandbox.container);
	if (caveat)
		sbx_tool_note(tool, "note: %s\n", caveat);
	sbx_sandbox_finish(&sandbox);
	return 0;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_spec_options options;
	struct sbx_option table[SBX_SPEC_OPTION_ROWS + 4] = { 0 };
	bool done;
	sbx_spec_options_init(&options);
	size_t rows = sbx_spec_options_rows(&options, table);
	table[rows++] = (struct sbx_option){ "name", 0, SBX_OPTION_TEXT, &options.spec.name };
	table[rows++] = (struct sbx_option){ "in", 0, SBX_OPTION_TEXT, &options.spec.in_dir };
	table[rows++] = (struct sbx_option){ "call", 0, SBX_OPTION_TEXT, &options.spec.call_id };
	table[rows] = (struct sbx_option){ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms };
	int code = 0;
	if (sbx_tool_parse(tool, argc, argv, table, &done, &err) < 0) {
		code = sbx_tool_fail(tool, &err);
	} else if (!done) {
		options.spec.limits = sbx_limits_fill(&tool->limits);
		options.spec.isolation_floor = tool->isolation_floor;
		options.spec.argv = tool->rest && tool->rest[0] ? tool->rest : NULL;
		if (sbx_tool_operands(tool, 0, 0, &err) < 0 ||
			sbx_spec_options_take(&options, &err) < 0)
			code = sbx_tool_fail(tool, &err);
		else
			code = acquire(tool, &options.spec);
	}
	sbx_spec_options_finish(&options);
	return code;
}

const struct sbx_tool_command sbx_tool_create = {
	"create",
	"--image IMG [--name NAME | --scope S --thread T --agent A --kind K] [--output P]… "
	"[options] [-- CMD…]",
	"Makes a hardened sandbox, or takes the one of that identity; prints its name.",
	"\nThe outcome (created, reused, restarted, adopted) is said on stderr and in --json. A "
	"sandbox that exists but\n"
	"differs from what is asked is refused, never handed out.\n\n"
	"  --name NAME            else the name is derived from scope, thread, agent and kind\n"
	"  --in DIR               where inputs go, as --in-dir\n"
	"  --call ID              part of the identity: a sandbox for one call\n"
	"  --timeout SECONDS      of everything but the pull, default 120\n"
	"  -- CMD…                what runs as its first process; default: a keep-alive\n",
	run,
	sbx_spec_options_help,
};
