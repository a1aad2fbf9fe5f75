/* declarations.c: what sbxfs promises as a sandbox backend, one document for every engine. See
 * sbx/doctor.h. */
#include <sbx/doctor.h>

#include "../base/json.h"

#include <string.h>

static void add_words(cJSON *object, const char *key, const char *const *words)
{
	cJSON *array = cJSON_AddArrayToObject(object, key);
	for (; *words; words++)
		cJSON_AddItemToArray(array, cJSON_CreateString(*words));
}

static void add_limit(cJSON *object, const char *key, int64_t ceiling)
{
	if (ceiling)
		sbx_json_add_int(object, key, ceiling);
	else
		cJSON_AddNullToObject(object, key);
}

static void add_limits(cJSON *limits, const char *direction, const struct sbx_ceilings *ceilings)
{
	cJSON *object = cJSON_AddObjectToObject(limits, direction);
	add_limit(object, "max_file_bytes", ceilings->max_file_bytes);
	add_limit(object, "max_total_bytes", ceilings->max_total_bytes);
	add_limit(object, "max_files", ceilings->max_files);
}

cJSON *sbx_declarations(const char *os_type, const struct sbx_limits *limits)
{
	static const char *const capabilities[] = { "exec", "files_in", "files_out", "files_list",
		"files_delete", "host_tools", NULL };
	static const char *const withheld[] = { "reclaim", "run_code", "snapshot",
		"attached_identity", "method_egress", NULL };
	static const char *const egress[] = { "closed", NULL };
	static const char *const posix[] = { "posix", NULL };
	cJSON *json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "isolation", "container");
	add_words(json, "capabilities", capabilities);
	add_words(json, "withheld", withheld);
	const struct sbx_limits runs = sbx_limits_fill(limits);
	cJSON *declared = cJSON_AddObjectToObject(json, "limits");
	add_limits(declared, "in", &runs.in);
	add_limits(declared, "out", &runs.out);
	add_limits(declared, "put", &limits->in);
	add_limits(declared, "get", &limits->out);
	add_words(json, "egress_modes", egress);
	add_words(json, "os_families", strcmp(os_type, "linux") == 0 ? posix : posix + 1);
	return json;
}
