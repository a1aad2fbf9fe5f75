/* test_recognise.c: who is a sandbox, and what becomes of a declaration that cannot be read. */
#include "base/alloc.h"
#include "unit.h"

#include <sbx/sandbox.h>
#include <string.h>

/* A container with "key", "value", … labels. */
static struct sbx_container container(const char *workdir, const char *const *texts, size_t count)
{
	struct sbx_container made = { .id = sbx_strdup("0123"),
		.name = sbx_strdup("box"),
		.image_id = sbx_strdup("sha256:1"),
		.image = sbx_strdup("localhost/tool:1"),
		.user = sbx_strdup(""),
		.workdir = sbx_strdup(workdir),
		.created = sbx_strdup(""),
		.labels = sbx_alloc_array(count / 2, sizeof(struct sbx_pair)),
		.label_count = count / 2 };
	for (size_t i = 0; i < count / 2; i++)
		made.labels[i] =
			(struct sbx_pair){ sbx_strdup(texts[2 * i]), sbx_strdup(texts[2 * i + 1]) };
	return made;
}

#define RECOGNISE(rules, workdir, out, ...)                                                        \
	recognise(rules, workdir, (const char *const[]){ __VA_ARGS__ },                            \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), out)

static int recognise(const struct sbx_rules *rules, const char *workdir, const char *const *texts,
	size_t count, struct sbx_sandbox *out)
{
	struct sbx_container made = container(workdir, texts, count);
	struct sbx_container_summary row = { .id = made.id,
		.name = made.name,
		.image = made.image,
		.labels = made.labels,
		.label_count = made.label_count };
	bool candidate = sbx_sandbox_candidate(&row, rules);
	int rc = sbx_sandbox_recognise(&made, rules, out, NULL);
	ck_assert_msg(candidate == (rc == 1), "a list row and an inspect must agree");
	sbx_container_finish(&made);
	return rc;
}

START_TEST(our_labels)
{
	struct sbx_sandbox got = { 0 };
	ck_assert_int_eq(RECOGNISE(NULL, "/image", &got, "sbxfs.version", "1", "sbxfs.workdir",
				 "/w/", "sbxfs.outputs", "[\"out/\",\"r.json\"]", "sbxfs.in", "up"),
		1);
	ck_assert_ptr_null(got.refusal);
	ck_assert_str_eq(got.workdir, "/w");
	ck_assert_str_eq(got.in_dir, "up");
	ck_assert_uint_eq(got.output_count, 2);
	ck_assert_str_eq(got.container.name, "box");
	sbx_sandbox_finish(&got);
}
END_TEST

START_TEST(defaults)
{
	struct sbx_sandbox got = { 0 };
	ck_assert_int_eq(RECOGNISE(NULL, "/image", &got, "sbxfs.version", "1"), 1);
	ck_assert_str_eq(got.workdir, "/image");
	ck_assert_str_eq(got.in_dir, "in");
	sbx_sandbox_finish(&got);
	ck_assert_int_eq(RECOGNISE(NULL, "/", &got, "sbxfs.version", "1"), 1);
	ck_assert_str_eq(got.workdir, "/work");
	sbx_sandbox_finish(&got);
}
END_TEST

START_TEST(foreign_vocabulary)
{
	struct sbx_sandbox got = { 0 };
	ck_assert_int_eq(RECOGNISE(NULL, "/image", &got, "maf-sandbox.scope", "s"), 1);
	ck_assert_str_eq(got.workdir, "/maf-sandbox/work");
	ck_assert_uint_eq(got.output_count, 0);
	ck_assert_ptr_null(got.in_dir);
	sbx_sandbox_finish(&got);
	ck_assert_int_eq(
		RECOGNISE(NULL, "/image", &got, "maf-sandbox.scope", "s", "maf-sandbox.work-dir.v1",
			"/base", "maf-sandbox.outputs", "[\"o\"]"),
		1);
	ck_assert_str_eq(got.workdir, "/base");
	ck_assert_uint_eq(got.output_count, 1);
	sbx_sandbox_finish(&got);
}
END_TEST

START_TEST(proxies_and_strangers_are_not)
{
	struct sbx_sandbox got = { 0 };
	ck_assert_int_eq(
		RECOGNISE(NULL, "/", &got, "sbxfs.version", "1", "sbxfs.role", "proxy"), 0);
	ck_assert_int_eq(
		RECOGNISE(NULL, "/", &got, "sbxfs.version", "1", "sbxfs.role", "probe"), 0);
	ck_assert_int_eq(
		RECOGNISE(NULL, "/", &got, "maf-sandbox.scope", "1", "maf-sandbox.role", "proxy"),
		0);
	ck_assert_int_eq(RECOGNISE(NULL, "/", &got, "sbxfsx", "1"), 0);
}
END_TEST

START_TEST(what_cannot_be_served_is_a_refusal)
{
	static const char *const labels[][2] = { { "sbxfs.outputs", "not json" },
		{ "sbxfs.outputs", "{}" }, { "sbxfs.outputs", "[1]" },
		{ "sbxfs.outputs", "[\"../x\"]" }, { "sbxfs.outputs", "[\"in/x\"]" },
		{ "sbxfs.outputs", "[\"a\\u0000b\"]" }, { "sbxfs.workdir", "relative" },
		{ "sbxfs.workdir", "/" }, { "sbxfs.workdir", "/proc/1" }, { "sbxfs.in", "../in" },
		{ "sbxfs.version", "2" } };
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		struct sbx_sandbox got = { 0 };
		ck_assert_int_eq(RECOGNISE(NULL, "/", &got, labels[i][0], labels[i][1]), 1);
		ck_assert_msg(got.refusal != NULL, "%s=%s", labels[i][0], labels[i][1]);
		ck_assert_uint_eq(got.output_count, 0);
		ck_assert_ptr_null(got.in_dir);
		ck_assert(got.workdir[0] == '/');
		sbx_sandbox_finish(&got);
	}
}
END_TEST

START_TEST(a_rule_gives_what_labels_do_not_say)
{
	struct sbx_rules *rules = sbx_rules_create();
	ck_assert_int_eq(sbx_rules_set(rules, "rule a", "name", "b*", NULL), 0);
	ck_assert_int_eq(sbx_rules_set(rules, "rule a", "workdir", "/data", NULL), 0);
	ck_assert_int_eq(sbx_rules_set(rules, "rule a", "outputs", "x/", NULL), 0);
	struct sbx_sandbox got = { 0 };
	ck_assert_int_eq(RECOGNISE(rules, "/image", &got, "other", "1"), 1);
	ck_assert_str_eq(got.workdir, "/data");
	ck_assert_uint_eq(got.output_count, 1);
	ck_assert_ptr_null(got.in_dir);
	sbx_sandbox_finish(&got);
	ck_assert_int_eq(RECOGNISE(rules, "/image", &got, "maf-sandbox.scope", "s",
				 "maf-sandbox.workdir", "/own"),
		1);
	ck_assert_str_eq(got.workdir, "/own");
	ck_assert_uint_eq(got.output_count, 1);
	sbx_sandbox_finish(&got);
	sbx_rules_destroy(rules);
}
END_TEST

UNIT_MAIN("recognise", our_labels, defaults, foreign_vocabulary, proxies_and_strangers_are_not,
	what_cannot_be_served_is_a_refusal, a_rule_gives_what_labels_do_not_say)
