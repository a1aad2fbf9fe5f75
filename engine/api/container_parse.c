/* container_parse.c: see container_parse.h. What inspect said, field by field. */
#include "container_parse.h"

#include "../base/alloc.h"
#include "../base/text.h"
#include "rfc3339.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

const char *sbx_state_name(enum sbx_state state)
{
	static const char *const names[] = { "unknown", "created", "running", "paused", "exited" };
	return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

/* Dead and being removed are UNKNOWN: such a container cannot be read and is soon gone. */
enum sbx_state sbx_state_parse(const char *word)
{
	static const struct {
		const char *word;
		enum sbx_state state;
	} states[] = {
		{ "created", SBX_STATE_CREATED },
		{ "configured", SBX_STATE_CREATED },
		{ "running", SBX_STATE_RUNNING },
		{ "restarting", SBX_STATE_RUNNING },
		{ "stopping", SBX_STATE_RUNNING },
		{ "paused", SBX_STATE_PAUSED },
		{ "exited", SBX_STATE_EXITED },
		{ "stopped", SBX_STATE_EXITED },
	};
	for (size_t i = 0; word && i < sizeof(states) / sizeof(states[0]); i++) {
		if (strcmp(word, states[i].word) == 0)
			return states[i].state;
	}
	return SBX_STATE_UNKNOWN;
}

bool sbx_container_id_valid(const char *id)
{
	return id && strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64;
}

struct sbx_pair *sbx_pairs_parse(const cJSON *object, size_t *count)
{
	*count = 0;
	int size = cJSON_IsObject(object) ? cJSON_GetArraySize(object) : 0;
	struct sbx_pair *pairs = sbx_alloc_array((size_t)size, sizeof(*pairs));
	const cJSON *item;
	cJSON_ArrayForEach(item, object)
	{
		if (cJSON_IsString(item) && item->string)
			pairs[(*count)++] = (struct sbx_pair){ sbx_strdup(item->string),
				sbx_strdup(item->valuestring) };
	}
	return pairs;
}

void sbx_pairs_free(struct sbx_pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(pairs[i].key);
		free(pairs[i].value);
	}
	free(pairs);
}

const char *sbx_container_label(const struct sbx_container *container, const char *key)
{
	for (size_t i = 0; i < container->label_count; i++) {
		if (strcmp(container->labels[i].key, key) == 0)
			return container->labels[i].value;
	}
	return NULL;
}

void sbx_container_finish(struct sbx_container *container)
{
	free(container->id);
	free(container->name);
	free(container->image_id);
	free(container->image);
	free(container->user);
	free(container->workdir);
	free(container->created);
	sbx_pairs_free(container->labels, container->label_count);
	for (size_t i = 0; i < container->mount_count; i++) {
		free(container->mounts[i].type);
		free(container->mounts[i].destination);
	}
	free(container->mounts);
	cJSON_Delete(container->json);
	*container = (struct sbx_container){ 0 };
}

void sbx_container_copy(struct sbx_container *out, const struct sbx_container *in)
{
	*out = *in;
	out->json = NULL;
	out->id = sbx_strdup(in->id);
	out->name = sbx_strdup(in->name);
	out->image_id = sbx_strdup(in->image_id);
	out->image = sbx_strdup(in->image);
	out->user = sbx_strdup(in->user);
	out->workdir = sbx_strdup(in->workdir);
	out->created = sbx_strdup(in->created);
	out->labels = sbx_alloc_array(in->label_count, sizeof(*out->labels));
	for (size_t i = 0; i < in->label_count; i++) {
		out->labels[i].key = sbx_strdup(in->labels[i].key);
		out->labels[i].value = sbx_strdup(in->labels[i].value);
	}
	out->mounts = sbx_alloc_array(in->mount_count, sizeof(*out->mounts));
	for (size_t i = 0; i < in->mount_count; i++) {
		out->mounts[i].type = sbx_strdup(in->mounts[i].type);
		out->mounts[i].destination = sbx_strdup(in->mounts[i].destination);
	}
}

