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
/* "created", "reused", "restarted", "adopted"; "unknown" for any other value. */
const char *sbx_outcome_name(enum sbx_outcome outcome);

/* A line of what a pull is doing, without a newline. What engine and registry say in it is escaped:
 * it can be shown as it is. */
struct sbx_progress {
	void (*line)(void *data, const char *line);
	void *data;
};

/* Ends with a running sandbox whose work dir exists, is no link and belongs to the guest user where
 * we made it, or with nothing left behind. Reuse is refused (EPERM kind POLICY, saying which) when
 * work dir, outputs, in dir, image, user or hardening differ from what was asked. out: as found on
 * the engine. progress may be NULL. The call bounds all but a pull, which has the spec's own bound.
 *
 * Errors: those of sbx_spec_check; EINVAL (the image cannot be had, has no such command; the name
 * is the beginning of several ids); EPERM kind POLICY (a requirement is not met, the pin does not
 * hold, the image has volumes, what is there differs); EEXIST kind CONFLICT (the name is a
 * container's that is not ours); EBUSY kind CONFLICT (paused by somebody else, being removed, or
 * changed by somebody all the time); ELOOP, ENOTDIR (work dir); EOPNOTSUPP (no `sleep`, no guest
 * user, declaration that cannot be served); ESTALE kind CHANGED (the image became another one). A
 * creation that was not answered is waited for another 15 s whatever the call's bound, so that what
 * it makes can be removed. */
int sbx_acquire(struct sbx_engine *engine, const struct sbx_spec *spec, const struct sbx_call *call,
	const struct sbx_progress *progress, struct sbx_sandbox *out, enum sbx_outcome *outcome,
	struct sbx_error *err);

/* What the spec requires of the engine (require_rootless, _userns, _os), the isolation that is
 * asked for and the form of a pin, without anything being made: EPERM kind POLICY, naming the
 * option. What cannot be read is not taken for granted: the engine's failure is this one's. Asks
 * the engine only where something is required of it. */
int sbx_acquire_admit(struct sbx_engine *engine, const struct sbx_spec *spec,
	const struct sbx_call *call, struct sbx_error *err);

#endif
