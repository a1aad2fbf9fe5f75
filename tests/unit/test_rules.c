/* test_rules.c: the config file's rules: what matches, what is refused, which one gives what. */
#include "sandbox/rules.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static struct sbx_pair labels[] = { { (char *)"team", (char *)"infra" },
	{ (char *)"empty", (char *)"" } };

static struct sbx_rule_match match(
	const struct sbx_rules *rules, const char *name, const char *image)
{
	return sbx_rules_match(rules, name, image, labels, 2);
}

static void set(struct sbx_rules *rules, const char *section, const char *key, const char *value)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int rc = sbx_rules_set(rules, section, key, value, &err);
	ck_assert_msg(rc == 0, "%s", err.message);
}

START_TEST(all_conditions_must_match)
{
	struct sbx_rules *rules = sbx_rules_create();
	set(rules, "rule a", "name", "job-*");
	set(rules, "rule a", "image", "py*:3");
	set(rules, "rule a", "label", "team=inf*");
	ck_assert(match(rules, "job-1", "python:3").matched);
	ck_assert(!match(rules, "xjob-1", "python:3").matched);
	ck_assert(!match(rules, "job-1", "python:4").matched);
	set(rules, "rule b", "label", "empty");
	ck_assert(match(rules, "zz", "zz").matched);
	sbx_rules_destroy(rules);
}
END_TEST

START_TEST(a_rule_without_a_condition_matches_nothing)
{
	struct sbx_rules *rules = sbx_rules_create();
	set(rules, "rule a", "workdir", "/data");
	ck_assert(!match(rules, "any", "any").matched);
	ck_assert(!match(NULL, "any", "any").matched);
	sbx_rules_destroy(rules);
}
END_TEST

START_TEST(image_globs_see_through_the_registry)
{
	struct sbx_rules *rules = sbx_rules_create();
	set(rules, "rule a", "image", "tool:1");
	ck_assert(match(rules, "n", "localhost/tool:1").matched);
	ck_assert(match(rules, "n", "docker.io/library/tool:1").matched);
	ck_assert(!match(rules, "n", "example.org/tool:1").matched);
	sbx_rules_destroy(rules);
}
END_TEST

START_TEST(the_first_that_has_a_field_gives_it)
{
	struct sbx_rules *rules = sbx_rules_create();
	set(rules, "rule a", "name", "x*");
	set(rules, "rule a", "workdir", "/a/");
	set(rules, "rule b", "name", "xy");
	set(rules, "rule b", "workdir", "/b");
	set(rules, "rule b", "outputs", "one, two/ ");
	set(rules, "rule b", "outputs", "three");
	set(rules, "rule b", "in", "up");
	struct sbx_rule_match got = match(rules, "xy", "i");
	ck_assert_str_eq(got.workdir, "/a");
	ck_assert_str_eq(got.in_dir, "up");
	ck_assert_uint_eq(got.output_count, 3);
	ck_assert_str_eq(got.outputs[0], "one");
	ck_assert_str_eq(got.outputs[1], "two/");
	ck_assert_str_eq(got.outputs[2], "three");
	sbx_rules_destroy(rules);
}
END_TEST

START_TEST(refuses_and_names_section_and_key)
{
	static const struct {
		const char *section, *key, *value;
	} rows[] = { { "rules", "name", "x" }, { "rule ", "name", "x" },
		{ "rule a", "colour", "x" }, { "rule a", "name", "" },
		{ "rule a", "workdir", "data" }, { "rule a", "workdir", "/" },
		{ "rule a", "outputs", "../x" }, { "rule a", "outputs", "a,,b" },
		{ "rule a", "outputs", "a,a/b" }, { "rule a", "in", "/abs" },
		{ "rule a", "label", "=v" } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_rules *rules = sbx_rules_create();
		struct sbx_error err = SBX_ERROR_INIT;
		int rc = sbx_rules_set(rules, rows[i].section, rows[i].key, rows[i].value, &err);
		ck_assert_msg(rc == -EINVAL, "[%s] %s=%s: %d", rows[i].section, rows[i].key,
			rows[i].value, rc);
		ck_assert(strstr(err.message, rows[i].section));
		sbx_rules_destroy(rules);
	}
	struct sbx_rules *rules = sbx_rules_create();
	set(rules, "rule a", "name", "x");
	ck_assert_int_eq(sbx_rules_set(rules, "rule a", "name", "y", NULL), -EINVAL);
	sbx_rules_destroy(rules);
}
END_TEST

UNIT_MAIN("rules", all_conditions_must_match, a_rule_without_a_condition_matches_nothing,
	image_globs_see_through_the_registry, the_first_that_has_a_field_gives_it,
	refuses_and_names_section_and_key)
