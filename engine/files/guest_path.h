/* guest_path.h: guest paths as text: joining and the normal form. No engine, no host file system.
 * The lexical rule itself is sbx_guest_path_check of sbx/guest_path.h. */
#ifndef SBX_FILES_GUEST_PATH_H
#define SBX_FILES_GUEST_PATH_H

#include <sbx/error.h>
#include <stdbool.h>

/* directory (absolute, normal form) and relative ("" is the directory itself) as one absolute path.
 * malloc'd. */
char *sbx_guest_path_join(const char *directory, const char *relative);

/* An absolute guest path without "//", "." and a trailing slash; ".." is refused, not resolved: a
 * link before it would make it mean another place. malloc'd in *out. Errors: EINVAL (not absolute,
 * empty), EXDEV (".."), ENAMETOOLONG. */
int sbx_guest_path_normalise(const char *path, char **out, struct sbx_error *err);

/* The part after the last slash; of "/" the whole. Borrowed. */
const char *sbx_guest_path_base(const char *path);

/* Is path equal to directory or below it? Both absolute, normal form; whole components, so
 * /work-outside is not within /work. */
bool sbx_guest_path_within(const char *path, const char *directory);

#endif
