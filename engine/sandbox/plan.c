/* plan.c: a checked spec and its image become what is created, or what a sandbox must be like. */
#include "config_digest.h"
#include "outputs.h"
#include "spec.h"

#include "../base/alloc.h"

#include <string.h>

static int plan_workdir(const struct sbx_spec *spec, const struct sbx_image *image,
	struct sbx_plan *out, struct sbx_error *err)
{
	const char *text = spec->workdir;
	if (!text && image && image->workdir[0] == '/' && image->workdir[1])
		text = image->workdir;
	return sbx_workdir_parse(text ? text : SBX_WORKDIR_DEFAULT, &out->workdir, err);
}

char *sbx_spec_name(const struct sbx_spec *spec)
{
	if (spec->name)
		return sbx_strdup(spec->name);
	return sbx_identity_name(spec->scope, spec->thread, spec->agent, spec->kind, spec->call_id);
}

int sbx_plan_make(const struct sbx_spec *spec, const struct sbx_image *image, struct sbx_plan *out,
	struct sbx_error *err)
{
	*out = (struct sbx_plan){ .spec = spec };
	out->name = sbx_spec_name(spec);
	out->user = sbx_strdup(spec->user ? spec->user : image ? image->user : "");
	out->image_id = sbx_strdup(image ? image->id : "");
	int rc = plan_workdir(spec, image, out, err);
	if (rc == 0)
		rc = sbx_in_dir_parse(
			spec->in_dir ? spec->in_dir : SBX_IN_DEFAULT, &out->in_dir, err);
	if (rc == 0)
		rc = sbx_outputs_parse(out->workdir, out->in_dir, spec->outputs, spec->output_count,
			&out->outputs, &out->output_count, err);
	if (rc == 0)
		rc = sbx_config_digest(spec, &out->config, err);
	if (rc < 0)
		sbx_plan_finish(out);
	return rc;
}

void sbx_plan_finish(struct sbx_plan *plan)
{
	free(plan->name);
	free(plan->workdir);
	free(plan->in_dir);
	sbx_outputs_free(plan->outputs, plan->output_count);
	free(plan->user);
	free(plan->image_id);
	free(plan->config);
	*plan = (struct sbx_plan){ 0 };
}
