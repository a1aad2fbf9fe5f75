/* alloc.c: see alloc.h. */
#include "alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *checked(void *memory)
{
	if (memory)
		return memory;
	static const char message[] = "sbxfs: out of memory\n";
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		abort();
	abort();
}

void *sbx_alloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *sbx_alloc_array(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *sbx_realloc_array(void *old, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		return checked(NULL);
	size_t bytes = count * size;
	return checked(realloc(old, bytes ? bytes : 1));
}

char *sbx_strdup(const char *text)
{
	return text ? checked(strdup(text)) : NULL;
}

char *sbx_strndup(const char *text, size_t size)
{
	char *copy = sbx_alloc(size + 1);
	memcpy(copy, text, size);
	return copy;
}

char *sbx_printf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	return checked(length < 0 ? NULL : text);
}
