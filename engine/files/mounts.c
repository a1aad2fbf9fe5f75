/*
 * mounts.c: see mounts.h. The container's mounts are fixed when it is created, so what inspect said
 * then stays true; mounts that a guest with the power to make them makes are its own and are not
 * seen by the engine at all.
 */
#include "mounts.h"

#include "../base/alloc.h"
#include "guest_path.h"

#include <errno.h>
#include <string.h>

static int refuse(const char *path, const char *mount, const char *what, const char *why,
	struct sbx_error *err)
{
	return sbx_fail(err, EOPNOTSUPP, "%s lies on %s (%s), %s", path, mount, what, why);
}

static const char *reason(const char *type)
{
	if (strcmp(type, "tmpfs") == 0)
		return "which the engine's archive calls do not show";
	return "which others can change while this sandbox is paused";
}

int sbx_mounts_check(const struct sbx_container *container, const char *path, struct sbx_error *err)
{
	static const char *const kernel[] = { "/proc", "/sys", "/dev" };
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++) {
		if (sbx_guest_path_within(path, kernel[i]))
			return refuse(path, kernel[i], "a kernel file system",
				"which the engine's archive calls do not show", err);
	}
	for (size_t i = 0; i < container->mount_count; i++) {
		const struct sbx_mount *mount = &container->mounts[i];
		cleanup_free char *place = NULL;
		/* A destination that has no normal form cannot be compared with anything. */
		if (sbx_guest_path_normalise(mount->destination, &place, err) < 0)
			return sbx_wrap(err, "a mount of %s", container->name);
		if (sbx_guest_path_within(path, place))
			return refuse(path, place, mount->type, reason(mount->type), err);
	}
	return 0;
}
