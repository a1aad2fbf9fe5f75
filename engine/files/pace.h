/*
 * pace.h: how soon the next freeze window may open, so that windows take at most a share of a
 * guest's time.
 *
 * A debt: a window adds the time it held, running time pays it off at duty/(100-duty). A window may
 * open while the debt is within a small burst, so that a listing followed by a read waits for
 * nothing, and a busy reader gets its share and no more. Pure arithmetic; kept in the lock file, so
 * that it holds across processes.
 */
#ifndef SBX_FILES_PACE_H
#define SBX_FILES_PACE_H

#include <stdint.h>

#define SBX_PACE_BURST_MS 100

struct sbx_pace {
	int64_t ended_ms; /* CLOCK_BOOTTIME when the last window ended; 0: none yet */
	int64_t debt_ms;  /* owed to the guest at that time */
};

/* CLOCK_BOOTTIME in milliseconds: the same in every process, and a suspended host repays nobody
 * twice. */
int64_t sbx_pace_now_ms(void);

/* How long from now_ms until a window may open: 0 if it may. duty_percent is taken as 1 to 100; 100
 * never waits. */
int64_t sbx_pace_wait_ms(const struct sbx_pace *pace, unsigned duty_percent, int64_t now_ms);

/* A window that held for held_ms ended at now_ms. */
void sbx_pace_add(struct sbx_pace *pace, unsigned duty_percent, int64_t now_ms, int64_t held_ms);

#endif
