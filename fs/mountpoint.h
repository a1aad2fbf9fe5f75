/*
 * mountpoint.h: the directory that is mounted on: is it fit, what is mounted there already, and how
 * it is unmounted.
 */
#ifndef SBX_FS_MOUNTPOINT_H
#define SBX_FS_MOUNTPOINT_H

#include <sbx/error.h>
#include <stdbool.h>

/* Ends a sentence about what mounting takes and this host has not. */
#define SBX_MOUNTPOINT_OTHERWISE "; `sbxfs ls NAME`, get, put and exec need no mount"

struct sbx_mount_entry {
	char *type;	/* "fuse.sbxfs" */
	char *device;	/* "0:53": names one mounting, while it is there */
	long long user; /* who mounted it, by the kernel's word; -1: not said */
};
void sbx_mount_entry_finish(struct sbx_mount_entry *entry);

/* The topmost mount at exactly this absolute path. false: none. Touches no file system, so a dead
 * mount cannot hold it up. */
bool sbx_mount_find(const char *path, struct sbx_mount_entry *out);

/* The absolute path to mount on, checked; a dead mount of ours is taken away first. /dev/fd/N
 * passes as it is. Errors as sbx_fs_run's. */
int sbx_mountpoint_prepare(const char *path, char **out, struct sbx_error *err);
bool sbx_mountpoint_is_descriptor(const char *path);

/* Is the topmost mount at this absolute path a mount of sbxfs? */
bool sbx_mountpoint_is_ours(const char *path);

/* The absolute path at which a mount of ours is, for a path that may lead to a dead one, whose
 * directory cannot be looked at: its parent is resolved, and a link only if nothing of ours is at
 * its own name. malloc'd; NULL: none is there. */
char *sbx_mountpoint_of(const char *path);

/* Detaches what is mounted at path, by umount2 or fusermount3. lazy: even if it is busy. Errors:
 * EBUSY, EPERM, EINVAL (nothing is mounted there). */
int sbx_mountpoint_unmount(const char *path, bool lazy, struct sbx_error *err);

#endif
