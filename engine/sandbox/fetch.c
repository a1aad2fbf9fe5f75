/*
 * fetch.c: see sbx/transfer.h. OUT-01: names, then stats and ceilings, then everything is read, and
 * only then does the first file get its name.
 */
#include "fetch_read.h"

#include "../base/alloc.h"

#include <errno.h>
#include <inttypes.h>

/* With a pattern no directory lands for its own sake. */
static bool made_with_its_files(const struct sbx_fetch *fetch, const struct sbx_fetch_item *item)
{
	return item->directory && fetch->options->match_count;
}

static int check_landing(const struct sbx_fetch *fetch, const char *dest, struct sbx_error *err)
{
	int result = 0;
	for (size_t i = 0; result == 0 && i < fetch->plan.count; i++) {
		const struct sbx_fetch_item *item = &fetch->plan.items[i];
		if (!item->result && !made_with_its_files(fetch, item))
			result = sbx_landing_check(
				dest, item->landing, item->directory, fetch->options->force, err);
	}
	return result;
}

static int deliver_item(
	struct sbx_fetch *fetch, const struct sbx_fetch_item *item, struct sbx_error *err)
{
	if (made_with_its_files(fetch, item))
		return 0;
	if (item->directory)
		return sbx_landing_directory(&fetch->landing, item->landing, err);
	return sbx_landing_deliver(
		&fetch->landing, item->number, item->landing, fetch->options->force, err);
}

/* The only phase that can leave a part (OUT-07): the host itself refuses half way. */
static int deliver_all(struct sbx_fetch *fetch, struct sbx_error *err)
{
	struct sbx_error why = SBX_ERROR_INIT;
	size_t landed = 0;
	for (size_t i = 0; i < fetch->plan.count; i++) {
		struct sbx_fetch_item *item = &fetch->plan.items[i];
		if (item->result)
			continue;
		if (!why.errnum && deliver_item(fetch, item, &why) == 0) {
			landed += !item->directory;
			continue;
		}
		sbx_fetch_refuse(item, &why);
	}
	if (!why.errnum)
		return 0;
	return sbx_fail_kind(err, SBX_KIND_PARTIAL, EIO,
		"%zu of %" PRId64 " files had landed when this failed: %s", landed,
		fetch->plan.files, why.message);
}

/* Refused entries of a directory: the others have landed, and it is said that not all has. */
static int say_refused(const struct sbx_fetch_plan *plan, struct sbx_error *err)
{
	size_t refused = 0;
	const char *first = NULL;
	for (size_t i = 0; i < plan->count; i++) {
		if (!plan->items[i].result || plan->items[i].named)
			continue;
		if (!refused++)
			first = plan->items[i].reason;
	}
	if (!refused)
		return 0;
	return sbx_fail_kind(err, SBX_KIND_PARTIAL, EIO,
		"%zu of the entries %s not fetched, the first: %s", refused,
		refused == 1 ? "was" : "were", first);
}

static void report(struct sbx_fetch_plan *plan, struct sbx_fetches *out)
{
	out->rows = sbx_alloc_array(plan->count, sizeof(*out->rows));
	for (size_t i = 0; i < plan->count; i++) {
		struct sbx_fetch_item *item = &plan->items[i];
		if (item->directory && !item->result)
			continue;
		struct sbx_fetched *row = &out->rows[out->count++];
		*row = (struct sbx_fetched){
			.path = steal(&item->path),
			.size = item->size,
			.result = item->result,
			.reason = steal(&item->reason),
		};
		for (size_t c = 0; c < sizeof(row->sha256); c++)
			row->sha256[c] = item->sha256[c];
	}
}

/* Phases 3 and 4: nothing exists on the host before, and nothing stays if 3 fails. */
static int land(struct sbx_fetch *fetch, const char *dest, struct sbx_error *err)
{
	bool any = false;
	for (size_t i = 0; i < fetch->plan.count; i++)
		any = any || !fetch->plan.items[i].result;
	if (!any)
		return 0;
	int result = sbx_landing_open(&fetch->landing, dest, err);
	if (result == 0)
		result = sbx_fetch_read(fetch, err);
	if (result == 0)
		result = deliver_all(fetch, err);
	sbx_landing_close(&fetch->landing);
	return result;
}

int sbx_fetch(struct sbx_plane *plane, const struct sbx_sandbox *sandbox, const char *const *paths,
	size_t count, const char *dest, const struct sbx_fetch_options *options,
	const struct sbx_call *call, const struct sbx_transfer_progress *progress,
	struct sbx_fetches *out, struct sbx_error *err)
{
	static const struct sbx_fetch_options defaults = { 0 };
	struct sbx_fetch fetch = { .plane = plane,
		.options = options ? options : &defaults,
		.call = call,
		.progress = progress,
		.landing = { .top = -1, .staging = -1 } };
	struct sbx_error why = SBX_ERROR_INIT;
	*out = (struct sbx_fetches){ 0 };
	int result = sbx_fetch_plan_names(&fetch.plan, sandbox, paths, count, fetch.options, &why);
	if (result == 0)
		result =
			sbx_fetch_plan_stat(&fetch.plan, plane, sandbox, fetch.options, call, &why);
	if (result == 0)
		result = check_landing(&fetch, dest, &why);
	if (result == 0) {
		result = land(&fetch, dest, &why);
		if (result == 0)
			result = say_refused(&fetch.plan, &why);
		if (result == 0 || why.kind == SBX_KIND_PARTIAL)
			report(&fetch.plan, out);
	}
	sbx_fetch_plan_finish(&fetch.plan);
	if (result < 0 && err)
		*err = why;
	return result;
}

void sbx_fetches_finish(struct sbx_fetches *fetches)
{
	for (size_t i = 0; i < fetches->count; i++) {
		free(fetches->rows[i].path);
		free(fetches->rows[i].reason);
	}
	free(fetches->rows);
	*fetches = (struct sbx_fetches){ 0 };
}
