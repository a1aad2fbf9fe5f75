/* lines.h: lines out of a stream whose chunks end anywhere, with a bound on a line. */
#ifndef SBX_API_LINES_H
#define SBX_API_LINES_H

#include "../base/buffer.h"

struct sbx_lines { /* zero-initialised but for the three below */
	struct sbx_buffer line;
	bool skipping;	   /* inside a line that passed the bound */
	unsigned too_long; /* how many did */
	size_t max_line;
	/* A line without its end, never empty. Non-zero ends the feed and is returned. */
	int (*fn)(void *data, const char *line, size_t size);
	void *data;
};

int sbx_lines_feed(struct sbx_lines *lines, const char *bytes, size_t size);
int sbx_lines_end(struct sbx_lines *lines); /* hands on a last line without a newline */
void sbx_lines_finish(struct sbx_lines *lines);

#endif
