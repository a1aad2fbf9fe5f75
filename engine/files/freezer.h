/*
 * freezer.h: the container's own freezer cgroup, where the engine is on this host: the truth about
 * "paused", and the way out where the engine itself is stuck.
 *
 * An engine's word can be late: Docker sets its "paused" again from events of its own that it
 * handles after the answers, so that on a busy machine it denies a pause it made, or reports one
 * that is over. And Docker 20.10 deadlocks where a pause meets a starting exec: the exec's init is
 * frozen while the daemon waits for it with the container's lock held, and unpause, inspect and
 * remove hang for ever; writing the freezer is what frees it.
 */
#ifndef SBX_FILES_FREEZER_H
#define SBX_FILES_FREEZER_H

#include <sbx/engine.h>

enum sbx_freezer { SBX_FREEZER_UNKNOWN, SBX_FREEZER_THAWED, SBX_FREEZER_FROZEN };

/* UNKNOWN: the engine is not on this host, or no cgroup of that container is found. container_pid:
 * the container's first process as inspect gave it, or 0. */
enum sbx_freezer sbx_freezer_look(
	const struct sbx_engine *engine, const char *id, int64_t container_pid);

/* Only ever after a pause of our own that is still owed its resume. Returns 1 when a frozen cgroup
 * was thawed, 0 when it is not frozen, or -errno: EOPNOTSUPP (remote engine, not root), ENOENT (no
 * cgroup found), the write's own. */
int sbx_freezer_thaw(const struct sbx_engine *engine, const char *id, int64_t container_pid,
	struct sbx_error *err);

/* The opposite, for one purpose: an engine that still believes in a pause whose cgroup was thawed
 * behind its back refuses to resume it, until it is frozen again. Returns as thaw does. */
int sbx_freezer_refreeze(const struct sbx_engine *engine, const char *id, int64_t container_pid,
	struct sbx_error *err);

/* The processor time that all of the container's processes together have had, in the kernel's own
 * units, or -1 where that is not to be known. While they are frozen it stands still: one that moved
 * shows that somebody let them run, even if they are frozen again. */
int64_t sbx_freezer_usage(const struct sbx_engine *engine, const char *id, int64_t container_pid);

/* The same beneath another root than "/", for tests. */
enum sbx_freezer sbx_freezer_look_beneath(const char *root, const char *id, int64_t container_pid);
int64_t sbx_freezer_usage_beneath(const char *root, const char *id, int64_t container_pid);
int sbx_freezer_thaw_beneath(
	const char *root, const char *id, int64_t container_pid, struct sbx_error *err);

#endif
