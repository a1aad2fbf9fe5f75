/* dispose.h: removing sandboxes by name or identity, and by age (MAF-31..36, 150..157). Never
 * stops, always removes. */
#ifndef SBX_DISPOSE_H
#define SBX_DISPOSE_H

#include <sbx/sandbox.h>

enum sbx_removal {
	SBX_REMOVAL_REMOVED,
	SBX_REMOVAL_ABSENT,	 /* the engine said so of this very one */
	SBX_REMOVAL_REFUSED,	 /* asked, and it is still there; or not ours to ask for */
	SBX_REMOVAL_UNREACHABLE, /* never asked: no engine */
	SBX_REMOVAL_UNLISTED, /* never asked: it could not be looked up, or its turn did not come */
	SBX_REMOVAL_UNKNOWN,  /* asked, and not answered */
	SBX_REMOVAL_KEPT      /* dry run, or too young at the last look */
};
const char *sbx_removal_name(enum sbx_removal removal);

struct sbx_removed {
	char *id, *name;
	enum sbx_removal result;
	char *reason;
	int64_t age_s;
};
struct sbx_removals {
	struct sbx_removed *rows;
	size_t count;
	size_t removed, failed;
};
void sbx_removals_finish(struct sbx_removals *removals);

/* One sandbox by name or id; instance_id (may be NULL) must then be its id, or the first 12 digits
 * or more of it (else EINVAL). An absent one is ABSENT, a success. Works at once inside a window of
 * this or another sbxfs. Returns 0, or -errno when it may still be there. */
int sbx_dispose(struct sbx_engine *engine, const struct sbx_rules *rules, const char *name,
	const char *instance_id, const struct sbx_call *call, struct sbx_removed *out,
	struct sbx_error *err);
/* Whose sandboxes: each as it was given at their creation. */
struct sbx_identity_filter {
	const char *scope;		   /* never NULL */
	const char *thread, *agent, *kind; /* NULL: every one */
};
/* All of that identity, by their labels, whoever made them. A failed listing is a failure, not a
 * clean zero. */
int sbx_dispose_identity(struct sbx_engine *engine, const struct sbx_identity_filter *filter,
	const struct sbx_call *call, struct sbx_removals *out, struct sbx_error *err);

struct sbx_reap {
	int64_t older_than_s; /* > 0 */
	const char *scope;    /* or NULL */
	bool dry_run;
};
/* Inventory first; any failure of it deletes nothing, one container that keeps itself from being
 * listed (Podman) included: EIO, and sbx_dispose_identity works around that one. Each is
 * re-inspected by id before it goes. Ephemeral and probe containers left by a dead process are
 * collected too. */
int sbx_reap(struct sbx_engine *engine, const struct sbx_reap *reap, const struct sbx_call *call,
	struct sbx_removals *out, struct sbx_error *err);

#endif
