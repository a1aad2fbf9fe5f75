/*
 * policy.c: what is refused whoever asks and however well it is put, in a fixed order, so that a
 * caller who is refused twice is told of the weightier rule first (MAF-15): isolation, what we
 * cannot do, the guest's OS family, the ceilings of transfers, egress.
 */
#include "spec.h"

#include <errno.h>
#include <string.h>

static int check_capabilities(const struct sbx_spec *spec, struct sbx_error *err)
{
	if (!spec->read_only)
		return 0;
	return sbx_fail(err, EOPNOTSUPP,
		"--read-only: no engine gives a read-only root a writable work dir without a "
		"mount, "
		"and a sandbox has no mounts");
}

/* Whether the engine's is of that family is asked later (admit.c). */
static int check_os(const struct sbx_spec *spec, struct sbx_error *err)
{
	if (!spec->require_os || strcmp(spec->require_os, "posix") == 0)
		return 0;
	return sbx_fail(err, EINVAL, "--require-os knows posix only, not '%s'", spec->require_os);
}

static int check_ceilings(const struct sbx_spec *spec, struct sbx_error *err)
{
	struct sbx_ceilings held;
	int rc = sbx_ceilings_ask("in", &spec->asked, &spec->limits.in, &held, err);
	return rc < 0 ? rc : sbx_ceilings_ask("out", &spec->asked, &spec->limits.out, &held, err);
}

static int check_egress(const struct sbx_spec *spec, struct sbx_error *err)
{
	if (!spec->allow_host_count)
		return 0;
	return sbx_fail(err, EOPNOTSUPP,
		"--allow-host is not served yet: sandboxes have no network at all, use none of it");
}

int sbx_policy_check(const struct sbx_spec *spec, struct sbx_error *err)
{
	static int (*const checks[])(const struct sbx_spec *, struct sbx_error *) = {
		sbx_isolation_check, check_capabilities, check_os, check_ceilings, check_egress
	};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sizeof(checks) / sizeof(checks[0]); i++)
		rc = checks[i](spec, err);
	return rc;
}
