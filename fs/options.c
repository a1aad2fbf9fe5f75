/*
 * options.c: the mount's options by name, for -o, the config file and the command line alike.
 *
 * An option that we do not know is refused: a misspelt ceiling must not pass silently. Options that
 * mount(8), fstab and desktops put beside ours are accepted and dropped, since libfuse would refuse
 * the mount for them (fuse-guide §7).
 */
#include "fs.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* By enum sbx_freeze. */
static const char *const freeze_words[] = { "always", "reads", "never" };

void sbx_fs_options_init(struct sbx_fs_options *options)
{
	struct sbx_plane_limits limits;
	sbx_plane_limits_default(&limits);
	*options = (struct sbx_fs_options){
		.freeze = limits.freeze,
		.uid = getuid(),
		.gid = getgid(),
		.attr_timeout_ms = INT64_C(3600) * 1000,
		.entry_timeout_ms = 1000,
		.cache_budget = 1 << 30,
		.max_file_bytes = limits.max_file_bytes,
		.max_in_bytes = limits.max_in_bytes,
		.max_frozen_bytes = limits.max_frozen_bytes,
		.linger_ms = limits.linger_ms,
		.max_hold_ms = limits.max_hold_ms,
		.duty_percent = limits.max_duty_percent,
		.deadline_ms = INT64_C(60) * 1000,
		.log_level = SBX_LOG_INFO,
	};
}

void sbx_fs_options_finish(struct sbx_fs_options *options)
{
	free(options->mountpoint);
	free(options->engine_choice);
	free(options->config_path);
	free(options->cache_dir);
	free(options->staging_dir);
	free(options->temporary_names);
	sbx_rules_destroy(options->rules);
	memset(options, 0, sizeof(*options));
}

static int bad(struct sbx_error *err, const char *key, const char *value, const char *expected)
{
	return sbx_fail_kind(err, SBX_KIND_USAGE, EINVAL, "option %s=%s: expected %s", key,
		value ? value : "", expected);
}

static int set_text(char **field, const char *key, const char *value, struct sbx_error *err)
{
	if (!value || !*value)
		return bad(err, key, value, "a value");
	free(*field);
	*field = sbx_strdup(value);
	return 0;
}

/* The kernel resolves nothing for us once we run behind, in "/". */
static int set_path(char **field, const char *key, const char *value, struct sbx_error *err)
{
	if (!value || value[0] != '/')
		return bad(err, key, value, "an absolute path");
	return set_text(field, key, value, err);
}

static int set_bytes(int64_t *field, const char *key, const char *value, struct sbx_error *err)
{
	long long bytes;
	if (!value || !sbx_text_to_bytes(value, &bytes))
		return bad(err, key, value, "bytes, as 65536, 64k, 512m or 10g");
	*field = bytes;
	return 0;
}

/* Nothing, as a limit, could be taken for no limit. */
static int set_some_bytes(int64_t *field, const char *key, const char *value, struct sbx_error *err)
{
	int64_t bytes = 0;
	int rc = set_bytes(&bytes, key, value, err);
	if (!rc && !bytes)
		return bad(err, key, value, "more than no bytes");
	*field = rc ? *field : bytes;
	return rc;
}

static int set_count(
	unsigned *field, const char *key, const char *value, unsigned max, struct sbx_error *err)
{
	long long number;
	if (!value || !sbx_text_to_int64(value, &number) || number > max)
		return bad(err, key, value, "a whole number in range");
	*field = (unsigned)number;
	return 0;
}

/* Seconds as FUSE options give them ("1", "0.5", "60s"), kept as milliseconds. */
static int set_timeout(int64_t *field, const char *key, const char *value, struct sbx_error *err)
{
	static const char expected[] = "seconds, as 1, 0.5, 30s or 5m";
	long long seconds, part;
	if (!value)
		return bad(err, key, value, expected);
	const char *dot = strchr(value, '.');
	if (!dot) {
		if (!sbx_text_to_seconds(value, &seconds) || seconds > INT_MAX)
			return bad(err, key, value, expected);
		*field = seconds * 1000;
		return 0;
	}
	cleanup_free char *whole = sbx_strndup(value, (size_t)(dot - value));
	size_t digits = strlen(dot + 1);
	if (!sbx_text_to_int64(whole, &seconds) || seconds > INT_MAX || digits > 3 ||
		!sbx_text_to_int64(dot + 1, &part))
		return bad(err, key, value, expected);
	for (size_t i = digits; i < 3; i++)
		part *= 10;
	*field = seconds * 1000 + part;
	return 0;
}

