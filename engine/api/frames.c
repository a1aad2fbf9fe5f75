/* frames.c: see frames.h. Source: Engine API v1.41, POST /containers/{id}/attach, "Stream format".
 */
#include "frames.h"

#include <errno.h>
#include <string.h>

static int hand_on(struct sbx_frames *frames, int stream, const char *bytes, size_t size)
{
	return frames->output && size ? frames->output(frames->data, stream, bytes, size) : 0;
}

/* A complete head: 0 = stdin's echo, 1 = stdout, 2 = stderr, 3 = the engine's own error. */
static int begin(struct sbx_frames *frames, struct sbx_error *err)
{
	const unsigned char *head = frames->head;
	if (head[0] > 2 || head[1] || head[2] || head[3])
		return sbx_fail(err, EIO,
			head[0] == 3 ? "the engine reports a failure inside the output stream"
				     : "the engine's output stream is not framed as it should be");
	frames->left = (uint32_t)head[4] << 24 | (uint32_t)head[5] << 16 | (uint32_t)head[6] << 8 |
		       head[7];
	return 0;
}

int sbx_frames_feed(
	struct sbx_frames *frames, const char *bytes, size_t size, struct sbx_error *err)
{
	if (frames->raw)
		return hand_on(frames, 1, bytes, size);
	while (size) {
		if (!frames->left) {
			size_t part = sizeof(frames->head) - frames->head_size;
			part = part < size ? part : size;
			memcpy(frames->head + frames->head_size, bytes, part);
			frames->head_size += part;
			bytes += part;
			size -= part;
			if (frames->head_size < sizeof(frames->head))
				return 0;
			frames->head_size = 0;
			int result = begin(frames, err);
			if (result)
				return result;
			continue;
		}
		size_t part = frames->left < size ? frames->left : size;
		int result = hand_on(frames, frames->head[0] == 2 ? 2 : 1, bytes, part);
		if (result)
			return result;
		frames->left -= (uint32_t)part;
		bytes += part;
		size -= part;
	}
	return 0;
}

int sbx_frames_end(const struct sbx_frames *frames, struct sbx_error *err)
{
	if (frames->raw || (!frames->left && !frames->head_size))
		return 0;
	return sbx_fail(err, EIO, "the engine's output stream ended inside a frame");
}
