/*
 * confine.h: what the daemon and the guardian take from themselves once everything they need is
 * open: new privileges, core dumps, and every file of the host but the few named.
 */
#ifndef SBX_BASE_CONFINE_H
#define SBX_BASE_CONFINE_H

#include <sbx/error.h>
#include <stddef.h>

struct sbx_confine_path {
	const char *path; /* NULL or absent: skipped */
	int write;	  /* else only read */
	int no_making;	  /* with write: what exists may be written, nothing made or removed */
};

/* For the calling thread and all that it makes later. Kernels without Landlock get the rest, and a
 * warning in the log. */
int sbx_confine(const struct sbx_confine_path *paths, size_t count, struct sbx_error *err);

#endif
