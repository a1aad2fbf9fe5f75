/* listing.h: a listing while it is put together: adding checked names, finding, sorting. */
#ifndef SBX_FILES_LISTING_H
#define SBX_FILES_LISTING_H

#include <sbx/plane.h>
#include <stdbool.h>

/* Is this a name a directory can hold: not "", "." or "..", no slash, at most 255 bytes? */
bool sbx_listing_name_good(const char *name);

/* Adds a row and returns it; name is copied, st is moved. NULL: over max_entries (EFBIG) or a name
 * that none can have (EIO); st is then still the caller's. The pointer is good until the next call.
 */
struct sbx_entry *sbx_listing_add(struct sbx_listing *listing, const char *name,
	struct sbx_stat *st, unsigned max_entries, struct sbx_error *err);

/* Sorts by name in byte order. EIO when a name is there twice. */
int sbx_listing_sort(struct sbx_listing *listing, struct sbx_error *err);

/* Of a sorted listing. find: NULL if it is not there. */
bool sbx_listing_has(const struct sbx_listing *listing, const char *name);
struct sbx_entry *sbx_listing_find(const struct sbx_listing *listing, const char *name);

/* Forgets the children of one row or of all, or all rows' contents. */
void sbx_listing_forget_children(struct sbx_entry *entry);
void sbx_listing_forget_below(struct sbx_listing *listing);
void sbx_listing_forget_contents(struct sbx_listing *listing);

#endif
