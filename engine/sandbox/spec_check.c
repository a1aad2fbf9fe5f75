/*
 * spec_check.c: everything about a spec that can be refused without an engine. Each refusal names
 * the option and the rule, and comes before any request: nothing is created, nothing to clean up.
 */
#include "digest_pin.h"
#include "names.h"
#include "outputs.h"
#include "seccomp.h"
#include "spec.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define MEMORY_MIN (6LL << 20)	 /* what Docker refuses below */
#define NANO_CPUS_MIN 10000000LL /* 0.01 CPU */
#define LABEL_VALUE_MAX 4096

void sbx_spec_init(struct sbx_spec *spec)
{
	*spec = (struct sbx_spec){
		.memory_bytes = 512LL << 20,
		.nano_cpus = 1000000000,
		.pids_limit = 512,
		.min_isolation = SBX_ISOLATION_CONTAINER,
		.isolation_floor = SBX_ISOLATION_CONTAINER,
		.pull_timeout_ms = 600000,
	};
	spec->limits = sbx_limits_fill(&spec->limits);
}

int sbx_spec_utf8(const char *what, const char *text, struct sbx_error *err)
{
	if (text && !sbx_utf8_valid(text, strlen(text)))
		return sbx_fail(err, EILSEQ,
			"%s: the value is not valid UTF-8 and cannot be sent to an engine", what);
	return 0;
}

int sbx_spec_utf8_words(const char *what, const char *const *words, struct sbx_error *err)
{
	int rc = 0;
	for (; rc == 0 && words && *words; words++)
		rc = sbx_spec_utf8(what, *words, err);
	return rc;
}

