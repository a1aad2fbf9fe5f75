/*
 * api.h: what the files of engine/api share: the engine's inside, one request with its errors told
 * apart, JSON answers.
 */
#ifndef SBX_API_API_H
#define SBX_API_API_H

#include "../base/json.h"
#include "../transport/http.h"

#include <sbx/engine.h>

struct sbx_engine; /* its inside is engine.c's */

struct sbx_http *sbx_api_http(struct sbx_engine *engine);

/* "/v1.41" + formatted path. The caller encodes what it puts in. malloc'd. */
char *sbx_api_target(struct sbx_engine *engine, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Performs; a status of 300 and above (but 304) becomes an error: message from the JSON body
 * (Docker "message", Podman "cause" and "message"), host storage paths cut, status in
 * err->http_status. 404 is ENOENT, 409 EBUSY, 400 EINVAL, else EIO; the caller refines by
 * sbx_api_text_has and _ends. */
int sbx_api_request(struct sbx_engine *engine, const struct sbx_http_request *request,
	const struct sbx_call *call, struct sbx_http_response *response, struct sbx_error *err);
/* The error of such an answer alone: 0 when the status is none. */
int sbx_api_status(const struct sbx_http_response *response, struct sbx_error *err);
/* The same with a JSON answer of at most max_body (0: 16 MiB); json_out NULL: the answer is
 * ignored. */
int sbx_api_json(struct sbx_engine *engine, const char *method, const char *target,
	const cJSON *body, const struct sbx_call *call, size_t max_body, cJSON **json_out,
	struct sbx_error *err);

/* Case-insensitive, in what the engine said. A guest chooses names that engines quote: where a
 * wrong conclusion would matter ask _begins or _ends. */
bool sbx_api_text_has(const struct sbx_error *err, const char *phrase);
bool sbx_api_text_begins(const struct sbx_error *err, const char *phrase);
bool sbx_api_text_ends(const struct sbx_error *err, const char *phrase);

/* Changes errno and kind of err and keeps its sentence and status. Returns -errnum. */
int sbx_api_become(struct sbx_error *err, enum sbx_kind kind, int errnum);

/* For counters of the archive calls and pauses. */
enum sbx_api_count { SBX_COUNT_PAUSE, SBX_COUNT_HEAD, SBX_COUNT_GET, SBX_COUNT_PUT };
void sbx_api_count(struct sbx_engine *engine, enum sbx_api_count what);

#endif
