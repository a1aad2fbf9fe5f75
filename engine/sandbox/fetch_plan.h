/*
 * fetch_plan.h: what a fetch will read and where it lands: OUT-01's first two phases.
 *
 * Declaration checks ask no engine; then everything is statted or listed and compared with the
 * ceilings. Nothing has been read or written when either refuses.
 */
#ifndef SBX_SANDBOX_FETCH_PLAN_H
#define SBX_SANDBOX_FETCH_PLAN_H

#include <sbx/transfer.h>

struct sbx_fetch_item {
	char *path;    /* guest path, relative to the work dir */
	char *landing; /* relative to the destination */
	bool named;    /* asked for by this name, not found in a directory */
	bool directory;
	struct sbx_stat st;
	char *content; /* a small file's bytes, where the listing brought them */
	int result;    /* 0, or why it is not fetched, as -errno with reason */
	char *reason;
	/* Filled while it is read. */
	size_t number; /* of the staged file */
	bool staged;
	int64_t size;
	char sha256[65];
};

struct sbx_fetch_plan {
	struct sbx_fetch_item *items; /* a directory before what is in it */
	size_t count, capacity;
	int64_t files, bytes;
	/* What the ceiling of files holds for: files, and whatever else a listing brought. A guest
	 * makes a directory, a link or a fifo as cheaply as a file. */
	int64_t entries;
	size_t name_bytes; /* of paths and landings */
	size_t kept_bytes; /* of contents */
};

/* The declaration that covers path, or NULL. exact: it is that path itself. */
const struct sbx_output *sbx_fetch_declared(
	const struct sbx_sandbox *sandbox, const char *path, bool *exact);

/* Phase 1: names. Errors: EPERM kind POLICY (not declared), EINVAL (two would land at one name,
 * also when only the case of ASCII letters differs), lexical errors. */
int sbx_fetch_plan_names(struct sbx_fetch_plan *plan, const struct sbx_sandbox *sandbox,
	const char *const *paths, size_t count, const struct sbx_fetch_options *options,
	struct sbx_error *err);

/* Phase 2: types, sizes, ceilings. A link, fifo, socket or device that was named is refused (ELOOP,
 * ENXIO); one found in a directory is an item with a result. */
int sbx_fetch_plan_stat(struct sbx_fetch_plan *plan, struct sbx_plane *plane,
	const struct sbx_sandbox *sandbox, const struct sbx_fetch_options *options,
	const struct sbx_call *call, struct sbx_error *err);

/* Compares one more entry with the ceilings, counted with what the plan holds: EFBIG. */
int sbx_fetch_cap(const struct sbx_ceilings *ceilings, const char *path, int64_t size,
	int64_t total_bytes, int64_t total_entries, struct sbx_error *err);

void sbx_fetch_refuse(struct sbx_fetch_item *item, const struct sbx_error *why);
void sbx_fetch_plan_finish(struct sbx_fetch_plan *plan);

#endif
