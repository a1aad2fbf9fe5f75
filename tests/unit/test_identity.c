/* test_identity.c: names and label values against values computed with sha256sum alone. */
#include "base/alloc.h"
#include "unit.h"

#include <sbx/spec.h>
#include <string.h>

START_TEST(names_have_golden_values)
{
	static const struct {
		const char *scope, *thread, *agent, *kind, *call, *name;
	} rows[] = {
		/* printf '1:s1:t1:a1:k' | sha256sum | cut -c1-12, and so on */
		{ "s", "t", "a", "k", NULL, "sbxfs-afef7c40ec0c" },
		{ NULL, NULL, NULL, NULL, NULL, "sbxfs-8538098a725a" },
		{ "", "", "", "", NULL, "sbxfs-8538098a725a" },
		{ "a|b", "c", "", "", NULL, "sbxfs-1ade4916f2f0" },
		{ "a", "b|c", "", "", NULL, "sbxfs-354bbd6bce03" },
		{ "s", "t", "a", "k", "c-1", "sbxfs-c50d84c3b8e3" },
		{ "na\xc3\xafve", "", "", "", NULL, "sbxfs-a2081abf754b" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *name = sbx_identity_name(
			rows[i].scope, rows[i].thread, rows[i].agent, rows[i].kind, rows[i].call);
		ck_assert_str_eq(name, rows[i].name);
	}
}
END_TEST

START_TEST(labels_pass_or_are_digested)
{
	static const char long_63[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const struct {
		const char *value, *label;
	} rows[] = {
		{ "plain-1_2.x", "plain-1_2.x" },
		{ long_63, long_63 },
		{ "", "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934c" },
		{ NULL, "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934c" },
		{ "a/b", "sha256-c14cddc033f64b9dea80ea675cf280a015e672516090a562" },
		{ "0000000000000000000000000000000000000000000000000000000000000000",
			"sha256-60e05bd1b195af2f94112fa7197a5c88289058840ce7c6df" },
		/* a value that looks like a digest must not stand for what it digests */
		{ "sha256-000000000000000000000000000000000000000000000000",
			"sha256-2be35b7d659da339cb0e89536189ee5175c9831a63242555" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *label = sbx_identity_label(rows[i].value);
		ck_assert_str_eq(label, rows[i].label);
	}
}
END_TEST

START_TEST(long_scopes_with_one_beginning_stay_two)
{
	char one[65], two[65];
	memset(one, 'x', 64);
	memset(two, 'x', 64);
	one[63] = '1';
	two[63] = '2';
	one[64] = two[64] = '\0';
	cleanup_free char *a = sbx_identity_label(one), *b = sbx_identity_label(two);
	ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(an_empty_field_shows_nothing)
{
	cleanup_free char *empty = sbx_identity_label(""), *other = sbx_identity_label("a b");
	ck_assert_str_eq(sbx_identity_label_shown(empty), "");
	ck_assert_str_eq(sbx_identity_label_shown(other), other);
	ck_assert_str_eq(sbx_identity_label_shown("plain"), "plain");
}
END_TEST

UNIT_MAIN("identity", names_have_golden_values, labels_pass_or_are_digested,
	long_scopes_with_one_beginning_stay_two, an_empty_field_shows_nothing)
