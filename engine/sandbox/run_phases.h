/* run_phases.h: the steps of one run, each of which can fail or expire under its own name. */
#ifndef SBX_SANDBOX_RUN_PHASES_H
#define SBX_SANDBOX_RUN_PHASES_H

#include "../base/buffer.h"
#include "upload_tree.h"

#include <sbx/run.h>

struct sbx_run_state {
	struct sbx_engine *engine;
	const struct sbx_run *run;
	const struct sbx_call *call; /* the caller's */
	struct sbx_call bounded;     /* the run's own timeout too; from after the pull */
	struct sbx_spec spec;	     /* the run's, with a name and marked ephemeral */
	char *name;
	struct sbx_ceilings in, out; /* what each direction is held to */
	char **image_argv; /* the image's own command, where none was given; NULL-terminated */
	struct sbx_upload_tree inputs;
	struct sbx_sandbox sandbox;
	bool asked; /* for a container: one may be there, whatever the answer was */
	bool acquired;
	bool unseen;  /* its create was not answered, and what it makes has not been seen */
	bool removed; /* the command's bounds removed it already */
	struct sbx_buffer captured[2];
};

/* What can be refused on this host before anything is made: inputs that are links or too large, a
 * place to collect into that will not take what is declared. */
int sbx_run_prepare(struct sbx_run_state *state, struct sbx_error *err);

/* Each returns 0 or -errno with err. pull: with its own bound; starts the run's. */
int sbx_run_pull(struct sbx_run_state *state, struct sbx_error *err);
int sbx_run_create(struct sbx_run_state *state, struct sbx_error *err);
int sbx_run_inputs(struct sbx_run_state *state, struct sbx_error *err);
int sbx_run_command(struct sbx_run_state *state, struct sbx_run_result *out, struct sbx_error *err);
/* Ends every process first, so that what is collected stands still. late: the run's timeout has
 * passed, a bound of its own holds. */
int sbx_run_collect(
	struct sbx_run_state *state, bool late, struct sbx_run_result *out, struct sbx_error *err);
/* Whatever happened: by name, so that a create whose answer was lost is found as well. */
int sbx_run_remove(struct sbx_run_state *state, struct sbx_error *err);

#endif
