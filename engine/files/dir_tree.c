/* dir_tree.c: see dir_tree.h. */
#include "dir_tree.h"

#include "../base/alloc.h"
#include "listing.h"

#include <string.h>

enum {
	DEPTH_MAX = 64,
	BELOW_MAX = 20000, /* rows of all that lies deeper than the top */
};

/* A directory on the way to the last one that was named. */
struct level {
	size_t length; /* its path is so much of tree->path */
	struct sbx_listing *listing;
};

struct hard_link {
	struct sbx_listing *listing;
	char *name, *first;
};

struct sbx_dir_tree {
	struct sbx_listing *top;
	unsigned max_entries;
	bool deep;
	size_t below;
	char *path;
	struct level levels[DEPTH_MAX];
	size_t depth;
	struct hard_link *links;
	size_t link_count;
};

struct sbx_dir_tree *sbx_dir_tree_create(struct sbx_listing *top, bool deep, unsigned max_entries)
{
	struct sbx_dir_tree *tree = sbx_alloc(sizeof(*tree));
	tree->top = top;
	tree->deep = deep;
	tree->max_entries = max_entries;
	return tree;
}

void sbx_dir_tree_destroy(struct sbx_dir_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->link_count; i++) {
		free(tree->links[i].name);
		free(tree->links[i].first);
	}
	free(tree->links);
	free(tree->path);
	free(tree);
}

/* The part of name below the innermost directory on the way to it. */
static const char *descend(struct sbx_dir_tree *tree, const char *name)
{
	while (tree->depth) {
		size_t length = tree->levels[tree->depth - 1].length;
		if (strncmp(name, tree->path, length) == 0 && name[length] == '/')
			return name + length + 1;
		tree->depth--;
	}
	return name;
}

static void enter(struct sbx_dir_tree *tree, const char *name, struct sbx_entry *entry)
{
	if (tree->depth == DEPTH_MAX)
		return; /* what is in it has no place then */
	entry->children = sbx_alloc(sizeof(*entry->children));
	free(tree->path);
	tree->path = sbx_strdup(name);
	tree->levels[tree->depth++] = (struct level){ strlen(name), entry->children };
}

static void note_link(
	struct sbx_dir_tree *tree, struct sbx_listing *listing, const char *name, const char *first)
{
	if ((tree->link_count & (tree->link_count - 1)) == 0) /* full at each power of two */
		tree->links = sbx_realloc_array(tree->links,
			tree->link_count ? tree->link_count * 2 : 1, sizeof(*tree->links));
	tree->links[tree->link_count++] =
		(struct hard_link){ listing, sbx_strdup(name), sbx_strdup(first) };
}

static int give_up(struct sbx_dir_tree *tree, struct sbx_stat *st)
{
	tree->deep = false;
	sbx_stat_finish(st);
	return 0;
}

int sbx_dir_tree_add(struct sbx_dir_tree *tree, const char *name, struct sbx_stat *st,
	const char *hard_link, struct sbx_entry **out, struct sbx_error *err)
{
	bool child = !strchr(name, '/');
	*out = NULL;
	if (!child && !tree->deep) {
		sbx_stat_finish(st);
		return 0;
	}
	const char *rest = descend(tree, name);
	struct sbx_listing *listing =
		tree->depth ? tree->levels[tree->depth - 1].listing : tree->top;
	struct sbx_error own = SBX_ERROR_INIT;
	if (!child && (strchr(rest, '/') || ++tree->below > BELOW_MAX))
		return give_up(tree, st);
	struct sbx_entry *entry = sbx_listing_add(listing, rest, st, tree->max_entries, &own);
	if (!entry && !child)
		return give_up(tree, st);
	if (!entry) {
		*err = own;
		return -own.errnum;
	}
	if (tree->deep && entry->st.type == SBX_TYPE_DIR)
		enter(tree, name, entry);
	if (hard_link)
		note_link(tree, listing, rest, hard_link);
	*out = entry;
	return 0;
}

static const struct sbx_entry *find_path(const struct sbx_listing *listing, const char *path)
{
	for (;;) {
		size_t length = strcspn(path, "/");
		cleanup_free char *name = sbx_strndup(path, length);
		const struct sbx_entry *entry = sbx_listing_find(listing, name);
		if (!entry || !path[length])
			return entry;
		if (!entry->children)
			return NULL;
		listing = entry->children;
		path += length + 1;
	}
}

/* Pays for a copy; false: there is not enough left. */
static bool afford(int64_t *spare_bytes, size_t size)
{
	if (*spare_bytes < (int64_t)size)
		return false;
	*spare_bytes -= (int64_t)size;
	return true;
}

/* A hard link is what its first name is; one whose first name is not here stays unknown. */
static void resolve(struct sbx_dir_tree *tree, const struct hard_link *link, int64_t *spare_bytes)
{
	struct sbx_entry *entry = sbx_listing_find(link->listing, link->name);
	const struct sbx_entry *first = find_path(tree->top, link->first);
	if (!entry || !first || first->st.size < 0 || first->st.type == SBX_TYPE_DIR)
		return;
	const char *target = first->st.link_target;
	sbx_stat_finish(&entry->st);
	entry->st = first->st;
	entry->st.link_target = NULL;
	if (target && afford(spare_bytes, strlen(target) + 1))
		entry->st.link_target = sbx_strdup(target);
	if (first->content && afford(spare_bytes, (size_t)first->st.size + 1))
		entry->content = sbx_strndup(first->content, (size_t)first->st.size);
}

/* false: a name is there twice. */
static bool sort_below(struct sbx_listing *listing)
{
	struct sbx_error ignored = SBX_ERROR_INIT; /* such a tree is given up */
	for (size_t i = 0; i < listing->count; i++) {
		struct sbx_listing *children = listing->rows[i].children;
		if (children && (sbx_listing_sort(children, &ignored) < 0 || !sort_below(children)))
			return false;
	}
	return true;
}

int sbx_dir_tree_close(
	struct sbx_dir_tree *tree, bool whole, int64_t spare_bytes, struct sbx_error *err)
{
	int result = sbx_listing_sort(tree->top, err);
	if (result < 0)
		return result;
	if (!whole || !tree->deep || !sort_below(tree->top)) {
		sbx_listing_forget_below(tree->top);
		return 0;
	}
	for (size_t i = 0; i < tree->link_count; i++)
		resolve(tree, &tree->links[i], &spare_bytes);
	return 0;
}
