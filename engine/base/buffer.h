/* buffer.h: a growing byte buffer with a limit, always NUL-terminated. */
#ifndef SBX_BASE_BUFFER_H
#define SBX_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct sbx_buffer {
	char *data;  /* NULL while empty */
	size_t size; /* without the final NUL */
	size_t capacity;
	size_t limit; /* 0: none */
};

/* false when the limit would be passed; the buffer is then unchanged. */
bool sbx_buffer_append(struct sbx_buffer *buffer, const void *bytes, size_t size);
bool sbx_buffer_append_text(struct sbx_buffer *buffer, const char *text);
bool sbx_buffer_printf(struct sbx_buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The text so far, "" while empty; owned by the buffer. */
const char *sbx_buffer_text(const struct sbx_buffer *buffer);
void sbx_buffer_clear(struct sbx_buffer *buffer); /* keeps the memory */
void sbx_buffer_finish(struct sbx_buffer *buffer);

#endif
