/* test_window_undo.c: who is resumed when several are owed it. */
#include "base/alloc.h"
#include "files/window_undo.h"
#include "scripted_server.h"
#include "unit.h"

#include <sbx/endpoint.h>

static const char ok[] = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nOstype: linux\r\n"
			 "Content-Length: 2\r\n\r\nOK";
static const char done[] = "HTTP/1.1 204 No Content\r\n\r\n";
static const char silence[] = "HTTP/1.1 2"; /* and nothing more */

static struct sbx_engine *open_engine(void)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_endpoint endpoint = { 0 };
	struct sbx_engine *engine = NULL;
	struct sbx_call call = sbx_call_within(5000, NULL);
	cleanup_free char *url = sbx_printf("unix://%s/engine.sock", directory);
	ck_assert_int_eq(sbx_endpoint_find(url, &endpoint, &err), 0);
	ck_assert_int_eq(sbx_engine_open(&endpoint, &call, &engine, &err), 0);
	sbx_endpoint_finish(&endpoint);
	return engine;
}

/* As a dead process leaves it. */
static void leave_owed(const struct sbx_engine *engine, const char *id)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_window_record record = { .owed = SBX_OWED_PAUSED };
	cleanup_close int lock =
		sbx_window_lock_take(directory, sbx_engine_key(engine), id, true, NULL, NULL, &err);
	ck_assert_int_ge(lock, 0);
	ck_assert_int_eq(sbx_window_record_write(lock, &record, &err), 0);
}

/* Docker 20.10 can be stuck on one container for good. */
START_TEST(a_stuck_one_keeps_nobody_else_frozen)
{
	static const char *const answers[] = { ok, silence, silence, done };
	struct scripted_server server = { .hold = true };
	struct sbx_error err = SBX_ERROR_INIT;
	unsigned pending = 0;
	directory_enter();
	scripted_start(&server, answers, sizeof(answers) / sizeof(answers[0]));
	struct sbx_engine *engine = open_engine();
	leave_owed(engine, "a");
	leave_owed(engine, "b");
	struct sbx_call call = sbx_call_within(30000, NULL);
	ck_assert_int_eq(sbx_window_sweep(engine, directory, &call, &pending, &err), 1);
	ck_assert_uint_eq(pending, 1);
	ck_assert_int_gt(sbx_call_left_ms(&call), 15000);
	sbx_engine_close(engine);
	scripted_stop(&server);
	directory_leave();
}
END_TEST

UNIT_MAIN("window_undo", a_stuck_one_keeps_nobody_else_frozen)
