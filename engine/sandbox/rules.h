/* rules.h: the config file's rules as recognition sees them. */
#ifndef SBX_SANDBOX_RULES_H
#define SBX_SANDBOX_RULES_H

#include <sbx/sandbox.h>

/* What the matching rules give a container: for each field the first rule, in file order, that both
 * matches and has it. Borrowed from the rules. */
struct sbx_rule_match {
	bool matched;
	const char *workdir, *in_dir; /* NULL: no rule has it */
	const char *const *outputs;
	size_t output_count;
	bool has_outputs;
};
/* image: as the engine spells it; a glob matches with and without the registry that the engine put
 * before it (localhost/, docker.io/library/, docker.io/). rules may be NULL. */
struct sbx_rule_match sbx_rules_match(const struct sbx_rules *rules, const char *name,
	const char *image, const struct sbx_pair *labels, size_t label_count);

#endif
