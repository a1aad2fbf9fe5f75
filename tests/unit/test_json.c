/* test_json.c: what a guest may have chosen, printed as JSON: the same value, harmless to a
 * terminal.
 */
#include "base/alloc.h"
#include "base/json.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

START_TEST(what_moves_a_terminal_is_printed_escaped)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "plain \xc3\xa4 \xf0\x9f\x98\x80", "plain \xc3\xa4 \xf0\x9f\x98\x80" },
		{ "a\nb\033[2J\\", "a\\nb\\u001b[2J\\\\" },
		{ "\x7f", "\\u007f" },
		{ "\xc2\x9b"
		  "2J",
			"\\u009b2J" },
		{ "\xe2\x80\xae"
		  "gnp.exe",
			"\\u202egnp.exe" },
		{ "\xf3\xa0\x80\x81", "\\udb40\\udc01" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_json cJSON *json = cJSON_CreateObject();
		cJSON_AddItemToObject(json, rows[i].in, cJSON_CreateString(rows[i].in));
		cleanup_free char *wanted = sbx_printf("{\"%s\":\"%s\"}", rows[i].out, rows[i].out);
		cleanup_free char *shown = sbx_json_print_shown(json);
		ck_assert_str_eq(shown, wanted);
		cleanup_json cJSON *again = cJSON_Parse(shown);
		ck_assert(cJSON_Compare(json, again, true));
	}
}
END_TEST

START_TEST(bytes_that_are_no_text_do_not_spoil_a_document)
{
	cleanup_json cJSON *json = cJSON_CreateString("a\xff\xe2\x80");
	cleanup_free char *shown = sbx_json_print_shown(json);
	ck_assert_str_eq(shown, "\"a\\ufffd\\ufffd\\ufffd\"");
}
END_TEST

START_TEST(bytes_of_any_kind_are_kept)
{
	static const struct {
		const char *in;
		size_t size;
		const char *out;
	} rows[] = {
		{ NULL, 0, "{\"k\":\"\"}" },
		{ "a\0b\n\"\\", 6, "{\"k\":\"a\\u0000b\\n\\u0022\\u005c\"}" },
		{ "\xc3\xa4", 2, "{\"k\":\"\xc3\xa4\"}" },
		{ "\xff", 1, "{\"k\":\"\\ufffd\",\"k_base64\":\"/w==\"}" },
		{ "\0\xff", 2, "{\"k\":\"\\u0000\\ufffd\",\"k_base64\":\"AP8=\"}" },
		{ "x\xff\xfe", 3, "{\"k\":\"x\\ufffd\\ufffd\",\"k_base64\":\"eP/+\"}" },
		{ "\xc3", 1, "{\"k\":\"\\ufffd\",\"k_base64\":\"ww==\"}" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_json cJSON *json = cJSON_CreateObject();
		sbx_json_add_bytes(json, "k", rows[i].in, rows[i].size);
		cleanup_free char *shown = sbx_json_print_shown(json);
		ck_assert_str_eq(shown, rows[i].out);
	}
}
END_TEST

/* Lists in lists, so many, around a string that holds brackets. */
static cJSON *nested(size_t depth, unsigned bound, struct sbx_error *err)
{
	cleanup_free char *open = sbx_alloc(depth + 1);
	cleanup_free char *close = sbx_alloc(depth + 1);
	memset(open, '[', depth);
	memset(close, ']', depth);
	cleanup_free char *text = sbx_printf("%s\"[[\\\"[\"%s", open, close);
	return sbx_json_parse(text, strlen(text), bound, "an answer", err);
}

START_TEST(the_depth_has_a_bound)
{
	static const struct {
		size_t depth;
		unsigned bound;
		bool taken;
	} rows[] = { { 64, 0, true }, { 65, 0, false }, { 16, 16, true }, { 17, 16, false },
		{ 1000000, 0, false } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		cleanup_json cJSON *json = nested(rows[i].depth, rows[i].bound, &err);
		ck_assert_int_eq(json != NULL, rows[i].taken);
		if (!json)
			ck_assert_str_eq(err.message, "an answer: the JSON is nested too deeply");
		ck_assert_int_eq(err.errnum, json ? 0 : EIO);
	}
}
END_TEST

UNIT_MAIN("json", what_moves_a_terminal_is_printed_escaped,
	bytes_that_are_no_text_do_not_spoil_a_document, bytes_of_any_kind_are_kept,
	the_depth_has_a_bound)
