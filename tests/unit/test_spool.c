/* test_spool.c: what is kept, for how long, and that a reader's bytes outlive the cache's. */
#include "base/alloc.h"
#include "spool.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

static char directory[] = "/tmp/sbxfs-spool-XXXXXX";

static struct sbx_spools *open_spools(int64_t budget)
{
	struct sbx_spools *spools = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(sbx_spools_create(directory, budget, &spools, &err), 0);
	return spools;
}

static void close_spools(struct sbx_spools *spools)
{
	sbx_spools_destroy(spools);
	ck_assert_int_eq(rmdir(directory), 0); /* no name was left behind */
}

/* A complete file under key, referenced by the cache only. */
static void keep(struct sbx_spools *spools, const char *key, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *bytes = sbx_alloc(size);
	struct sbx_spool *spool = sbx_spool_create();
	ck_assert_int_eq(sbx_spool_prepare(spools, spool, (int64_t)size, &err), 0);
	sbx_spool_register(spools, spool, sbx_strdup(key));
	ck_assert_int_eq(sbx_spool_append(spool, bytes, size), 0);
	spool->complete = true;
	sbx_spool_unref(spools, spool);
}

static bool kept(struct sbx_spools *spools, const char *key)
{
	struct sbx_spool *spool = sbx_spool_find(spools, key);
	if (spool)
		sbx_spool_unref(spools, spool);
	return spool;
}

/* The soft limit: memcheck keeps the hard one to itself. */
static void limit_descriptors(rlim_t count)
{
	struct rlimit files;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = count;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
}

START_TEST(evicts_the_oldest_unused)
{
	struct sbx_spools *spools = open_spools(1000000);
	keep(spools, "a", 400000);
	keep(spools, "b", 400000);
	ck_assert(kept(spools, "a")); /* used again: b is the oldest now */
	keep(spools, "c", 400000);
	ck_assert(kept(spools, "a"));
	ck_assert(!kept(spools, "b"));
	ck_assert(kept(spools, "c"));
	close_spools(spools);
}
END_TEST

/* However small they are: all else needs descriptors, too. */
START_TEST(keeps_a_quarter_of_the_descriptors)
{
	limit_descriptors(128);
	struct sbx_spools *spools = open_spools(INT64_C(1) << 30);
	for (int i = 0; i < 100; i++) {
		cleanup_free char *key = sbx_printf("%d", i);
		keep(spools, key, SBX_SPOOL_MEMORY_MAX + 1);
	}
	keep(spools, "small", 1);
	ck_assert(!kept(spools, "83"));
	ck_assert(kept(spools, "84"));
	ck_assert(kept(spools, "99"));
	ck_assert(kept(spools, "small"));
	close_spools(spools);
}
END_TEST

/* With every one of them held by a reader, no freeze window could be closed. */
START_TEST(leaves_descriptors_for_the_engine)
{
	limit_descriptors(64);
	struct sbx_spools *spools = open_spools(INT64_C(1) << 30);
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_spool *held[64];
	size_t count = 0;
	int rc = 0;
	while (rc == 0 && count < 64) {
		held[count] = sbx_spool_create();
		rc = sbx_spool_prepare(spools, held[count++], SBX_SPOOL_MEMORY_MAX + 1, &err);
	}
	ck_assert_int_eq(rc, -EMFILE);
	int last = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(last, 20);
	ck_assert_int_le(last, 32);
	(void)close(last);
	while (count--)
		sbx_spool_unref(spools, held[count]);
	close_spools(spools);
}
END_TEST

START_TEST(one_in_use_outlives_the_cache)
{
	char bytes[8];
	struct sbx_spools *spools = open_spools(100000);
	keep(spools, "a", 90000);
	struct sbx_spool *held = sbx_spool_find(spools, "a");
	keep(spools, "b", 90000);
	ck_assert(kept(spools, "a"));
	sbx_spool_drop(spools, held);
	ck_assert(!kept(spools, "a"));
	ck_assert_int_eq(sbx_spool_read(held, bytes, sizeof(bytes), 89992), 8);
	sbx_spool_unref(spools, held);
	close_spools(spools);
}
END_TEST

