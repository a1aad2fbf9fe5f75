/* attr.h: what stat(2) says of a node. */
#ifndef SBX_FS_ATTR_H
#define SBX_FS_ATTR_H

#include "context.h"

/* The inode number of a version: the same in every mount while the content stays. mtime counts in
 * whole seconds as a tar of this engine has it, since listings know no more. */
uint64_t sbx_ino(const char *sandbox_id, const char *path, const struct sbx_stat *st, bool podman);
/* With the nanoseconds, where two versions would share a number. */
uint64_t sbx_ino_exact(const char *sandbox_id, const char *path, const struct sbx_stat *st);

/* Whether two stats can be of one version: size, type and mtime, to the nanosecond where both know
 * it, else to the second (a tar of Podman's is rounded, of Docker's cut). Modes may differ. */
bool sbx_same_version(const struct sbx_stat *a, const struct sbx_stat *b, bool podman);

void sbx_attr_fill(struct sbx_fs *fs, const struct sbx_node *node, struct stat *out);
double sbx_attr_timeout_s(struct sbx_fs *fs, const struct sbx_node *node);
double sbx_entry_timeout_s(struct sbx_fs *fs, const struct sbx_node *node);
void sbx_entry_fill(struct sbx_fs *fs, const struct sbx_node *node, struct fuse_entry_param *entry);

#endif
