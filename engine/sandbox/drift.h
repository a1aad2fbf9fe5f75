/* drift.h: does a container still match what is asked (pure: no engine). */
#ifndef SBX_SANDBOX_DRIFT_H
#define SBX_SANDBOX_DRIFT_H

#include "spec.h"

/* What every sandbox must show in its inspect, whatever was asked: the confinement and the limits.
 * EPERM kind POLICY, naming all that is wrong. Also used right after create, for a limit that an
 * engine accepts and drops. */
int sbx_drift_hardening(
	const struct sbx_plan *plan, const struct sbx_container *container, struct sbx_error *err);
/* The whole comparison before a reuse, a restart or an adoption: the above, identity, work dir, in
 * dir, outputs, image, and the parts of the config label. EPERM kind POLICY, naming all that
 * differ. */
int sbx_drift_check(
	const struct sbx_plan *plan, const struct sbx_container *container, struct sbx_error *err);

#endif
