/*
 * guest_path.h: what a guest path may look like at all, judged as text before any engine is asked.
 */
#ifndef SBX_GUEST_PATH_H
#define SBX_GUEST_PATH_H

#include <sbx/error.h>
#include <stdbool.h>

/*
 * The lexical rule for a path relative to the work dir: relative, no empty, "." or ".." part, parts
 * of at most 255 bytes, the whole at most 4095 bytes (Linux's NAME_MAX and PATH_MAX). declared: the
 * path comes from a declaration, is valid UTF-8 too and has neither a backslash nor a control
 * character (0 to 31); a guest's own names are any bytes.
 *
 * Safe from many threads. Errors, err may be NULL: EXDEV kind CONFINED (absolute, or a ".." part),
 * EINVAL (an empty or "." part, a backslash, a control character), ENAMETOOLONG, EILSEQ.
 */
int sbx_guest_path_check(const char *path, bool declared, struct sbx_error *err);

#endif
