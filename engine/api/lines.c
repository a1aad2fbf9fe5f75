/* lines.c: see lines.h. */
#include "lines.h"

#include <string.h>

static int hand_on(struct sbx_lines *lines)
{
	struct sbx_buffer *line = &lines->line;
	while (line->size && strchr("\r \t", line->data[line->size - 1]))
		line->data[--line->size] = '\0';
	int result = 0;
	if (line->size && !lines->skipping)
		result = lines->fn(lines->data, line->data, line->size);
	sbx_buffer_clear(line);
	lines->skipping = false;
	return result;
}

int sbx_lines_feed(struct sbx_lines *lines, const char *bytes, size_t size)
{
	lines->line.limit = lines->max_line;
	while (size) {
		const char *end = memchr(bytes, '\n', size);
		size_t part = end ? (size_t)(end - bytes) : size;
		if (!lines->skipping && !sbx_buffer_append(&lines->line, bytes, part)) {
			lines->skipping = true;
			lines->too_long++;
			sbx_buffer_finish(&lines->line);
		}
		if (!end)
			return 0;
		int result = hand_on(lines);
		if (result)
			return result;
		bytes += part + 1;
		size -= part + 1;
	}
	return 0;
}

int sbx_lines_end(struct sbx_lines *lines)
{
	return hand_on(lines);
}

void sbx_lines_finish(struct sbx_lines *lines)
{
	sbx_buffer_finish(&lines->line);
}
