/*
 * window_events.c: what an engine on this host remembers of the time since our pause: was the
 * sandbox resumed? Asked only where another sign of it is in doubt.
 */
#include "window_inside.h"

#include <errno.h>
#include <string.h>

int sbx_window_recall(void *data, const struct sbx_event *event)
{
	struct sbx_window_recall *seen = data;
	if (event->time_ns < seen->since_ns || strcmp(event->id, seen->id) != 0)
		return 0;
	if (event->type == SBX_EVENT_PAUSE) {
		seen->again = seen->again || seen->ended;
		seen->paused = true;
	}
	if (event->type == SBX_EVENT_UNPAUSE) {
		seen->resumed = true;
		seen->ended = seen->ended || seen->paused;
	}
	return 0;
}

int sbx_window_resumed_since(
	struct sbx_windows *windows, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_window_recall seen = { .id = windows->id, .since_ns = windows->paused_ns };
	/* Only on this host is its clock ours. */
	if (!sbx_engine_endpoint(windows->engine)->socket_path)
		return sbx_fail(err, EOPNOTSUPP, "the engine is not on this host");
	int result = sbx_events_since(
		windows->engine, seen.since_ns / 1000000000, call, sbx_window_recall, &seen, err);
	if (result != 0)
		return result;
	/* Docker forgets all but the last events: with our own pause in sight nothing is missing.
	 */
	if (!seen.paused)
		return sbx_fail(err, ENODATA, "the engine does not remember our pause");
	return seen.again ? 2 : seen.resumed;
}
