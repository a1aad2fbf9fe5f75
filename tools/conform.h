/*
 * conform.h: the conformance probes' shared world: throwaway sandboxes, planted attacks, a mount of
 * our own, and verdicts.
 *
 * A probe passes only by what it saw. One that cannot be tried is a skip with its reason, and a
 * skip is not a pass.
 */
#ifndef SBX_TOOLS_CONFORM_H
#define SBX_TOOLS_CONFORM_H

#include "tool.h"

#include <sbx/plane.h>

#include <pthread.h>
#include <sys/types.h>

enum sbx_verdict_result { SBX_VERDICT_PASS, SBX_VERDICT_FAIL, SBX_VERDICT_SKIP };
struct sbx_verdict {
	enum sbx_verdict_result result;
	char text[400];
};

struct sbx_probe_sandbox {
	struct sbx_sandbox sandbox;
	struct sbx_plane *plane;
	char *name;
	char *mounted; /* its directory in our mount, or NULL */
	bool made;
};

struct sbx_conform {
	struct sbx_tool *tool;
	struct sbx_probe_sandbox
		main; /* guest root, /sbxfs-conform/work: links may be planted anywhere */
	struct sbx_probe_sandbox linked; /* its work dir and then its ancestor become links */
	struct sbx_probe_sandbox plain;	 /* the image's own user and work dir */
	char *mount_dir;		 /* NULL: no mount, why in mount_why */
	char mount_why[300];
	pid_t mount_pid;
	pthread_t watcher; /* ends the mount when signalled, so that no probe waits in it */
	bool watched;
	struct sbx_cancel *watch_ends;
};

struct sbx_probe {
	const char *id; /* as in seed-behaviour: P-01 */
	const char *title;
	const char *why;
	void (*library)(struct sbx_conform *world, struct sbx_verdict *verdict); /* or NULL */
	void (*mount)(struct sbx_conform *world, struct sbx_verdict *verdict);	 /* or NULL */
};
extern const struct sbx_probe sbx_conform_read_probes[], sbx_conform_write_probes[],
	sbx_conform_remove_probes[],
	sbx_conform_exec_probes[]; /* each ends with a row without id; exec comes last, it may lose
				      its sandbox */

/* Makes the sandboxes, plants, mounts. -errno when the sandboxes cannot be made. */
int sbx_conform_build(struct sbx_conform *world, const char *image, struct sbx_error *err);
/* Takes everything away again; NULL-safe, never fails, says what stayed on stderr. */
void sbx_conform_clear(struct sbx_conform *world);

void sbx_verdict_pass(struct sbx_verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sbx_verdict_fail(struct sbx_verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sbx_verdict_skip(struct sbx_verdict *verdict, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Runs a shell line in a sandbox; its stdout, cut at size - 1 bytes. The exit code, or -1. */
int sbx_conform_guest(struct sbx_conform *world, struct sbx_probe_sandbox *sandbox,
	const char *line, char *out, size_t size);

/* Library: fails the verdict unless rc is -want (0: success). want2 < 0: no second choice. */
bool sbx_conform_expect(struct sbx_verdict *verdict, const char *what, int rc, int want, int want2,
	const struct sbx_error *err);
/* Mount: opens path below the sandbox's directory and reads at most size bytes. Bytes read or
 * -errno. */
long sbx_conform_slurp(
	const struct sbx_probe_sandbox *sandbox, const char *path, char *out, size_t size);
/* Mount: writes a file; 0 or the errno of open, write or close, negated. */
int sbx_conform_spill(const struct sbx_probe_sandbox *sandbox, const char *path, const char *text);
/* Library: reads a file into out. Bytes or -errno. */
long sbx_conform_fetch(struct sbx_conform *world, struct sbx_probe_sandbox *sandbox,
	const char *path, char *out, size_t size, struct sbx_error *err);
/* Library: writes one file. 0 or -errno. */
int sbx_conform_put(struct sbx_conform *world, struct sbx_probe_sandbox *sandbox, const char *path,
	const char *text, struct sbx_error *err);

#endif
