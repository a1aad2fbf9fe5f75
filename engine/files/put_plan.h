/*
 * put_plan.h: what one archive of an upload holds and where it is extracted, as text alone.
 *
 * Filled while the walk looks: each directory on the way to an item is there or missing, each item
 * is to be sent or not. Out of that come the entries, parents before what is in them, and the
 * deepest directory that holds them all and is known to be a directory: engines resolve links
 * within entry names in different ways, so no entry may lead through a directory that was not seen.
 */
#ifndef SBX_FILES_PUT_PLAN_H
#define SBX_FILES_PUT_PLAN_H

#include "tar_write.h"

#include <sbx/plane.h>

#define SBX_PUT_BATCH_ITEMS 4096
#define SBX_PUT_BATCH_BYTES (INT64_C(64) << 20)

enum sbx_put_found { SBX_PUT_UNKNOWN, SBX_PUT_THERE, SBX_PUT_MISSING };

struct sbx_put_directory {
	char *path; /* relative to the work dir, "" is the work dir */
	enum sbx_put_found found;
};
struct sbx_put_send {
	struct sbx_put_item *item;
	bool existed;		       /* a file that is replaced, or a directory that is there */
	int64_t old_size, old_mtime_s; /* of what existed; 0 otherwise */
};
struct sbx_put_plan {
	struct sbx_put_directory *directories;
	size_t directory_count;
	struct sbx_put_send *sends;
	size_t send_count;
	char *base; /* relative to the work dir; set by finish */
	struct sbx_tar_item *entries;
	size_t entry_count;
};
void sbx_put_plan_free(struct sbx_put_plan *plan);

/* Sorts by path in byte order, which puts a directory before what is in it. */
void sbx_put_sort(struct sbx_put_item **items, size_t count);
/* How many items from the front make the next archive: bounded in number and bytes, at least one.
 */
size_t sbx_put_batch(struct sbx_put_item *const *items, size_t count);

/* Lengths within such paths: of the directory part (0 where there is no slash), and of the longest
 * directory that is, or holds, both of two directories. */
size_t sbx_put_parent_length(const char *path, size_t length);
size_t sbx_put_common_length(const char *a, size_t a_length, const char *b, size_t b_length);

/* What is known of a directory. UNKNOWN: look, then note. */
enum sbx_put_found sbx_put_directory(const struct sbx_put_plan *plan, const char *path);
void sbx_put_note(struct sbx_put_plan *plan, const char *path, enum sbx_put_found found);
/* old: what is there now, NULL for nothing. */
void sbx_put_send(struct sbx_put_plan *plan, struct sbx_put_item *item, const struct sbx_stat *old);

/* Would a time tell the file that is sent from the one it replaces? Not where they are a second or
 * less apart (Podman rounds), nor where engines or file systems keep another than they are given.
 */
bool sbx_put_time_tells(const struct sbx_put_send *send);
/* One of what is sent into each directory, in the order of the archive: the last that would not
 * look the same had nothing landed, else the last; out has room for all. Returns how many. */
size_t sbx_put_witnesses(const struct sbx_put_plan *plan, const struct sbx_put_send **out);
/* What was sent into the item's directory fails as the item did. */
void sbx_put_fail_beside(struct sbx_put_plan *plan, const struct sbx_put_item *item);

/* base and entries, for the guest's ids. Missing directories get mode 0755 and the time now_s. */
void sbx_put_plan_finish(struct sbx_put_plan *plan, unsigned uid, unsigned gid, int64_t now_s);

#endif
