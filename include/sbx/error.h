/*
 * error.h: how every fallible function of libsbx reports a failure.
 *
 * A function returns 0 (or a count) on success and -errno on failure; the sbx_error it was given
 * then holds the errno, the kind and one sentence that names the sandbox, the path and what the
 * engine said. Whoever knows more wraps it; it is printed once, at the edge. The text may hold
 * bytes a guest chose: escape it where it is shown.
 *
 * This holds for every function of include/sbx whose own comment does not say otherwise:
 * - Pointers that go in are borrowed for the call and not NULL, but err, call (no bounds) and the
 *   data of callbacks, which may be. Without err a failure's errno may be a coarser one (EIO).
 * - out is valid after success alone, and then the caller's to give to its struct's _finish, which
 *   frees what the struct holds, zeroes it, and also takes what is zeroed. Strings in a struct
 *   belong to it; a const char * that is returned is static.
 * - _ms is in milliseconds, _s in seconds, _ns in nanoseconds, _bytes and size in bytes.
 * - It may be called from any thread and from many at once, on one engine too. What one thread
 *   fills or finishes is no other's to use meanwhile.
 * - What asks an engine can fail with EHOSTDOWN, ETIMEDOUT and ECANCELED (call.h), with EIO kind
 *   ENGINE, and with EINVAL for an id or a name that is none; only other errors are listed.
 * - A callback runs on the thread of the call that it was given to, and must not close or finish
 *   what that call uses.
 */
#ifndef SBX_ERROR_H
#define SBX_ERROR_H

#include <stddef.h>

/* What went wrong, as a caller has to tell it apart. Exit codes and errnos follow from it
 * (docs/sbxfs.1). */
enum sbx_kind {
	SBX_KIND_NONE = 0,
	SBX_KIND_CONFINED,	/* a link in or at the end of the path (ELOOP), or lexically outside
				   (EXDEV) */
	SBX_KIND_ABSENT,	/* the engine said that this exact thing is not there (ENOENT) */
	SBX_KIND_NOT_DIRECTORY, /* a parent is neither directory nor link (ENOTDIR) */
	SBX_KIND_NOT_REGULAR,	/* fifo, socket, device (ENXIO), directory where a file was asked
				   (EISDIR) */
	SBX_KIND_TOO_BIG,	/* over a ceiling (EFBIG), refused before bytes move */
	SBX_KIND_UNSUPPORTED,	/* cannot be served here (EOPNOTSUPP), the sentence says why */
	SBX_KIND_DEADLINE,	/* the caller's own bound expired (ETIMEDOUT) */
	SBX_KIND_OVER_BUDGET,	/* command output over its budget (ENOBUFS) */
	SBX_KIND_POLICY,	/* refused before anything ran (EPERM) */
	SBX_KIND_USAGE,		/* the caller's mistake (EINVAL) */
	SBX_KIND_ENGINE, /* engine or transport failed (EIO, EHOSTDOWN): says nothing about the file
			  */
	SBX_KIND_GONE,	 /* the sandbox itself is not there any more (ESTALE) */
	SBX_KIND_CHANGED,   /* the file changed between check and use (ESTALE) */
	SBX_KIND_CONFLICT,  /* the engine's state forbids it now: paused, name in use (EBUSY) */
	SBX_KIND_CANCELLED, /* the caller cancelled (ECANCELED) */
	SBX_KIND_PARTIAL,   /* part of the work was done, the sentence says which (EIO) */
	SBX_KIND_OUTPUT_MISSING, /* a run was asked to bring an output that is not there (ENOENT) */
	SBX_KIND_HOST, /* a file or directory of this host's own cannot be read or written, or has
			  no room (the system call's errno): says nothing about the sandbox */
};

struct sbx_error {
	int errnum; /* positive errno; 0 when nothing failed */
	enum sbx_kind kind;
	int http_status;    /* the engine's status where one was read, else 0 */
	char message[1024]; /* one sentence without a final newline, cut at a character boundary */
};

#define SBX_ERROR_INIT                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

/* Fills err (may be NULL), the kind following from errnum as listed above. Returns -errnum. */
int sbx_fail(struct sbx_error *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As sbx_fail with the kind given. */
int sbx_fail_kind(struct sbx_error *err, enum sbx_kind kind, int errnum, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Puts "context: " before the sentence, keeping errno and kind. Returns -err->errnum (err must hold
 * a failure), -EIO where err is NULL. */
int sbx_wrap(struct sbx_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A failed system call: "what: strerror", the kind following from errnum. Returns -errnum. */
int sbx_fail_errno(struct sbx_error *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same of a path on this host that the caller named: kind USAGE where it names nothing that
 * could be used (ENOENT, ENOTDIR, EISDIR, EEXIST, ELOOP, ENAMETOOLONG, EINVAL), else HOST. No errno
 * of the host's is taken for the engine's word on a guest path. */
int sbx_fail_host(struct sbx_error *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Back to SBX_ERROR_INIT; NULL is fine. Nothing in an error is allocated: it needs no finish. */
void sbx_error_clear(struct sbx_error *err);

/* The kind's word for --json and logs: "confined", "absent", "not-directory", … Static storage. */
const char *sbx_kind_name(enum sbx_kind kind);

/* The command's exit code for a kind (design §6): 0 none, 2 usage, 3 absent or gone, 4 confined, 5
 * not-directory, 6 not-regular, 7 too-big, 8 unsupported, 9 deadline, 10 over-budget, 11 engine,
 * changed or conflict, 12 policy, 13 partial, 14 host, 130 cancelled. */
int sbx_kind_exit_code(enum sbx_kind kind);

#endif
