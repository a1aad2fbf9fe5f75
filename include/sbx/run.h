/* run.h: one ephemeral sandbox: inputs in, command, outputs out, always removed (AIR-01..12,
 * OUT-01..10). */
#ifndef SBX_RUN_H
#define SBX_RUN_H

#include <sbx/acquire.h>
#include <sbx/command.h>
#include <sbx/transfer.h>

/* All of this is borrowed for the call. */
struct sbx_run_input {
	const char *source; /* a path on this host */
	const char *dest;   /* a directory relative to the in dir, or NULL for the in dir itself:
			       source lands at dest/basename(source) */
};

struct sbx_run {
	struct sbx_spec spec;	 /* name must be NULL; a fresh one is made */
	const char *const *argv; /* NULL: the image's own command */
	int64_t timeout_ms; /* create, start, inputs, command and collection; the pull has its own;
			       0: none */
	int64_t max_output_bytes; /* stdout and stderr together; 0: 8 MiB */
	const struct sbx_run_input *inputs;
	size_t input_count;
	const char *collect_dir; /* or NULL */
	/* Those of the spec's outputs, as written there, without which nothing is collected: the
	 * run then fails with kind OUTPUT_MISSING. The others may be missing. */
	const char *const *required;
	size_t required_count;
	bool force;	      /* replace files that exist in collect_dir */
	int stdin_fd;	      /* as in struct sbx_command */
	bool capture;	      /* keep stdout and stderr in the result */
	sbx_output_fn output; /* as in struct sbx_command; may be NULL */
	void *data;
	struct sbx_call *bounds;	     /* of the command, as in struct sbx_command; or NULL */
	const struct sbx_progress *progress; /* of the pull; or NULL */
};

struct sbx_run_result {
	bool success;
	int exit_code; /* the guest's own, or 123 (a required output is missing), 124, 125, 126,
			  127, 141; 2 or 12 where image or engine are refused before there is a
			  sandbox; 125 always where it is not removed */
	enum sbx_kind error_kind;
	char *error; /* NULL on success, and where nobody read the output (141), which is
			no failure to tell of: outputs are collected then */
	char *stdout_bytes;
	size_t stdout_size;
	char *stderr_bytes;
	size_t stderr_size;
	int64_t duration_ms; /* of all of it, the pull and the removal with it */
	char *sandbox;	     /* its name, also after it is gone */
	bool removed;
	struct sbx_fetches outputs;
	char **missing;
	size_t missing_count; /* declared, not written */
};
/* The sandbox's first process is a keep-alive (of the image's `sleep`; EOPNOTSUPP where it has
 * none) and the command is run beside it. Phases, named in `error` where one fails or expires:
 * pull, create, inputs, command, collect, remove. Before collection everything in the sandbox is
 * killed, so that what is collected stands still; each declared output lands at collect_dir/its
 * path. After a timeout the collection has a bound of its own (60 s). Never leaves a sandbox
 * behind: a failed removal is in the result. A cancel ends the command and is a result too, of kind
 * CANCELLED.
 *
 * Returns 0 with the result filled on every outcome, for the caller to finish, or -errno when
 * nothing was made: those of sbx_spec_check and sbx_acquire_admit; of the inputs those that
 * sbx_upload has before it sends, of collect_dir those that sbx_fetch has before it reads; EINVAL
 * (a name, no command, a negative bound, required without collect_dir). */
int sbx_run(struct sbx_engine *engine, const struct sbx_run *run, const struct sbx_call *call,
	struct sbx_run_result *out, struct sbx_error *err);
void sbx_run_result_finish(struct sbx_run_result *result);

#endif