/* Each destination once, the first type stays. Docker reads what lies under a tmpfs, Podman stops
 * seeing it when paused: what is mounted must be known whatever the engine lists it under. */
static void add_mount(struct sbx_container *out, const char *type, const char *destination)
{
	if (!destination || *destination != '/')
		return;
	size_t length = strlen(destination);
	while (length > 1 && destination[length - 1] == '/')
		length--;
	cleanup_free char *path = sbx_strndup(destination, length);
	for (size_t i = 0; i < out->mount_count; i++) {
		if (strcmp(out->mounts[i].destination, path) == 0)
			return;
	}
	out->mounts = sbx_realloc_array(out->mounts, out->mount_count + 1, sizeof(*out->mounts));
	out->mounts[out->mount_count++] =
		(struct sbx_mount){ sbx_strdup(type ? type : ""), steal(&path) };
}

static void parse_mounts(const cJSON *json, bool podman, struct sbx_container *out)
{
	static const char *const read_only_tmpfs[] = { "/run", "/tmp", "/var/tmp" };
	const cJSON *host = sbx_json_get(json, "HostConfig"), *item;
	cJSON_ArrayForEach(item, sbx_json_get(json, "Mounts"))
	{
		add_mount(out, sbx_json_string(item, "Type"), sbx_json_string(item, "Destination"));
	}
	cJSON_ArrayForEach(item, sbx_json_get(host, "Tmpfs"))
	{
		add_mount(out, "tmpfs", item->string);
	}
	cJSON_ArrayForEach(item, sbx_json_get(host, "Mounts"))
	{
		const char *type = sbx_json_string(item, "Type");
		if (type && strcmp(type, "tmpfs") == 0)
			add_mount(out, type, sbx_json_string(item, "Target"));
	}
	if (podman && sbx_json_bool(host, "ReadonlyRootfs", false)) {
		for (size_t i = 0; i < 3; i++)
			add_mount(out, "tmpfs", read_only_tmpfs[i]);
	}
}

static char *text_or_empty(const cJSON *object, const char *key)
{
	const char *text = sbx_json_string(object, key);
	return sbx_strdup(text ? text : "");
}

static int small_int(const cJSON *object, const char *key)
{
	int64_t value = sbx_json_int(object, key, 0);
	return value >= INT_MIN && value <= INT_MAX ? (int)value : 0;
}

int sbx_container_parse(cJSON *json, bool podman, struct sbx_container *out, struct sbx_error *err)
{
	*out = (struct sbx_container){ .json = json };
	const cJSON *state = sbx_json_get(json, "State");
	const cJSON *config = sbx_json_get(json, "Config");
	const char *id = sbx_json_string(json, "Id");
	const char *name = sbx_json_string(json, "Name");
	const char *status = sbx_json_string(state, "Status");
	if (!sbx_container_id_valid(id) || !name || !status) {
		sbx_container_finish(out);
		return sbx_fail(err, EIO, "the engine's answer is not a container");
	}
	out->id = sbx_strdup(id);
	out->name = sbx_strdup(*name == '/' ? name + 1 : name);
	out->image_id = text_or_empty(json, "Image");
	out->image = text_or_empty(config, "Image");
	out->state =
		sbx_json_bool(state, "Paused", false) ? SBX_STATE_PAUSED : sbx_state_parse(status);
	out->exit_code = small_int(state, "ExitCode");
	out->pid = small_int(state, "Pid");
	out->user = text_or_empty(config, "User");
	out->workdir = text_or_empty(config, "WorkingDir");
	out->created = text_or_empty(json, "Created");
	out->created_ns = sbx_time_parse_ns(out->created);
	out->labels = sbx_pairs_parse(sbx_json_get(config, "Labels"), &out->label_count);
	parse_mounts(json, podman, out);
	return 0;
}
