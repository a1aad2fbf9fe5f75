/*
 * guest_exec.h: sbx_exec with its start kept apart from every freeze window of any sbxfs process on
 * this host.
 *
 * Every command in a guest goes through here. The window lock (window.h) is held from before the
 * exec is created until the engine says that it has started, or has failed; then windows may open
 * again while the command runs.
 */
#ifndef SBX_FILES_GUEST_EXEC_H
#define SBX_FILES_GUEST_EXEC_H

#include <sbx/exec.h>

/* As sbx_exec, `started` included. Also the errors of sbx_window_block and sbx_account_guard. */
int sbx_guest_exec(struct sbx_engine *engine, const char *id, const struct sbx_exec *exec,
	const struct sbx_call *call, int *exit_code, char **failure, struct sbx_error *err);

#endif
