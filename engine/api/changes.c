/* changes.c: what differs from the image. Engines give siblings in no order, so it is made here. */
#include "changes.h"

#include "api.h"
#include "container.h"

#include "../base/alloc.h"

#include <errno.h>
#include <string.h>

#define MAX_CHANGES_BYTES ((size_t)64 << 20)

void sbx_changes_finish(struct sbx_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		free(changes->rows[i].path);
	free(changes->rows);
	*changes = (struct sbx_changes){ 0 };
}

static int by_path(const void *a, const void *b)
{
	const struct sbx_change *one = a, *other = b;
	int order = strcmp(one->path, other->path);
	return order ? order : one->kind - other->kind;
}

static void sort_once_each(struct sbx_changes *changes)
{
	if (!changes->count)
		return;
	qsort(changes->rows, changes->count, sizeof(*changes->rows), by_path);
	size_t kept = 1;
	for (size_t i = 1; i < changes->count; i++) {
		if (strcmp(changes->rows[i].path, changes->rows[kept - 1].path) == 0)
			free(changes->rows[i].path);
		else
			changes->rows[kept++] = changes->rows[i];
	}
	changes->count = kept;
}

int sbx_changes_parse(const cJSON *json, struct sbx_changes *out, struct sbx_error *err)
{
	*out = (struct sbx_changes){ 0 };
	if (cJSON_IsNull(json))
		return 0;
	if (!cJSON_IsArray(json))
		return sbx_fail(err, EIO, "the engine's list of changes is not a list");
	out->rows = sbx_alloc_array((size_t)cJSON_GetArraySize(json), sizeof(*out->rows));
	const cJSON *item;
	cJSON_ArrayForEach(item, json)
	{
		const char *path = sbx_json_string(item, "Path");
		int64_t kind = sbx_json_int(item, "Kind", -1);
		if (!path || *path != '/' || kind < 0 || kind > 2) {
			sbx_changes_finish(out);
			return sbx_fail(err, EIO,
				"the engine's list of changes has a row that is "
				"none");
		}
		out->rows[out->count++] = (struct sbx_change){ sbx_strdup(path), (int)kind };
	}
	sort_once_each(out);
	return 0;
}

int sbx_archive_changes(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_changes *out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_changes){ 0 };
	cleanup_free char *target = sbx_container_target(engine, id, "/changes", err);
	if (!target)
		return -EINVAL;
	cleanup_json cJSON *json = NULL;
	int result = sbx_api_json(engine, "GET", target, NULL, call, MAX_CHANGES_BYTES, &json, err);
	if (!result)
		result = sbx_changes_parse(json, out, err);
	else if (err->http_status)
		result = sbx_container_refine(engine, id, call, result, err);
	if (result == -ENOENT && err->kind == SBX_KIND_ABSENT)
		return sbx_fail_kind(
			err, SBX_KIND_GONE, ESTALE, "container %.12s is not there any more", id);
	return result;
}
