/*
 * walk_changes.h: a walk by the engine's list of changes, where a HEAD of each component is dear.
 *
 * Podman mounts a container that does not run anew for every HEAD: 20 to 70 ms each, where its list
 * of changes takes 1.5. The list names what the container's own layer holds and follows no link: an
 * entry that is there has a directory above it, not a link. While nothing in the guest runs that is
 * as good as having asked for each.
 */
#ifndef SBX_FILES_WALK_CHANGES_H
#define SBX_FILES_WALK_CHANGES_H

#include "walk.h"

/* Remembers for the walk each directory above the absolute path `whole` that the list shows to be
 * one. true: it also shows that nothing is at the path itself, if all above it are directories.
 * Nothing fails here: what is not known is to be asked for. Asks only where it is worth it. */
bool sbx_walk_by_changes(struct sbx_walk *walk, const char *whole, const struct sbx_call *call);

#endif
