/* spec.h: what a checked spec comes down to, shared by create, drift and their checks. */
#ifndef SBX_SANDBOX_SPEC_H
#define SBX_SANDBOX_SPEC_H

#include <sbx/image.h>
#include <sbx/spec.h>

/* A spec with the image's answers filled in. */
struct sbx_plan {
	const struct sbx_spec *spec; /* borrowed */
	char *name;
	char *workdir, *in_dir;
	struct sbx_output *outputs;
	size_t output_count;
	char *user; /* as Config.User will read: the spec's or the image's, "" if neither */
	char *image_id;
	char *config;	    /* the value of SBX_LABEL_CONFIG */
	bool without_shell; /* the image has none: the keep-alive is `sleep` itself */
	bool podman;	    /* the engine's: how it spells back what it was sent */
};
/* image may be NULL (it is not on the engine any more): the image's own WORKDIR, user and id are
 * then unknown and "" . Errors: as sbx_outputs_parse with the real work dir; a profile gone since
 * the check. */
int sbx_plan_make(const struct sbx_spec *spec, const struct sbx_image *image, struct sbx_plan *out,
	struct sbx_error *err);

void sbx_plan_finish(struct sbx_plan *plan);

/* The name it has or will have, malloc'd. */
char *sbx_spec_name(const struct sbx_spec *spec);

/* EPERM kind POLICY: a container is below what is asked, or below the host's floor. */
int sbx_isolation_check(const struct sbx_spec *spec, struct sbx_error *err);

/* The rules of policy.c, the first that fails. EPERM kind POLICY, EOPNOTSUPP, EINVAL. */
int sbx_policy_check(const struct sbx_spec *spec, struct sbx_error *err);

/* EILSEQ for what JSON cannot hold, which the engine would get as another text; what names it in
 * the sentence. NULL passes. The words end with NULL. */
int sbx_spec_utf8(const char *what, const char *text, struct sbx_error *err);
int sbx_spec_utf8_words(const char *what, const char *const *words, struct sbx_error *err);

/* "SYS_PTRACE" for "cap_sys_ptrace", "CAP_SYS_PTRACE", … malloc'd. */
char *sbx_capability_name(const char *text);

#endif
