/* test_api_version.c: the version spoken is the newest that all know, and the user's wish one of
 * them (bug case 93). */
#include "scripted_server.h"
#include "unit.h"

#include <sbx/engine.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* accepts: whether a request in the version meant is answered with 200. */
static void opened_by(const char *engine_says, bool accepts, const char *wish, const char *spoken,
	int result, const char *sentence)
{
	char ping[128];
	(void)snprintf(ping, sizeof(ping),
		"HTTP/1.1 200 OK\r\nApi-Version: %s\r\nContent-Length: 2\r\n\r\nOK",
		engine_says); /* short enough */
	/* A newer engine is asked once more, in the version meant. */
	static const char refusal[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno";
	const char *const answers[] = { ping, accepts ? ping : refusal };
	struct scripted_server server = { .hold = true };
	struct sbx_endpoint endpoint;
	struct sbx_engine *engine = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(20000, NULL);
	directory_enter();
	if (wish)
		setenv("DOCKER_API_VERSION", wish, 1);
	else
		unsetenv("DOCKER_API_VERSION");
	scripted_start(&server, answers, 2);
	char url[600];
	(void)snprintf(url, sizeof(url), "unix://%s/engine.sock", directory); /* short enough */
	ck_assert_int_eq(sbx_endpoint_find(url, &endpoint, &err), 0);
	ck_assert_msg(sbx_engine_open(&endpoint, &call, &engine, &err) == result, "%s with %s: %s",
		engine_says, wish ? wish : "no wish", err.message);
	if (result == 0)
		ck_assert_str_eq(sbx_engine_api_version(engine), spoken);
	else
		ck_assert_msg(strstr(err.message, sentence), "%s", err.message);
	sbx_engine_close(engine);
	sbx_endpoint_finish(&endpoint);
	scripted_stop(&server);
	directory_leave();
}

static void opened(const char *engine_says, const char *wish, const char *spoken, int result,
	const char *sentence)
{
	opened_by(engine_says, true, wish, spoken, result, sentence);
}

START_TEST(the_newest_that_all_know)
{
	opened("1.41", NULL, "1.41", 0, NULL);
	opened("1.40", NULL, "1.40", 0, NULL);
	opened("1.52", NULL, "1.41", 0, NULL);
	opened("1.41", "1.40", "1.40", 0, NULL);
	opened("1.52", "1.40", "1.40", 0, NULL);
	opened("1.52", "1.44", "1.41", 0, NULL);
	opened("1.41", "1.41", "1.41", 0, NULL);
}
END_TEST

START_TEST(what_one_does_not_know_is_refused)
{
	opened("1.41", "1.44", NULL, -EOPNOTSUPP, "1.44");
	opened("1.41", "1.44", NULL, -EOPNOTSUPP, "1.41");
	opened("1.41", "1.11", NULL, -EOPNOTSUPP, "1.40");
	opened("1.41", "v2", NULL, -EINVAL, "DOCKER_API_VERSION");
	opened("1.24", NULL, NULL, -EOPNOTSUPP, "too old");
}
END_TEST

START_TEST(an_engine_that_has_dropped_our_version_is_too_new)
{
	opened_by("1.52", false, NULL, NULL, -EOPNOTSUPP,
		"is too new: it speaks API 1.52 and no longer 1.41, the newest that sbxfs knows");
	opened_by("1.52", false, "1.40", NULL, -EOPNOTSUPP, "is too new");
}
END_TEST

UNIT_MAIN("api_version", the_newest_that_all_know, what_one_does_not_know_is_refused,
	an_engine_that_has_dropped_our_version_is_too_new)
