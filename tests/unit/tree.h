/* tree.h: directories of the host as tests see them: what is in one, and removing one. */
#ifndef SBX_TESTS_TREE_H
#define SBX_TESTS_TREE_H

#include <check.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static inline int tree_remove_one(
	const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	return remove(path);
}

/* With everything in it; links are removed, not followed. */
static inline void tree_remove(const char *path)
{
	ck_assert_int_eq(nftw(path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* How many entries a directory has; the name of one of them is in last, which has room for it. */
static inline int tree_entries(const char *path, char last[NAME_MAX + 1])
{
	DIR *stream = opendir(path);
	int count = 0;
	ck_assert_ptr_nonnull(stream);
	for (const struct dirent *entry; (entry = readdir(stream));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		count++;
		if (last)
			(void)snprintf(last, NAME_MAX + 1, "%s", entry->d_name); /* fits */
	}
	ck_assert_int_eq(closedir(stream), 0);
	return count;
}

#endif
