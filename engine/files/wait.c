/* wait.c: see wait.h. */
#include "wait.h"

#include <errno.h>
#include <poll.h>

int sbx_wait_ms(const struct sbx_call *call, int64_t ms, const char *what, struct sbx_error *err)
{
	int64_t left_ms = sbx_call_left_ms(call);
	struct sbx_cancel *cancel = call ? call->cancel : NULL;
	if (sbx_cancel_fired(cancel))
		return sbx_fail(err, ECANCELED, "cancelled while waiting for %s", what);
	if (left_ms <= 0)
		return sbx_fail(err, ETIMEDOUT, "no time left while waiting for %s", what);
	if (ms > left_ms)
		ms = left_ms;
	struct pollfd fired = { .fd = sbx_cancel_fd(cancel), .events = POLLIN };
	/* An early return (a signal) only makes the caller look again. */
	(void)poll(&fired, 1, ms > 60000 ? 60000 : (int)ms);
	if (sbx_cancel_fired(cancel))
		return sbx_fail(err, ECANCELED, "cancelled while waiting for %s", what);
	return 0;
}
