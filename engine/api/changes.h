/*
 * changes.h: the body of GET …/changes, read as it comes.
 *
 * It is a list of flat objects, or `null` for none, as long as the guest makes it; of a whole list
 * as JSON values hundreds of bytes a row would be held.
 */
#ifndef SBX_API_CHANGES_H
#define SBX_API_CHANGES_H

#include "../base/buffer.h"
#include "../base/json.h"

#include <sbx/archive.h>

enum {
	SBX_CHANGES_MAX = 32 << 20, /* of the paths that are kept, with what is around each */
	SBX_CHANGES_ROW_COST = 48,
};

enum sbx_changes_place {
	SBX_CHANGES_BEFORE,
	SBX_CHANGES_IN_NULL,
	SBX_CHANGES_BEGUN,
	SBX_CHANGES_IN_ROW,
	SBX_CHANGES_AFTER_ROW,
	SBX_CHANGES_AFTER_COMMA,
	SBX_CHANGES_AFTER,
};

struct sbx_changes_reader {
	const char *near; /* borrowed: rows above it, below it and its own are kept */
	struct sbx_error *err;

	struct sbx_changes changes;
	int64_t kept;
	size_t room;
	enum sbx_changes_place place;
	size_t letters;		/* of "null" */
	struct sbx_buffer text; /* of the row so far */
	unsigned depth;
	bool quoted, escaped;
};

/* data: the reader. 0, or EIO for what is no such list, EFBIG. Not to be fed after a failure. */
int sbx_changes_feed(void *data, const void *bytes, size_t size);
/* The end of the body: out is sorted by path, each path once. EIO where the list is not whole. */
int sbx_changes_end(struct sbx_changes_reader *reader, struct sbx_changes *out);
void sbx_changes_reader_finish(struct sbx_changes_reader *reader);

#endif
