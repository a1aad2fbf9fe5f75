/* image.c: images on the engine, and their pull with its progress. */
#include "api.h"
#include "lines.h"

#include "../base/alloc.h"

#include <sbx/image.h>
#include <errno.h>
#include <string.h>

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void sbx_image_finish(struct sbx_image *image)
{
	free(image->id);
	free(image->user);
	free(image->workdir);
	free_list(image->repo_digests);
	free_list(image->volumes);
	free_list(image->cmd);
	free_list(image->entrypoint);
	free(image->os);
	*image = (struct sbx_image){ 0 };
}

/* Strings of an array, or keys of an object. */
static char **string_list(const cJSON *json)
{
	bool container = cJSON_IsArray(json) || cJSON_IsObject(json);
	int size = container ? cJSON_GetArraySize(json) : 0;
	char **list = sbx_alloc_array((size_t)size + 1, sizeof(*list));
	size_t count = 0;
	if (!container)
		return list;
	const cJSON *item;
	cJSON_ArrayForEach(item, json)
	{
		const char *text = cJSON_IsObject(json) ? item->string : item->valuestring;
		if (text)
			list[count++] = sbx_strdup(text);
	}
	return list;
}

static char *text_or_empty(const cJSON *object, const char *key)
{
	const char *text = sbx_json_string(object, key);
	return sbx_strdup(text ? text : "");
}

/* A reference becomes part of the request's path: what could leave its place there is refused. */
static bool reference_valid(const char *reference)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@+[]";
	return *reference && strlen(reference) <= 1024 &&
	       strspn(reference, allowed) == strlen(reference) && *reference != '/' &&
	       *reference != '.' && !strstr(reference, "//") && !strstr(reference, "/.") &&
	       reference[strlen(reference) - 1] != '/';
}

static int refine(const char *reference, int result, struct sbx_error *err)
{
	if (err->http_status && (sbx_api_text_has(err, "no such image") ||
					sbx_api_text_has(err, "image not known")))
		return sbx_fail(err, ENOENT, "the engine has no image %s", reference);
	if (err->kind == SBX_KIND_ABSENT) /* a 404 in other words: "pull access denied" */
		result = sbx_api_become(err, SBX_KIND_ENGINE, EIO);
	(void)sbx_wrap(err, "image %s", reference);
	return result;
}

int sbx_image_inspect(struct sbx_engine *engine, const char *reference, const struct sbx_call *call,
	struct sbx_image *out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_image){ 0 };
	if (!reference_valid(reference))
		return sbx_fail(err, EINVAL, "\"%s\" is not an image reference", reference);
	cleanup_free char *encoded = sbx_http_encode(reference, true);
	cleanup_free char *target = sbx_api_target(engine, "/images/%s/json", encoded);
	cleanup_json cJSON *json = NULL;
	int result = sbx_api_json(engine, "GET", target, NULL, call, 0, &json, err);
	if (result)
		return refine(reference, result, err);
	const cJSON *config = sbx_json_get(json, "Config");
	const char *id = sbx_json_string(json, "Id");
	if (!id || !*id)
		return sbx_fail(err, EIO, "image %s: the engine gave no id", reference);
	out->id = strchr(id, ':') ? sbx_strdup(id) : sbx_printf("sha256:%s", id);
	out->user = text_or_empty(config, "User");
	out->workdir = text_or_empty(config, "WorkingDir");
	out->repo_digests = string_list(sbx_json_get(json, "RepoDigests"));
	out->volumes = string_list(sbx_json_get(config, "Volumes"));
	out->cmd = string_list(sbx_json_get(config, "Cmd"));
	out->entrypoint = string_list(sbx_json_get(config, "Entrypoint"));
	out->os = text_or_empty(json, "Os");
	return 0;
}

struct pull {
	struct sbx_lines lines;
	void (*progress)(void *data, const char *line);
	void *data;
	char *failure;
};

static int on_line(void *data, const char *line, size_t size)
{
	struct pull *pull = data;
	cleanup_json cJSON *json = sbx_json_parse(line, size, 16, "pull progress", NULL);
	const char *failure = sbx_json_string(json, "error");
	const char *status = sbx_json_string(json, "status");
	const char *stream = sbx_json_string(json, "stream"); /* Podman's */
	const char *layer = sbx_json_string(json, "id");
	const char *bar = sbx_json_string(json, "progress");
	if (failure && !pull->failure)
		pull->failure = sbx_strdup(failure);
	const char *text = status ? status : stream;
	if (!text || !*text || !pull->progress)
		return 0;
	cleanup_free char *shown = sbx_printf("%s%s%s%s%s", layer ? layer : "", layer ? ": " : "",
		text, bar && *bar ? " " : "", bar ? bar : "");
	pull->progress(pull->data, shown);
	return 0;
}

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct pull *pull = data;
	return sbx_lines_feed(&pull->lines, bytes, size);
}

/* Without a tag Docker's API pulls every tag of the repository. */
static bool has_tag(const char *reference)
{
	const char *last = strrchr(reference, '/');
	return strchr(reference, '@') || strchr(last ? last : reference, ':');
}

int sbx_image_pull(struct sbx_engine *engine, const char *reference, const struct sbx_call *call,
	void (*progress)(void *data, const char *line), void *data, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	if (!reference_valid(reference))
		return sbx_fail(err, EINVAL, "\"%s\" is not an image reference", reference);
	struct pull pull = { .progress = progress, .data = data };
	pull.lines =
		(struct sbx_lines){ .max_line = (size_t)1 << 20, .fn = on_line, .data = &pull };
	cleanup_free char *encoded = sbx_http_encode(reference, false);
	cleanup_free char *target = sbx_api_target(engine, "/images/create?fromImage=%s%s", encoded,
		has_tag(reference) ? "" : "&tag=latest");
	struct sbx_http_request request = { .method = "POST",
		.target = target,
		.write = on_bytes,
		.write_data = &pull,
		.no_idle_limit = true }; /* unpacking a layer is silent for minutes */
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = sbx_http_perform(sbx_api_http(engine), &request, call, &response, err);
	if (!result)
		result = sbx_api_status(&response, err);
	if (!result)
		result = sbx_lines_end(&pull.lines);
	else
		result = refine(reference, result, err);
	if (!result && pull.failure)
		result = sbx_fail(
			err, EIO, "pulling %s: the engine says: %s", reference, pull.failure);
	sbx_lines_finish(&pull.lines);
	free(pull.failure);
	return result;
}
