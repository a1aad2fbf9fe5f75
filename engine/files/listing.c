/* listing.c: see listing.h. */
#include "listing.h"

#include "../base/alloc.h"

#include <errno.h>
#include <string.h>

enum { NAME_BYTES = 255 };

bool sbx_listing_name_good(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/') &&
	       strlen(name) <= NAME_BYTES;
}

void sbx_listing_forget_children(struct sbx_entry *entry)
{
	if (!entry->children)
		return;
	sbx_listing_finish(entry->children);
	free(entry->children);
	entry->children = NULL;
}

void sbx_listing_forget_below(struct sbx_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		sbx_listing_forget_children(&listing->rows[i]);
}

void sbx_listing_forget_contents(struct sbx_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		free(listing->rows[i].content);
		listing->rows[i].content = NULL;
	}
}

/* As deep as dir_tree.c makes them. */
void sbx_listing_finish(struct sbx_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		sbx_listing_forget_children(&listing->rows[i]);
		free(listing->rows[i].name);
		free(listing->rows[i].content);
		sbx_stat_finish(&listing->rows[i].st);
	}
	free(listing->rows);
	*listing = (struct sbx_listing){ 0 };
}

struct sbx_entry *sbx_listing_add(struct sbx_listing *listing, const char *name,
	struct sbx_stat *st, unsigned max_entries, struct sbx_error *err)
{
	if (!sbx_listing_name_good(name)) {
		(void)sbx_fail(
			err, EIO, "the engine names an entry \"%s\", which none can have", name);
		return NULL; /* the failure is in err */
	}
	if (listing->count >= max_entries) {
		(void)sbx_fail(err, EFBIG, "the directory has more than max_entries (%u) entries",
			max_entries);
		return NULL; /* the failure is in err */
	}
	if ((listing->count & (listing->count - 1)) == 0) /* full at each power of two */
		listing->rows = sbx_realloc_array(listing->rows,
			listing->count ? listing->count * 2 : 1, sizeof(*listing->rows));
	struct sbx_entry *entry = &listing->rows[listing->count++];
	*entry = (struct sbx_entry){ .name = sbx_strdup(name), .st = *st };
	*st = (struct sbx_stat){ 0 };
	return entry;
}

static int by_name(const void *a, const void *b)
{
	const struct sbx_entry *one = a, *other = b;
	return strcmp(one->name, other->name);
}

int sbx_listing_sort(struct sbx_listing *listing, struct sbx_error *err)
{
	if (!listing->count)
		return 0;
	qsort(listing->rows, listing->count, sizeof(*listing->rows), by_name);
	for (size_t i = 1; i < listing->count; i++) {
		if (by_name(&listing->rows[i - 1], &listing->rows[i]) == 0)
			return sbx_fail(err, EIO, "the engine names the entry \"%s\" twice",
				listing->rows[i].name);
	}
	return 0;
}

struct sbx_entry *sbx_listing_find(const struct sbx_listing *listing, const char *name)
{
	struct sbx_entry key = { .name = (char *)name };
	return listing->count ? bsearch(&key, listing->rows, listing->count, sizeof(*listing->rows),
					by_name)
			      : NULL;
}

bool sbx_listing_has(const struct sbx_listing *listing, const char *name)
{
	return sbx_listing_find(listing, name) != NULL;
}
