/* fuzz.h: what the targets share. A broken promise aborts, as the sanitizers do. */
#ifndef SBX_TESTS_FUZZ_H
#define SBX_TESTS_FUZZ_H

#include "base/alloc.h"

#include <sbx/error.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static inline void promise(bool kept)
{
	if (!kept)
		abort();
}

/* The next line of the input as text, without NUL bytes behind it; "" at the end. malloc'd: a byte
 * too far is seen. */
static inline char *next_text(const unsigned char **data, size_t *size)
{
	const unsigned char *end = memchr(*data, '\n', *size);
	size_t length = end ? (size_t)(end - *data) : *size;
	char *text = sbx_strndup((const char *)*data, length);
	size_t taken = length + (end ? 1 : 0);
	*data += taken;
	*size -= taken;
	return text;
}

#endif
