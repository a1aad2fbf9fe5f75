/* container_list.c: the list of containers, in all states: without all=1 Podman leaves out paused
 * ones. */
#include "api.h"
#include "container_parse.h"

#include "../base/alloc.h"

#include <errno.h>
#include <string.h>

#define MAX_LIST_BYTES ((size_t)32 << 20)

void sbx_container_list_finish(struct sbx_container_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct sbx_container_summary *row = &list->rows[i];
		free(row->id);
		free(row->name);
		free(row->image);
		sbx_pairs_free(row->labels, row->label_count);
	}
	free(list->rows);
	*list = (struct sbx_container_list){ 0 };
}

/* The container's own name: links of other containers are listed as "/other/alias". */
static const char *own_name(const cJSON *names)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, names)
	{
		const char *name = cJSON_IsString(item) ? item->valuestring : "";
		if (*name == '/')
			name++;
		if (*name && !strchr(name, '/'))
			return name;
	}
	return "";
}

static bool parse_row(const cJSON *item, struct sbx_container_summary *row)
{
	const char *id = sbx_json_string(item, "Id");
	const char *image = sbx_json_string(item, "Image");
	if (!sbx_container_id_valid(id))
		return false;
	row->id = sbx_strdup(id);
	row->name = sbx_strdup(own_name(sbx_json_get(item, "Names")));
	row->image = sbx_strdup(image ? image : "");
	row->state = sbx_state_parse(sbx_json_string(item, "State"));
	row->created_s = sbx_json_int(item, "Created", 0);
	row->labels = sbx_pairs_parse(sbx_json_get(item, "Labels"), &row->label_count);
	return true;
}

int sbx_container_list_parse(
	const cJSON *json, struct sbx_container_list *out, struct sbx_error *err)
{
	*out = (struct sbx_container_list){ 0 };
	if (!cJSON_IsArray(json))
		return sbx_fail(err, EIO, "the engine's list of containers is not a list");
	out->rows = sbx_alloc_array((size_t)cJSON_GetArraySize(json), sizeof(*out->rows));
	const cJSON *item;
	cJSON_ArrayForEach(item, json)
	{
		if (!parse_row(item, &out->rows[out->count])) {
			sbx_container_list_finish(out);
			return sbx_fail(err, EIO,
				"the engine's list of containers has a row without a full id");
		}
		out->count++;
	}
	return 0;
}

/* "&filters=…", encoded; "" without a filter. malloc'd. */
static char *filter_query(const char *label, const char *id_prefix)
{
	if (!label && !id_prefix)
		return sbx_strdup("");
	cleanup_json cJSON *filters = cJSON_CreateObject();
	if (label)
		cJSON_AddItemToArray(
			cJSON_AddArrayToObject(filters, "label"), cJSON_CreateString(label));
	if (id_prefix) {
		cleanup_free char *pattern = sbx_printf("^%s", id_prefix);
		cJSON_AddItemToArray(
			cJSON_AddArrayToObject(filters, "id"), cJSON_CreateString(pattern));
	}
	cleanup_free char *text = sbx_json_print(filters);
	cleanup_free char *encoded = sbx_http_encode(text, false);
	return sbx_printf("&filters=%s", encoded);
}

int sbx_container_list(struct sbx_engine *engine, const char *label, const struct sbx_call *call,
	struct sbx_container_list *out, struct sbx_error *err)
{
	return sbx_container_list_part(engine, label, NULL, call, out, err);
}

int sbx_container_list_part(struct sbx_engine *engine, const char *label, const char *id_prefix,
	const struct sbx_call *call, struct sbx_container_list *out, struct sbx_error *err)
{
	*out = (struct sbx_container_list){ 0 };
	cleanup_free char *query = filter_query(label, id_prefix);
	cleanup_free char *target = sbx_api_target(engine, "/containers/json?all=1%s", query);
	cleanup_json cJSON *json = NULL;
	int result = sbx_api_json(engine, "GET", target, NULL, call, MAX_LIST_BYTES, &json, err);
	if (result) {
		/* A list has no subject that could be absent: whatever status this was, it is a
		 * failure of the engine. */
		if (err && err->http_status)
			(void)sbx_api_become(err, SBX_KIND_ENGINE, EIO);
		(void)sbx_wrap(err, "listing containers");
		return err && err->http_status ? -EIO : result;
	}
	return sbx_container_list_parse(json, out, err);
}
