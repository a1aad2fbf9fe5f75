/* test_produced.c: what is listed of a sandbox's outputs, with a plane that is a table. */
#include <sbx/produced.h>

#include "fake_plane.h"
#include "unit.h"

static struct sbx_output outputs[] = { { (char *)"report.json", false }, { (char *)"out", true },
	{ (char *)"later", false } };
static struct sbx_sandbox sandbox = {
	.container = { .name = (char *)"t1" }, .outputs = outputs, .output_count = 3
};

static const struct fake_row rows[] = {
	{ "report.json", SBX_TYPE_LINK },
	{ "out", SBX_TYPE_DIR },
	{ "out/one", SBX_TYPE_FILE, "abc" },
	{ "out/sub", SBX_TYPE_DIR },
	{ "out/sub/two", SBX_TYPE_FILE, "defg" },
	{ "secret", SBX_TYPE_FILE, "secret" },
};

static struct fake_plane fake;
static struct sbx_products out;
static struct sbx_error err;

static int produced(const char *path)
{
	sbx_products_finish(&out);
	sbx_error_clear(&err);
	return sbx_produced(&fake.plane, &sandbox, path, NULL, &out, &err);
}

START_TEST(all_that_is_declared_and_nothing_else)
{
	static const char *const names[] = { "later", "out", "out/one", "out/sub", "out/sub/two",
		"report.json" };
	fake = fake_plane(rows, sizeof(rows) / sizeof(rows[0]));
	ck_assert_int_eq(produced(NULL), 0);
	ck_assert_uint_eq(out.count, 6);
	for (size_t i = 0; i < out.count; i++) {
		ck_assert_str_eq(out.rows[i].path, names[i]);
		ck_assert_int_eq(out.rows[i].absent, i == 0);
		ck_assert_ptr_null(out.rows[i].reason);
	}
	ck_assert_int_eq(out.rows[4].st.size, 4);
	ck_assert_int_eq(out.rows[5].st.type, SBX_TYPE_LINK);
	ck_assert_int_eq(fake.reads, 0);
	sbx_products_finish(&out);
}
END_TEST

START_TEST(one_path_alone_is_there_or_an_error)
{
	fake = fake_plane(rows, sizeof(rows) / sizeof(rows[0]));
	ck_assert_int_eq(produced("out/sub/"), 0);
	ck_assert_uint_eq(out.count, 2);
	ck_assert_int_eq(produced("later"), -ENOENT);
	ck_assert_uint_eq(out.count, 0);
	fake.stats = fake.lists = 0;
	ck_assert_int_eq(produced("secret"), -EPERM);
	ck_assert_int_eq(produced("out/../secret"), -EXDEV);
	ck_assert_int_eq(produced("/out"), -EXDEV);
	ck_assert_int_eq(fake.stats + fake.lists, 0);
}
END_TEST

static int fail_errnum;

static int failing_list(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_listing *listing, struct sbx_error *why)
{
	if (strcmp(path, "out/sub") == 0)
		return sbx_fail(why, fail_errnum, "\"%s\" cannot be listed", path);
	return fake_list(plane, path, call, listing, why);
}

/* What concerns one directory is said at its row; an engine that does not answer ends it. */
START_TEST(a_directory_that_cannot_be_listed)
{
	struct sbx_plane_ops ops = fake_ops;
	ops.list = failing_list;
	fake = fake_plane(rows, sizeof(rows) / sizeof(rows[0]));
	fake.plane.ops = &ops;
	fail_errnum = EOPNOTSUPP;
	ck_assert_int_eq(produced(NULL), 0);
	ck_assert_uint_eq(out.count, 5);
	ck_assert_uint_eq(out.refused, 1);
	ck_assert_str_eq(out.rows[3].reason, "\"out/sub\" cannot be listed");
	fail_errnum = EHOSTDOWN;
	ck_assert_int_eq(produced(NULL), -EHOSTDOWN);
	ck_assert_uint_eq(out.count, 0);
}
END_TEST

UNIT_MAIN("produced", all_that_is_declared_and_nothing_else, one_path_alone_is_there_or_an_error,
	a_directory_that_cannot_be_listed)
