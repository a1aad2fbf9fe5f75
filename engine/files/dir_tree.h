/*
 * dir_tree.h: the listings of a directory and of the directories below it while an archive names
 * them, entry by entry, a directory before its content.
 *
 * What lies deeper comes for nothing with the archive and is worth a request for each directory.
 * But only the top has to be complete: deeper listings are given up as soon as there is a doubt or
 * too much of them.
 */
#ifndef SBX_FILES_DIR_TREE_H
#define SBX_FILES_DIR_TREE_H

#include <sbx/plane.h>

struct sbx_dir_tree;
/* top: filled, the caller's. deep: also what lies deeper. */
struct sbx_dir_tree *sbx_dir_tree_create(struct sbx_listing *top, bool deep, unsigned max_entries);
void sbx_dir_tree_destroy(struct sbx_dir_tree *tree);

/* name: relative to the top. st is moved. hard_link: the same file's first name, relative to the
 * top, or NULL. *out is the row until the next call, NULL where the entry is not kept. Errors, for
 * direct children only: EFBIG, EIO (sbx_listing_add). */
int sbx_dir_tree_add(struct sbx_dir_tree *tree, const char *name, struct sbx_stat *st,
	const char *hard_link, struct sbx_entry **out, struct sbx_error *err);

/* Sorts everything and gives hard links what is known of their first name; whole: the archive has
 * come to its end, else only the top is kept. spare_bytes: what contents and link targets may take
 * up once more, since a guest makes links for nothing; without them a hard link is as good as one
 * that is too large. EIO when a name of the top is there twice. */
int sbx_dir_tree_close(
	struct sbx_dir_tree *tree, bool whole, int64_t spare_bytes, struct sbx_error *err);

#endif
