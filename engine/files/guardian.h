/*
 * guardian.h: the child process that outlives us only to resume what we left paused.
 *
 * It is forked before any thread exists, holds nothing of ours but one end of a socket pair (the
 * pipe), and sleeps. When the pipe ends, in whatever way the owner ended, it resumes every
 * container whose record says "owed" and whose lock is free (window.h). While windows are open it
 * looks at the records once a second, for an owner that is suspended cannot say so. A child of ours
 * that neither execs nor ends soon must close all its descriptors, or the pipe does not end with
 * us.
 */
#ifndef SBX_FILES_GUARDIAN_H
#define SBX_FILES_GUARDIAN_H

#include <sbx/engine.h>
#include <sys/types.h>

/* Has sbx_guardian_start succeeded for this engine, in this process or the one it was forked from?
 */
bool sbx_guardian_guards(const struct sbx_engine *engine);
/* Has it ended before us, killed by somebody? It cannot be made anew: it is forked before any
 * thread is. */
bool sbx_guardian_lost(void);
/* Asks it to look now: a resume of ours was given up with its record still owed. Never blocks. */
void sbx_guardian_sweep(void);

/* So long it watches at least; being told more often than every half of that is no use. */
#define SBX_GUARDIAN_WATCH_MS 4000
/* Tells it that a window opens: it watches until none is open, and undoes one whose owner does not
 * do what its record promises (window_lock.h): we may be suspended. Never blocks. */
void sbx_guardian_watch(void);

/* guardian_process.c: the child's whole life. Never returns. */
_Noreturn void sbx_guardian_run(int pipe, const struct sbx_endpoint *endpoint, const char *key);

#endif
