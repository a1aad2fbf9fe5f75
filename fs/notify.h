/*
 * notify.h: tells the kernel that a name appeared or vanished, from a thread of its own: such a
 * message waits for locks of the directory, and the loop must not.
 */
#ifndef SBX_FS_NOTIFY_H
#define SBX_FS_NOTIFY_H

#include <sbx/error.h>
#include <stdint.h>

struct sbx_fs;
struct sbx_notifier;

int sbx_notifier_create(struct sbx_fs *fs, struct sbx_notifier **out, struct sbx_error *err);
/* No more notices; waits a moment for one in progress. One that hangs (on a lock whose holder waits
 * for us) is inside the kernel then, and ends when the session's descriptor is closed. NULL is
 * fine. */
void sbx_notifier_stop(struct sbx_notifier *notifier);
void sbx_notifier_destroy(struct sbx_notifier *notifier); /* after the stop; NULL is fine */
/* The entry is looked up again. */
void sbx_notify_entry(struct sbx_notifier *notifier, uint64_t parent, const char *name);
/* The entry is gone: watchers see a deletion. child: its node id. */
void sbx_notify_gone(
	struct sbx_notifier *notifier, uint64_t parent, uint64_t child, const char *name);
/* The node's attributes are asked for again; its pages stay (data is never invalidated: that can
 * hang the daemon for good, fuse-guide §2). */
void sbx_notify_attr(struct sbx_notifier *notifier, uint64_t node);

#endif