static int check_names(const struct sbx_spec *spec, struct sbx_error *err)
{
	if (spec->name && sbx_sandbox_name_check(spec->name, err) < 0)
		return sbx_wrap(err, "--name");
	if (spec->call_id && !*spec->call_id)
		return sbx_fail(err, EINVAL, "the call id is empty");
	const struct {
		const char *option, *text;
	} rows[] = { { "--scope", spec->scope }, { "--thread", spec->thread },
		{ "--agent", spec->agent }, { "--kind", spec->kind },
		{ "call id", spec->call_id } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc = sbx_spec_utf8(rows[i].option, rows[i].text, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_image(const struct sbx_spec *spec, struct sbx_error *err)
{
	const char *image = spec->image;
	if (!image || !*image)
		return sbx_fail(err, EINVAL, "--image: no image is named");
	if (spec->require_digest_pin)
		return sbx_digest_pin_check(image, err);
	for (const char *c = image; *c; c++) {
		if (!isgraph((unsigned char)*c))
			return sbx_fail(err, EINVAL,
				"--image '%s' is not an image reference: it has a space, a control "
				"character or a byte that is not ASCII",
				image);
	}
	if (image[0] == '-' || strlen(image) > 1024)
		return sbx_fail(err, EINVAL, "--image '%.64s' is not an image reference", image);
	if (strchr(image, '@') && !sbx_digest_pinned(image))
		return sbx_fail(err, EINVAL,
			"--image '%s' has an '@' but not @sha256: and 64 lower-case hex digits",
			image);
	return 0;
}

/* A declaration is the caller's own words: what the path rule calls confined is a usage error here.
 */
static int mistyped(struct sbx_error *err, const char *option)
{
	if (err)
		err->kind = SBX_KIND_USAGE;
	return sbx_wrap(err, "%s", option);
}

static int check_declaration(const struct sbx_spec *spec, struct sbx_error *err)
{
	cleanup_free char *workdir = NULL, *in_dir = NULL;
	if (sbx_workdir_parse(spec->workdir ? spec->workdir : SBX_WORKDIR_DEFAULT, &workdir, err) <
		0)
		return mistyped(err, "--workdir");
	if (sbx_in_dir_parse(spec->in_dir ? spec->in_dir : SBX_IN_DEFAULT, &in_dir, err) < 0)
		return mistyped(err, "--in");
	struct sbx_output *outputs = NULL;
	size_t count = 0;
	int rc = sbx_outputs_parse(
		workdir, in_dir, spec->outputs, spec->output_count, &outputs, &count, err);
	sbx_outputs_free(outputs, count);
	return rc < 0 ? mistyped(err, "--output") : 0;
}

static bool user_part(const char *text, size_t length)
{
	return length > 0 && length <= 64 && text[0] != '-' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "_.-") >= length;
}

/* USER, UID, USER:GROUP, UID:GID, :GROUP. */
static int check_user(const char *user, struct sbx_error *err)
{
	if (!user)
		return 0;
	size_t length = strcspn(user, ":");
	bool named = length == 0 ? user[0] == ':' : user_part(user, length);
	bool grouped =
		user[length] == '\0' || user_part(user + length + 1, strlen(user + length + 1));
	if (!named || !grouped)
		return sbx_fail(err, EINVAL,
			"--user '%s' is not USER, UID, USER:GROUP, UID:GID or :GROUP", user);
	return 0;
}

static int check_env(const struct sbx_spec *spec, struct sbx_error *err)
{
	for (size_t i = 0; i < spec->env_count; i++) {
		const char *entry = spec->env[i];
		if (!strchr(entry, '=') || entry[0] == '=')
			return sbx_fail(err, EINVAL,
				"--env '%s' is not KEY=VALUE; nothing is taken from our own "
				"environment",
				entry);
		int rc = sbx_spec_utf8("--env", entry, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int check_argv(const struct sbx_spec *spec, struct sbx_error *err)
{
	if (!spec->argv)
		return 0;
	if (!spec->argv[0] || !*spec->argv[0])
		return sbx_fail(err, EINVAL, "the command is empty");
	return sbx_spec_utf8_words("the command", spec->argv, err);
}

static int check_labels(const struct sbx_spec *spec, struct sbx_error *err)
{
	for (size_t i = 0; i < spec->label_count; i++) {
		const char *key = spec->labels[i].key, *value = spec->labels[i].value;
		size_t length = strlen(key);
		if (!length || length > 128 ||
			strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._/-") != length)
			return sbx_fail(err, EINVAL,
				"--label '%.128s': a key is 1 to 128 of letters, digits, '.', '_', "
				"'/' and '-'",
				key);
		if (strlen(value) > LABEL_VALUE_MAX)
			return sbx_fail(err, EINVAL, "--label '%s': the value is over %d bytes",
				key, LABEL_VALUE_MAX);
		int rc = sbx_spec_utf8("--label", value, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

char *sbx_capability_name(const char *text)
{
	char *name = sbx_strdup(strncasecmp(text, "CAP_", 4) == 0 ? text + 4 : text);
	for (char *c = name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return name;
}

/* Of two of these Docker lets the last win, and what is told and compared knows no order. */
static int check_once(const struct sbx_spec *spec, const char *prefix, struct sbx_error *err)
{
	size_t count = 0;
	for (size_t i = 0; i < spec->security_opt_count; i++)
		count += strncmp(spec->security_opts[i], prefix, strlen(prefix)) == 0;
	if (count > 1)
		return sbx_fail(err, EINVAL,
			"--security-opt %s is given %zu times: only one of them could hold", prefix,
			count);
	return 0;
}

static int check_hardening(const struct sbx_spec *spec, struct sbx_error *err)
{
	for (size_t i = 0; i < spec->cap_add_count; i++) {
		cleanup_free char *name = sbx_capability_name(spec->cap_add[i]);
		if (!*name || name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")])
			return sbx_fail(err, EINVAL, "--cap-add '%s' is not a capability's name",
				spec->cap_add[i]);
		if (strcmp(name, "ALL") == 0)
			return sbx_fail(err, EPERM,
				"--cap-add ALL: capabilities are added one by one, by name");
	}
	for (size_t i = 0; i < spec->security_opt_count; i++) {
		int rc = sbx_spec_utf8("--security-opt", spec->security_opts[i], err);
		if (rc == 0)
			rc = sbx_security_opt_check(spec->security_opts[i], err);
		if (rc < 0)
			return rc;
	}
	int once = check_once(spec, "seccomp=", err);
	if (once == 0)
		once = check_once(spec, "apparmor=", err);
	return once;
}

static int check_limits(const struct sbx_spec *spec, struct sbx_error *err)
{
	if (spec->memory_bytes < MEMORY_MIN)
		return sbx_fail(err, EINVAL, "--memory %lld: at least 6m (%lld bytes) is needed",
			(long long)spec->memory_bytes, MEMORY_MIN);
	if (spec->nano_cpus < NANO_CPUS_MIN)
		return sbx_fail(err, EINVAL, "--cpus: at least 0.01 is needed");
	if (spec->pids_limit <= 0)
		return sbx_fail(err, EINVAL, "--pids-limit %lld: at least 1 is needed",
			(long long)spec->pids_limit);
	if (spec->pull_timeout_ms <= 0)
		return sbx_fail(err, EINVAL, "the pull timeout is not above zero");
	return 0;
}

int sbx_spec_check(const struct sbx_spec *spec, struct sbx_error *err)
{
	static int (*const checks[])(const struct sbx_spec *, struct sbx_error *) = { check_names,
		check_image, check_declaration, check_env, check_argv, check_labels,
		check_hardening, check_limits };
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local; /* a wrap needs one */
	int rc = sbx_policy_check(spec, err);
	if (rc == 0)
		rc = check_user(spec->user, err);
	for (size_t i = 0; rc == 0 && i < sizeof(checks) / sizeof(checks[0]); i++)
		rc = checks[i](spec, err);
	return rc;
}
