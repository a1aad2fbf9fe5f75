/* window_block.c: keeping freeze windows away while a command starts (window.h). */
#include "window_inside.h"
#include "window_undo.h"

#include "../base/alloc.h"

#include <errno.h>
#include <unistd.h>

struct place {
	struct sbx_engine *engine;
	const char *id;
};

static void nudge(void *data)
{
	const struct place *place = data;
	sbx_window_registry_hurry(sbx_engine_key(place->engine), place->id);
}

int sbx_window_block(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	char directory[256];
	int result = sbx_window_directory_of(
		sbx_engine_endpoint(engine), directory, sizeof(directory), NULL, err);
	if (result != 0)
		return result;
	struct place place = { .engine = engine, .id = id };
	const struct sbx_window_nudge asking = { .fn = nudge, .data = &place };
	const char *key = sbx_engine_key(engine);
	/* Commands share the lock; only one that finds a dead owner's debt needs it alone. */
	bool alone = false;
	for (;;) {
		cleanup_close int lock =
			sbx_window_lock_take(directory, key, id, alone, &asking, call, err);
		if (lock < 0)
			return lock;
		struct sbx_window_record record;
		sbx_window_record_read(lock, &record);
		if (record.owed == SBX_OWED_NOTHING)
			return steal_fd(&lock);
		if (alone) {
			result = sbx_window_settle(engine, id, lock, &record, call, err);
			if (result != 0)
				return result;
		}
		alone = !alone;
	}
}

void sbx_window_unblock(int descriptor)
{
	if (descriptor >= 0)
		(void)close(descriptor); /* releases the lock; nothing was written */
}
