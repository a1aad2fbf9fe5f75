/* isolation.c: the ladder of MAF-05. A container is a container whatever the settings say. */
#include <sbx/spec.h>

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
