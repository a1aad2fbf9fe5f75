/* sandbox_copy.c: see sandbox_copy.h. */
#include "sandbox_copy.h"

#include "base/alloc.h"

void sbx_sandbox_copy(struct sbx_sandbox *out, const struct sbx_sandbox *in)
{
	sbx_container_copy(&out->container, &in->container);
	out->workdir = sbx_strdup(in->workdir);
	out->in_dir = sbx_strdup(in->in_dir);
	out->refusal = sbx_strdup(in->refusal);
	out->output_count = in->output_count;
	out->outputs = sbx_alloc_array(in->output_count, sizeof(*out->outputs));
	for (size_t i = 0; i < in->output_count; i++) {
		out->outputs[i].path = sbx_strdup(in->outputs[i].path);
		out->outputs[i].directory = in->outputs[i].directory;
	}
}
