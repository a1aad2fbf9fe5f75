/* list_around.c: see list_around.h. */
#include "list_around.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WHOLE_MS 3000
#define PART_MS 1500
#define DEPTH_MAX 3 /* 4096 parts: the last one holds hardly more than the culprit */

struct around {
	struct sbx_engine *engine;
	const char *label;
	const struct sbx_call *call;
	struct sbx_container_list *out;
	struct sbx_unanswered *unanswered;
	struct sbx_error *err;
};

bool sbx_unanswered_has(const struct sbx_unanswered *unanswered, const char *id)
{
	for (size_t i = 0; i < unanswered->count; i++) {
		if (sbx_text_has_prefix(id, unanswered->prefixes[i]))
			return true;
	}
	return false;
}

static void append(struct sbx_container_list *out, struct sbx_container_list *part)
{
	out->rows = sbx_realloc_array(out->rows, out->count + part->count, sizeof(*out->rows));
	if (part->count)
		memcpy(out->rows + out->count, part->rows, part->count * sizeof(*part->rows));
	out->count += part->count;
	free(part->rows); /* what the rows own has moved */
}

/* The part took too long, and not because the caller's own time is over. */
static bool unanswered(const struct around *around, int result)
{
	return result == -ETIMEDOUT && sbx_call_left_ms(around->call) > 0;
}

static int give_up_on(struct around *around, const char *prefix)
{
	struct sbx_unanswered *all = around->unanswered;
	(void)snprintf(all->prefixes[all->count++], sizeof(all->prefixes[0]), "%s", prefix);
	return 0;
}

static int list_parts(struct around *around, const char *prefix)
{
	size_t depth = strlen(prefix) + 1;
	for (const char *digit = "0123456789abcdef"; *digit; digit++) {
		char longer[8];
		(void)snprintf(longer, sizeof(longer), "%s%c", prefix, *digit); /* at most 3 */
		struct sbx_container_list part = { 0 };
		struct sbx_call bounded = sbx_call_shorter(around->call, PART_MS);
		int result = sbx_container_list_part(
			around->engine, around->label, longer, &bounded, &part, around->err);
		if (result == 0) {
			append(around->out, &part);
			continue;
		}
		if (!unanswered(around, result))
			return result;
		if (around->unanswered->count == SBX_UNANSWERED_MAX)
			return sbx_fail(around->err, ETIMEDOUT,
				"the engine does not list its containers: too many of them do not "
				"answer");
		result =
			depth < DEPTH_MAX ? list_parts(around, longer) : give_up_on(around, longer);
		if (result < 0)
			return result;
	}
	return 0;
}

int sbx_list_around(struct sbx_engine *engine, const char *label, const struct sbx_call *call,
	struct sbx_container_list *out, struct sbx_unanswered *unanswered_out,
	struct sbx_error *err)
{
	*unanswered_out = (struct sbx_unanswered){ 0 };
	if (!sbx_engine_is_podman(engine))
		return sbx_container_list(engine, label, call, out, err);
	struct sbx_call whole = sbx_call_shorter(call, WHOLE_MS);
	int result = sbx_container_list(engine, label, &whole, out, err);
	struct around around = { engine, label, call, out, unanswered_out, err };
	if (!unanswered(&around, result))
		return result;
	/* An engine that does not even answer a ping has another trouble. */
	struct sbx_call ping = sbx_call_shorter(call, PART_MS);
	if (sbx_engine_ping(engine, &ping, err) < 0)
		return sbx_wrap(err, "the engine does not list its containers");
	*out = (struct sbx_container_list){ 0 };
	result = list_parts(&around, "");
	if (result < 0)
		sbx_container_list_finish(out);
	return result;
}
