/* create_body.h: the create request of a sandbox: the hardening in one place. */
#ifndef SBX_SANDBOX_CREATE_BODY_H
#define SBX_SANDBOX_CREATE_BODY_H

#include "../base/json.h"
#include "spec.h"

/* What runs the keep-alive, where the image has it: an engine's text names it where it has not. */
#define SBX_KEEP_ALIVE_SHELL "/bin/sh"

/* malloc'd JSON in *out. profile: NULL, or the malloc'd path of a file that is to be removed once
 * the engine has answered, also after a failure. Errors: those of sbx_security_opt_resolve. */
int sbx_create_body(const struct sbx_plan *plan, bool podman, bool local_engine, char **profile,
	cJSON **out, struct sbx_error *err);

#endif
