/* keep_alive.h: does the first process that we gave a sandbox stay (MAF-18)? */
#ifndef SBX_SANDBOX_KEEP_ALIVE_H
#define SBX_SANDBOX_KEEP_ALIVE_H

#include <sbx/container.h>

/* For a moment after a start: until the keep-alive is seen asleep, which takes some 30 ms where the
 * engine is on this host, else 150 ms. running: as just inspected; inspected anew where the engine
 * is asked again, so that its state tells. */
int sbx_keep_alive_watch(struct sbx_engine *engine, struct sbx_container *running,
	const struct sbx_call *call, struct sbx_error *err);

/* The process of that pid is `sleep`, or its first child is. False also where that cannot be seen.
 */
bool sbx_keep_alive_seen(int pid);

#endif
