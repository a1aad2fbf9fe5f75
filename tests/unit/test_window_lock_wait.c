/* test_window_lock_wait.c: without a deadline a lock is waited for only so long (built with a bound
 * of 300 ms). */
#include "base/alloc.h"
#include "files/window_lock.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static char directory[] = "/tmp/sbxfs-test-XXXXXX";

static void no_wait_is_endless(const struct sbx_call *call)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int64_t began_ms = sbx_clock_ms();
	ck_assert_int_eq(
		sbx_window_lock_take(directory, "key", "id", true, NULL, call, &err), -ETIMEDOUT);
	ck_assert_int_ge(sbx_clock_ms() - began_ms, 300);
	ck_assert_int_eq(err.kind, SBX_KIND_DEADLINE);
	ck_assert_msg(strstr(err.message, "another freeze window") != NULL, "%s", err.message);
}

START_TEST(who_has_no_deadline_waits_only_so_long)
{
	static const struct sbx_call without = { 0 };
	struct sbx_call late = sbx_call_within(3600000, NULL);
	cleanup_free char *file = NULL;
	ck_assert_ptr_nonnull(mkdtemp(directory));
	int held = sbx_window_lock_take(directory, "key", "id", true, NULL, NULL, NULL);
	ck_assert_int_ge(held, 0);
	no_wait_is_endless(NULL);
	no_wait_is_endless(&without);
	no_wait_is_endless(&late);
	/* Premise: it was the holder that was waited for. */
	(void)close(held);
	held = sbx_window_lock_take(directory, "key", "id", true, NULL, NULL, NULL);
	ck_assert_int_ge(held, 0);
	(void)close(held);
	file = sbx_printf("%s/key-id", directory);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

UNIT_MAIN("window_lock_wait", who_has_no_deadline_waits_only_so_long)
