/*
 * daemon.h: going behind, and telling the waiting parent how it went.
 */
#ifndef SBX_FS_DAEMON_H
#define SBX_FS_DAEMON_H

#include <sbx/error.h>

/* Forks. In the parent (returns 1): waits until the child says that it serves, or failed, or died;
 * *result is then 0 or -errno with err. In the child (returns 0): a new session in "/"; *report is
 * the descriptor to tell. -errno: no fork. */
int sbx_daemon_fork(int *report, int *result, struct sbx_error *err);

/* From the child: it serves (result 0), or failed. Once; report is closed and becomes -1. Once it
 * serves, its standard streams lead nowhere. */
void sbx_daemon_report(int *report, int result, const struct sbx_error *err);

#endif
