/* test_events.c: event lines in both engines' words, and lines that are cut, long or no events. */
#include "api/events.h"
#include "api/lines.h"
#include "base/alloc.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static bool parse(const char *text, struct sbx_event *event)
{
	static char name[64], id[65]; /* the event's strings die with the JSON */
	cleanup_json cJSON *json = sbx_json_parse(text, strlen(text), 0, "event", NULL);
	if (!json || !sbx_event_parse(json, event))
		return false;
	(void)snprintf(name, sizeof(name), "%s", event->name);
	(void)snprintf(id, sizeof(id), "%s", event->id);
	event->name = name;
	event->id = id;
	return true;
}

START_TEST(knows_both_engines_words)
{
	static const struct {
		const char *action;
		enum sbx_event_type type;
	} rows[] = {
		{ "create", SBX_EVENT_CREATE },
		{ "start", SBX_EVENT_START },
		{ "pause", SBX_EVENT_PAUSE },
		{ "unpause", SBX_EVENT_UNPAUSE },
		{ "die", SBX_EVENT_DIE },
		{ "died", SBX_EVENT_DIE },
		{ "rename", SBX_EVENT_RENAME },
		{ "destroy", SBX_EVENT_REMOVE },
		{ "remove", SBX_EVENT_REMOVE },
		{ "exec_create: sh -c destroy", SBX_EVENT_OTHER },
		{ "archive-path", SBX_EVENT_OTHER },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *text = sbx_printf(
			"{\"Type\":\"container\",\"Action\":\"%s\",\"Actor\":{\"ID\":\"" ID "\","
			"\"Attributes\":{\"name\":\"box\"}},\"time\":1700000000,"
			"\"timeNano\":1700000000123456789}",
			rows[i].action);
		struct sbx_event event;
		ck_assert(parse(text, &event));
		ck_assert_int_eq(event.type, rows[i].type);
		ck_assert_str_eq(event.id, ID);
		ck_assert_str_eq(event.name, "box");
		ck_assert_int_eq(event.time_ns / 1000, 1700000000123456);
	}
}
END_TEST

START_TEST(refuses_what_is_no_container_event)
{
	static const char *const texts[] = { "{}", "[]", "1", "null",
		"{\"Type\":\"network\",\"Action\":\"create\",\"Actor\":{\"ID\":\"" ID "\"}}",
		"{\"Type\":\"container\",\"Action\":\"create\",\"Actor\":{\"ID\":\"short\"}}",
		"{\"Type\":\"container\",\"Actor\":{\"ID\":\"" ID "\"}}",
		"{\"Type\":\"container\",\"Action\":\"create\"}" };
	struct sbx_event event;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_msg(!parse(texts[i], &event), "%s", texts[i]);
}
END_TEST

struct seen {
	char lines[8][16];
	unsigned count;
};

static int keep(void *data, const char *line, size_t size)
{
	struct seen *seen = data;
	ck_assert_uint_lt(seen->count, 8);
	(void)snprintf(seen->lines[seen->count++], 16, "%.*s", (int)size, line);
	return 0;
}

START_TEST(joins_lines_over_any_cut)
{
	static const char text[] = "one\r\n\ntwo\nfar too long a line\nthree\nlast";
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct seen seen = { 0 };
		struct sbx_lines lines = { .max_line = 8, .fn = keep, .data = &seen };
		for (size_t at = 0; at < sizeof(text) - 1; at += piece) {
			size_t left = sizeof(text) - 1 - at;
			ck_assert_int_eq(
				sbx_lines_feed(&lines, text + at, left < piece ? left : piece), 0);
		}
		ck_assert_int_eq(sbx_lines_end(&lines), 0);
		ck_assert_uint_eq(seen.count, 4);
		ck_assert_str_eq(seen.lines[0], "one");
		ck_assert_str_eq(seen.lines[1], "two");
		ck_assert_str_eq(seen.lines[2], "three");
		ck_assert_str_eq(seen.lines[3], "last");
		ck_assert_uint_eq(lines.too_long, 1);
		sbx_lines_finish(&lines);
	}
}
END_TEST

UNIT_MAIN("events", knows_both_engines_words, refuses_what_is_no_container_event,
	joins_lines_over_any_cut)
