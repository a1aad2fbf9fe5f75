/* acquire.h: create, reuse, restart or adopt a sandbox (MAF-20..31, 38..40). */
#ifndef SBX_ACQUIRE_H
#define SBX_ACQUIRE_H

#include <sbx/spec.h>

enum sbx_outcome {
	SBX_OUTCOME_CREATED,
	SBX_OUTCOME_REUSED,
	SBX_OUTCOME_RESTARTED,
	SBX_OUTCOME_ADOPTED
};
const char *sbx_outcome_name(enum sbx_outcome outcome);

struct sbx_progress {
	void (*line)(void *data, const char *line);
	void *data;
};

/* Ends with a running sandbox whose work dir exists, is no link and belongs to the guest user where
 * we made it, or with nothing left behind. Reuse is refused (EPERM kind POLICY, saying which) when
 * work dir, outputs, in dir, image, user or hardening differ from what was asked. out: as found on
 * the engine. progress may be NULL. The call bounds all but a pull, which has the spec's own bound.
 */
int sbx_acquire(struct sbx_engine *engine, const struct sbx_spec *spec, const struct sbx_call *call,
	const struct sbx_progress *progress, struct sbx_sandbox *out, enum sbx_outcome *outcome,
	struct sbx_error *err);

/* Checks of the engine that `require_*` and the pin ask for, also used by doctor. */
int sbx_acquire_admit(struct sbx_engine *engine, const struct sbx_spec *spec,
	const struct sbx_call *call, struct sbx_error *err);

#endif
