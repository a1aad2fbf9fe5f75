/* isolation.c: the ladder of MAF-05. A container is a container whatever the settings say. */
#include "spec.h"

#include <errno.h>
#include <string.h>

int sbx_isolation_parse(const char *word, enum sbx_isolation *out, struct sbx_error *err)
{
	static const char *const rungs[] = { "none", "runtime", "os_process", "container",
		"hardened_container", "microvm", "vm" };
	for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
		if (strcmp(word, rungs[i]) == 0) {
			*out = (enum sbx_isolation)i;
			return 0;
		}
	}
	return sbx_fail(err, EINVAL,
		"isolation '%s' is not one of none, runtime, os_process, container, "
		"hardened_container, microvm, vm",
		word);
}

int sbx_isolation_check(const struct sbx_spec *spec, struct sbx_error *err)
{
	if (spec->min_isolation > SBX_ISOLATION_CONTAINER)
		return sbx_fail(err, EPERM,
			"--min-isolation: an engine's container is isolation 'container', which is "
			"below what is asked");
	if (spec->isolation_floor > SBX_ISOLATION_CONTAINER)
		return sbx_fail(err, EPERM,
			"min_isolation of the host's [policy]: an engine's container is isolation "
			"'container', which is below it, and no option lowers it");
	return 0;
}
