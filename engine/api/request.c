/* request.c: one request whose error answers are told apart; see api.h. */
#include "api.h"

#include "../base/alloc.h"
#include "../base/text.h"
#include "error_text.h"

#include <errno.h>
#include <string.h>

#define SAYS "the engine says: "

int sbx_api_become(struct sbx_error *err, enum sbx_kind kind, int errnum)
{
	if (err) {
		err->kind = kind;
		err->errnum = errnum;
	}
	return -errnum;
}

bool sbx_api_text_has(const struct sbx_error *err, const char *phrase)
{
	return err && strcasestr(err->message, phrase) != NULL;
}

bool sbx_api_text_begins(const struct sbx_error *err, const char *phrase)
{
	return err && sbx_text_has_prefix(err->message, SAYS) &&
	       strncasecmp(err->message + strlen(SAYS), phrase, strlen(phrase)) == 0;
}

bool sbx_api_text_ends(const struct sbx_error *err, const char *phrase)
{
	if (!err)
		return false;
	size_t size = strlen(err->message), length = strlen(phrase);
	return size >= length && strcasecmp(err->message + size - length, phrase) == 0;
}

/* "client version 1.41 is too old. Minimum supported API version is …", and the same of too new. */
static bool refuses_version(int status, const char *text)
{
	static const char start[] = "client version ";
	return status == 400 && strncasecmp(text, start, strlen(start)) == 0 &&
	       strcasestr(text, "supported API version");
}

int sbx_api_status(const struct sbx_http_response *response, struct sbx_error *err)
{
	int status = response->status;
	if (status < 300 || status == 304)
		return 0;
	cleanup_free char *text = sbx_error_text(response->body, response->body_size);
	/* No http_status: this is no answer about the resource, and no caller may read one from it.
	 */
	if (refuses_version(status, text))
		return sbx_fail(err, EOPNOTSUPP, SAYS "%s", text);
	int errnum = status == 404 ? ENOENT : status == 409 ? EBUSY : status == 400 ? EINVAL : EIO;
	if (*text)
		(void)sbx_fail(err, errnum, SAYS "%s", text);
	else
		(void)sbx_fail(err, errnum, "the engine answered with status %d", status);
	if (err)
		err->http_status = status;
	return -errnum;
}

int sbx_api_request(struct sbx_engine *engine, const struct sbx_http_request *request,
	const struct sbx_call *call, struct sbx_http_response *response, struct sbx_error *err)
{
	int result = sbx_http_perform(sbx_api_http(engine), request, call, response, err);
	return result ? result : sbx_api_status(response, err);
}

int sbx_api_json(struct sbx_engine *engine, const char *method, const char *target,
	const cJSON *body, const struct sbx_call *call, size_t max_body, cJSON **json_out,
	struct sbx_error *err)
{
	cleanup_free char *text = body ? sbx_json_print(body) : NULL;
	struct sbx_http_request request = { .method = method,
		.target = target,
		.content_type = text ? "application/json" : NULL,
		.body = text,
		.body_size = text ? strlen(text) : 0,
		.max_body = max_body };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = sbx_api_request(engine, &request, call, &response, err);
	if (result || !json_out)
		return result;
	*json_out = sbx_json_parse(
		response.body ? response.body : "", response.body_size, 0, "the engine", err);
	return *json_out ? 0 : -EIO;
}
