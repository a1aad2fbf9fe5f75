/* test_walk_changes.c: what a list of changes may be used for, and how much of the guest's time it
 * may take. The lists are counted where they are answered. */
#include "base/alloc.h"
#include "files/walk_changes.h"
#include "files/walked.h"
#include "scripted_server.h"
#include "unit.h"

#include <sbx/engine.h>

#define PING(server) "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\n" server "Content-Length: 2\r\n\r\nOK"
#define PODMAN PING("Libpod-API-Version: 4.3.1\r\n")
/* [{"Path":"/work","Kind":1},{"Path":"/work/a","Kind":1},{"Path":"/work/a/f","Kind":1}] */
#define LIST                                                                                       \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 85\r\n\r\n"          \
	"[{\"Path\":\"/work\",\"Kind\":1},{\"Path\":\"/work/a\",\"Kind\":1},"                      \
	"{\"Path\":\"/work/a/f\",\"Kind\":1}]"

static struct scripted_server server;
static struct sbx_endpoint endpoint;
static struct sbx_engine *engine;
static struct sbx_plane_archive *plane;
static struct sbx_call call;

static void begin(const char *const *answers, size_t count)
{
	char url[600], id[65];
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_plane_limits limits;
	const struct sbx_container container = { .id = id, .name = (char *)"box" };
	memset(id, 'a', 64);
	id[64] = '\0';
	server = (struct scripted_server){ .hold = true };
	directory_enter();
	scripted_start(&server, answers, count);
	(void)snprintf(url, sizeof(url), "unix://%s/engine.sock", directory); /* short enough */
	call = sbx_call_within(20000, NULL);
	ck_assert_int_eq(sbx_endpoint_find(url, &endpoint, &err), 0);
	ck_assert_int_eq(sbx_engine_open(&endpoint, &call, &engine, &err), 0);
	sbx_plane_limits_default(&limits);
	plane = sbx_plane_archive_of(
		sbx_plane_archive_create(engine, &container, "/work", &limits, NULL));
}

static void end(void)
{
	sbx_plane_destroy(&plane->base);
	sbx_engine_close(engine);
	sbx_endpoint_finish(&endpoint);
	scripted_stop(&server);
	directory_leave();
}

/* The ping is not one. */
static int lists(void)
{
	return atomic_load(&server.requests) - 1;
}

static struct sbx_walk frozen_walk(uint64_t key)
{
	return (struct sbx_walk){ .plane = plane, .ticket = { .frozen = true }, .key = key };
}

START_TEST(the_directories_that_it_shows_are_known)
{
	static const char *const answers[] = { PODMAN, LIST };
	begin(answers, 2);
	struct sbx_walk walk = frozen_walk(1);
	ck_assert(!sbx_walk_by_changes(&walk, "/work/a/f", &call));
	ck_assert(sbx_walked_has(plane->walked, 1, "/work"));
	ck_assert(sbx_walked_has(plane->walked, 1, "/work/a"));
	ck_assert(!sbx_walked_has(plane->walked, 1, "/work/a/f"));
	ck_assert_int_eq(lists(), 1);
	end();
}
END_TEST

START_TEST(what_it_does_not_name_is_absent)
{
	static const char *const answers[] = { PODMAN, LIST };
	begin(answers, 2);
	struct sbx_walk walk = frozen_walk(1);
	ck_assert(sbx_walk_by_changes(&walk, "/work/a/other", &call));
	end();
}
END_TEST

/* One directory is as quickly asked for by itself; what is known needs no list. */
START_TEST(it_is_asked_for_where_it_spares_two_questions)
{
	static const char *const answers[] = { PODMAN, LIST, LIST };
	begin(answers, 3);
	struct sbx_walk walk = frozen_walk(1);
	ck_assert(!sbx_walk_by_changes(&walk, "/work/f", &call));
	ck_assert_int_eq(lists(), 0);
	ck_assert(!sbx_walk_by_changes(&walk, "/work/a/f", &call));
	ck_assert(!sbx_walk_by_changes(&walk, "/work/a/f", &call));
	ck_assert_int_eq(lists(), 1);
	end();
}
END_TEST

/* Else what was true of the list need not be of the walk. */
START_TEST(it_is_not_asked_for_while_the_guest_runs)
{
	static const char *const answers[] = { PODMAN, LIST };
	begin(answers, 2);
	struct sbx_walk walk = frozen_walk(1);
	walk.ticket.frozen = false;
	ck_assert(!sbx_walk_by_changes(&walk, "/work/a/other", &call));
	ck_assert(!sbx_walked_has(plane->walked, 1, "/work"));
	ck_assert_int_eq(lists(), 0);
	end();
}
END_TEST

START_TEST(docker_is_asked_by_heads)
{
	static const char *const answers[] = { PING(""), LIST };
	begin(answers, 2);
	struct sbx_walk walk = frozen_walk(1);
	ck_assert(!sbx_walk_by_changes(&walk, "/work/a/other", &call));
	ck_assert_int_eq(lists(), 0);
	end();
}
END_TEST

/* A guest that stands still is not kept so by a thousand of them. */
START_TEST(a_walk_asks_for_eight_at_most)
{
	const char *answers[24] = { PODMAN };
	for (size_t i = 1; i < 24; i++)
		answers[i] = LIST;
	begin(answers, 24);
	struct sbx_walk walk = frozen_walk(1);
	for (int i = 0; i < 20; i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "/work/a/new%d/deeper/f", i); /* short */
		(void)sbx_walk_by_changes(&walk, path, &call);
	}
	ck_assert_int_eq(lists(), 8);
	end();
}
END_TEST

/* The guest has written so much that its list takes long: no walk stands still for it, and for a
 * minute none asks again. */
START_TEST(a_list_that_does_not_come_is_given_up)
{
	static const char *const answers[] = { PODMAN }; /* all else is held */
	begin(answers, 1);
	struct sbx_walk walk = frozen_walk(1);
	int64_t began_ms = sbx_clock_ms();
	ck_assert(!sbx_walk_by_changes(&walk, "/work/a/other", &call));
	ck_assert_int_lt(sbx_clock_ms() - began_ms, 5000); /* of twenty seconds that it had */
	ck_assert_int_eq(walk.lists, 1);
	struct sbx_walk next = frozen_walk(2);
	ck_assert(!sbx_walk_by_changes(&next, "/work/a/other", &call));
	ck_assert_int_eq(next.lists, 0);
	ck_assert(!sbx_walked_has(plane->walked, 1, "/work"));
	end();
}
END_TEST

UNIT_MAIN("walk_changes", the_directories_that_it_shows_are_known, what_it_does_not_name_is_absent,
	it_is_asked_for_where_it_spares_two_questions, it_is_not_asked_for_while_the_guest_runs,
	docker_is_asked_by_heads, a_walk_asks_for_eight_at_most,
	a_list_that_does_not_come_is_given_up)
