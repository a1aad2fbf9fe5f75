/* temporary.h: a file without a name, for bytes that are held before they are handed on. */
#ifndef SBX_BASE_TEMPORARY_H
#define SBX_BASE_TEMPORARY_H

#include <sbx/error.h>

/* Empty, ours alone (0600), to read and to write; in TMPDIR, else in /var/tmp. Nothing stays
 * behind, whatever becomes of us. A descriptor, or -errno. */
int sbx_temporary_open(struct sbx_error *err);

/* All of it, at the end of the file. -errno: the host's disk is full, mostly. */
int sbx_temporary_write(int fd, const void *bytes, size_t size, struct sbx_error *err);

#endif
