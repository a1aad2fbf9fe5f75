/*
 * mounts.h: which guest paths the engine's archive calls cannot be trusted to show (MAF-90).
 *
 * A tmpfs is invisible to Docker and comes and goes on Podman with the state; /proc, /sys and /dev
 * answer with empty archives; on a volume or bind mount the calls reach a file system of the host
 * that other containers may change while this one is frozen.
 */
#ifndef SBX_FILES_MOUNTS_H
#define SBX_FILES_MOUNTS_H

#include <sbx/container.h>

/* EOPNOTSUPP with the reason when the absolute, normal path lies on a mount of the container or in
 * /proc, /sys or /dev; else 0. No engine call. */
int sbx_mounts_check(
	const struct sbx_container *container, const char *path, struct sbx_error *err);

#endif
