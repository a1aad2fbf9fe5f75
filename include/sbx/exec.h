/*
 * exec.h: one process in a running container. Source: Engine API v1.41, /containers/{id}/exec,
 * /exec/{id}/start.
 *
 * Low level: it neither removes the sandbox on a timeout nor bounds the output (sbx/command.h
 * does), and it does not keep the start apart from freeze windows (engine/files/guest_exec.h does):
 * Docker 20.10 deadlocks for good where a pause meets a starting exec.
 */
#ifndef SBX_EXEC_H
#define SBX_EXEC_H

#include <sbx/container.h>

struct sbx_exec {
	const char *const *argv; /* NULL-terminated, no shell */
	const char *user;	 /* NULL: the container's user */
	const char *workdir;	 /* NULL: the container's */
	const char *const *env;	 /* "K=V", NULL-terminated, or NULL */
	int stdin_fd;		 /* read until EOF and passed on; -1: none */
	bool detach;		 /* return once started */
	sbx_output_fn output;	 /* NULL: discard; called on the calling thread */
	void *data;
	/* Called when the process has been started (or is known never to be), before any output;
	 * may be NULL. */
	void (*started)(void *data);
};

/* id: of a running container. exit_code: the process's own, 0 where detached; may be NULL. Engine
 * text about a command that could not be started is told apart from output as far as the engine
 * allows: not found gives 127, not executable 126, no such work dir or user 125, with `failure`
 * (may be NULL, malloc'd) the text. Errors: EBUSY kind CONFLICT (paused), ESRCH kind CONFLICT (not
 * running), ABSENT, ETIMEDOUT, ECANCELED, EIO. After a timeout or a cancel the process still runs
 * in the container. */
int sbx_exec(struct sbx_engine *engine, const char *id, const struct sbx_exec *exec,
	const struct sbx_call *call, int *exit_code, char **failure, struct sbx_error *err);

#endif
