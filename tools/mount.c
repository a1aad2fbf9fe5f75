/* mount.c: `sbxfs mount DIR`: config file, then SBXFS_OPTIONS, then the command line, then the
 * mount itself. */
#include "mount_options.h"

#include "../engine/base/alloc.h"
#include "../engine/base/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static char *absolute(const char *directory)
{
	if (directory[0] == '/')
		return sbx_strdup(directory);
	cleanup_free char *here = getcwd(NULL, 0);
	return here ? sbx_printf("%s/%s", here, directory) : sbx_strdup(directory);
}

static int fill(struct sbx_tool *tool, const struct sbx_list *lists, struct sbx_fs_options *options,
	struct sbx_error *err)
{
	int named = sbx_tool_mount_options(tool, options, err);
	if (named < 0)
		return named;
	for (size_t i = 0; i < lists->count; i++) {
		int rc = sbx_fs_option_list(options, lists->items[i], err);
		if (rc < 0)
			return rc;
	}
	const struct sbx_list *words = &tool->operands;
	/* In fstab's form the first word is the source: an engine, or the name that says "as
	 * usual". */
	const char *source =
		words->count == 2 && strcmp(words->items[0], "sbxfs") != 0 ? words->items[0] : NULL;
	if (!options->engine_choice)
		options->engine_choice = sbx_strdup(sbx_tool_engine_choice(tool, source));
	options->insecure |= tool->insecure;
	free(options->mountpoint);
	options->mountpoint = absolute(words->items[words->count - 1]);
	options->config_path = sbx_strdup(tool->config_path);
	options->rules = tool->rules;
	tool->rules = NULL;
	return 0;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_fs_options options;
	struct sbx_list lists = { 0 };
	bool done, foreground = false;
	const struct sbx_option table[] = {
		{ "options", 'o', SBX_OPTION_LIST, &lists },
		{ "foreground", 'f', SBX_OPTION_FLAG, &foreground },
		{ 0 },
	};
	sbx_fs_options_init(&options);
	int code = 0;
	int rc = sbx_tool_parse(tool, argc, argv, table, &done, &err);
	if (rc == 0 && !done) {
		rc = sbx_tool_operands(tool, 1, 2, &err);
		if (rc == 0)
			rc = fill(tool, &lists, &options, &err);
		if (rc == 0) {
			options.foreground = foreground;
			if (tool->verbose)
				options.log_level = SBX_LOG_DEBUG;
			rc = sbx_fs_run(&options, &err);
		}
	}
	if (rc < 0)
		code = sbx_tool_fail(tool, &err);
	sbx_fs_options_finish(&options);
	sbx_list_finish(&lists);
	return code;
}

const struct sbx_tool_command sbx_tool_mount = {
	"mount",
	"DIR [-f] [-o OPTION[=VALUE],…]",
	"Mounts the engine's sandboxes on DIR; returns when it serves.",
	"\n  -f, --foreground       stay in front, log to stderr\n"
	"  -o freeze=always|reads|never    pause a sandbox while it is read or written (always)\n"
	"  -o state=running       show only these: created, running, paused, exited, all\n"
	"  -o allow_other,uid=N,gid=N,umask=NNN\n"
	"  -o entry_timeout=S,attr_timeout=S,deadline=S\n"
	"  -o cache_dir=DIR,cache_budget=SIZE      finished copies of outputs, unlinked\n"
	"  -o staging_dir=DIR     what was written under in/ and has not landed yet\n"
	"  -o max_file_bytes=SIZE,max_in_bytes=SIZE,max_frozen_bytes=SIZE\n"
	"  -o linger_ms=N,max_hold_ms=N,duty=PERCENT   of freeze windows\n"
	"  -o temporary_names=PATTERN:…            names under in/ that stay local until renamed\n"
	"  -o engine=URL|CONTEXT,insecure,log_level=error|warning|info|debug\n"
	"  -o async               close does not wait for the upload; fsync, sync and umount do\n\n"
	"The same keys stand in the config file's [mount] section and in SBXFS_OPTIONS; the "
	"command line wins.\n"
	"fstab: sbxfs /mnt/sandboxes fuse.sbxfs noauto,user 0 0\n",
	run,
};
