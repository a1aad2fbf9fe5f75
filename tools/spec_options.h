/* spec_options.h: the options that create and run share, collected into a spec. */
#ifndef SBX_TOOLS_SPEC_OPTIONS_H
#define SBX_TOOLS_SPEC_OPTIONS_H

#include "tool.h"

#include <sbx/spec.h>

struct sbx_spec_options {
	struct sbx_spec spec;
	struct sbx_list outputs, env, cap_add, security_opt, labels, allow_hosts;
	struct sbx_pair *label_pairs;
	const char *min_isolation;
	int64_t pull_timeout_ms;
};

/* A number of rows that a command's own table must have room for, its terminator included. */
enum { SBX_SPEC_OPTION_ROWS = 25 };

void sbx_spec_options_init(struct sbx_spec_options *options);
/* Writes the shared rows to table and returns how many. */
size_t sbx_spec_options_rows(struct sbx_spec_options *options, struct sbx_option *table);
/* Moves what was parsed into the spec and checks it without an engine. */
int sbx_spec_options_take(struct sbx_spec_options *options, struct sbx_error *err);
void sbx_spec_options_finish(struct sbx_spec_options *options);

extern const char sbx_spec_options_help[];

#endif
