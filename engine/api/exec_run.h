/* exec_run.h: one exec in progress, as exec.c and exec_stdin.c share it. */
#ifndef SBX_API_EXEC_RUN_H
#define SBX_API_EXEC_RUN_H

#include "../base/buffer.h"
#include "api.h"
#include "frames.h"

#include <sbx/exec.h>

struct sbx_exec_run {
	struct sbx_engine *engine;
	const char *id;
	const struct sbx_exec *exec;
	const struct sbx_call *call;
	struct sbx_error *err;
	char *exec_id;
	char *start_target; /* POST here with start_body */
	const char *start_body;
	struct sbx_frames frames;
	bool announced;
	int refused_code; /* the engine refused to start it: its exit code */
	bool not_started; /* Docker: what comes is the engine's text, not output */
	bool holding;	  /* Podman: what came may still turn out to be the engine's text */
	struct sbx_buffer failure; /* the engine's text, or what is held */
};

/* The engine answered the start with 101 or 200: waits until the process is there, then calls the
 * exec's `started`. */
void sbx_exec_run_answered(struct sbx_exec_run *run);

/* Starts with stdin over a connection of its own and moves bytes both ways until the output ends.
 * Another status than 101 and 200 is in response. */
int sbx_exec_run_with_stdin(struct sbx_exec_run *run, struct sbx_http_response *response);

/* What failure texts say: 127 not found, 125 no such directory or user to run it with, 126 anything
 * else; 0: not a failure to start. */
int sbx_exec_code_of_text(const char *text);

#endif
