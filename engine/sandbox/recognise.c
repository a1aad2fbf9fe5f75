/*
 * recognise.c: who is a sandbox (design §2), and with what declaration.
 *
 * Labels win over rules, rules over defaults. A container that is a sandbox but whose declaration
 * cannot be served is still one, with the reason as its refusal: hiding it would leave its owner
 * guessing, serving a guess would show undeclared bytes.
 */
#include "labels.h"
#include "outputs.h"
#include "rules.h"

#include "../base/alloc.h"

#include <errno.h>
#include <string.h>

void sbx_sandbox_finish(struct sbx_sandbox *sandbox)
{
	if (!sandbox)
		return;
	sbx_container_finish(&sandbox->container);
	free(sandbox->workdir);
	sbx_outputs_free(sandbox->outputs, sandbox->output_count);
	free(sandbox->in_dir);
	free(sandbox->refusal);
	*sandbox = (struct sbx_sandbox){ 0 };
}

/* The part of recognition that a list row decides as well as an inspect does. */
static bool is_sandbox(const char *name, const char *image, const struct sbx_pair *labels,
	size_t label_count, const struct sbx_rules *rules, struct sbx_rule_match *match)
{
	if (sbx_labels_hidden(labels, label_count))
		return false;
	*match = sbx_rules_match(rules, name, image, labels, label_count);
	return match->matched || sbx_labels_vocabulary(labels, label_count) != SBX_VOCABULARY_NONE;
}

bool sbx_sandbox_candidate(const struct sbx_container_summary *row, const struct sbx_rules *rules)
{
	struct sbx_rule_match match;
	return is_sandbox(row->name, row->image, row->labels, row->label_count, rules, &match);
}

static const char *default_workdir(enum sbx_vocabulary vocabulary, const char *image_workdir)
{
	if (vocabulary == SBX_VOCABULARY_MAF)
		return SBX_WORKDIR_MAF;
	bool below_root = image_workdir && image_workdir[0] == '/' && image_workdir[1];
	return below_root ? image_workdir : SBX_WORKDIR_DEFAULT;
}

static int set_outputs(struct sbx_sandbox *sandbox, const char *label,
	const struct sbx_rule_match *match, struct sbx_error *err)
{
	if (!label)
		return sbx_outputs_parse(sandbox->workdir, sandbox->in_dir, match->outputs,
			match->output_count, &sandbox->outputs, &sandbox->output_count, err);
	char **texts = NULL;
	size_t count = 0;
	int rc = sbx_labels_outputs(label, &texts, &count, err);
	if (rc < 0)
		return rc;
	rc = sbx_outputs_parse(sandbox->workdir, sandbox->in_dir, (const char *const *)texts, count,
		&sandbox->outputs, &sandbox->output_count, err);
	sbx_texts_free(texts, count);
	return rc;
}

static int declare(
	struct sbx_sandbox *sandbox, const struct sbx_rule_match *match, struct sbx_error *err)
{
	const struct sbx_container *container = &sandbox->container;
	enum sbx_vocabulary vocabulary =
		sbx_labels_vocabulary(container->labels, container->label_count);
	struct sbx_labelled said =
		sbx_labels_declaration(container->labels, container->label_count);
	const char *version = sbx_container_label(container, SBX_LABEL_VERSION);
	if (version && strcmp(version, "1") != 0)
		return sbx_fail(err, EINVAL,
			"its label " SBX_LABEL_VERSION
			" is '%s' and this sbxfs knows version 1 only",
			version);
	const char *workdir = said.workdir ? said.workdir : match->workdir;
	if (!workdir)
		workdir = default_workdir(vocabulary, container->workdir);
	int rc = sbx_workdir_parse(workdir, &sandbox->workdir, err);
	if (rc < 0)
		return rc;
	const char *in_dir = said.in_dir ? said.in_dir : match->in_dir;
	/* Only our own sandboxes are made with an in dir; others get one where somebody says so. */
	if (!in_dir && vocabulary == SBX_VOCABULARY_SBXFS)
		in_dir = SBX_IN_DEFAULT;
	if (in_dir && (rc = sbx_in_dir_parse(in_dir, &sandbox->in_dir, err)) < 0)
		return rc;
	return set_outputs(sandbox, said.outputs, match, err);
}

/* What is left of a declaration that cannot be served: a place to stand and the reason. */
static void refuse(struct sbx_sandbox *sandbox, const struct sbx_error *reason)
{
	if (!sandbox->workdir)
		sandbox->workdir = sbx_strdup(SBX_WORKDIR_DEFAULT);
	free(sandbox->in_dir);
	sandbox->in_dir = NULL;
	sandbox->refusal = sbx_strdup(reason->message);
}

int sbx_sandbox_recognise(struct sbx_container *container, const struct sbx_rules *rules,
	struct sbx_sandbox *out, struct sbx_error *err)
{
	struct sbx_rule_match match;
	if (!is_sandbox(container->name, container->image, container->labels,
		    container->label_count, rules, &match))
		return 0;
	*out = (struct sbx_sandbox){ .container = *container };
	*container = (struct sbx_container){ 0 };
	struct sbx_error reason = SBX_ERROR_INIT;
	if (declare(out, &match, &reason) < 0)
		refuse(out, &reason);
	return 1;
}
