/*
 * pass_on.h: a command's output, handed on byte by byte to our own stdout and stderr.
 *
 * No write waits where the call cannot end it: a reader that takes nothing (`| less`) is waited for
 * within the bounds only, so that a deadline and Ctrl-C hold. A non-blocking descriptor, which ours
 * may be by somebody else's doing, is waited for alike.
 */
#ifndef SBX_TOOLS_PASS_ON_H
#define SBX_TOOLS_PASS_ON_H

#include <sbx/call.h>
#include <stddef.h>

struct sbx_pass_on {
	struct sbx_call bounds; /* of every wait */
	int failed;		/* what was returned, where that was not 0 */
};

/* An sbx_output_fn; data is a struct sbx_pass_on. -ETIMEDOUT or -ECANCELED by the bounds, -EPIPE
 * where the reader has gone (`| head`), other -errno where the bytes cannot be written. */
int sbx_tool_pass_on(void *data, int stream, const char *bytes, size_t size);

/* The same where a person may be reading: to a terminal a guest's bytes go escaped but for line
 * breaks and tabs, since they could repaint it, fake a prompt or fill the clipboard. */
int sbx_tool_show(void *data, int stream, const char *bytes, size_t size);

#endif
