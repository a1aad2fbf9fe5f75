/* container.c: inspect, create and remove, and how a missing container is told from any other
 * failure. */
#include "container.h"

#include "../base/alloc.h"
#include "../base/log.h"
#include "container_parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

char *sbx_container_target(
	struct sbx_engine *engine, const char *id, const char *suffix, struct sbx_error *err)
{
	bool valid = isalnum((unsigned char)*id);
	for (const char *c = id; *c && valid; c++)
		valid = isalnum((unsigned char)*c) || strchr("_.-", *c);
	if (!valid || strlen(id) > 255) {
		(void)sbx_fail(err, EINVAL, "\"%s\" is not a container's name or id", id);
		return NULL;
	}
	return sbx_api_target(engine, "/containers/%s%s", id, suffix);
}

/* How much of an id a sentence shows; names whole. */
static int shown(const char *id)
{
	return sbx_container_id_valid(id) ? 12 : 255;
}

bool sbx_container_error_absent(const struct sbx_error *err)
{
	return err && err->http_status == 404 && sbx_api_text_has(err, "no such container");
}

/* Words of an engine that lost the container between two steps of its own. */
static bool hints_at_absence(const struct sbx_error *err)
{
	static const char *const hints[] = { "RWLayer", "layer not known",
		"does not exist in database", "no such container", "no container with name or ID" };
	for (size_t i = 0; err && i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (sbx_api_text_has(err, hints[i]))
			return true;
	}
	return false;
}

int sbx_container_exists(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	struct sbx_container container;
	int result = sbx_container_inspect(engine, id, call, &container, err);
	if (result == -ENOENT && err->kind == SBX_KIND_ABSENT)
		return 0;
	if (result)
		return result;
	bool there = container.state != SBX_STATE_UNKNOWN;
	sbx_container_finish(&container);
	return there;
}

int sbx_container_refine(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	int result, struct sbx_error *err)
{
	if (!err->http_status)
		return sbx_wrap(err, "container %.*s", shown(id), id);
	if (sbx_container_error_absent(err))
		return sbx_fail(err, ENOENT, "container %.*s is not there", shown(id), id);
	if (err->http_status >= 500 && hints_at_absence(err)) {
		struct sbx_error asked = SBX_ERROR_INIT;
		if (sbx_container_exists(engine, id, call, &asked) == 0)
			return sbx_fail(err, ENOENT, "container %.*s is not there", shown(id), id);
	}
	/* A 404 in other words is a missing route or somebody else's answer: no absence. */
	if (err->kind == SBX_KIND_ABSENT)
		result = sbx_api_become(err, SBX_KIND_ENGINE, EIO);
	(void)sbx_wrap(err, "container %.*s", shown(id), id);
	return result;
}

int sbx_container_inspect(struct sbx_engine *engine, const char *id_or_name,
	const struct sbx_call *call, struct sbx_container *out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_container){ 0 };
	cleanup_free char *target = sbx_container_target(engine, id_or_name, "/json", err);
	if (!target)
		return -EINVAL;
	cJSON *json = NULL;
	int result = sbx_api_json(engine, "GET", target, NULL, call, 0, &json, err);
	if (!result) {
		result = sbx_container_parse(json, sbx_engine_is_podman(engine), out, err);
		return result ? sbx_wrap(err, "container %.*s", shown(id_or_name), id_or_name) : 0;
	}
	if (err->http_status && (sbx_api_text_has(err, "multiple IDs found") ||
					sbx_api_text_has(err, "more than one result")))
		return sbx_fail(err, EINVAL,
			"\"%s\" is no container's name and the beginning of more than one "
			"container's id: a name, or 12 digits of an id, tell one",
			id_or_name);
	if (sbx_container_error_absent(err))
		return sbx_fail(
			err, ENOENT, "there is no container %.*s", shown(id_or_name), id_or_name);
	/* Podman lost it between look-up and answer; the next inspect would say 404. */
	if (err->http_status >= 500 && sbx_api_text_has(err, "no such container") &&
		sbx_api_text_has(err, "does not exist in database"))
		return sbx_fail(
			err, ENOENT, "there is no container %.*s", shown(id_or_name), id_or_name);
	if (err->kind == SBX_KIND_ABSENT)
		result = sbx_api_become(err, SBX_KIND_ENGINE, EIO);
	(void)sbx_wrap(err, "container %.*s", shown(id_or_name), id_or_name);
	return result;
}

