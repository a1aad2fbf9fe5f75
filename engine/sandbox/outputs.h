/* outputs.h: the rules that work dirs and in dirs share with declared outputs. */
#ifndef SBX_SANDBOX_OUTPUTS_H
#define SBX_SANDBOX_OUTPUTS_H

#include <sbx/sandbox.h>

/* What a work dir is where neither a label nor an image names one. */
#define SBX_WORKDIR_DEFAULT "/work"
#define SBX_WORKDIR_MAF "/maf-sandbox/work"
#define SBX_IN_DEFAULT "in"

/* Absolute, below "/", no empty, "." or ".." part, not in a kernel file system, a trailing slash
 * is cut. out: malloc'd normal form. EINVAL, ENAMETOOLONG, EILSEQ. */
int sbx_workdir_parse(const char *text, char **out, struct sbx_error *err);
/* As a guest path; one trailing slash is cut. out: malloc'd. */
int sbx_in_dir_parse(const char *text, char **out, struct sbx_error *err);

#endif