static int set_id(unsigned *field, const char *key, const char *value, struct sbx_error *err)
{
	return set_count(field, key, value, UINT_MAX - 1, err);
}

static int set_umask(mode_t *field, const char *key, const char *value, struct sbx_error *err)
{
	char *end = NULL;
	if (!value || value[0] < '0' || value[0] > '7')
		return bad(err, key, value, "octal digits, as 022");
	unsigned long bits = strtoul(value, &end, 8);
	if (*end || bits > 0777)
		return bad(err, key, value, "octal digits, as 022");
	*field = (mode_t)bits;
	return 0;
}

static int set_freeze(
	enum sbx_freeze *field, const char *key, const char *value, struct sbx_error *err)
{
	for (size_t i = 0; value && i < sizeof(freeze_words) / sizeof(freeze_words[0]); i++) {
		if (strcmp(value, freeze_words[i]) == 0) {
			*field = (enum sbx_freeze)i;
			return 0;
		}
	}
	return bad(err, key, value, "always, reads or never");
}

static int set_state(
	struct sbx_fs_options *options, const char *key, const char *value, struct sbx_error *err)
{
	static const enum sbx_state states[] = { SBX_STATE_CREATED, SBX_STATE_RUNNING,
		SBX_STATE_PAUSED, SBX_STATE_EXITED };
	for (size_t i = 0; value && i < sizeof(states) / sizeof(states[0]); i++) {
		if (strcmp(value, sbx_state_name(states[i])) == 0) {
			options->state = states[i];
			options->state_set = true;
			return 0;
		}
	}
	if (value && strcmp(value, "all") == 0) {
		options->state_set = false;
		return 0;
	}
	return bad(err, key, value, "created, running, paused, exited or all");
}

static int set_log_level(int *field, const char *key, const char *value, struct sbx_error *err)
{
	static const char *const words[] = { "error", "warning", "info", "debug" };
	for (size_t i = 0; value && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i]) == 0) {
			*field = (int)i;
			return 0;
		}
	}
	return bad(err, key, value, "error, warning, info or debug");
}

static int set_switch(bool *field, const char *key, const char *value, struct sbx_error *err)
{
	if (!value || strcmp(value, "true") == 0 || strcmp(value, "yes") == 0) {
		*field = true;
		return 0;
	}
	if (strcmp(value, "false") == 0 || strcmp(value, "no") == 0) {
		*field = false;
		return 0;
	}
	return bad(err, key, value, "nothing, yes or no");
}

/* What others write beside our options. "ro" is not among them: in/ is there to be written. */
static bool dropped(const char *key)
{
	static const char *const words[] = { "rw", "nosuid", "nodev", "noexec", "noatime", "auto",
		"noauto", "user", "nouser", "users", "nousers", "owner", "group", "_netdev",
		"nofail", "comment", "defaults", "default_permissions", "subtype", "fsname", "dev",
		"suid", "exec", "atime", "diratime", "nodiratime", "relatime", "norelatime",
		"strictatime", "sync", "dirsync", "iversion", "noiversion", "mand", "nomand",
		"silent", "loud", "lazytime", "nolazytime" };
	if (sbx_text_has_prefix(key, "x-") || sbx_text_has_prefix(key, "X-"))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(key, words[i]) == 0)
			return true;
	return false;
}

