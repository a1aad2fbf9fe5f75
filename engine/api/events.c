/* events.c: the engine's event stream, in both engines' words. */
#include "events.h"

#include "api.h"
#include "container_parse.h"
#include "lines.h"

#include "../base/alloc.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define MAX_EVENT_LINE ((size_t)1 << 20)

static enum sbx_event_type type_of(const char *action)
{
	static const struct {
		const char *word;
		enum sbx_event_type type;
	} words[] = {
		{ "create", SBX_EVENT_CREATE },
		{ "start", SBX_EVENT_START },
		{ "pause", SBX_EVENT_PAUSE },
		{ "unpause", SBX_EVENT_UNPAUSE },
		{ "die", SBX_EVENT_DIE },
		{ "died", SBX_EVENT_DIE },
		{ "rename", SBX_EVENT_RENAME },
		{ "destroy", SBX_EVENT_REMOVE },
		{ "remove", SBX_EVENT_REMOVE },
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(action, words[i].word) == 0)
			return words[i].type;
	}
	return SBX_EVENT_OTHER;
}

/* timeNano is beyond what a double holds exactly; 256 ns are lost at most, and ordering is not
 * judged by it. */
static int64_t time_of(const cJSON *json)
{
	const cJSON *nano = sbx_json_get(json, "timeNano");
	if (cJSON_IsNumber(nano) && nano->valuedouble > 0 && nano->valuedouble < 9.2e18)
		return (int64_t)nano->valuedouble;
	int64_t seconds = sbx_json_int(json, "time", 0);
	return seconds > 0 && seconds < INT64_MAX / 1000000000 ? seconds * 1000000000 : 0;
}

bool sbx_event_parse(const cJSON *json, struct sbx_event *out)
{
	const cJSON *actor = sbx_json_get(json, "Actor");
	const char *type = sbx_json_string(json, "Type");
	const char *action = sbx_json_string(json, "Action");
	const char *id = sbx_json_string(actor, "ID");
	const char *name = sbx_json_string(sbx_json_get(actor, "Attributes"), "name");
	if (!type || strcmp(type, "container") != 0 || !action || !sbx_container_id_valid(id))
		return false;
	*out = (struct sbx_event){ .type = type_of(action),
		.id = id,
		.name = name ? name : "",
		.time_ns = time_of(json) };
	return true;
}

struct stream {
	struct sbx_lines lines;
	void (*connected)(void *data);
	sbx_event_fn fn;
	void *data;
	unsigned malformed;
};

/* What the line said may have been of any container. */
static void missed(struct stream *stream)
{
	if (stream->connected)
		stream->connected(stream->data);
}

static int on_line(void *data, const char *line, size_t size)
{
	struct stream *stream = data;
	struct sbx_event event;
	cleanup_json cJSON *json = sbx_json_parse(line, size, 16, "an event", NULL);
	if (!json || !sbx_event_parse(json, &event)) {
		stream->malformed++;
		if (!json)
			missed(stream);
		return 0;
	}
	return stream->fn(stream->data, &event);
}

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct stream *stream = data;
	unsigned too_long = stream->lines.too_long;
	int result = sbx_lines_feed(&stream->lines, bytes, size);
	if (stream->lines.too_long != too_long)
		missed(stream);
	return result;
}

static void on_headers(void *data, int status)
{
	struct stream *stream = data;
	if (status == 200 && stream->connected)
		stream->connected(stream->data);
}

/* span: what limits the stream to a time, "" if nothing does. */
static int perform(struct sbx_engine *engine, const char *span, struct stream *stream,
	const struct sbx_call *call, struct sbx_error *err)
{
	stream->lines =
		(struct sbx_lines){ .max_line = MAX_EVENT_LINE, .fn = on_line, .data = stream };
	cleanup_free char *filters = sbx_http_encode("{\"type\":[\"container\"]}", false);
	cleanup_free char *target = sbx_api_target(engine, "/events?filters=%s%s", filters, span);
	struct sbx_http_request request = { .method = "GET",
		.target = target,
		.write = on_bytes,
		.write_data = stream,
		.headers_done = on_headers,
		.no_idle_limit = true };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = sbx_http_perform(sbx_api_http(engine), &request, call, &response, err);
	if (!result) {
		result = sbx_api_status(&response, err);
		if (result) {
			(void)sbx_api_become(err, SBX_KIND_ENGINE, EIO);
			result = -EIO;
			if (err)
				(void)sbx_wrap(err, "the engine's event stream");
		} else {
			result = sbx_lines_end(&stream->lines);
		}
	}
	stream->malformed += stream->lines.too_long;
	sbx_lines_finish(&stream->lines);
	return result;
}

int sbx_events_stream(struct sbx_engine *engine, const struct sbx_call *call,
	void (*connected)(void *data), sbx_event_fn fn, void *data, unsigned *bad,
	struct sbx_error *err)
{
	struct stream stream = { .connected = connected, .fn = fn, .data = data };
	int result = perform(engine, "", &stream, call, err);
	if (bad)
		*bad = stream.malformed;
	return result;
}

/* Podman answers only where "until" is still to come. */
int sbx_events_since(struct sbx_engine *engine, int64_t since_s, const struct sbx_call *call,
	sbx_event_fn fn, void *data, struct sbx_error *err)
{
	struct stream stream = { .fn = fn, .data = data };
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	cleanup_free char *span =
		sbx_printf("&since=%lld&until=%lld", (long long)since_s, (long long)now.tv_sec + 1);
	return perform(engine, span, &stream, call, err);
}
