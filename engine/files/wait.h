/* wait.h: a sleep that a call's deadline and cancel token end at once. */
#ifndef SBX_FILES_WAIT_H
#define SBX_FILES_WAIT_H

#include <sbx/call.h>
#include <sbx/error.h>

/* 0 after at most ms milliseconds, or ETIMEDOUT/ECANCELED with a sentence that says what was waited
 * for. */
int sbx_wait_ms(const struct sbx_call *call, int64_t ms, const char *what, struct sbx_error *err);

#endif
