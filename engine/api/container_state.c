/*
 * container_state.c: start, pause, unpause, kill, wait. A pause that was somebody else's must never
 * be taken for ours, so each engine's words for "already" are told apart here and nowhere else.
 */
#include "container.h"

#include "../base/alloc.h"

#include <errno.h>
#include <string.h>

/* POST without a body; *err is not NULL. */
static int post(struct sbx_engine *engine, const char *id, const char *suffix,
	const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_free char *target = sbx_container_target(engine, id, suffix, err);
	if (!target)
		return -EINVAL;
	return sbx_api_json(engine, "POST", target, NULL, call, 0, NULL, err);
}

int sbx_container_start(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	int result = post(engine, id, "/start", call, err); /* 304: it runs already */
	if (!result)
		return 0;
	if (err->http_status >= 500 &&
		(sbx_api_text_has(err, "paused") ||
			sbx_api_text_has(err, "must be in Created or Stopped")))
		result = sbx_api_become(err, SBX_KIND_CONFLICT, EBUSY);
	return sbx_container_refine(engine, id, call, result, err);
}

static bool says_any(const struct sbx_error *err, const char *const *phrases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sbx_api_text_has(err, phrases[i]))
			return true;
	}
	return false;
}

#define SAYS(err, ...)                                                                             \
	says_any(err, (const char *const[]){ __VA_ARGS__ },                                        \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

int sbx_container_pause(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	sbx_api_count(engine, SBX_COUNT_PAUSE);
	int result = post(engine, id, "/pause", call, err);
	if (!result)
		return 0;
	if (err->http_status && err->http_status != 404) {
		/* It can, and has begun to: runc waits for a v2 cgroup to freeze for 10 s, and
		 * leaves it freezing. */
		bool given_up = SAYS(err, "timeout", "timed out", "unable to freeze");
		if (SAYS(err, "already paused"))
			result = sbx_api_become(err, SBX_KIND_CONFLICT, EBUSY);
		else if (SAYS(err, "not running", "stopped container", "is restarting",
				 "can only pause running", "state improper", "process not found",
				 "no such process"))
			result = sbx_api_become(err, SBX_KIND_CONFLICT, ESRCH);
		else if (!given_up && (SAYS(err, "cgroup", "freezer", "rootless", "not supported",
					       "not implemented") ||
					      err->http_status == 501))
			result = sbx_api_become(err, SBX_KIND_UNSUPPORTED, EOPNOTSUPP);
		else if (given_up || result == -EBUSY) /* a conflict, but not "already paused" */
			result = sbx_api_become(err, SBX_KIND_ENGINE, EIO);
	}
	return sbx_container_refine(engine, id, call, result, err);
}

int sbx_container_unpause(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	int result = post(engine, id, "/unpause", call, err);
	if (!result)
		return 0;
	if (err->http_status && SAYS(err, "not paused", "not running"))
		result = sbx_api_become(err, SBX_KIND_CONFLICT, EBUSY);
	else if (result == -EBUSY)
		result = sbx_api_become(err, SBX_KIND_ENGINE, EIO);
	return sbx_container_refine(engine, id, call, result, err);
}

int sbx_container_kill(struct sbx_engine *engine, const char *id, const char *signal,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	cleanup_free char *encoded = sbx_http_encode(signal, false);
	cleanup_free char *suffix = sbx_printf("/kill?signal=%s", encoded);
	int result = post(engine, id, suffix, call, err);
	if (!result)
		return 0;
	if (err->http_status && SAYS(err, "not running", "state improper", "can only kill running"))
		result = sbx_api_become(err, SBX_KIND_CONFLICT, ESRCH);
	return sbx_container_refine(engine, id, call, result, err);
}

int sbx_container_wait(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	int *exit_code, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	cleanup_free char *target = sbx_container_target(engine, id, "/wait", err);
	if (!target)
		return -EINVAL;
	struct sbx_http_request request = {
		.method = "POST", .target = target, .no_idle_limit = true
	};
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = sbx_api_request(engine, &request, call, &response, err);
	if (result)
		return sbx_container_refine(engine, id, call, result, err);
	cleanup_json cJSON *json = sbx_json_parse(
		response.body ? response.body : "", response.body_size, 0, "the engine", err);
	if (!json)
		return sbx_wrap(err, "waiting for container %s", id);
	const char *message = sbx_json_string(sbx_json_get(json, "Error"), "Message");
	if (message && *message)
		return sbx_fail(
			err, EIO, "waiting for container %s: the engine says: %s", id, message);
	int64_t status = sbx_json_int(json, "StatusCode", -1);
	if (status < 0 || status > 255)
		return sbx_fail(err, EIO, "container %s: the engine gave no exit code", id);
	if (exit_code)
		*exit_code = (int)status;
	return 0;
}
