/*
 * beneath.h: host paths below a directory that somebody named, opened without following any link.
 *
 * The directory itself was chosen by the caller; what lies below it may have been planted (a link
 * in a tree that is sent, or at the place where a file is about to land), so every part is opened
 * with O_NOFOLLOW from the descriptor of the part before it.
 */
#ifndef SBX_SANDBOX_BENEATH_H
#define SBX_SANDBOX_BENEATH_H

#include <stdbool.h>

/* Opens the directory that holds the last part of path, which is relative, without empty, "." or
 * ".." parts. leaf points to the last part, inside path. make: missing directories are made (0777
 * less the umask). Returns a descriptor or -errno; a link on the way is -ENOTDIR. */
int sbx_beneath_parent(int top, const char *path, bool make, const char **leaf);

/* Opens path itself with flags | O_NOFOLLOW | O_CLOEXEC. "" is top. A link is -ELOOP at the end and
 * -ENOTDIR on the way or where flags ask for a directory. */
int sbx_beneath_open(int top, const char *path, int flags);

#endif
