/*
 * frames.h: the engine's multiplexed stream: frames of an 8-byte head and data. Incremental, with
 * no memory of its own: data is handed on as it comes, whatever length a frame claims.
 */
#ifndef SBX_API_FRAMES_H
#define SBX_API_FRAMES_H

#include <sbx/container.h>

struct sbx_frames { /* zero-initialised but for output and data */
	unsigned char head[8];
	size_t head_size;
	uint32_t left; /* of the frame's data */
	sbx_output_fn output;
	void *data;
	bool raw; /* a terminal's stream: no frames, all of it stdout */
};

/* 0, the output function's non-zero value, or EIO for what is no frame. */
int sbx_frames_feed(
	struct sbx_frames *frames, const char *bytes, size_t size, struct sbx_error *err);
/* At the stream's end: EIO inside a frame. */
int sbx_frames_end(const struct sbx_frames *frames, struct sbx_error *err);

#endif
