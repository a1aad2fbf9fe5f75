/* events.h: one line of the event stream. */
#ifndef SBX_API_EVENTS_H
#define SBX_API_EVENTS_H

#include "../base/json.h"

#include <sbx/events.h>

/* The event's strings are json's. false: not an event of a container. */
bool sbx_event_parse(const cJSON *json, struct sbx_event *out);

#endif
