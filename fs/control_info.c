/* control_info.c: what .sbxfs/info.json and .sbxfs/refused say of a sandbox. */
#include "control.h"

#include "in.h"
#include "tree.h"

#include "base/buffer.h"
#include "base/json.h"
#include "base/text.h"

#include <sbx/spec.h>

enum { UNSERVED_SHOWN = 100 };

/* Why reads fail with EOPNOTSUPP on an engine that cannot pause is its reason. */
static void add_freeze(cJSON *json, struct sbx_view *view)
{
	const struct sbx_fs_options *options = view->fs->options;
	struct sbx_plane *plane = view->plane;
	cJSON *freeze = cJSON_AddObjectToObject(json, "freeze");
	sbx_json_add_text(freeze, "mode", sbx_fs_freeze_name(options->freeze));
	sbx_json_add_text(freeze, "residual", sbx_fs_residual(options));
	cleanup_free char *reason =
		plane && plane->ops->freeze_refusal ? plane->ops->freeze_refusal(plane) : NULL;
	if (reason)
		sbx_json_add_text(freeze, "reason", reason);
}

static void add_outputs(cJSON *json, const struct sbx_sandbox *sandbox)
{
	cJSON *outputs = cJSON_AddArrayToObject(json, "outputs");
	for (size_t i = 0; i < sandbox->output_count; i++) {
		cJSON *output = cJSON_CreateObject();
		sbx_json_add_text(output, "path", sandbox->outputs[i].path);
		sbx_json_add_text(
			output, "type", sandbox->outputs[i].directory ? "directory" : "file");
		cJSON_AddItemToArray(outputs, output);
	}
}

static void add_in(cJSON *json, struct sbx_view *view)
{
	const char *refusal = sbx_in_refusal(view);
	if (!view->sandbox.in_dir) {
		cJSON_AddNullToObject(json, "in");
		return;
	}
	cJSON *in = cJSON_AddObjectToObject(json, "in");
	sbx_json_add_text(in, "path", view->sandbox.in_dir);
	cJSON_AddBoolToObject(in, "writable", !refusal);
	if (refusal)
		sbx_json_add_text(in, "reason", refusal);
}

static void add_identity(cJSON *json, const struct sbx_container *container)
{
	cJSON *identity = cJSON_AddObjectToObject(json, "identity");
	cJSON *labels = cJSON_AddObjectToObject(json, "labels");
	for (size_t i = 0; i < container->label_count; i++) {
		const struct sbx_pair *label = &container->labels[i];
		if (sbx_text_has_prefix(label->key, "sbxfs.") ||
			sbx_text_has_prefix(label->key, "maf-sandbox."))
			sbx_json_add_text(
				identity, label->key, sbx_identity_label_shown(label->value));
		else
			sbx_json_add_text(labels, label->key, label->value);
	}
}

static void add_mounts(cJSON *json, const struct sbx_container *container)
{
	cJSON *mounts = cJSON_AddArrayToObject(json, "mounts");
	for (size_t i = 0; i < container->mount_count; i++) {
		cJSON *mount = cJSON_CreateObject();
		sbx_json_add_text(mount, "type", container->mounts[i].type);
		sbx_json_add_text(mount, "destination", container->mounts[i].destination);
		cJSON_AddItemToArray(mounts, mount);
	}
}

/* The first of what cannot be served; .sbxfs/refused has them all. */
static void add_unserved(cJSON *json, struct sbx_view *view)
{
	cJSON *rows = cJSON_AddArrayToObject(json, "unserved");
	int left = UNSERVED_SHOWN;
	for (const struct sbx_refused *at = view->refused; at && left; at = at->hh.next) {
		if (!at->reason)
			continue;
		cJSON *row = cJSON_CreateObject();
		sbx_json_add_text(row, "path", at->path);
		sbx_json_add_text(row, "reason", at->reason);
		cJSON_AddItemToArray(rows, row);
		left--;
	}
}

struct cJSON *sbx_control_info(struct sbx_view *view)
{
	const struct sbx_container *container = &view->sandbox.container;
	const struct sbx_fs_options *options = view->fs->options;
	cJSON *json = cJSON_CreateObject();
	sbx_json_add_text(json, "name", container->name);
	sbx_json_add_text(json, "id", container->id);
	sbx_json_add_text(json, "image", container->image);
	sbx_json_add_text(json, "image_id", container->image_id);
	sbx_json_add_text(json, "state", view->gone ? "removed" : sbx_state_name(container->state));
	if (container->state == SBX_STATE_EXITED)
		sbx_json_add_int(json, "exit_code", container->exit_code);
	sbx_json_add_text(json, "created", container->created);
	sbx_json_add_text(json, "workdir", view->sandbox.workdir);
	add_outputs(json, &view->sandbox);
	add_in(json, view);
	if (view->sandbox.refusal)
		sbx_json_add_text(json, "refusal", view->sandbox.refusal);
	add_unserved(json, view);
	add_freeze(json, view);
	sbx_json_add_int(json, "max_file_bytes", options->max_file_bytes);
	add_identity(json, container);
	add_mounts(json, container);
	return json;
}

char *sbx_control_refused_text(struct sbx_view *view, size_t *size)
{
	struct sbx_buffer text = { 0 };
	const struct sbx_refused *refused;
	for (refused = view->refused; refused; refused = refused->hh.next) {
		cleanup_json cJSON *json = cJSON_CreateObject();
		sbx_json_add_text(json, "path", refused->path);
		if (refused->reason)
			sbx_json_add_text(json, "reason", refused->reason);
		else
			sbx_json_add_text(json, "type", sbx_type_name(refused->type));
		if (refused->target && !refused->reason)
			sbx_json_add_text(json, "target", refused->target);
		cleanup_free char *line = sbx_json_print(json);
		/* No limit is set: appending cannot fail. */
		(void)sbx_buffer_append_text(&text, line);
		(void)sbx_buffer_append(&text, "\n", 1);
	}
	*size = text.size;
	return text.data ? text.data : sbx_strdup("");
}
