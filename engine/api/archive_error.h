/* archive_error.h: what a refused archive call says about the guest path, the container, or
 * neither. */
#ifndef SBX_API_ARCHIVE_ERROR_H
#define SBX_API_ARCHIVE_ERROR_H

#include "api.h"

/* err holds an error answer (http_status set) to HEAD or GET of path. Absence is concluded only
 * after an inspect: Docker answers 404 for files that exist while a container is being removed.
 * Returns the new -errno. */
int sbx_archive_conclude(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, struct sbx_error *err);
/* The same for PUT, whose path is the directory to extract into. */
int sbx_archive_conclude_put(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, struct sbx_error *err);

/* errno for a cause that the engine's text ends with; 0 when it is none of those known. Exposed
 * for tests. */
int sbx_archive_errno_of_text(const struct sbx_error *err);
int sbx_archive_errno_of_put_text(const struct sbx_error *err);

#endif
