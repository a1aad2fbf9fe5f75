/*
 * audit.h: a sandbox's refusals for confinement, one JSON line each, the newest SBX_AUDIT_LINES of
 * them.
 */
#ifndef SBX_FS_AUDIT_H
#define SBX_FS_AUDIT_H

#include <pthread.h>
#include <stddef.h>

enum { SBX_AUDIT_LINES = 1000 };

struct sbx_audit {
	pthread_mutex_t lines_lock;
	char **lines; /* a ring; guarded by lines_lock, as the next two */
	size_t count, next;
};

void sbx_audit_init(struct sbx_audit *audit);
void sbx_audit_finish(struct sbx_audit *audit);
/* From any thread. sandbox: its name, for the log. */
void sbx_audit_add(struct sbx_audit *audit, const char *sandbox, const char *op, const char *path,
	const char *component, const char *what);
/* All lines, oldest first; malloc'd. */
char *sbx_audit_text(struct sbx_audit *audit, size_t *size);

#endif
