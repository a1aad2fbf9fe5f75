/*
 * acquiring.h: one acquire under way, shared by the files that make up sbx_acquire: acquire.c
 * (which of the four outcomes), make.c (a new container, and its undoing), admit.c (engine and
 * image), workdir.c, acquire_lock.c.
 */
#ifndef SBX_SANDBOX_ACQUIRING_H
#define SBX_SANDBOX_ACQUIRING_H

#include "spec.h"

#include <sbx/acquire.h>

struct sbx_acquiring {
	struct sbx_engine *engine;
	const struct sbx_spec *spec;
	struct sbx_call *call; /* its deadline moves by what a pull took */
	const struct sbx_progress *progress;
	const char *name;
	struct sbx_image image; /* filled while image_known */
	bool image_known;
	bool conflict; /* a create of ours found the name taken */
	bool waited;   /* for whoever had created but not started it */
	bool no_shell; /* a start failed, and may do without the keep-alive's shell */
	/* The last start was refused, by an answer of the engine, for its command cannot be run, or
	 * its keep-alive ended at once. No other failure says anything about the container. */
	bool unstartable;
	bool unseen; /* a create was not answered, and what it makes has not been seen */
};

/* sbx_acquire; *unseen (may be NULL) is set where it failed and the engine may still make the
 * sandbox. */
int sbx_acquire_seen(struct sbx_engine *engine, const struct sbx_spec *spec,
	const struct sbx_call *call, const struct sbx_progress *progress, struct sbx_sandbox *out,
	enum sbx_outcome *outcome, bool *unseen, struct sbx_error *err);

/* One line of progress; engine text in it is escaped. */
void sbx_acquiring_report(const struct sbx_acquiring *acquiring, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The image, pulled under its own bound only when the engine has none, refused where it brings
 * volumes or misses the pin. Nothing is asked twice. */
int sbx_acquiring_image(struct sbx_acquiring *acquiring, struct sbx_error *err);
/* The same without a pull: 1 when the engine has it, 0 when not. */
int sbx_acquiring_image_present(struct sbx_acquiring *acquiring, struct sbx_error *err);

/* A new container under the name, started, its work dir made. Nothing of it is left when it fails.
 * EEXIST kind CONFLICT: the name is taken. */
int sbx_acquiring_make(
	struct sbx_acquiring *acquiring, struct sbx_sandbox *out, struct sbx_error *err);
/* Starts one that exists and sees it run. */
int sbx_acquiring_start(struct sbx_acquiring *acquiring, const struct sbx_container *container,
	struct sbx_container *running, struct sbx_error *err);
/* Force-removes within a bound of its own, whatever became of the call; a failure is added to err,
 * which already holds why. */
void sbx_acquiring_undo(struct sbx_engine *engine, const char *id, struct sbx_error *err);

/* The work dir of a container in which nothing runs: verified, or made with the guest user's
 * ownership, with its in dir. ELOOP, ENOTDIR, EOPNOTSUPP (no guest user). */
int sbx_workdir_prepare(struct sbx_engine *engine, const struct sbx_container *container,
	const char *workdir, const char *in_dir, const struct sbx_call *call,
	struct sbx_error *err);
/* Only verified: of a running one. */
int sbx_workdir_verify(struct sbx_engine *engine, const struct sbx_container *container,
	const char *workdir, const struct sbx_call *call, struct sbx_error *err);

/* One acquire of a name at a time on this host, across threads and processes. A descriptor to
 * close, or -errno: ETIMEDOUT, ECANCELED, those of sbx_window_directory. */
int sbx_acquire_lock(struct sbx_engine *engine, const char *name, const struct sbx_call *call,
	struct sbx_error *err);

#endif
