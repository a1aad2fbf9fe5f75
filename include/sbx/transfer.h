/*
 * transfer.h: bulk copies between the host and a sandbox: `put`, `get`, and a run's inputs and
 * collected outputs.
 *
 * Nothing on the host is followed: sources and destinations are opened beneath a directory
 * descriptor without links, a file gets its final name only when whole, and an existing one is
 * replaced only when asked.
 */
#ifndef SBX_TRANSFER_H
#define SBX_TRANSFER_H

#include <sbx/ceilings.h>
#include <sbx/plane.h>
#include <sbx/sandbox.h>

/* bytes and files moved so far, of all of the call; on the call's thread, once in a while. */
struct sbx_transfer_progress {
	void (*tick)(void *data, int64_t bytes, int64_t files);
	void *data;
};
struct sbx_transfer_totals {
	int64_t bytes, files, directories, skipped;
};

/* A plane for one sandbox with guest user resolved on demand and audit to the log; destroy with
 * sbx_plane_destroy. engine is borrowed for the plane's life; sandbox and limits (NULL: the
 * defaults) are copied. Cannot fail: asks nothing yet. */
struct sbx_plane *sbx_transfer_plane(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_plane_limits *limits);

/* Host trees and files into dest (relative to the work dir; must be the in dir or below it, else
 * EROFS; NULL: the in dir). dest is always a directory: each source lands at dest/basename(source),
 * a trailing slash means nothing, and a directory that exists is merged into, keeping its owner and
 * mode. Everything is listed first: links and special files in a source, a source that is a link
 * included, are refused before anything is sent (EPERM, naming it), as are two sources that would
 * land at one place (EINVAL) and what is over a ceiling (EFBIG; ceilings may be NULL). What cannot
 * be read here is kind USAGE or HOST (sbx_fail_host). A file is sent only if it still is the one
 * that was listed (ESTALE kind CHANGED). One archive per bounded batch, bounded memory. Permission
 * bits and times of files are carried, set-id bits never. A failure after part has landed is EIO
 * kind PARTIAL and says how much; totals (may be NULL) count what has, also after a failure.
 * sandbox: the plane's; progress may be NULL. Other errors: those of the plane's put, EXDEV (dest).
 */
int sbx_upload(struct sbx_plane *plane, const struct sbx_sandbox *sandbox,
	const char *const *sources, size_t count, const char *dest,
	const struct sbx_ceilings *ceilings, const struct sbx_call *call,
	const struct sbx_transfer_progress *progress, struct sbx_transfer_totals *totals,
	struct sbx_error *err);

/* One source that lands as dest/name: the host file or tree `source`, or with fd >= 0 what that
 * regular file holds (borrowed; source is then what it is called in a sentence). EINVAL where name
 * is not one name. Else as sbx_upload. */
int sbx_upload_as(struct sbx_plane *plane, const struct sbx_sandbox *sandbox, const char *source,
	int fd, const char *name, const char *dest, const struct sbx_ceilings *ceilings,
	const struct sbx_call *call, const struct sbx_transfer_progress *progress,
	struct sbx_transfer_totals *totals, struct sbx_error *err);

/* One file, or one entry that was refused. */
struct sbx_fetched {
	char *path; /* in the guest, relative to the work dir */
	int64_t size;
	char sha256[65]; /* hex, of the bytes that landed; "" where none did */
	int result;	 /* 0, or -errno with reason */
	char *reason;
};
struct sbx_fetches {
	struct sbx_fetched *rows;
	size_t count;
};
void sbx_fetches_finish(struct sbx_fetches *fetches);

/* Declared outputs (files or directories, whole or below one) into directory dest, in the phases of
 * OUT-01: check all names, stat and cap all, read all, deliver all. dest is always a directory and
 * is made if it is missing (its parent must be there); each path lands at dest/basename(path), or
 * with whole_paths at dest/path. A directory that exists is merged into; a file that exists is
 * replaced only with force. Nothing stays on the host, dest included, when anything is refused
 * before the delivery. Modes follow the guest's less set-id bits and the umask, always readable by
 * us; directories get default modes; times of files are carried.
 *
 * Errors: EPERM kind POLICY (not declared), EINVAL (two would land at one name; ASCII letter case
 * does not tell names apart), ENOENT, ELOOP, ENXIO, EISDIR, ENOTDIR (of a named path, nothing is
 * delivered), EFBIG, EEXIST kind USAGE, those of the plane. What this host
 * cannot take is kind USAGE or HOST (sbx_fail_host). EIO kind PARTIAL: links, special files and
 * files that vanished inside a directory were left out, or the host refused half way; `out` says
 * which, and is otherwise empty after a failure: it is finished by the caller either way.
 * missing_ok: a named path that is absent is a row with -ENOENT and no failure, unless it is one of
 * `required`: ENOENT kind OUTPUT_MISSING, and nothing is delivered. */
struct sbx_fetch_options {
	bool force;
	struct sbx_ceilings ceilings;
	bool missing_ok;
	const bool *required; /* for each path, or NULL: none */
	bool whole_paths;
	bool only_files; /* EISDIR for a directory */
	/* Shell patterns (fnmatch). Of what a directory holds only files are fetched whose own name
	 * matches one, and the directories they are in; ENOENT where none does. */
	const char *const *match;
	size_t match_count;
};
int sbx_fetch(struct sbx_plane *plane, const struct sbx_sandbox *sandbox, const char *const *paths,
	size_t count, const char *dest, const struct sbx_fetch_options *options,
	const struct sbx_call *call, const struct sbx_transfer_progress *progress,
	struct sbx_fetches *out, struct sbx_error *err);

/* One declared file, or one below a declared directory, whole into fd, where it is written from
 * where that stands. What fd holds after a failure is not to be used. Errors as sbx_fetch. */
int sbx_fetch_file(struct sbx_plane *plane, const struct sbx_sandbox *sandbox, const char *path,
	int fd, const struct sbx_ceilings *ceilings, const struct sbx_call *call,
	const struct sbx_transfer_progress *progress, struct sbx_error *err);

#endif
