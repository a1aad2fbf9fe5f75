/*
 * guest_user.h: the uid and gid that a sandbox's processes have (MAF-120..124).
 *
 * Order: the container's Config.User; then its passwd and group files through the archive plane,
 * bounded; then the guest's own `id`, for the missing halves only. What is unresolved is never
 * cached: the next call asks again.
 */
#ifndef SBX_GUEST_USER_H
#define SBX_GUEST_USER_H

#include <sbx/container.h>

struct sbx_guest_user {
	unsigned uid, gid;
};

struct sbx_windows;

/* container: as inspected, borrowed. Errors: EOPNOTSUPP (unresolvable, the sentence says what was
 * tried), ETIMEDOUT (only the `id` step), EHOSTDOWN, EIO. Never called inside a window of the
 * caller's. The account files are read in one of `windows`, or where that is NULL in one of its
 * own. */
int sbx_guest_user_resolve(struct sbx_engine *engine, const struct sbx_container *container,
	struct sbx_windows *windows, const struct sbx_call *call, struct sbx_guest_user *out,
	struct sbx_error *err);

/* A guest that is root and was not left the power to override modes writes only what root owns or
 * everybody may write: images that count on root's powers fail there. The sentence that says so and
 * what to do, or NULL where it is not so. From Config.User and HostConfig alone. */
const char *sbx_guest_root_caveat(const struct sbx_container *container);

#endif
