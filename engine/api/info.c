/* info.c: GET /version and GET /info: what doctor shows and admission checks. */
#include "api.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <string.h>

void sbx_engine_info_finish(struct sbx_engine_info *info)
{
	free(info->name);
	free(info->version);
	free(info->api_version);
	free(info->min_api_version);
	free(info->os_type);
	free(info->architecture);
	free(info->storage_driver);
	free(info->cgroup_version);
	free(info->default_runtime);
	for (size_t i = 0; info->security_options && info->security_options[i]; i++)
		free(info->security_options[i]);
	free(info->security_options);
	*info = (struct sbx_engine_info){ 0 };
}

static char *text_or_empty(const cJSON *object, const char *key)
{
	const char *text = sbx_json_string(object, key);
	return sbx_strdup(text ? text : "");
}

static void read_version(const cJSON *json, struct sbx_engine_info *out)
{
	const char *name = NULL;
	const cJSON *component;
	cJSON_ArrayForEach(component, sbx_json_get(json, "Components"))
	{
		const char *each = sbx_json_string(component, "Name");
		if (each && (strcmp(each, "Engine") == 0 || strcmp(each, "Podman Engine") == 0))
			name = each;
	}
	out->name = sbx_strdup(name && strcmp(name, "Podman Engine") == 0 ? name : "Docker Engine");
	out->version = text_or_empty(json, "Version");
	out->api_version = text_or_empty(json, "ApiVersion");
	out->min_api_version = text_or_empty(json, "MinAPIVersion");
}

/* "name=seccomp,profile=builtin": the name is exact, a longer one is another option. */
static bool option_is(const char *option, const char *name)
{
	if (sbx_text_has_prefix(option, "name="))
		option += strlen("name=");
	size_t length = strlen(name);
	return strncmp(option, name, length) == 0 && (!option[length] || option[length] == ',');
}

static void read_options(const cJSON *json, struct sbx_engine_info *out)
{
	const cJSON *list = sbx_json_get(json, "SecurityOptions"), *item;
	int size = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
	out->security_options = sbx_alloc_array((size_t)size + 1, sizeof(char *));
	size_t count = 0;
	cJSON_ArrayForEach(item, list)
	{
		if (!cJSON_IsString(item))
			continue;
		const char *option = item->valuestring;
		out->security_options[count++] = sbx_strdup(option);
		if (option_is(option, "rootless"))
			out->rootless = true;
		if (option_is(option, "userns"))
			out->userns = true;
		if (option_is(option, "seccomp") && strstr(option, ",profile=") &&
			!strstr(option, ",profile=unconfined"))
			out->seccomp_default = true;
	}
	if (sbx_json_bool(json, "Rootless", false))
		out->rootless = true;
}

int sbx_engine_info(struct sbx_engine *engine, const struct sbx_call *call,
	struct sbx_engine_info *out, struct sbx_error *err)
{
	*out = (struct sbx_engine_info){ 0 };
	cleanup_json cJSON *version = NULL, *info = NULL;
	cleanup_free char *version_target = sbx_api_target(engine, "/version");
	cleanup_free char *info_target = sbx_api_target(engine, "/info");
	int result = sbx_api_json(engine, "GET", version_target, NULL, call, 0, &version, err);
	if (!result)
		result = sbx_api_json(engine, "GET", info_target, NULL, call, 0, &info, err);
	if (result)
		return result;
	if (!cJSON_IsObject(version) || !cJSON_IsObject(info))
		return sbx_fail(err, EIO, "the engine's description of itself is not an object");
	read_version(version, out);
	out->os_type = text_or_empty(info, "OSType");
	out->architecture = text_or_empty(info, "Architecture");
	out->storage_driver = text_or_empty(info, "Driver");
	out->cgroup_version = text_or_empty(info, "CgroupVersion");
	out->default_runtime = text_or_empty(info, "DefaultRuntime");
	read_options(info, out);
	/* What it does not say it does not keep. */
	out->keeps_limits = sbx_json_bool(info, "MemoryLimit", false) &&
			    sbx_json_bool(info, "CpuCfsQuota", false) &&
			    sbx_json_bool(info, "PidsLimit", false) &&
			    !(out->rootless && strcmp(out->cgroup_version, "1") == 0);
	return 0;
}
