/* sandbox_copy.h: a sandbox that outlives the inventory's call. */
#ifndef SBX_FS_SANDBOX_COPY_H
#define SBX_FS_SANDBOX_COPY_H

#include <sbx/sandbox.h>

/* Everything but container.json, which stays NULL. */
void sbx_sandbox_copy(struct sbx_sandbox *out, const struct sbx_sandbox *in);

#endif
