/* spec_options.c: see spec_options.h. */
#include "spec_options.h"

#include "../engine/base/alloc.h"
#include "../engine/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char sbx_spec_options_help[] =
	"  --image IMG            a reference, an id, or name@sha256:…; pulled only if it is "
	"absent\n"
	"  --output P             a declared output, relative to the work dir; a trailing / "
	"declares a directory\n"
	"                         (patterns are names: declare a directory instead)\n"
	"  --workdir DIR          absolute; default: the image's WORKDIR below /, else /work\n"
	"  --in-dir DIR           where inputs go, relative to the work dir; default in\n"
	"  --user U[:G]           default: the image's\n"
	"  --env K=V              may be repeated\n"
	"  --memory 512m  --cpus 1  --pids-limit 512\n"
	"  --cap-add CAP          added to none\n"
	"  --security-opt OPT     seccomp=FILE, seccomp=unconfined, apparmor=PROFILE or label=…, "
	"added to\n"
	"                         no-new-privileges, which cannot be taken away\n"
	"  --scope S  --thread T  --agent A  --kind K\n"
	"                         whose it is: kept in its labels\n"
	"  --label K=V            a label of your own\n"
	"  --read-only            refused: no engine gives a writable work dir without a mount\n"
	"  --require-rootless, --require-userns, --require-digest-pin, --require-os posix\n"
	"                         refuse, before anything is made, where the engine or the image "
	"is not so\n"
	"  --min-isolation RUNG   none, runtime, os_process, container, hardened_container, "
	"microvm, vm; we are container\n"
	"  --pull-timeout SECONDS of the pull alone, default 600\n"
	"  --allow-host HOST      refused: sandboxes have no network\n";

void sbx_spec_options_init(struct sbx_spec_options *options)
{
	*options = (struct sbx_spec_options){ 0 };
	sbx_spec_init(&options->spec);
}

size_t sbx_spec_options_rows(struct sbx_spec_options *options, struct sbx_option *table)
{
	struct sbx_spec *spec = &options->spec;
	const struct sbx_option rows[] = {
		{ "scope", 0, SBX_OPTION_TEXT, &spec->scope },
		{ "thread", 0, SBX_OPTION_TEXT, &spec->thread },
		{ "agent", 0, SBX_OPTION_TEXT, &spec->agent },
		{ "kind", 0, SBX_OPTION_TEXT, &spec->kind },
		{ "image", 0, SBX_OPTION_TEXT, &spec->image },
		{ "output", 0, SBX_OPTION_LIST, &options->outputs },
		{ "workdir", 0, SBX_OPTION_TEXT, &spec->workdir },
		{ "in-dir", 0, SBX_OPTION_TEXT, &spec->in_dir },
		{ "user", 0, SBX_OPTION_TEXT, &spec->user },
		{ "env", 0, SBX_OPTION_LIST, &options->env },
		{ "memory", 0, SBX_OPTION_BYTES, &spec->memory_bytes },
		{ "cpus", 0, SBX_OPTION_CPUS, &spec->nano_cpus },
		{ "pids-limit", 0, SBX_OPTION_COUNT, &spec->pids_limit },
		{ "cap-add", 0, SBX_OPTION_LIST, &options->cap_add },
		{ "security-opt", 0, SBX_OPTION_LIST, &options->security_opt },
		{ "label", 0, SBX_OPTION_LIST, &options->labels },
		{ "read-only", 0, SBX_OPTION_FLAG, &spec->read_only },
		{ "require-rootless", 0, SBX_OPTION_FLAG, &spec->require_rootless },
		{ "require-userns", 0, SBX_OPTION_FLAG, &spec->require_userns },
		{ "require-digest-pin", 0, SBX_OPTION_FLAG, &spec->require_digest_pin },
		{ "require-os", 0, SBX_OPTION_TEXT, &spec->require_os },
		{ "min-isolation", 0, SBX_OPTION_TEXT, &options->min_isolation },
		{ "pull-timeout", 0, SBX_OPTION_MS, &spec->pull_timeout_ms },
		{ "allow-host", 0, SBX_OPTION_LIST, &options->allow_hosts },
	};
	_Static_assert(sizeof(rows) / sizeof(rows[0]) < SBX_SPEC_OPTION_ROWS,
		"the tables leave room for it");
	memcpy(table, rows, sizeof(rows));
	return sizeof(rows) / sizeof(rows[0]);
}

static int take_labels(struct sbx_spec_options *options, struct sbx_error *err)
{
	struct sbx_spec *spec = &options->spec;
	options->label_pairs =
		sbx_alloc_array(options->labels.count, sizeof(*options->label_pairs));
	for (size_t i = 0; i < options->labels.count; i++) {
		const char *text = options->labels.items[i];
		const char *equals = strchr(text, '=');
		if (!equals || equals == text)
			return sbx_fail(err, EINVAL, "--label wants KEY=VALUE, not '%s'", text);
		options->label_pairs[i].key = sbx_strndup(text, (size_t)(equals - text));
		options->label_pairs[i].value = sbx_strdup(equals + 1);
		spec->label_count = i + 1;
	}
	spec->labels = options->label_pairs;
	return 0;
}

/* A shell's pattern is a name here: a newcomer should learn that before nothing is found. */
static void hint_at_patterns(const struct sbx_list *outputs)
{
	for (size_t i = 0; i < outputs->count; i++) {
		const char *text = outputs->items[i];
		if (!text[strcspn(text, "*?[")])
			continue;
		cleanup_free char *escaped = sbx_text_escape(text);
		(void)fprintf(stderr,
			"note: --output '%s' is taken literally, not as a pattern; a whole "
			"directory is declared as DIR/\n",
			escaped); /* a courtesy */
	}
}

int sbx_spec_options_take(struct sbx_spec_options *options, struct sbx_error *err)
{
	struct sbx_spec *spec = &options->spec;
	spec->outputs = options->outputs.items;
	spec->output_count = options->outputs.count;
	spec->allow_hosts = options->allow_hosts.items;
	spec->allow_host_count = options->allow_hosts.count;
	spec->env = options->env.items;
	spec->env_count = options->env.count;
	spec->cap_add = options->cap_add.items;
	spec->cap_add_count = options->cap_add.count;
	spec->security_opts = options->security_opt.items;
	spec->security_opt_count = options->security_opt.count;
	int rc = take_labels(options, err);
	if (rc < 0)
		return rc;
	if (options->min_isolation) {
		rc = sbx_isolation_parse(options->min_isolation, &spec->min_isolation, err);
		if (rc < 0)
			return sbx_wrap(err, "--min-isolation");
	}
	rc = sbx_spec_check(spec, err);
	if (rc == 0)
		hint_at_patterns(&options->outputs);
	return rc;
}

void sbx_spec_options_finish(struct sbx_spec_options *options)
{
	sbx_list_finish(&options->outputs);
	sbx_list_finish(&options->env);
	sbx_list_finish(&options->cap_add);
	sbx_list_finish(&options->security_opt);
	sbx_list_finish(&options->labels);
	sbx_list_finish(&options->allow_hosts);
	for (size_t i = 0; i < options->spec.label_count; i++) {
		free(options->label_pairs[i].key);
		free(options->label_pairs[i].value);
	}
	free(options->label_pairs);
}