START_TEST(takes_no_byte_too_many)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_spools *spools = open_spools(1000);
	struct sbx_spool *spool = sbx_spool_create();
	ck_assert_int_eq(sbx_spool_prepare(spools, spool, 4, &err), 0);
	ck_assert_int_eq(sbx_spool_append(spool, "abc", 3), 0);
	ck_assert_int_eq(sbx_spool_append(spool, "de", 2), -EIO);
	ck_assert_int_eq(atomic_load(&spool->available), 3);
	sbx_spool_unref(spools, spool);
	close_spools(spools);
}
END_TEST

START_TEST(one_that_failed_is_not_kept)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_spools *spools = open_spools(1000);
	struct sbx_spool *spool = sbx_spool_create();
	ck_assert_int_eq(sbx_spool_prepare(spools, spool, 4, &err), 0);
	sbx_spool_register(spools, spool, sbx_strdup("k"));
	spool->error = EIO;
	sbx_spool_unref(spools, spool);
	ck_assert(!kept(spools, "k"));
	close_spools(spools);
}
END_TEST

START_TEST(a_removed_sandbox_leaves_nothing)
{
	struct sbx_spools *spools = open_spools(1000);
	sbx_spool_seed(spools, sbx_strdup("id1/f/1/1.1"), "x", 1);
	sbx_spool_seed(spools, sbx_strdup("id2/f/1/1.1"), "y", 1);
	sbx_spools_forget(spools, "id1");
	ck_assert(!kept(spools, "id1/f/1/1.1"));
	ck_assert(kept(spools, "id2/f/1/1.1"));
	close_spools(spools);
}
END_TEST

/* What is around their bytes takes memory, too, and looking for room must not take longer with each
 * one. */
START_TEST(small_ones_are_kept_within_the_budget)
{
	struct sbx_spools *spools = open_spools(1000);
	struct sbx_spool_counts counts;
	for (int i = 0; i < 200000; i++)
		sbx_spool_seed(spools, sbx_printf("id/%d/1/1.1", i), "x", 1);
	sbx_spools_counts(spools, &counts);
	ck_assert_uint_le(counts.memory_bytes, SBX_SPOOL_MEMORY_BUDGET);
	ck_assert_uint_le(counts.kept * sizeof(struct sbx_spool), SBX_SPOOL_MEMORY_BUDGET);
	ck_assert_uint_gt(counts.kept, 10000);
	ck_assert(kept(spools, "id/199999/1/1.1"));
	close_spools(spools);
}
END_TEST

enum { LARGE = (4 << 20) + 12345 };

static char byte_at(int64_t offset)
{
	return (char)(offset * 31 + (offset >> 12));
}

/* Appends bytes [from, to) in pieces as libcurl gives them. */
static int fill(struct sbx_spool *spool, int64_t from, int64_t to)
{
	char piece[16381];
	while (from < to) {
		size_t size =
			to - from < (int64_t)sizeof(piece) ? (size_t)(to - from) : sizeof(piece);
		for (size_t i = 0; i < size; i++)
			piece[i] = byte_at(from + (int64_t)i);
		int rc = sbx_spool_append(spool, piece, size);
		if (rc)
			return rc;
		from += (int64_t)size;
	}
	return 0;
}

static void expect_bytes(struct sbx_spool *spool, int64_t from, int64_t to)
{
	cleanup_free char *bytes = sbx_alloc((size_t)(to - from));
	ck_assert_int_eq(sbx_spool_read(spool, bytes, (size_t)(to - from), from), to - from);
	for (int64_t i = from; i < to; i++)
		if (bytes[i - from] != byte_at(i))
			ck_abort_msg("byte %lld of [%lld, %lld) is wrong", (long long)i,
				(long long)from, (long long)to);
}

