/*
 * fuzz_text.c: texts of guests and engines: what is shown of them holds no control byte, times and
 * amounts are what they say or are refused.
 */
#include "api/rfc3339.h"
#include "base/text.h"
#include "files/change_names.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	cleanup_free char *text = sbx_strndup((const char *)data, size);
	cleanup_free char *escaped = sbx_text_escape_n((const char *)data, size);
	long long number;
	int64_t seconds;
	int32_t nanoseconds;
	for (const char *at = escaped; *at; at++)
		promise((unsigned char)*at >= ' ' && *at != 0x7f);
	promise(sbx_utf8_valid(escaped, strlen(escaped)));
	if (sbx_time_parse(text, &seconds, &nanoseconds))
		promise(nanoseconds >= 0 && nanoseconds < 1000000000);
	(void)sbx_time_parse_ns(text);
	if (sbx_text_to_int64(text, &number))
		promise(number >= 0);
	if (sbx_text_to_bytes(text, &number))
		promise(number >= 0);
	if (sbx_text_to_seconds(text, &number))
		promise(number >= 0);
	cleanup_free char *spelled = sbx_change_names_spell(text);
	promise(sbx_utf8_valid(spelled, strlen(spelled)));
	return 0;
}
