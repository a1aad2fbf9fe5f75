/*
 * produced.h: what a sandbox has made: what is there of its declared outputs, and everything that
 * differs from its image.
 *
 * Nothing is read but names, types, sizes and times, and no link is followed. The declared outputs
 * are seen by a plane, with its walk and its windows.
 */
#ifndef SBX_PRODUCED_H
#define SBX_PRODUCED_H

#include <sbx/plane.h>
#include <sbx/sandbox.h>

/* A declared output or what lies below one. */
struct sbx_product {
	char *path;  /* relative to the work dir */
	bool absent; /* declared, and not there (yet) */
	struct sbx_stat st;
	char *reason; /* not NULL: why it, or what is in it, cannot be served */
};
struct sbx_products {
	struct sbx_product *rows; /* sorted by path in byte order */
	size_t count;
	size_t refused; /* rows with a reason */
};
void sbx_products_finish(struct sbx_products *products);

/* All declared outputs with everything below them, or with path (a declared output or below one)
 * that alone. Complete, but for rows that say why they are not. Errors: EPERM kind POLICY (path is
 * not declared), ENOENT (path is not there), EOPNOTSUPP (the declaration cannot be served), EFBIG
 * (more than can be held), lexical errors, those of the plane that concern more than one path. */
int sbx_produced(struct sbx_plane *plane, const struct sbx_sandbox *sandbox, const char *path,
	const struct sbx_call *call, struct sbx_products *out, struct sbx_error *err);

/* One path that differs from the image. */
struct sbx_changed {
	char *path;    /* absolute, as the engine spells it */
	int kind;      /* as struct sbx_change has it */
	bool declared; /* a declared output, or below one */
};
struct sbx_changed_list {
	struct sbx_changed *rows; /* sorted by path in byte order */
	size_t count;
};
void sbx_changed_list_finish(struct sbx_changed_list *list);

/* Every path of the whole sandbox that the engine says was added, changed or deleted, without the
 * directories that are only there because something below them was. Mounts are not among them.
 * Errors: those of sbx_archive_changes. */
int sbx_changed(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_call *call, struct sbx_changed_list *out, struct sbx_error *err);

#endif
