/*
 * fuzz_staging_record.c: a staging record as a crash, a full disk or another program left it. One
 * that is accepted is printed and read back the same, its path byte for byte.
 */
#include "fuzz.h"
#include "staging_record.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_staged first = { 0 }, second = { 0 };
	if (sbx_staged_parse((const char *)data, size, &first, &err) < 0) {
		promise(err.message[0]);
		return 0;
	}
	cleanup_free char *text = sbx_staged_print(&first);
	promise(sbx_staged_parse(text, strlen(text), &second, &err) == 0);
	promise(strcmp(first.path, second.path) == 0 && first.size == second.size);
	promise(first.mode == second.mode && first.mtime_s == second.mtime_s);
	promise(first.mtime_ns == second.mtime_ns && first.local == second.local);
	promise(first.attempts == second.attempts && first.errnum == second.errnum);
	sbx_staged_finish(&first);
	sbx_staged_finish(&second);
	return 0;
}
