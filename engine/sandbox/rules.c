/*
 * rules.c: rules of the config file that make somebody else's container a sandbox, or give a
 * labelled one what its labels do not say.
 *
 * A rule matches when every condition it has matches; a rule without a condition matches nothing,
 * so that a half-written section cannot open the whole engine to the mount.
 */
#include "rules.h"

#include "labels.h"
#include "outputs.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#define SECTION_PREFIX "rule "

struct rule {
	char *section;
	char *name, *image;  /* globs, or NULL */
	char *label, *value; /* key, and a glob for its value or NULL */
	char *workdir, *in_dir;
	char **outputs;
	size_t output_count;
};

struct sbx_rules {
	struct rule *rows;
	size_t count;
};

struct sbx_rules *sbx_rules_create(void)
{
	return sbx_alloc(sizeof(struct sbx_rules));
}

void sbx_rules_destroy(struct sbx_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->count; i++) {
		struct rule *rule = &rules->rows[i];
		free(rule->section);
		free(rule->name);
		free(rule->image);
		free(rule->label);
		free(rule->value);
		free(rule->workdir);
		free(rule->in_dir);
		sbx_texts_free(rule->outputs, rule->output_count);
	}
	free(rules->rows);
	free(rules);
}

static struct rule *rule_of(struct sbx_rules *rules, const char *section)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (strcmp(rules->rows[i].section, section) == 0)
			return &rules->rows[i];
	}
	rules->rows = sbx_realloc_array(rules->rows, rules->count + 1, sizeof(*rules->rows));
	struct rule *rule = &rules->rows[rules->count++];
	*rule = (struct rule){ .section = sbx_strdup(section) };
	return rule;
}

static int set_once(char **field, char *value, struct sbx_error *err)
{
	if (*field) {
		free(value);
		return sbx_fail(err, EINVAL, "it is given twice");
	}
	*field = value;
	return 0;
}

static int set_label(struct rule *rule, const char *text, struct sbx_error *err)
{
	size_t length = strcspn(text, "=");
	if (!length)
		return sbx_fail(err, EINVAL, "'%s' has no label key", text);
	if (text[length] == '=')
		rule->value = sbx_strdup(text + length + 1);
	return set_once(&rule->label, sbx_strndup(text, length), err);
}

/* Checked together only once the work dir is known (recognise.c), each by itself already here. */
static int add_outputs(struct rule *rule, const char *list, struct sbx_error *err)
{
	for (const char *text = list;; text++) {
		text += strspn(text, " \t");
		size_t length = strcspn(text, ",");
		const char *end = text + length;
		while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
			length--;
		char *output = sbx_strndup(text, length);
		rule->outputs = sbx_realloc_array(
			rule->outputs, rule->output_count + 1, sizeof(*rule->outputs));
		rule->outputs[rule->output_count++] = output;
		text = end;
		if (!*text)
			break;
	}
	struct sbx_output *parsed = NULL;
	size_t count = 0;
	int rc = sbx_outputs_parse(SBX_WORKDIR_DEFAULT, NULL, (const char *const *)rule->outputs,
		rule->output_count, &parsed, &count, err);
	sbx_outputs_free(parsed, count);
	return rc;
}

static int set_key(struct rule *rule, const char *key, const char *value, struct sbx_error *err)
{
	char *parsed = NULL;
	int rc;
	if (strcmp(key, "name") == 0 || strcmp(key, "image") == 0) {
		if (!*value)
			return sbx_fail(err, EINVAL, "it is empty and matches nothing");
		return set_once(key[0] == 'n' ? &rule->name : &rule->image, sbx_strdup(value), err);
	}
	if (strcmp(key, "label") == 0) {
		if (rule->label)
			return sbx_fail(err, EINVAL, "it is given twice");
		return set_label(rule, value, err);
	}
	if (strcmp(key, "workdir") == 0) {
		rc = sbx_workdir_parse(value, &parsed, err);
		return rc < 0 ? rc : set_once(&rule->workdir, parsed, err);
	}
	if (strcmp(key, "in") == 0) {
		rc = sbx_in_dir_parse(value, &parsed, err);
		return rc < 0 ? rc : set_once(&rule->in_dir, parsed, err);
	}
	if (strcmp(key, "outputs") == 0)
		return add_outputs(rule, value, err);
	return sbx_fail(
		err, EINVAL, "there is no such key: name, image, label, workdir, outputs or in");
}

int sbx_rules_set(struct sbx_rules *rules, const char *section, const char *key, const char *value,
	struct sbx_error *err)
{
	if (!sbx_text_has_prefix(section, SECTION_PREFIX) || !section[strlen(SECTION_PREFIX)])
		return sbx_fail(err, EINVAL, "section [%s] is not a [rule NAME]", section);
	struct sbx_error reason = SBX_ERROR_INIT;
	if (set_key(rule_of(rules, section), key, value, &reason) < 0)
		return sbx_fail(err, EINVAL, "[%s] %s: %s", section, key, reason.message);
	return 0;
}

static bool glob(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

static bool image_matches(const char *pattern, const char *image)
{
	static const char *const registries[] = { "localhost/", "docker.io/library/",
		"docker.io/" };
	if (glob(pattern, image))
		return true;
	for (size_t i = 0; i < sizeof(registries) / sizeof(registries[0]); i++) {
		if (sbx_text_has_prefix(image, registries[i]) &&
			glob(pattern, image + strlen(registries[i])))
			return true;
	}
	return false;
}

static bool label_matches(
	const struct rule *rule, const struct sbx_pair *labels, size_t label_count)
{
	const char *value = sbx_labels_get(labels, label_count, rule->label);
	return value && (!rule->value || glob(rule->value, value));
}

struct sbx_rule_match sbx_rules_match(const struct sbx_rules *rules, const char *name,
	const char *image, const struct sbx_pair *labels, size_t label_count)
{
	struct sbx_rule_match match = { 0 };
	for (size_t i = 0; rules && i < rules->count; i++) {
		const struct rule *rule = &rules->rows[i];
		if (!rule->name && !rule->image && !rule->label)
			continue;
		if ((rule->name && !glob(rule->name, name)) ||
			(rule->image && !image_matches(rule->image, image)) ||
			(rule->label && !label_matches(rule, labels, label_count)))
			continue;
		match.matched = true;
		if (!match.workdir)
			match.workdir = rule->workdir;
		if (!match.in_dir)
			match.in_dir = rule->in_dir;
		if (!match.has_outputs && rule->output_count) {
			match.has_outputs = true;
			match.outputs = (const char *const *)rule->outputs;
			match.output_count = rule->output_count;
		}
	}
	return match;
}
