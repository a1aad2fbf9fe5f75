/* test_fetch.c: what a fetch lands in a host directory and what it does not, with a plane that is a
 * table. */
#include <sbx/transfer.h>

#include "directory.h"
#include "fake_plane.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static struct sbx_output outputs[] = { { (char *)"report.json", false }, { (char *)"out", true },
	{ (char *)"a/x", false }, { (char *)"b/x", false }, { (char *)"b/X", false } };
static struct sbx_sandbox sandbox = {
	.container = { .name = (char *)"t1" }, .outputs = outputs, .output_count = 5
};

static const struct fake_row rows[] = {
	{ "report.json", SBX_TYPE_FILE, "{}" },
	{ "out", SBX_TYPE_DIR },
	{ "out/one", SBX_TYPE_FILE, "abc" },
	{ "out/sub", SBX_TYPE_DIR },
	{ "out/sub/two", SBX_TYPE_FILE, "defg" },
	{ "a/x", SBX_TYPE_LINK },
	{ "b/x", SBX_TYPE_FILE, "x" },
	{ "secret", SBX_TYPE_FILE, "secret" },
};

static int archive, passes; /* of the fake plane */

static int fetch(const struct fake_row *table, size_t count, const char *const *paths,
	struct sbx_fetch_options options, struct fake_plane *fake, struct sbx_fetches *out,
	struct sbx_error *err)
{
	size_t named = 0;
	while (paths[named])
		named++;
	*fake = fake_plane(table, count);
	fake->archive = archive;
	fake->passes = passes;
	sbx_error_clear(err);
	return sbx_fetch(
		&fake->plane, &sandbox, paths, named, "dest", &options, NULL, NULL, out, err);
}

#define PATHS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define FETCH(table, paths, ...)                                                                   \
	fetch(table, sizeof(table) / sizeof((table)[0]), paths,                                    \
		(struct sbx_fetch_options){ __VA_ARGS__ }, &fake, &out, &err)

static struct fake_plane fake;
static struct sbx_fetches out;
static struct sbx_error err;

static void nothing_landed(void)
{
	ck_assert_int_eq(access("dest", F_OK), -1);
	ck_assert_uint_eq(out.count, 0);
}

