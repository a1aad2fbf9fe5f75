/*
 * fuzz_engine_answers.c: every parser of what an engine, or a guest through it, can put into an
 * answer. The first byte chooses the parser.
 */
#include "api/changes.h"
#include "api/container_parse.h"
#include "api/error_text.h"
#include "api/events.h"
#include "api/exec_run.h"
#include "api/frames.h"
#include "api/glob_escape.h"
#include "api/lines.h"
#include "api/stat_header.h"
#include "base/alloc.h"
#include "transport/answer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* In whatever pieces: the same list, and one only where the whole is JSON. */
static void parse_changes(const char *text, size_t size)
{
	size_t counts[2] = { 0 };
	int results[2];
	for (int way = 0; way < 2; way++) {
		struct sbx_error err = SBX_ERROR_INIT;
		struct sbx_changes_reader reader = { .near = "/w", .err = &err };
		struct sbx_changes changes = { 0 };
		size_t piece = way ? 3 : size;
		int result = 0;
		for (size_t at = 0; at < size && !result; at += piece)
			result = sbx_changes_feed(
				&reader, text + at, size - at < piece ? size - at : piece);
		results[way] = result ? result : sbx_changes_end(&reader, &changes);
		counts[way] = changes.count;
		sbx_changes_finish(&changes);
		sbx_changes_reader_finish(&reader);
	}
	if (results[0] != results[1] || counts[0] != counts[1])
		abort();
	cleanup_json cJSON *json = sbx_json_parse(text, size, 0, "fuzz", NULL);
	if (!results[0] && !json)
		abort();
}

static void parse_json(const char *text, size_t size)
{
	parse_changes(text, size);
	cleanup_json cJSON *json = sbx_json_parse(text, size, 0, "fuzz", NULL);
	struct sbx_container_list list;
	struct sbx_event event;
	if (!json)
		return;
	if (!sbx_container_list_parse(json, &list, NULL))
		sbx_container_list_finish(&list);
	(void)sbx_event_parse(json, &event);
	struct sbx_container container;
	if (!sbx_container_parse(steal(&json), true, &container, NULL))
		sbx_container_finish(&container);
}

static void parse_head(char *bytes, size_t size)
{
	struct sbx_http_response response = { 0 };
	int64_t length;
	bool chunked;
	ssize_t head = sbx_answer_head(&response, bytes, size, &length, &chunked);
	if (head > 0 && sbx_answer_dechunk(bytes + head, size - (size_t)head) > size)
		abort();
	sbx_http_response_finish(&response);
}

static int keep(void *data, const char *line, size_t size)
{
	if (!size || size > 64)
		abort();
	return 0;
}

static void parse_streams(const char *bytes, size_t size)
{
	struct sbx_frames frames = { 0 };
	struct sbx_lines lines = { .max_line = 64, .fn = keep };
	for (size_t at = 0; at < size; at += 7) {
		size_t part = size - at < 7 ? size - at : 7;
		(void)sbx_frames_feed(&frames, bytes + at, part, NULL);
		(void)sbx_lines_feed(&lines, bytes + at, part);
	}
	(void)sbx_lines_end(&lines);
	sbx_lines_finish(&lines);
}

static void parse_texts(const char *text, size_t size)
{
	struct sbx_stat st;
	if (!sbx_stat_header_parse(text, &st, NULL)) {
		if (st.size < 0)
			abort();
		sbx_stat_finish(&st);
	}
	cleanup_free char *error = sbx_error_text(text, size);
	(void)sbx_exec_code_of_text(error);
	cleanup_free char *escaped = sbx_glob_escape(text);
	if (strchr(escaped, '*'))
		abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	if (!size)
		return 0;
	cleanup_free char *text = sbx_strndup((const char *)data + 1, size - 1);
	switch (data[0] % 4) {
	case 0:
		parse_json(text, size - 1);
		break;
	case 1:
		parse_head(text, size - 1);
		break;
	case 2:
		parse_streams(text, size - 1);
		break;
	default:
		parse_texts(text, size - 1);
	}
	return 0;
}
