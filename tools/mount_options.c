/* mount_options.c: see mount_options.h. */
#include "mount_options.h"

#include "../fs/staging.h"

#include <stdlib.h>

int sbx_tool_mount_options(
	const struct sbx_tool *tool, struct sbx_fs_options *options, struct sbx_error *err)
{
	for (size_t i = 0; i < tool->mount_key_count; i++) {
		if (sbx_fs_option(
			    options, tool->mount_keys[i].key, tool->mount_keys[i].value, err) < 0)
			return sbx_wrap(err, "config file, [mount]");
	}
	const char *environment = getenv("SBXFS_OPTIONS");
	if (environment && *environment && sbx_fs_option_list(options, environment, err) < 0)
		return sbx_wrap(err, "SBXFS_OPTIONS");
	return 0;
}

char *sbx_tool_staging_root(
	const struct sbx_tool *tool, const char *staging_dir, struct sbx_error *err)
{
	struct sbx_fs_options options;
	char *root = NULL;
	if (staging_dir)
		return sbx_staging_root(staging_dir, err);
	sbx_fs_options_init(&options);
	if (sbx_tool_mount_options(tool, &options, err) == 0)
		root = sbx_staging_root(options.staging_dir, err);
	sbx_fs_options_finish(&options);
	return root;
}
