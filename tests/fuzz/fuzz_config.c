/*
 * fuzz_config.c: the config file as inih reads it: rules, then what they make of a container, and
 * the keys of [mount].
 */
#include "fs.h"
#include "fuzz.h"
#include "sandbox/rules.h"

#include <ini.h>

struct reading {
	struct sbx_rules *rules;
	struct sbx_fs_options options;
};

static int on_key(void *data, const char *section, const char *key, const char *value)
{
	struct reading *reading = data;
	struct sbx_error err = SBX_ERROR_INIT;
	int rc = strcmp(section, "mount") == 0
			 ? sbx_fs_option(&reading->options, key, value, &err)
			 : sbx_rules_set(reading->rules, section, key, value, &err);
	promise(rc == 0 || (err.message[0] && err.errnum == -rc));
	return 1;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	cleanup_free char *text = sbx_strndup((const char *)data, size);
	struct sbx_pair labels[] = { { (char *)"a", (char *)"b" },
		{ (char *)"empty", (char *)"" } };
	struct reading reading = { .rules = sbx_rules_create() };
	sbx_fs_options_init(&reading.options);
	(void)ini_parse_string(text, on_key, &reading); /* refuses lines; both is fine */
	struct sbx_rule_match match =
		sbx_rules_match(reading.rules, "name", "docker.io/library/image:1", labels, 2);
	promise(match.matched || (!match.workdir && !match.in_dir && !match.has_outputs));
	promise(!match.workdir || *match.workdir == '/');
	sbx_fs_options_finish(&reading.options);
	sbx_rules_destroy(reading.rules);
	return 0;
}
