/* test_guest_path.c: what the lexical rule lets through, and what no engine must ever be asked. */
#include "base/alloc.h"
#include "files/guest_path.h"
#include "files/mounts.h"
#include "unit.h"

#include <errno.h>
#include <sbx/guest_path.h>
#include <string.h>

START_TEST(lexical_rule)
{
	static const struct {
		const char *path;
		int plain, declared;
	} rows[] = {
		{ "report.json", 0, 0 },
		{ "out/a b", 0, 0 },
		{ "*.png", 0, 0 },
		{ "back\\slash", 0, -EINVAL },
		{ "...", 0, 0 },
		{ "a/..b", 0, 0 },
		{ "-rf", 0, 0 },
		{ "new\nline", 0, -EINVAL },
		{ "\x1f", 0, -EINVAL },
		{ "a/\x01/b", 0, -EINVAL },
		{ "\x7f", 0, 0 },
		{ "na\xc3\xafve", 0, 0 },
		{ "bad\xff", 0, -EILSEQ },
		{ "", -EINVAL, -EINVAL },
		{ "/etc/passwd", -EXDEV, -EXDEV },
		{ "..", -EXDEV, -EXDEV },
		{ "../etc", -EXDEV, -EXDEV },
		{ "a/../b", -EXDEV, -EXDEV },
		{ "a/..", -EXDEV, -EXDEV },
		{ ".", -EINVAL, -EINVAL },
		{ "./a", -EINVAL, -EINVAL },
		{ "a/./b", -EINVAL, -EINVAL },
		{ "a//b", -EINVAL, -EINVAL },
		{ "a/", -EINVAL, -EINVAL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		ck_assert_msg(sbx_guest_path_check(rows[i].path, false, &err) == rows[i].plain,
			"%s", rows[i].path);
		ck_assert_int_eq(err.errnum, -rows[i].plain);
		ck_assert_msg(sbx_guest_path_check(rows[i].path, true, NULL) == rows[i].declared,
			"%s", rows[i].path);
	}
	struct sbx_error err = SBX_ERROR_INIT;
	(void)sbx_guest_path_check("x/../y", false, &err); /* the kind is what is asked for */
	ck_assert_int_eq(err.kind, SBX_KIND_CONFINED);
}
END_TEST

START_TEST(lengths)
{
	char name[4200];
	memset(name, 'a', sizeof(name));
	name[255] = '\0';
	ck_assert_int_eq(sbx_guest_path_check(name, true, NULL), 0);
	name[255] = 'a';
	name[256] = '\0';
	ck_assert_int_eq(sbx_guest_path_check(name, true, NULL), -ENAMETOOLONG);
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = i % 100 == 99 ? '/' : 'a';
	name[4095] = '\0';
	ck_assert_int_eq(sbx_guest_path_check(name, true, NULL), 0);
	name[4095] = 'a';
	name[4096] = '\0';
	ck_assert_int_eq(sbx_guest_path_check(name, true, NULL), -ENAMETOOLONG);
}
END_TEST

START_TEST(joins)
{
	static const struct {
		const char *directory, *relative, *whole;
	} rows[] = {
		{ "/work", "", "/work" },
		{ "/work", "a/b", "/work/a/b" },
		{ "/", "a", "/a" },
		{ "/", "", "/" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *whole = sbx_guest_path_join(rows[i].directory, rows[i].relative);
		ck_assert_str_eq(whole, rows[i].whole);
	}
	ck_assert_str_eq(sbx_guest_path_base("/work/a"), "a");
	ck_assert_str_eq(sbx_guest_path_base("a"), "a");
	ck_assert_str_eq(sbx_guest_path_base("/"), "/");
}
END_TEST

START_TEST(normal_form)
{
	static const struct {
		const char *path, *normal;
		int result;
	} rows[] = {
		{ "/work", "/work", 0 },
		{ "/work/", "/work", 0 },
		{ "//work///out/.", "/work/out", 0 },
		{ "/", "/", 0 },
		{ "/./", "/", 0 },
		{ "/a/../b", NULL, -EXDEV },
		{ "/..", NULL, -EXDEV },
		{ "work", NULL, -EINVAL },
		{ "", NULL, -EINVAL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *normal = NULL;
		ck_assert_msg(
			sbx_guest_path_normalise(rows[i].path, &normal, NULL) == rows[i].result,
			"%s", rows[i].path);
		if (rows[i].normal)
			ck_assert_str_eq(normal, rows[i].normal);
	}
}
END_TEST

START_TEST(a_sibling_with_the_same_beginning_is_outside)
{
	ck_assert(sbx_guest_path_within("/work", "/work"));
	ck_assert(sbx_guest_path_within("/work/a", "/work"));
	ck_assert(!sbx_guest_path_within("/work-outside", "/work"));
	ck_assert(!sbx_guest_path_within("/wor", "/work"));
	ck_assert(sbx_guest_path_within("/anything", "/"));
}
END_TEST

START_TEST(a_mount_is_never_absent)
{
	struct sbx_mount mounts[] = {
		{ (char *)"tmpfs", (char *)"/work/tmp/" },
		{ (char *)"volume", (char *)"/data" },
	};
	struct sbx_container container = {
		.name = (char *)"box", .mounts = mounts, .mount_count = 2
	};
	static const struct {
		const char *path;
		int result;
	} rows[] = {
		{ "/work", 0 },
		{ "/work/tmpfile", 0 },
		{ "/work/tmp", -EOPNOTSUPP },
		{ "/work/tmp/a", -EOPNOTSUPP },
		{ "/data/deep/a", -EOPNOTSUPP },
		{ "/database", 0 },
		{ "/proc/version", -EOPNOTSUPP },
		{ "/sys", -EOPNOTSUPP },
		{ "/dev/shm/x", -EOPNOTSUPP },
		{ "/device", 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		ck_assert_msg(sbx_mounts_check(&container, rows[i].path, &err) == rows[i].result,
			"%s", rows[i].path);
	}
}
END_TEST

UNIT_MAIN("guest_path", lexical_rule, lengths, joins, normal_form,
	a_sibling_with_the_same_beginning_is_outside, a_mount_is_never_absent)
