/* seccomp.h: security options: the user's, checked, and as an engine wants them. */
#ifndef SBX_SANDBOX_SECCOMP_H
#define SBX_SANDBOX_SECCOMP_H

#include <sbx/error.h>
#include <stdbool.h>

/* One --security-opt. Refused: any no-new-privileges (it is always on), options that are not known
 * to be harmless or asked for by name, an unreadable seccomp profile or one that is not JSON. EPERM
 * kind POLICY, EINVAL. */
int sbx_security_opt_check(const char *option, struct sbx_error *err);
/* As the engine is sent it, malloc'd: Docker gets the profile's text inline. Podman (4.3) opens a
 * path on its own host while it creates the container, and not later: it gets a copy of what was
 * checked, whose malloc'd path is in *copy for the caller to remove after that; local engines only,
 * EOPNOTSUPP otherwise. */
int sbx_security_opt_resolve(const char *option, bool podman, bool local_engine, char **copy,
	char **out, struct sbx_error *err);
/* As create records it: the option with the profile's own text instead of its file name. */
int sbx_security_opt_content(const char *option, char **out, struct sbx_error *err);

#endif