static struct sbx_spool *large_spool(struct sbx_spools *spools)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_spool *spool = sbx_spool_create();
	ck_assert_int_eq(sbx_spool_prepare(spools, spool, LARGE, &err), 0);
	return spool;
}

START_TEST(bytes_are_read_before_they_are_in_the_file)
{
	struct sbx_spools *spools = open_spools(1000);
	struct sbx_spool *spool = large_spool(spools);
	ck_assert_int_eq(fill(spool, 0, 100000), 0);
	ck_assert(!sbx_spool_in_file(spool, 1)); /* the premise */
	expect_bytes(spool, 0, 100000);
	expect_bytes(spool, 99999, 100000);
	ck_assert_int_eq(fill(spool, 100000, SBX_SPOOL_TAIL + 5), 0);
	ck_assert(sbx_spool_in_file(spool, SBX_SPOOL_TAIL));
	ck_assert(!sbx_spool_in_file(spool, SBX_SPOOL_TAIL + 1));
	expect_bytes(spool, 0, SBX_SPOOL_TAIL + 5); /* across both */
	expect_bytes(spool, SBX_SPOOL_TAIL, SBX_SPOOL_TAIL + 5);
	ck_assert_int_eq(fill(spool, SBX_SPOOL_TAIL + 5, LARGE), 0);
	ck_assert(sbx_spool_in_file(spool, LARGE)); /* the last byte takes the rest along */
	ck_assert_ptr_null(spool->tail);
	expect_bytes(spool, 0, LARGE);
	sbx_spool_unref(spools, spool);
	close_spools(spools);
}
END_TEST

START_TEST(what_came_before_the_disk_was_full_is_read)
{
	struct sbx_spools *spools = open_spools(1000);
	struct sbx_spool *spool = large_spool(spools);
	int full = open("/dev/full", O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(full, 0);
	ck_assert_int_eq(dup2(full, spool->fd), spool->fd);
	ck_assert_int_eq(close(full), 0);
	ck_assert_int_eq(fill(spool, 0, INT64_C(2) * SBX_SPOOL_TAIL), -ENOSPC);
	ck_assert_int_eq(atomic_load(&spool->available), SBX_SPOOL_TAIL);
	expect_bytes(spool, 0, SBX_SPOOL_TAIL);
	sbx_spool_unref(spools, spool);
	close_spools(spools);
}
END_TEST

static void *fill_all(void *data)
{
	return (void *)(intptr_t)fill(data, 0, LARGE);
}

/* The loop reads at the edge while the worker writes out. */
START_TEST(a_reader_at_the_edge_sees_each_byte_once)
{
	struct sbx_spools *spools = open_spools(1000);
	struct sbx_spool *spool = large_spool(spools);
	pthread_t worker;
	void *result;
	ck_assert_int_eq(pthread_create(&worker, NULL, fill_all, spool), 0);
	for (int64_t at = 0; at < LARGE;) {
		int64_t end = atomic_load(&spool->available);
		if (end > at)
			expect_bytes(spool, at, end);
		at = end;
	}
	ck_assert_int_eq(pthread_join(worker, &result), 0);
	ck_assert_ptr_null(result);
	sbx_spool_unref(spools, spool);
	close_spools(spools);
}
END_TEST

UNIT_MAIN("spool", small_ones_are_kept_within_the_budget, evicts_the_oldest_unused,
	keeps_a_quarter_of_the_descriptors, leaves_descriptors_for_the_engine,
	one_in_use_outlives_the_cache, takes_no_byte_too_many, one_that_failed_is_not_kept,
	bytes_are_read_before_they_are_in_the_file, what_came_before_the_disk_was_full_is_read,
	a_reader_at_the_edge_sees_each_byte_once, a_removed_sandbox_leaves_nothing)
