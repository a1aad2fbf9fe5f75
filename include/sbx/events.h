/*
 * events.h: the engine's event stream, containers only. Source: Engine API v1.41, GET /events.
 */
#ifndef SBX_EVENTS_H
#define SBX_EVENTS_H

#include <sbx/engine.h>

enum sbx_event_type {
	SBX_EVENT_CREATE,
	SBX_EVENT_START,
	SBX_EVENT_PAUSE,
	SBX_EVENT_UNPAUSE,
	SBX_EVENT_DIE,
	SBX_EVENT_RENAME,
	SBX_EVENT_REMOVE,
	SBX_EVENT_OTHER, /* destroy (Docker) and remove (Podman) are both REMOVE */
};

struct sbx_event {
	enum sbx_event_type type;
	const char *id;	  /* 64 hex */
	const char *name; /* may be "" */
	int64_t time_ns;
};

/* The event is borrowed for the call. Non-zero ends the stream. */
typedef int (*sbx_event_fn)(void *data, const struct sbx_event *event);

/* Streams until the connection ends, the call is cancelled or fn returns non-zero (returned as is).
 * connected (may be NULL) is called once the engine has answered 200: what happens from then on is
 * not missed. It is called again for a line that cannot be read, which is skipped: what that one
 * said is missed. Lines that are no event of a container count in *bad (may be NULL) as those do.
 * There is no heartbeat, so the idle bound does not apply. Returns 0 when the engine closed the
 * stream, what fn returned, or -errno: EIO when the connection broke. */
int sbx_events_stream(struct sbx_engine *engine, const struct sbx_call *call,
	void (*connected)(void *data), sbx_event_fn fn, void *data, unsigned *bad,
	struct sbx_error *err);

/* What the engine remembers of the time from since_s until now, whole seconds of its own clock;
 * then it returns: 0, what fn returned, or -errno. Docker remembers its last 256 events, and Podman
 * answers a second late. */
int sbx_events_since(struct sbx_engine *engine, int64_t since_s, const struct sbx_call *call,
	sbx_event_fn fn, void *data, struct sbx_error *err);

#endif
