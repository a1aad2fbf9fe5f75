/* buffer.c: see buffer.h. */
#include "buffer.h"

#include "alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool sbx_buffer_append(struct sbx_buffer *buffer, const void *bytes, size_t size)
{
	if (size > SIZE_MAX / 4 - buffer->size)
		return false;
	size_t needed = buffer->size + size;
	if (buffer->limit && needed > buffer->limit)
		return false;
	if (needed + 1 > buffer->capacity) {
		size_t capacity = buffer->capacity ? buffer->capacity : 256;
		while (capacity < needed + 1)
			capacity *= 2;
		buffer->data = sbx_realloc_array(buffer->data, capacity, 1);
		buffer->capacity = capacity;
	}
	if (size)
		memcpy(buffer->data + buffer->size, bytes, size);
	buffer->size = needed;
	buffer->data[needed] = '\0';
	return true;
}

bool sbx_buffer_append_text(struct sbx_buffer *buffer, const char *text)
{
	return sbx_buffer_append(buffer, text, strlen(text));
}

bool sbx_buffer_printf(struct sbx_buffer *buffer, const char *format, ...)
{
	cleanup_free char *text = NULL;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		abort();
	return sbx_buffer_append(buffer, text, (size_t)length);
}

const char *sbx_buffer_text(const struct sbx_buffer *buffer)
{
	return buffer->data ? buffer->data : "";
}

void sbx_buffer_clear(struct sbx_buffer *buffer)
{
	buffer->size = 0;
	if (buffer->data)
		buffer->data[0] = '\0';
}

void sbx_buffer_finish(struct sbx_buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct sbx_buffer){ .limit = buffer->limit };
}
