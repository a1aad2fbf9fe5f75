/*
 * reaper.h: a tiny process that outlives the daemon only to unmount. The daemon itself cannot once
 * it is confined: Landlock forbids umount, and no_new_privs takes fusermount3 its power.
 */
#ifndef SBX_FS_REAPER_H
#define SBX_FS_REAPER_H

#include <sbx/error.h>
#include <sys/types.h>

struct sbx_reaper {
	pid_t pid; /* 0: none */
	int pipe;  /* closing it, in whatever way, starts the unmount */
};

/* Right after the mount and before any thread. path: absolute. Only the mounting that is there now
 * will be unmounted, not a later one. */
int sbx_reaper_start(const char *path, struct sbx_reaper *out, struct sbx_error *err);
/* Unmounts and waits for it. */
void sbx_reaper_finish(struct sbx_reaper *reaper);

#endif