int sbx_fs_option(
	struct sbx_fs_options *options, const char *key, const char *value, struct sbx_error *err)
{
#define IS(word) (strcmp(key, word) == 0)
	if (IS("engine"))
		return set_text(&options->engine_choice, key, value, err);
	if (IS("insecure"))
		return set_switch(&options->insecure, key, value, err);
	if (IS("freeze"))
		return set_freeze(&options->freeze, key, value, err);
	if (IS("state"))
		return set_state(options, key, value, err);
	if (IS("uid"))
		return set_id(&options->uid, key, value, err);
	if (IS("gid"))
		return set_id(&options->gid, key, value, err);
	if (IS("umask"))
		return set_umask(&options->umask, key, value, err);
	if (IS("allow_other"))
		return set_switch(&options->allow_other, key, value, err);
	if (IS("attr_timeout"))
		return set_timeout(&options->attr_timeout_ms, key, value, err);
	if (IS("entry_timeout"))
		return set_timeout(&options->entry_timeout_ms, key, value, err);
	if (IS("deadline"))
		return set_timeout(&options->deadline_ms, key, value, err);
	if (IS("cache_dir"))
		return set_path(&options->cache_dir, key, value, err);
	if (IS("cache_budget"))
		return set_bytes(&options->cache_budget, key, value, err);
	if (IS("max_file_bytes"))
		return set_bytes(&options->max_file_bytes, key, value, err);
	if (IS("max_in_bytes"))
		return set_some_bytes(&options->max_in_bytes, key, value, err);
	if (IS("max_frozen_bytes"))
		return set_bytes(&options->max_frozen_bytes, key, value, err);
	if (IS("linger_ms"))
		return set_count(&options->linger_ms, key, value, 60000, err);
	if (IS("max_hold_ms"))
		return set_count(&options->max_hold_ms, key, value, 60000, err);
	if (IS("duty"))
		return set_count(&options->duty_percent, key, value, 100, err);
	if (IS("async"))
		return set_switch(&options->async, key, value, err);
	if (IS("staging_dir"))
		return set_path(&options->staging_dir, key, value, err);
	if (IS("temporary_names"))
		return set_text(&options->temporary_names, key, value, err);
	if (IS("log_level"))
		return set_log_level(&options->log_level, key, value, err);
#undef IS
	if (dropped(key))
		return 0;
	if (strcmp(key, "ro") == 0)
		return sbx_fail_kind(err, SBX_KIND_USAGE, EINVAL,
			"the mount option ro cannot be had: in/ is for writing, and outputs are "
			"read-only anyway");
	return sbx_fail_kind(err, SBX_KIND_USAGE, EINVAL, "unknown mount option %s", key);
}

int sbx_fs_option_list(struct sbx_fs_options *options, const char *text, struct sbx_error *err)
{
	cleanup_free char *word = sbx_alloc(strlen(text) + 1);
	while (*text) {
		size_t length = 0;
		for (; *text && *text != ','; text++) {
			if (text[0] == '\\' && (text[1] == ',' || text[1] == '\\'))
				text++;
			word[length++] = *text;
		}
		word[length] = '\0';
		if (*text == ',')
			text++;
		if (!length)
			continue;
		char *value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		int rc = sbx_fs_option(options, word, value, err);
		if (rc)
			return rc;
	}
	return 0;
}

const char *sbx_fs_freeze_name(enum sbx_freeze freeze)
{
	return freeze_words[freeze];
}

#define MOVED_UNPAUSED                                                                             \
	"files over max_frozen_bytes are moved unpaused and checked again after the last byte: a " \
	"change that restores size and time goes unseen"
#define SENT_UNPAUSED                                                                              \
	"uploads are not paused for: a directory can be swapped for a link while one lands"

const char *sbx_fs_residual(const struct sbx_fs_options *options)
{
	bool sent = options->freeze == SBX_FREEZE_READS;
	if (options->freeze == SBX_FREEZE_NEVER)
		return "nothing is paused: a path can be swapped between its check and its use, "
		       "and a file that is written while it is read can be a mixture";
	if (options->max_frozen_bytes)
		return sent ? MOVED_UNPAUSED "; " SENT_UNPAUSED : MOVED_UNPAUSED;
	return sent ? SENT_UNPAUSED : "nothing that is known while the processes are paused";
}