int sbx_container_create(struct sbx_engine *engine, const char *name, const struct cJSON *body,
	const struct sbx_call *call, char **id_out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*id_out = NULL;
	cleanup_free char *encoded = sbx_http_encode(name, false);
	cleanup_free char *target = sbx_api_target(engine, "/containers/create?name=%s", encoded);
	cleanup_json cJSON *json = NULL;
	int result = sbx_api_json(engine, "POST", target, body, call, 0, &json, err);
	if (!result) {
		const char *id = sbx_json_string(json, "Id");
		if (!sbx_container_id_valid(id))
			return sbx_fail(
				err, EIO, "creating %s: the engine gave no container id", name);
		const cJSON *warning;
		cJSON_ArrayForEach(warning, sbx_json_get(json, "Warnings"))
		{
			if (cJSON_IsString(warning))
				sbx_log(SBX_LOG_WARNING, "creating %s: %s", name,
					warning->valuestring);
		}
		*id_out = sbx_strdup(id);
		return 0;
	}
	/* Docker says 409 with Conflict, Podman 500. */
	if (err->http_status && sbx_api_text_has(err, "already in use"))
		result = sbx_api_become(err, SBX_KIND_CONFLICT, EEXIST);
	else if (err->http_status && sbx_api_text_has(err, "no such image"))
		result = sbx_api_become(err, SBX_KIND_ABSENT, ENOENT);
	else if (err->kind == SBX_KIND_ABSENT)
		result = sbx_api_become(err, SBX_KIND_ENGINE, EIO);
	(void)sbx_wrap(err, "creating %s", name);
	return result;
}

/* Somebody else's removal is under way: waits until the container is not there. */
static int await_removal(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	for (int64_t pause_ms = 20;; pause_ms = pause_ms < 500 ? pause_ms * 2 : 500) {
		struct sbx_container container;
		int result = sbx_container_inspect(engine, id, call, &container, err);
		if (result)
			return result == -ENOENT && err->kind == SBX_KIND_ABSENT ? 0 : result;
		sbx_container_finish(&container);
		if (call && sbx_cancel_fired(call->cancel))
			return sbx_fail(err, ECANCELED, "removing container %.*s was cancelled",
				shown(id), id);
		int64_t left_ms = sbx_call_left_ms(call);
		if (!left_ms)
			return sbx_fail(err, ETIMEDOUT,
				"container %.*s is still being removed by the engine", shown(id),
				id);
		int64_t wait_ms = left_ms < pause_ms ? left_ms : pause_ms;
		struct timespec nap = { .tv_sec = wait_ms / 1000,
			.tv_nsec = wait_ms % 1000 * 1000000 };
		(void)nanosleep(&nap, NULL); /* an early return only asks once more */
	}
}

int sbx_container_remove(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	cleanup_free char *target = sbx_container_target(engine, id, "?force=1&v=1", err);
	if (!target)
		return -EINVAL;
	int result = sbx_api_json(engine, "DELETE", target, NULL, call, 0, NULL, err);
	if (!result)
		return 0;
	bool under_way = err->http_status && (sbx_api_text_has(err, "already in progress") ||
						     sbx_api_text_has(err, "being removed"));
	if (under_way)
		result = await_removal(engine, id, call, err);
	else
		result = sbx_container_refine(engine, id, call, result, err);
	if (!result)
		sbx_error_clear(err);
	return result;
}
