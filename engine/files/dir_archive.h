/*
 * dir_archive.h: what is in a directory, out of its archive, within a budget.
 *
 * One request brings names, stats and small contents, where small files are many far cheaper than a
 * request for each. But the archive holds everything below, too, so the transfer is cut as soon as
 * it would move more than the names are worth.
 */
#ifndef SBX_FILES_DIR_ARCHIVE_H
#define SBX_FILES_DIR_ARCHIVE_H

#include <sbx/plane.h>

struct sbx_dir_budget {
	int64_t each;	 /* bytes that each child may have for nothing */
	int64_t spare;	 /* bytes beyond that */
	int64_t deeper;	 /* bytes of all that lies deeper */
	bool deep;	 /* the listings of what lies deeper are wanted, too */
	int64_t total;	 /* bytes of the whole transfer */
	int64_t content; /* files up to this size are kept with their content; 0: none */
	unsigned max_entries;
};

enum { SBX_DIR_CUT = 1 };

/* Pays for an entry of so many bytes, a direct child or what lies deeper. false: it costs more than
 * it is worth, and nothing was paid. */
bool sbx_dir_budget_pay(struct sbx_dir_budget *left, int64_t size, bool child);

/* 0: complete. SBX_DIR_CUT: the budget ended it; listing has what came before. listing is sorted in
 * both cases. Times are to the second, and the size of a hard link whose first name is not among
 * what was kept is -1: ask for them. Errors: EIO (not
 * whole, or not the archive of one directory), EFBIG (max_entries), as sbx_archive_get. */
int sbx_dir_archive_get(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_dir_budget *budget, const struct sbx_call *call,
	struct sbx_listing *listing, struct sbx_error *err);

#endif
