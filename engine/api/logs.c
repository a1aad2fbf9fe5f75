/* logs.c: a container's own stdout and stderr. */
#include "container.h"
#include "frames.h"

#include "../base/alloc.h"

#include <errno.h>

struct log_stream {
	struct sbx_frames frames;
	struct sbx_error *err;
};

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct log_stream *stream = data;
	return sbx_frames_feed(&stream->frames, bytes, size, stream->err);
}

/* A terminal's log has no frames; only inspect tells. */
static int has_terminal(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	bool *out, struct sbx_error *err)
{
	struct sbx_container container;
	int result = sbx_container_inspect(engine, id, call, &container, err);
	if (result)
		return result;
	*out = sbx_json_bool(sbx_json_get(container.json, "Config"), "Tty", false);
	sbx_container_finish(&container);
	return 0;
}

int sbx_container_logs(struct sbx_engine *engine, const char *id, int tail, bool follow,
	const struct sbx_call *call, sbx_output_fn output, void *data, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	struct log_stream stream = { .frames = { .output = output, .data = data }, .err = err };
	int result = has_terminal(engine, id, call, &stream.frames.raw, err);
	if (result)
		return result;
	cleanup_free char *lines = tail < 0 ? sbx_strdup("") : sbx_printf("&tail=%d", tail);
	cleanup_free char *suffix =
		sbx_printf("/logs?stdout=1&stderr=1%s%s", follow ? "&follow=1" : "", lines);
	cleanup_free char *target = sbx_container_target(engine, id, suffix, err);
	if (!target)
		return -EINVAL;
	struct sbx_http_request request = { .method = "GET",
		.target = target,
		.write = on_bytes,
		.write_data = &stream,
		.no_idle_limit = follow };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	result = sbx_http_perform(sbx_api_http(engine), &request, call, &response, err);
	if (result)
		return result;
	result = sbx_api_status(&response, err);
	if (!result)
		return sbx_frames_end(&stream.frames, err);
	if (sbx_api_text_has(err, "does not support reading"))
		result = sbx_api_become(err, SBX_KIND_UNSUPPORTED, EOPNOTSUPP);
	return sbx_container_refine(engine, id, call, result, err);
}
