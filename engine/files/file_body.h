/*
 * file_body.h: the archive of one regular file, judged strictly while it arrives.
 *
 * It must hold exactly one entry of type file with the name, size and time the stat said, all of
 * its bytes, and both end blocks: engines end a file that shrank as a clean 200, follow a link put
 * in its place, and send an empty archive for what they cannot pack.
 */
#ifndef SBX_FILES_FILE_BODY_H
#define SBX_FILES_FILE_BODY_H

#include <sbx/archive.h>

/* Where the bytes go: in order, begin is not called for. Non-zero ends the transfer. */
typedef int (*sbx_body_fn)(void *data, const void *bytes, size_t size, struct sbx_error *err);

struct sbx_file_body {
	struct sbx_engine *engine;
	const char *id;
	const char *path;	   /* absolute */
	const struct sbx_stat *st; /* of that path, in this window */
	sbx_body_fn body;
	void *data;
};

/* Errors: ESTALE kind CHANGED when the entry is not what was described; EIO when it is short, when
 * there is none, or more than one; as sbx_archive_get; the body function's. */
int sbx_file_body_get(
	const struct sbx_file_body *file, const struct sbx_call *call, struct sbx_error *err);

#endif
