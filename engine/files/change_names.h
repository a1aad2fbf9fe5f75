/*
 * change_names.h: what the engine's change list says about one directory.
 *
 * The list is made without following links and without contents. It names everything that differs
 * from the image, sockets included, but spells names that are not UTF-8 with U+FFFD: those cannot
 * be asked for.
 */
#ifndef SBX_FILES_CHANGE_NAMES_H
#define SBX_FILES_CHANGE_NAMES_H

#include <sbx/archive.h>
#include <stdbool.h>

struct sbx_change_names {
	const char **rows; /* direct children that exist or existed; borrowed from the changes */
	size_t count;
	bool lossy; /* the path or a child's name may be spelled otherwise than it is */
	bool added; /* the directory or one above it is not in the image */
};

void sbx_change_names_select(
	const struct sbx_changes *changes, const char *directory, struct sbx_change_names *out);
void sbx_change_names_finish(struct sbx_change_names *names);

/* name as the change list would spell it: U+FFFD for each byte that is not UTF-8. malloc'd. */
char *sbx_change_names_spell(const char *name);

/* Does the text hold U+FFFD, which a change list may have put there? */
bool sbx_change_names_lossy(const char *text);

#endif
