/*
 * landing.h: the host directory that fetched files land in.
 *
 * Files are first written to a private directory inside the destination and get their names by a
 * rename once every one of them is whole: a name never holds a part of a file, and a refusal leaves
 * the destination as it was, absent included. What lies at the destination may have been planted:
 * no part below it is ever followed, and an existing file is replaced only by force.
 */
#ifndef SBX_SANDBOX_LANDING_H
#define SBX_SANDBOX_LANDING_H

#include <sbx/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_landing {
	int top;     /* the destination */
	int staging; /* the private directory in it */
	char staging_name[32];
	char *dest;
	bool made; /* the destination was not there before */
	bool delivered;
	size_t staged; /* files made so far; named by number */
};

/* May `path` (relative to dest) get a file or directory? Looks only; dest may be absent. EEXIST
 * kind USAGE without force, EISDIR (file over a directory), ENOTDIR (link or file in the way,
 * directory over a file). */
int sbx_landing_check(
	const char *dest, const char *path, bool directory, bool force, struct sbx_error *err);

/* Is dest a directory that can be written to, or can it be made? */
int sbx_landing_possible(const char *dest, struct sbx_error *err);

/* Makes dest (its parent must be there) and the private directory. */
int sbx_landing_open(struct sbx_landing *landing, const char *dest, struct sbx_error *err);

/* A new empty file, mode less the umask. Returns its descriptor; its number is in *number. */
int sbx_landing_stage(
	struct sbx_landing *landing, uint32_t mode, size_t *number, struct sbx_error *err);

/* Gives a staged file its name; its directories are made as needed. Errors as sbx_landing_check. */
int sbx_landing_deliver(struct sbx_landing *landing, size_t number, const char *path, bool force,
	struct sbx_error *err);
/* Makes a directory; one that exists stays as it is. */
int sbx_landing_directory(struct sbx_landing *landing, const char *path, struct sbx_error *err);

/* Removes what was staged and not delivered, and dest if it was made for nothing. Zeroed is fine.
 */
void sbx_landing_close(struct sbx_landing *landing);

#endif
