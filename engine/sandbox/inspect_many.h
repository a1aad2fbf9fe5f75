/* inspect_many.h: many containers inspected, each within a bound of its own. */
#ifndef SBX_SANDBOX_INSPECT_MANY_H
#define SBX_SANDBOX_INSPECT_MANY_H

#include <sbx/container.h>

/* A container whose lock is held (Docker: by a transfer, a stuck start) answers no inspect. */
#define SBX_INSPECT_BOUND_MS 2000

struct sbx_inspected {
	const char *id;			/* in; borrowed */
	struct sbx_container container; /* out, when result is 0; the caller's to finish */
	int result;			/* 0 or -errno */
	struct sbx_error err;
};

/* At most four at a time, so that one that does not answer holds up none of the others. The call's
 * own end or cancel ends all; rows not asked for then have its error. */
void sbx_inspect_many(struct sbx_engine *engine, struct sbx_inspected *rows, size_t count,
	const struct sbx_call *call);

#endif