START_TEST(a_directory_lands_under_its_own_name)
{
	directory_enter();
	ck_assert_int_eq(FETCH(rows, PATHS("out/", "report.json"), 0), 0);
	ck_assert_str_eq(read_file("dest/out/one"), "abc");
	ck_assert_str_eq(read_file("dest/out/sub/two"), "defg");
	ck_assert_str_eq(read_file("dest/report.json"), "{}");
	ck_assert_uint_eq(out.count, 3);
	for (size_t i = 0; i < out.count; i++)
		if (strcmp(out.rows[i].path, "out/one") == 0)
			ck_assert_str_eq(out.rows[i].sha256,
				"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sbx_fetches_finish(&out);
	ck_assert_int_eq(FETCH(rows, PATHS("out/sub"), 0), 0);
	ck_assert_str_eq(read_file("dest/sub/two"), "defg");
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

/* OUT-02 */
START_TEST(names_are_refused_without_asking_the_sandbox)
{
	directory_enter();
	ck_assert_int_eq(FETCH(rows, PATHS("report.json", "secret"), 0), -EPERM);
	ck_assert_int_eq(FETCH(rows, PATHS("outer"), 0), -EPERM);
	ck_assert_int_eq(FETCH(rows, PATHS("report.json/x"), 0), -EPERM);
	ck_assert_int_eq(FETCH(rows, PATHS("out/../secret"), 0), -EXDEV);
	ck_assert_int_eq(FETCH(rows, PATHS("/out"), 0), -EXDEV);
	ck_assert_int_eq(FETCH(rows, PATHS("a/x", "b/x"), 0), -EINVAL);
	ck_assert_int_eq(FETCH(rows, PATHS("b/X", "b/x"), .whole_paths = true), -EINVAL);
	ck_assert_int_eq(fake.stats + fake.lists + fake.reads, 0);
	nothing_landed();
	directory_leave();
}
END_TEST

/* OUT-01, OUT-04 */
START_TEST(a_refusal_of_one_delivers_none)
{
	directory_enter();
	ck_assert_int_eq(FETCH(rows, PATHS("report.json", "out", "a/x"), 0), -ELOOP);
	ck_assert_int_eq(FETCH(rows, PATHS("report.json", "out/none"), 0), -ENOENT);
	ck_assert_int_eq(fake.reads, 0);
	nothing_landed();
	directory_leave();
}
END_TEST

/* OUT-06 */
START_TEST(ceilings_refuse_before_a_byte_is_read)
{
	directory_enter();
	ck_assert_int_eq(FETCH(rows, PATHS("out"), .ceilings.max_file_bytes = 3), -EFBIG);
	ck_assert_int_eq(FETCH(rows, PATHS("out"), .ceilings.max_total_bytes = 6), -EFBIG);
	ck_assert_int_eq(FETCH(rows, PATHS("out"), .ceilings.max_files = 1), -EFBIG);
	ck_assert_int_eq(fake.reads, 0);
	nothing_landed();
	/* A directory that a listing brought is one more; the one that was asked for is not. */
	ck_assert_int_eq(FETCH(rows, PATHS("out"), .ceilings.max_files = 2), -EFBIG);
	ck_assert_int_eq(FETCH(rows, PATHS("out"), .ceilings.max_file_bytes = 4,
				 .ceilings.max_total_bytes = 7, .ceilings.max_files = 3),
		0);
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

/* OUT-06 */
START_TEST(what_is_no_file_counts_as_well)
{
	static const struct fake_row odd[] = {
		{ "out", SBX_TYPE_DIR },
		{ "out/d", SBX_TYPE_DIR },
		{ "out/d/e", SBX_TYPE_DIR },
		{ "out/fifo", SBX_TYPE_FIFO },
		{ "out/link", SBX_TYPE_LINK },
	};
	directory_enter();
	ck_assert_int_eq(FETCH(odd, PATHS("out"), .ceilings.max_files = 3), -EFBIG);
	nothing_landed();
	ck_assert_int_eq(FETCH(odd, PATHS("out"), .ceilings.max_files = 4), -EIO);
	ck_assert_int_eq(err.kind, SBX_KIND_PARTIAL);
	ck_assert_uint_eq(out.count, 2);
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

/* OUT-06 */
START_TEST(what_has_grown_since_is_refused_as_it_arrives)
{
	static const struct fake_row grown[] = { { "report.json", SBX_TYPE_FILE, "{}" },
		{ "b/x", SBX_TYPE_FILE, "grown since", .size = 1 } };
	directory_enter();
	ck_assert_int_eq(
		FETCH(grown, PATHS("report.json", "b/x"), .ceilings.max_file_bytes = 4), -EFBIG);
	nothing_landed();
	ck_assert_int_eq(
		FETCH(grown, PATHS("report.json", "b/x"), .ceilings.max_total_bytes = 12), -EFBIG);
	nothing_landed();
	ck_assert_int_eq(
		FETCH(grown, PATHS("report.json", "b/x"), .ceilings.max_total_bytes = 13), 0);
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

START_TEST(links_in_a_directory_are_left_out_and_said)
{
	static const struct fake_row planted[] = { { "out", SBX_TYPE_DIR },
		{ "out/link", SBX_TYPE_LINK }, { "out/pipe", SBX_TYPE_FIFO },
		{ "out/gone", SBX_TYPE_FILE, "x", .read_result = -ENOENT },
		{ "out/plain", SBX_TYPE_FILE, "fine" } };
	directory_enter();
	ck_assert_int_eq(FETCH(planted, PATHS("out"), 0), -EIO);
	ck_assert_int_eq(err.kind, SBX_KIND_PARTIAL);
	ck_assert_str_eq(read_file("dest/out/plain"), "fine");
	ck_assert_int_eq(access("dest/out/link", F_OK), -1);
	ck_assert_int_eq(access("dest/out/gone", F_OK), -1);
	ck_assert_uint_eq(out.count, 4);
	ck_assert_int_eq(out.rows[0].result, -ELOOP);
	ck_assert_int_eq(out.rows[1].result, -ENXIO);
	ck_assert_int_eq(out.rows[2].result, -ENOENT);
	ck_assert_int_eq(out.rows[3].result, 0);
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

/* OUT-01, OUT-05 */
START_TEST(an_engine_failure_half_way_delivers_none)
{
	static const struct fake_row failing[] = { { "report.json", SBX_TYPE_FILE, "{}" },
		{ "out", SBX_TYPE_DIR },
		{ "out/one", SBX_TYPE_FILE, "x", .read_result = -EHOSTDOWN } };
	directory_enter();
	ck_assert_int_eq(FETCH(failing, PATHS("report.json", "out"), 0), -EHOSTDOWN);
	ck_assert_int_gt(fake.reads, 1);
	nothing_landed();
	directory_leave();
}
END_TEST

static const struct fake_row tree[] = { { "report.json", SBX_TYPE_FILE, "{}" },
	{ "out", SBX_TYPE_DIR }, { "out/1", SBX_TYPE_FILE, "one" }, { "out/sub", SBX_TYPE_DIR },
	{ "out/sub/2", SBX_TYPE_FILE, "two" }, { "out/sub/3", SBX_TYPE_FILE, "three" } };

static void expect_tree(int reads)
{
	ck_assert_int_eq(FETCH(tree, PATHS("out"), 0), 0);
	ck_assert_str_eq(read_file("dest/out/1"), "one");
	ck_assert_str_eq(read_file("dest/out/sub/2"), "two");
	ck_assert_str_eq(read_file("dest/out/sub/3"), "three");
	ck_assert_int_eq(fake.trees, 1);
	ck_assert_int_eq(fake.reads, reads);
	ck_assert_uint_eq(out.count, 3);
	for (size_t i = 0; i < out.count; i++)
		ck_assert_int_eq(out.rows[i].size, (int64_t)strlen(i == 2 ? "three" : "one"));
	sbx_fetches_finish(&out);
}

START_TEST(a_tree_is_read_by_one_archive)
{
	directory_enter();
	archive = 100;
	expect_tree(0);
	directory_leave();
}
END_TEST

START_TEST(what_an_archive_did_not_bring_whole_is_read_by_itself)
{
	archive = 2;
	directory_enter();
	expect_tree(2);
	directory_leave();
	archive = 0;
	directory_enter();
	expect_tree(3);
	directory_leave();
}
END_TEST

START_TEST(of_an_archive_begun_again_the_last_pass_counts)
{
	directory_enter();
	archive = 100;
	passes = 2;
	expect_tree(0);
	ck_assert_int_eq(access("dest/out/sub/3", F_OK), 0);
	directory_leave();
}
END_TEST

/* OUT-06 */
START_TEST(ceilings_hold_for_what_an_archive_brings)
{
	static const struct fake_row grown[] = { { "out", SBX_TYPE_DIR },
		{ "out/1", SBX_TYPE_FILE, "x" },
		{ "out/2", SBX_TYPE_FILE, "grown since", .size = 1 } };
	directory_enter();
	archive = 100;
	ck_assert_int_eq(FETCH(grown, PATHS("out"), .ceilings.max_file_bytes = 10), -EFBIG);
	nothing_landed();
	ck_assert_int_eq(FETCH(grown, PATHS("out"), .ceilings.max_total_bytes = 11), -EFBIG);
	nothing_landed();
	ck_assert_int_eq(FETCH(grown, PATHS("out"), .ceilings.max_total_bytes = 12), 0);
	ck_assert_int_eq(fake.reads, 0);
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

/* Sparse files may say more bytes than can be counted (what arrives is what the fake has). */
START_TEST(sizes_beyond_counting_harm_nobody)
{
	static const struct fake_row sparse[] = { { "out", SBX_TYPE_DIR },
		{ "out/1", SBX_TYPE_FILE, "x", .size = INT64_MAX / 2 + 1 },
		{ "out/2", SBX_TYPE_FILE, "y", .size = INT64_MAX / 2 + 1 },
		{ "out/3", SBX_TYPE_FILE, "z", .size = INT64_MAX } };
	directory_enter();
	archive = 100;
	ck_assert_int_eq(
		FETCH(sparse, PATHS("out"), .ceilings.max_total_bytes = INT64_MAX - 1), -EFBIG);
	nothing_landed();
	ck_assert_int_eq(FETCH(sparse, PATHS("out"), 0), 0);
	ck_assert_int_eq(fake.trees, 1);
	ck_assert_str_eq(read_file("dest/out/3"), "z");
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

START_TEST(an_archive_that_holds_a_file_twice_delivers_nothing)
{
	static const struct fake_row twice[] = { { "out", SBX_TYPE_DIR },
		{ "out/1", SBX_TYPE_FILE, "x" }, { "out/2", SBX_TYPE_FILE, "y" },
		{ "out/1", SBX_TYPE_FILE, "z" } };
	directory_enter();
	archive = 100;
	ck_assert_int_lt(FETCH(twice, PATHS("out"), .force = true), 0);
	nothing_landed();
	directory_leave();
}
END_TEST

/* OUT-04 */
START_TEST(missing_may_be_fine)
{
	directory_enter();
	ck_assert_int_eq(FETCH(rows, PATHS("b/X"), .missing_ok = true), 0);
	ck_assert_int_eq(access("dest", F_OK), -1);
	ck_assert_uint_eq(out.count, 1);
	ck_assert_int_eq(out.rows[0].result, -ENOENT);
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

/* OUT-04: one class for it, and the others do not land without it. */
START_TEST(what_is_required_may_not_be_missing)
{
	const bool required[] = { false, true };
	directory_enter();
	ck_assert_int_eq(
		FETCH(rows, PATHS("report.json", "b/X"), .missing_ok = true, .required = required),
		-ENOENT);
	ck_assert_int_eq(err.kind, SBX_KIND_OUTPUT_MISSING);
	ck_assert_int_eq(fake.reads, 0);
	nothing_landed();
	ck_assert_int_eq(
		FETCH(rows, PATHS("b/X", "report.json"), .missing_ok = true, .required = required),
		0);
	ck_assert_str_eq(read_file("dest/report.json"), "{}");
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

START_TEST(an_existing_file_is_replaced_only_by_force)
{
	directory_enter();
	ck_assert_int_eq(mkdir("dest", 0755), 0);
	ck_assert_int_eq(mkdir("dest/out", 0755), 0);
	write_file("dest/out/one", "mine");
	ck_assert_int_eq(FETCH(rows, PATHS("report.json", "out"), 0), -EEXIST);
	ck_assert_int_eq(fake.reads, 0);
	ck_assert_int_eq(access("dest/report.json", F_OK), -1);
	ck_assert_str_eq(read_file("dest/out/one"), "mine");
	ck_assert_int_eq(FETCH(rows, PATHS("report.json", "out"), .force = true), 0);
	ck_assert_str_eq(read_file("dest/out/one"), "abc");
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

/* Somebody else's file, made while ours are read. */
static void make_an_obstacle(void *data, int64_t bytes, int64_t files)
{
	int *calls = data;
	if ((*calls)++)
		return;
	ck_assert_int_eq(mkdir("dest/out", 0755), 0);
	write_file("dest/out/one", "mine");
}

/* OUT-07: only the host can refuse half way. What landed before stays, what follows does not land,
 * and each row says which it is. */
START_TEST(what_landed_before_the_host_refused_stays_and_is_said)
{
	int calls = 0;
	const struct sbx_transfer_progress progress = { make_an_obstacle, &calls };
	const char *const paths[] = { "report.json", "out", "b/x" };
	directory_enter();
	fake = fake_plane(rows, sizeof(rows) / sizeof(rows[0]));
	sbx_error_clear(&err);
	int result = sbx_fetch(
		&fake.plane, &sandbox, paths, 3, "dest", NULL, NULL, &progress, &out, &err);
	ck_assert_int_eq(result, -EIO);
	ck_assert_int_eq(err.kind, SBX_KIND_PARTIAL);
	ck_assert_msg(strstr(err.message, "2 of 4 files had landed") != NULL, "%s", err.message);
	ck_assert_msg(strstr(err.message, "dest/out/one exists") != NULL, "%s", err.message);
	ck_assert_str_eq(read_file("dest/report.json"), "{}");
	ck_assert_str_eq(read_file("dest/x"), "x");
	ck_assert_str_eq(read_file("dest/out/one"), "mine");
	ck_assert_int_eq(access("dest/out/sub", F_OK), -1);
	size_t landed = 0;
	for (size_t i = 0; i < out.count; i++) {
		bool there = strncmp(out.rows[i].path, "out/", 4) != 0;
		ck_assert_int_eq(out.rows[i].result, there ? 0 : -EEXIST);
		ck_assert_int_eq(out.rows[i].reason != NULL, !there);
		landed += there;
	}
	ck_assert_uint_eq(landed, 2);
	ck_assert_uint_eq(out.count, 5); /* out/sub is a row, too: a directory that did not land */
	sbx_fetches_finish(&out);
	directory_leave();
}
END_TEST

/* A host without room, here by a limit of our own, says nothing about the file or its sandbox: all
 * of it fails, also in a directory, whose other entries could be had. */
START_TEST(a_host_that_is_full_is_said_to_be)
{
	struct rlimit old, small;
	directory_enter();
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 3, old.rlim_max };
	ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	int result = FETCH(rows, PATHS("out"), .force = false);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
	ck_assert_int_eq(result, -EFBIG);
	ck_assert_int_eq(err.kind, SBX_KIND_HOST);
	ck_assert_int_eq(sbx_kind_exit_code(err.kind), 14);
	nothing_landed();
	/* A word that names no directory is its caller's mistake. */
	write_file("dest", "a file");
	ck_assert_int_eq(FETCH(rows, PATHS("report.json"), .force = false), -ENOTDIR);
	ck_assert_int_eq(err.kind, SBX_KIND_USAGE);
	directory_leave();
}
END_TEST

/* Of a directory only what matches lands and counts; what was named is no pattern. */
START_TEST(a_pattern_chooses_files_of_directories)
{
	static const char *const two[] = { "t?o", "none" }, *const none[] = { "three" };
	directory_enter();
	ck_assert_int_eq(FETCH(rows, PATHS("out", "report.json"), .match = two, .match_count = 2,
				 .ceilings.max_files = 2),
		0);
	ck_assert_str_eq(read_file("dest/out/sub/two"), "defg");
	ck_assert_str_eq(read_file("dest/report.json"), "{}");
	ck_assert_int_eq(access("dest/out/one", F_OK), -1);
	ck_assert_uint_eq(out.count, 2);
	sbx_fetches_finish(&out);
	ck_assert_int_eq(FETCH(rows, PATHS("out"), .match = none, .match_count = 1), -ENOENT);
	ck_assert_uint_eq(out.count, 0);
	directory_leave();
}
END_TEST

static int fetch_file(const struct fake_row *table, size_t count, const char *path,
	int64_t max_file_bytes, int fd)
{
	const struct sbx_ceilings ceilings = { .max_file_bytes = max_file_bytes };
	fake = fake_plane(table, count);
	sbx_error_clear(&err);
	return sbx_fetch_file(&fake.plane, &sandbox, path, fd, &ceilings, NULL, NULL, &err);
}
#define FETCH_FILE(table, path, most)                                                              \
	fetch_file(table, sizeof(table) / sizeof((table)[0]), path, most, fd)

START_TEST(one_file_goes_whole_into_a_descriptor)
{
	static const struct fake_row grown[] = { { "report.json", SBX_TYPE_FILE, "12345", 2 } };
	char bytes[8] = "";
	directory_enter();
	int fd = open("spool", O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(FETCH_FILE(rows, "out/sub/two", 4), 0);
	ck_assert_int_eq(pread(fd, bytes, sizeof(bytes), 0), 4);
	ck_assert_mem_eq(bytes, "defg", 4);
	ck_assert_int_eq(FETCH_FILE(rows, "out/sub/two", 3), -EFBIG);
	ck_assert_int_eq(FETCH_FILE(rows, "out", 0), -EISDIR);
	ck_assert_int_eq(fake.lists, 0);
	ck_assert_int_eq(FETCH_FILE(rows, "a/x", 0), -ELOOP);
	ck_assert_int_eq(FETCH_FILE(rows, "out/none", 0), -ENOENT);
	ck_assert_int_eq(FETCH_FILE(rows, "secret", 0), -EPERM);
	ck_assert_int_eq(fake.reads, 0);
	ck_assert_int_eq(FETCH_FILE(grown, "report.json", 4), -EFBIG);
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 4);
	ck_assert_int_eq(close(fd), 0);
	directory_leave();
}
END_TEST

UNIT_MAIN("fetch", a_directory_lands_under_its_own_name,
	names_are_refused_without_asking_the_sandbox, a_refusal_of_one_delivers_none,
	ceilings_refuse_before_a_byte_is_read, what_is_no_file_counts_as_well,
	what_has_grown_since_is_refused_as_it_arrives, links_in_a_directory_are_left_out_and_said,
	an_engine_failure_half_way_delivers_none, a_tree_is_read_by_one_archive,
	what_an_archive_did_not_bring_whole_is_read_by_itself,
	of_an_archive_begun_again_the_last_pass_counts, ceilings_hold_for_what_an_archive_brings,
	sizes_beyond_counting_harm_nobody, an_archive_that_holds_a_file_twice_delivers_nothing,
	missing_may_be_fine, what_is_required_may_not_be_missing,
	an_existing_file_is_replaced_only_by_force,
	what_landed_before_the_host_refused_stays_and_is_said, a_host_that_is_full_is_said_to_be,
	a_pattern_chooses_files_of_directories, one_file_goes_whole_into_a_descriptor)
