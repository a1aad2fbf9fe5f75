/* command_kill.h: what becomes of a sandbox whose command went past its bounds (MAF-132, MAF-136).
 */
#ifndef SBX_SANDBOX_COMMAND_KILL_H
#define SBX_SANDBOX_COMMAND_KILL_H

#include <sbx/sandbox.h>

/* The bound of these themselves: the caller's has expired when they are called. */
#define SBX_END_TIMEOUT_MS 30000

/* Force-removes the sandbox by its full id. Not being there any more is success. */
int sbx_command_remove_sandbox(
	struct sbx_engine *engine, const struct sbx_sandbox *sandbox, struct sbx_error *err);

/* SIGKILL for every process of the sandbox, its first one included: it is exited afterwards and its
 * files stay readable. Not running any more is success. */
int sbx_command_kill_sandbox(
	struct sbx_engine *engine, const struct sbx_sandbox *sandbox, struct sbx_error *err);

#endif
