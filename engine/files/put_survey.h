/*
 * put_survey.h: what stands at the places of many items, by one archive of the directory that holds
 * them all.
 *
 * A HEAD for each is two requests an item, before and after, and 70 ms each on a paused Podman
 * container. The archive of their directory says the same of all of them, within a budget: what is
 * there besides them may be large. Where the image does not have the directory, and what was made
 * in it since is not among the items, the list of changes is enough: 20 ms where an archive took
 * 40 to 130, and 280 on a paused Podman.
 */
#ifndef SBX_FILES_PUT_SURVEY_H
#define SBX_FILES_PUT_SURVEY_H

#include "walk.h"

struct sbx_put_seen {
	bool known; /* else: ask for this one */
	bool there;
	enum sbx_type type; /* FILE or DIR; anything else is left unknown */
	int64_t size;
	int64_t mtime_s; /* Podman's is rounded: up to a second more than a HEAD gives */
};

/* The deepest directory that is an item or holds each item: its length in items[0]->path. items are
 * sorted by path; count > 0. */
size_t sbx_put_root(struct sbx_put_item *const *items, size_t count);

/* Fills seen[i] for items[i], which are sorted by path. Only in a window in which nothing of the
 * guest runs. absent: also find out which are not there. Nothing fails here: what could not be
 * found out is not known, and asking for it fails by itself. */
void sbx_put_survey(struct sbx_walk *walk, struct sbx_put_item *const *items, size_t count,
	bool absent, const struct sbx_call *call, struct sbx_put_seen *seen);

#endif
