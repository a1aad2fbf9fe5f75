/*
 * answer.h: what http.c and hijack.c share about the head of an HTTP answer and about waiting on a
 * socket within a call's bounds.
 */
#ifndef SBX_TRANSPORT_ANSWER_H
#define SBX_TRANSPORT_ANSWER_H

#include "http.h"

#include <sys/types.h>

#define SBX_HTTP_MAX_HEAD ((size_t)64 << 10)	   /* all header lines of one answer */
#define SBX_HTTP_MAX_ERROR_BODY ((size_t)64 << 10) /* kept of an error's body */
#define SBX_HTTP_MAX_BODY ((size_t)16 << 20)	   /* collected, unless the request says */
#define SBX_HTTP_IDLE_MS ((int64_t)60 * 1000)

/* The status of "HTTP/1.x NNN …", or 0 when the line is no such thing. */
int sbx_answer_status_line(const char *line, size_t size);
/* Keeps a header line that sbx_http_response has a place for; the first of duplicates wins. */
void sbx_answer_header(struct sbx_http_response *response, const char *line, size_t size);

/* Parses the head in bytes: status and headers go to response. Returns the size of the head, 0 when
 * it is not complete yet, -1 when it is not HTTP. Interim answers (1xx but 101) are skipped. */
ssize_t sbx_answer_head(struct sbx_http_response *response, const char *bytes, size_t size,
	int64_t *content_length, bool *chunked);

/* Removes the chunk framing in place; returns the size of what is left. Stops where it is broken.
 */
size_t sbx_answer_dechunk(char *body, size_t size);

/* Waits for events (as poll) on fd. idle_ms < 0: no idle bound. 0, or ETIMEDOUT / ECANCELED. */
int sbx_answer_wait(
	int fd, short events, const struct sbx_call *call, int64_t idle_ms, struct sbx_error *err);

#endif
