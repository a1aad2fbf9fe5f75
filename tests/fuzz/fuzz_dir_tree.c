/*
 * fuzz_dir_tree.c: the listings of a directory out of its archive's entries, in any order, with any
 * names and hard links. Each line of the input is an entry: its first byte says its kind, the rest
 * is NAME or NAME=FIRST-NAME. What comes out is sorted, each name once, none of them able to leave
 * its directory.
 */
#include "files/dir_tree.h"
#include "files/listing.h"
#include "fuzz.h"

enum { MOST = 64 };
static const char text[] = "content";

static void look(const struct sbx_listing *listing, unsigned depth)
{
	for (size_t i = 0; i < listing->count; i++) {
		const struct sbx_entry *row = &listing->rows[i];
		promise(row->name[0] && !strchr(row->name, '/') && strcmp(row->name, ".") != 0 &&
			strcmp(row->name, "..") != 0);
		promise(i == 0 || strcmp(listing->rows[i - 1].name, row->name) < 0);
		promise(row->st.size >= -1);
		promise(!row->children || row->st.type == SBX_TYPE_DIR);
		if (row->children)
			look(row->children, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const enum sbx_type types[] = { SBX_TYPE_FILE, SBX_TYPE_DIR, SBX_TYPE_LINK,
		SBX_TYPE_FIFO };
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_listing top = { 0 };
	bool deep = size && data[0] & 1, whole = size && data[0] & 2;
	struct sbx_dir_tree *tree = sbx_dir_tree_create(&top, deep, MOST);
	int rc = 0;
	if (size) {
		data++;
		size--;
	}
	while (size && !rc) {
		cleanup_free char *line = next_text(&data, &size);
		struct sbx_stat st = { .type = types[(unsigned char)line[0] % 4] };
		struct sbx_entry *row = NULL;
		char *name = line[0] ? line + 1 : line;
		char *first = strchr(name, '=');
		if (first) { /* the archive says no type of a hard link but that */
			*first++ = '\0';
			st.type = SBX_TYPE_FILE;
		}
		if (st.type == SBX_TYPE_FILE)
			st.size = first ? -1 : (int64_t)strlen(text);
		if (st.type == SBX_TYPE_LINK)
			st.link_target = sbx_strdup(name);
		rc = sbx_dir_tree_add(tree, name, &st, first, &row, &err);
		if (rc)
			sbx_stat_finish(&st);
		promise(rc <= 0 && (rc || !row || row->name[0]));
		if (!rc && row && st.type == SBX_TYPE_FILE && !first && !row->content)
			row->content = sbx_strdup(text);
	}
	if (!rc && sbx_dir_tree_close(tree, whole, 4096, &err) == 0) {
		promise(top.count <= MOST);
		look(&top, 0);
	}
	sbx_dir_tree_destroy(tree);
	sbx_listing_finish(&top);
	return 0;
}
