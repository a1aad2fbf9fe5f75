/* config.c: the config file, read with inih: [engine] url=, insecure=, [mount] keys as mount
 * options, [limits], [policy], [rule NAME]. See tool.h. */
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/text.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

struct reading {
	struct sbx_tool *tool;
	struct sbx_error *err;
	FILE *file;
	int line;
	bool failed;
	int failed_line; /* the first; inih goes on after it */
};

static int unknown(struct reading *reading, const char *section, const char *key)
{
	reading->failed = true;
	sbx_fail(reading->err, EINVAL, "unknown key '%s' in section [%s]", key, section);
	return 0;
}

static int64_t *ceiling_of(struct sbx_ceilings *ceilings, const char *word)
{
	return strcmp(word, "max_file") == 0	? &ceilings->max_file_bytes
	       : strcmp(word, "max_total") == 0 ? &ceilings->max_total_bytes
	       : strcmp(word, "max_files") == 0 ? &ceilings->max_files
						: NULL;
}

/* [limits]: max_file, max_total and max_files of both directions, in_max_file and so on of one. */
static int on_limit(struct reading *reading, const char *key, const char *value)
{
	struct sbx_limits *limits = &reading->tool->limits;
	bool in_only = sbx_text_has_prefix(key, "in_"), out_only = sbx_text_has_prefix(key, "out_");
	const char *word = in_only || out_only ? strchr(key, '_') + 1 : key;
	int64_t *in = ceiling_of(&limits->in, word), *out = ceiling_of(&limits->out, word);
	if (!in)
		return unknown(reading, "limits", key);
	long long number = 0;
	bool count = in == &limits->in.max_files;
	bool good = count ? sbx_text_to_int64(value, &number) : sbx_text_to_bytes(value, &number);
	if (!good || number <= 0) {
		reading->failed = true;
		sbx_fail(reading->err, EINVAL, "[limits] %s wants %s above zero, not '%s'", key,
			count ? "a number" : "a size such as 512m", value);
		return 0;
	}
	if (!out_only)
		*in = number;
	if (!in_only)
		*out = number;
	return 1;
}

/* [policy]: what every sandbox of this host must be. */
static int on_policy(struct reading *reading, const char *key, const char *value)
{
	if (strcmp(key, "min_isolation") != 0)
		return unknown(reading, "policy", key);
	if (sbx_isolation_parse(value, &reading->tool->isolation_floor, reading->err) == 0)
		return 1;
	(void)sbx_wrap(
		reading->err, "[policy] min_isolation"); /* -errno, which the flag stands for */
	reading->failed = true;
	return 0;
}

static int on_insecure(struct reading *reading, const char *value)
{
	bool yes = strcmp(value, "yes") == 0;
	reading->tool->insecure |= yes;
	if (yes || strcmp(value, "no") == 0)
		return 1;
	reading->failed = true;
	sbx_fail(reading->err, EINVAL, "[engine] insecure wants yes or no, not '%s'", value);
	return 0;
}

/* inih's fgets: it would cut a line at what it has room for, and take the rest for another one, a
 * comment's tail for a key. A comment is not its to see. */
static char *next_line(char *out, int room, void *stream)
{
	struct reading *reading = stream;
	cleanup_free char *line = NULL;
	size_t allocated = 0;
	ssize_t size = reading->failed ? -1 : getline(&line, &allocated, reading->file);
	if (size < 0)
		return NULL;
	reading->line++;
	const char *first = line + strspn(line, " \t");
	if (*first == ';' || *first == '#')
		(void)snprintf(line, (size_t)size + 1, "\n"); /* a line has a byte at least */
	else if (size >= room || memchr(line, '\0', (size_t)size)) {
		reading->failed = true;
		reading->failed_line = reading->line;
		(void)(size >= room ? sbx_fail(reading->err, EINVAL,
					      "the line has %zd bytes, at most %d can be read",
					      size, room - 1)
				    : sbx_fail(reading->err, EINVAL, "the line has a NUL byte"));
		return NULL;
	}
	(void)snprintf(out, (size_t)room, "%s", line); /* was just measured */
	return out;
}

static int take_key(
	struct reading *reading, const char *section, const char *key, const char *value)
{
	struct sbx_tool *tool = reading->tool;
	if (strncmp(section, "rule", 4) == 0) {
		if (sbx_rules_set(tool->rules, section, key, value, reading->err) == 0)
			return 1;
		reading->failed = true;
		return 0;
	}
	if (strcmp(section, "engine") == 0) {
		if (strcmp(key, "insecure") == 0)
			return on_insecure(reading, value);
		if (strcmp(key, "url") != 0)
			return unknown(reading, section, key);
		free(tool->config_engine);
		tool->config_engine = sbx_strdup(value);
		return 1;
	}
	if (strcmp(section, "limits") == 0)
		return on_limit(reading, key, value);
	if (strcmp(section, "policy") == 0)
		return on_policy(reading, key, value);
	if (strcmp(section, "mount") == 0) {
		tool->mount_keys = sbx_realloc_array(
			tool->mount_keys, tool->mount_key_count + 1, sizeof(*tool->mount_keys));
		tool->mount_keys[tool->mount_key_count++] =
			(struct sbx_pair){ sbx_strdup(key), sbx_strdup(value) };
		return 1;
	}
	return unknown(reading, section, key);
}

/* inih's contract: 1 goes on, 0 is an error on this line. */
static int on_key(void *user, const char *section, const char *key, const char *value)
{
	struct reading *reading = user;
	if (!reading->failed && !take_key(reading, section, key, value))
		reading->failed_line = reading->line;
	return !reading->failed;
}

static char *usual_place(void)
{
	const char *base = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	if (base && *base == '/')
		return sbx_printf("%s/sbxfs/config.ini", base);
	return home && *home == '/' ? sbx_printf("%s/.config/sbxfs/config.ini", home) : NULL;
}

int sbx_tool_read_config(struct sbx_tool *tool, struct sbx_error *err)
{
	cleanup_free char *usual = tool->config_path ? NULL : usual_place();
	const char *path = tool->config_path ? tool->config_path : usual;
	tool->rules = sbx_rules_create();
	if (!path)
		return 0;
	FILE *file = fopen(path, "re");
	if (!file) {
		if (errno == ENOENT && usual)
			return 0;
		int rc = errno;
		(void)sbx_fail_errno(err, rc, "config file %s", path);
		err->kind = SBX_KIND_USAGE;
		return -rc;
	}
	struct sbx_error local = SBX_ERROR_INIT;
	struct reading reading = { .tool = tool, .err = err ? err : &local, .file = file };
	int line = ini_parse_stream(next_line, &reading, on_key, &reading);
	bool unread = ferror(file);
	(void)fclose(file); /* only read from */
	if (unread)
		return sbx_fail_kind(
			err, SBX_KIND_USAGE, EIO, "config file %s cannot be read", path);
	/* The first of them: inih's own refusal of a line, or ours. */
	if (reading.failed && (!line || reading.failed_line <= line))
		return sbx_wrap(reading.err, "config file %s, line %d", path, reading.failed_line);
	if (!line)
		return 0;
	return sbx_fail(err, EINVAL, "config file %s, line %d: neither [section] nor key=value",
		path, line);
}
