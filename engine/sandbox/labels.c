/*
 * labels.c: see labels.h. Labels are written by whoever created the container; they are bounded and
 * checked like any other input, and a label that cannot be read makes a refusal, never a guess.
 */
#include "labels.h"

#include "../base/alloc.h"
#include "../base/json.h"
#include "../base/text.h"

#include <errno.h>
#include <string.h>

#define MAF_PREFIX "maf-sandbox."
#define SBXFS_PREFIX "sbxfs."
#define OUTPUTS_LABEL_MAX 65536
#define OUTPUTS_MAX 1024

const char *sbx_labels_get(const struct sbx_pair *labels, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(labels[i].key, key) == 0)
			return labels[i].value;
	}
	return NULL;
}

enum sbx_vocabulary sbx_labels_vocabulary(const struct sbx_pair *labels, size_t count)
{
	enum sbx_vocabulary found = SBX_VOCABULARY_NONE;
	for (size_t i = 0; i < count; i++) {
		if (sbx_text_has_prefix(labels[i].key, SBXFS_PREFIX))
			return SBX_VOCABULARY_SBXFS;
		if (sbx_text_has_prefix(labels[i].key, MAF_PREFIX))
			found = SBX_VOCABULARY_MAF;
	}
	return found;
}

bool sbx_labels_hidden(const struct sbx_pair *labels, size_t count)
{
	const char *own = sbx_labels_get(labels, count, SBX_LABEL_ROLE);
	const char *maf = sbx_labels_get(labels, count, MAF_PREFIX "role");
	return (own && *own) || (maf && *maf);
}

bool sbx_labels_owned(const struct sbx_pair *labels, size_t count)
{
	static const char *const needed[] = { SBX_LABEL_VERSION, SBX_LABEL_SCOPE, SBX_LABEL_THREAD,
		SBX_LABEL_AGENT, SBX_LABEL_KIND };
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		const char *value = sbx_labels_get(labels, count, needed[i]);
		if (!value || !*value)
			return false;
	}
	return true;
}

struct sbx_labelled sbx_labels_declaration(const struct sbx_pair *labels, size_t count)
{
	struct sbx_labelled said = { 0 };
	switch (sbx_labels_vocabulary(labels, count)) {
	case SBX_VOCABULARY_SBXFS:
		said.workdir = sbx_labels_get(labels, count, SBX_LABEL_WORKDIR);
		said.outputs = sbx_labels_get(labels, count, SBX_LABEL_OUTPUTS);
		said.in_dir = sbx_labels_get(labels, count, SBX_LABEL_IN);
		break;
	case SBX_VOCABULARY_MAF:
		said.workdir = sbx_labels_get(labels, count, MAF_PREFIX "workdir");
		if (!said.workdir) /* as its newer backends write it */
			said.workdir = sbx_labels_get(labels, count, MAF_PREFIX "work-dir.v1");
		said.outputs = sbx_labels_get(labels, count, MAF_PREFIX "outputs");
		said.in_dir = sbx_labels_get(labels, count, MAF_PREFIX "in");
		break;
	case SBX_VOCABULARY_NONE:
		break;
	}
	return said;
}

void sbx_texts_free(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

int sbx_labels_outputs(const char *label, char ***texts, size_t *count, struct sbx_error *err)
{
	size_t size = strnlen(label, OUTPUTS_LABEL_MAX + 1);
	if (size > OUTPUTS_LABEL_MAX)
		return sbx_fail(
			err, EINVAL, "the outputs label is over %d bytes", OUTPUTS_LABEL_MAX);
	/* cJSON would end the string there and a shorter path than the one declared would be
	 * served. */
	if (strstr(label, "\\u0000"))
		return sbx_fail(err, EINVAL, "the outputs label holds a NUL character");
	struct sbx_error parse = SBX_ERROR_INIT;
	cleanup_json cJSON *json = sbx_json_parse(label, size, 2, "outputs label", &parse);
	if (!cJSON_IsArray(json))
		return sbx_fail(
			err, EINVAL, "the outputs label is not a JSON array of declared paths");
	int entries = cJSON_GetArraySize(json);
	if (entries > OUTPUTS_MAX)
		return sbx_fail(err, EINVAL, "the outputs label declares %d outputs, at most %d",
			entries, OUTPUTS_MAX);
	char **list = sbx_alloc_array((size_t)entries, sizeof(*list));
	size_t filled = 0;
	const cJSON *item;
	cJSON_ArrayForEach(item, json)
	{
		if (!cJSON_IsString(item)) {
			sbx_texts_free(list, filled);
			return sbx_fail(
				err, EINVAL, "the outputs label has an entry that is not a string");
		}
		list[filled++] = sbx_strdup(item->valuestring);
	}
	*texts = list;
	*count = filled;
	return 0;
}

char *sbx_labels_outputs_print(const struct sbx_output *outputs, size_t count)
{
	cleanup_json cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *text =
			sbx_printf("%s%s", outputs[i].path, outputs[i].directory ? "/" : "");
		cJSON_AddItemToArray(array, cJSON_CreateString(text));
	}
	return sbx_json_print(array);
}
