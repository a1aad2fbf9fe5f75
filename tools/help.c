/* help.c: `sbxfs help [CMD]`, and the table of all commands. */
#include "tool.h"

#include <stdio.h>

extern const struct sbx_tool_command sbx_tool_mount, sbx_tool_umount, sbx_tool_create, sbx_tool_run,
	sbx_tool_exec, sbx_tool_ls, sbx_tool_info, sbx_tool_log, sbx_tool_put, sbx_tool_get,
	sbx_tool_rm, sbx_tool_reap, sbx_tool_doctor, sbx_tool_conform, sbx_tool_pending,
	sbx_tool_sync;
static const struct sbx_tool_command sbx_tool_help;

const struct sbx_tool_command *const sbx_tool_commands[] = { &sbx_tool_mount, &sbx_tool_umount,
	&sbx_tool_create, &sbx_tool_run, &sbx_tool_exec, &sbx_tool_ls, &sbx_tool_info,
	&sbx_tool_log, &sbx_tool_put, &sbx_tool_get, &sbx_tool_rm, &sbx_tool_reap, &sbx_tool_sync,
	&sbx_tool_pending, &sbx_tool_doctor, &sbx_tool_conform, &sbx_tool_help, NULL };

void sbx_tool_print_help(const struct sbx_tool_command *command)
{
	sbx_tool_print("usage: sbxfs %s %s\n\n%s\n%s", command->name, command->usage,
		command->summary, command->help);
	if (command->shared_help)
		sbx_tool_print("\nOptions of the sandbox:\n%s", command->shared_help);
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	if (argc > 1) {
		(void)fprintf(
			stderr, "sbxfs help: one command at a time\n"); /* nowhere else to say it */
		return SBX_EXIT_USAGE;
	}
	if (argc == 1) {
		const struct sbx_tool_command *command = sbx_tool_find(argv[0]);
		if (!command) {
			(void)fprintf(stderr, "sbxfs help: unknown command '%s'\n",
				argv[0]); /* as above */
			return SBX_EXIT_USAGE;
		}
		sbx_tool_print_help(command);
		return 0;
	}
	sbx_tool_print("usage: sbxfs COMMAND …\n\n");
	for (size_t i = 0; sbx_tool_commands[i]; i++)
		sbx_tool_print(
			"  %-8s %s\n", sbx_tool_commands[i]->name, sbx_tool_commands[i]->summary);
	sbx_tool_print("\nEvery command takes --engine URL|CONTEXT, --config FILE, --json where "
		       "there is data, --verbose, --quiet, --insecure, --no-notice, "
		       "--help.\n"
		       "Exit codes: 0 done, 2 usage, 3 absent, 4 link or outside, 5 parent not a "
		       "directory, 6 not regular, 7 too big,\n"
		       "8 unsupported, 9 deadline, 11 engine, 12 policy, 13 partly done.\n");
	return 0;
}

static const struct sbx_tool_command sbx_tool_help = {
	"help",
	"[COMMAND]",
	"Says what a command does and takes.",
	"",
	run,
};
