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
/* "removed", "absent", "refused", "unreachable", "unlisted", "unknown", "kept". */
const char *sbx_removal_name(enum sbx_removal removal);

struct sbx_removed {
	char *id, *name; /* as far as known, else NULL or "" */
	enum sbx_removal result;
	char *reason;  /* a sentence; NULL where there is nothing to say */
	int64_t age_s; /* since creation, from a reap; else 0 */
};
struct sbx_removals {
	struct sbx_removed *rows;
	size_t count;
	size_t removed, failed; /* what was not there, or kept, is neither */
};
/* Of a row alone: free(id), free(name) and free(reason). */
void sbx_removals_finish(struct sbx_removals *removals);

/* One sandbox by name or id; instance_id (may be NULL) must then be its id, or the first 12 digits
 * or more of it (else EINVAL). An absent one is ABSENT, a success. Works at once inside a window of
 * this or another sbxfs. rules may be NULL. out is filled on failure too, and its strings are the
 * caller's to free. Returns 0, or -errno when it may still be there: EPERM kind POLICY (it is no
 * sandbox), EINVAL kind USAGE (no name, or the beginning of several ids), or why it was not
 * removed. */
int sbx_dispose(struct sbx_engine *engine, const struct sbx_rules *rules, const char *name,
	const char *instance_id, const struct sbx_call *call, struct sbx_removed *out,
	struct sbx_error *err);
/* Whose sandboxes: each as it was given at their creation. */
struct sbx_identity_filter {
	const char *scope;		   /* never NULL */
	const char *thread, *agent, *kind; /* NULL: every one */
};
/* All of that identity, by their labels, whoever made them, each within 10 s. A failed listing is a
 * failure, not a clean zero. out is filled on failure too. Errors: EIO kind PARTIAL: not all have
 * gone, the rows say which and why; after a cancel those that did not have their turn are
 * UNLISTED. */
int sbx_dispose_identity(struct sbx_engine *engine, const struct sbx_identity_filter *filter,
	const struct sbx_call *call, struct sbx_removals *out, struct sbx_error *err);

struct sbx_reap {
	int64_t older_than_s; /* > 0 */
	const char *scope;    /* or NULL */
	bool dry_run;
};
/* Inventory first; any failure of it deletes nothing, one container that keeps itself from being
 * listed (Podman) included: EIO, and sbx_dispose_identity works around that one. Each is
 * re-inspected by id before it goes, and has 10 s. Ephemeral and probe containers left by a dead
 * process are collected too. out and errors as sbx_dispose_identity, and EINVAL (an age that is not
 * above zero). */
int sbx_reap(struct sbx_engine *engine, const struct sbx_reap *reap, const struct sbx_call *call,
	struct sbx_removals *out, struct sbx_error *err);

#endif
