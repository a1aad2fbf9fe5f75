/* mount_options.h: the mount options that stand in the config file and in the environment. */
#ifndef SBX_TOOLS_MOUNT_OPTIONS_H
#define SBX_TOOLS_MOUNT_OPTIONS_H

#include "tool.h"

#include "../fs/fs.h"

/* The config file's [mount], then SBXFS_OPTIONS. EINVAL names which of them is wrong. */
int sbx_tool_mount_options(
	const struct sbx_tool *tool, struct sbx_fs_options *options, struct sbx_error *err);

/* The staging root of a mount without options of its own, or with this staging_dir, if not NULL.
 * malloc'd; NULL with err. */
char *sbx_tool_staging_root(
	const struct sbx_tool *tool, const char *staging_dir, struct sbx_error *err);

#endif
