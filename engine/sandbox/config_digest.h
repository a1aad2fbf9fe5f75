/*
 * config_digest.h: the label by which a later acquire knows what a sandbox was asked to be.
 *
 * "user=HEX env=HEX argv=HEX labels=HEX caps=HEX security=HEX": one digest for each part that
 * engines print back in spellings of their own, so that a difference can be named and never depends
 * on the spelling. What engines print back exactly is compared itself (drift.c).
 */
#ifndef SBX_SANDBOX_CONFIG_DIGEST_H
#define SBX_SANDBOX_CONFIG_DIGEST_H

#include <sbx/spec.h>

/* malloc'd in *out. Fails only where a seccomp profile cannot be read any more. */
int sbx_config_digest(const struct sbx_spec *spec, char **out, struct sbx_error *err);
/* The options of the parts that differ, joined by ", ", malloc'd; NULL when none does. */
char *sbx_config_difference(const char *asked, const char *labelled);

#endif
