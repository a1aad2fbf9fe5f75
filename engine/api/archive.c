/*
 * archive.c: HEAD, GET and PUT of one guest path, as the engine answers them; see sbx/archive.h. It
 * judges nothing but the answer: what a path leads through is engine/files' business.
 */
#include "archive_error.h"
#include "container.h"
#include "glob_escape.h"
#include "stat_header.h"

#include "../base/alloc.h"

#include <sbx/archive.h>
#include <errno.h>
#include <string.h>

/* Podman's HEAD and GET take a pattern, its PUT and every Docker call a literal path. */
static char *archive_target(struct sbx_engine *engine, const char *id, const char *path,
	bool pattern, const char *options, struct sbx_error *err)
{
	if (*path != '/') {
		(void)sbx_fail(err, EINVAL, "%s is not an absolute path", path);
		return NULL;
	}
	cleanup_free char *literal =
		pattern && sbx_engine_is_podman(engine) ? sbx_glob_escape(path) : sbx_strdup(path);
	cleanup_free char *encoded = sbx_http_encode(literal, true);
	cleanup_free char *suffix = sbx_printf("/archive?path=%s%s", encoded, options);
	return sbx_container_target(engine, id, suffix, err);
}

static int stop_at_once(void *data, const void *bytes, size_t size)
{
	return 1;
}

/* A HEAD has no body: the reason of a failed one is in the answer to a GET. */
static int explain(struct sbx_engine *engine, const char *target, const struct sbx_call *call,
	int status, struct sbx_error *err)
{
	struct sbx_http_request request = {
		.method = "GET", .target = target, .write = stop_at_once
	};
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	sbx_api_count(engine, SBX_COUNT_GET);
	int result = sbx_http_perform(sbx_api_http(engine), &request, call, &response, err);
	if (result < 0)
		return result;
	if (!result)
		result = sbx_api_status(&response, err);
	if (result < 0)
		return result;
	/* It works now: somebody changed the path between the two. */
	(void)sbx_fail(err, EIO, "the engine answered with status %d", status);
	err->http_status = status;
	return -EIO;
}

int sbx_archive_head(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, struct sbx_stat *out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_stat){ 0 };
	cleanup_free char *target = archive_target(engine, id, path, true, "", err);
	if (!target)
		return -EINVAL;
	struct sbx_http_request request = { .method = "HEAD", .target = target };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	sbx_api_count(engine, SBX_COUNT_HEAD);
	int result = sbx_http_perform(sbx_api_http(engine), &request, call, &response, err);
	if (result)
		return sbx_wrap(err, "%s in container %.12s", path, id);
	if (response.status == 200) {
		if (!response.path_stat)
			result = sbx_fail(err, EIO, "the engine's answer has no stat header");
		else
			result = sbx_stat_header_parse(response.path_stat, out, err);
		return result ? sbx_wrap(err, "%s in container %.12s", path, id) : 0;
	}
	/* Podman says 404 for a dangling link, and that it is one in the header. */
	if (response.status == 404 && response.path_stat) {
		if (!sbx_stat_header_parse(response.path_stat, out, err) &&
			out->type == SBX_TYPE_LINK)
			return 0;
		sbx_stat_finish(out);
	}
	if (response.status >= 300 && response.status != 404)
		result = explain(engine, target, call, response.status, err);
	else
		result = sbx_api_status(&response, err);
	if (!result)
		return sbx_fail(err, EIO, "%s: the engine answered a HEAD with status %d", path,
			response.status);
	return err->http_status ? sbx_archive_conclude(engine, id, path, call, err) : result;
}

int sbx_archive_get(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, sbx_bytes_fn fn, void *data, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	cleanup_free char *target = archive_target(engine, id, path, true, "", err);
	if (!target)
		return -EINVAL;
	struct sbx_http_request request = {
		.method = "GET", .target = target, .write = fn, .write_data = data
	};
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	sbx_api_count(engine, SBX_COUNT_GET);
	int result = sbx_http_perform(sbx_api_http(engine), &request, call, &response, err);
	if (result)
		return result;
	result = sbx_api_status(&response, err);
	return err->http_status ? sbx_archive_conclude(engine, id, path, call, err) : result;
}

int sbx_archive_put(struct sbx_engine *engine, const char *id, const char *path, int64_t size_bytes,
	sbx_source_fn read, void *data, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	cleanup_free char *target =
		archive_target(engine, id, path, false, "&noOverwriteDirNonDir=1", err);
	if (!target)
		return -EINVAL;
	struct sbx_http_request request = { .method = "PUT",
		.target = target,
		.content_type = "application/x-tar",
		.read = read,
		.read_data = data,
		.read_size = size_bytes };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	sbx_api_count(engine, SBX_COUNT_PUT);
	int result = sbx_http_perform(sbx_api_http(engine), &request, call, &response, err);
	if (result)
		return sbx_wrap(err, "writing to %s in container %.12s", path, id);
	result = sbx_api_status(&response, err);
	return err->http_status ? sbx_archive_conclude_put(engine, id, path, call, err) : result;
}
