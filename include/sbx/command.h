/* command.h: run a command in a sandbox with a deadline and an output budget (MAF-130..137). */
#ifndef SBX_COMMAND_H
#define SBX_COMMAND_H

#include <sbx/exec.h>
#include <sbx/sandbox.h>

/* What a timeout does: remove the sandbox, or kill all its processes. Not said: a timeout removes,
 * an output function that fails kills. Killed, the sandbox has exited: nothing runs in it any more,
 * and its outputs stay readable until it is removed. Neither is done to a container without all of
 * our identity labels: the call ends with 125 and the command goes on. */
enum sbx_on_timeout { SBX_ON_TIMEOUT_UNSAID, SBX_ON_TIMEOUT_REMOVE, SBX_ON_TIMEOUT_KILL };

struct sbx_command {
	const char *const *argv; /* NULL-terminated; no shell sees it */
	const char *workdir;	 /* NULL: the sandbox's work dir; a relative one begins there */
	const char *const *env;	 /* "K=V", NULL-terminated, or NULL */
	int stdin_fd;		 /* read until it ends and passed on, not closed; -1: none */
	bool detach;		 /* return once it has been started: nothing below bounds it then */
	int64_t timeout_ms;	 /* 0: none */
	enum sbx_on_timeout on_timeout;
	int64_t max_output_bytes; /* stdout and stderr together; default 8 MiB; over it the sandbox
				     is removed */
	sbx_output_fn output;	  /* streaming; may be NULL. -EPIPE: nobody reads it any more, the
				     call ends as by a cancel. Other non-zero (-errno): what is written
				     cannot be taken: all processes are killed, or the sandbox is
				     removed where on_timeout says so in words */
	void *data;
	struct sbx_call *bounds; /* or NULL. Set before the first output: the deadline and the
				    token in force, for an output function that may have to wait.
				    What it then returns, -ETIMEDOUT or -ECANCELED, is as if the
				    command itself had met them */
};

struct sbx_command_result {
	int exit_code; /* the guest's own, or 124 deadline, 125 never begun, 126, 127, 141
			  nobody reads its output */
	bool timed_out, over_budget, sandbox_removed;
	char *failure; /* engine text for 126/127, a word on 137 where memory ran out, or NULL */
};
/* Runs it in a running sandbox and waits for its end. What is passed on to the output function
 * comes as it arrives. out is filled on failure too, and finished by the caller either way.
 *
 * Errors: ETIMEDOUT kind DEADLINE (result says what became of the sandbox; a failed removal is in
 * the sentence), ENOBUFS kind OVER_BUDGET, ECANCELED (sandbox and process kept), CONFLICT, ABSENT,
 * EPIPE kind CANCELLED (nobody reads its output; sandbox and process kept), ENGINE (the output
 * function failed, too). ENOENT: the work dir of the command is not there. EINVAL, EILSEQ (argv,
 * env or workdir is not UTF-8): nothing was asked of the engine. */
int sbx_command_run(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_command *command, const struct sbx_call *call,
	struct sbx_command_result *out, struct sbx_error *err);
void sbx_command_result_finish(struct sbx_command_result *result);

#endif
