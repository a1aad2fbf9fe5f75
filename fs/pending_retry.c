/*
 * pending_retry.c: uploads what no mount looks after (sbx_pending_retry), in few archives per
 * sandbox and store: as many files as may be open at once.
 */
#include "pending_walk.h"

#include <sbx/transfer.h>

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

enum { FILES_AT_ONCE = 64 }; /* open */

struct retry {
	struct sbx_pending_tally tally;
	struct sbx_engine *engine;
	const struct sbx_rules *rules;
	const struct sbx_call *call;
};

static void fail_row(struct retry *retry, struct sbx_pending_batch *batch,
	struct sbx_pending_row *row, const struct sbx_error *why)
{
	struct sbx_staged *staged = &row->staged;
	struct sbx_error unrecorded = SBX_ERROR_INIT;
	struct sbx_error told = *why;
	staged->attempts++;
	if (!staged->damaged && staged->path[0]) {
		free(staged->reason);
		staged->reason = sbx_strdup(why->message);
		staged->errnum = why->errnum;
		if (sbx_staging_record(batch->staging, staged, -1, false, &unrecorded))
			sbx_wrap(&told, "%s, and", unrecorded.message);
	}
	sbx_pending_tell(&retry->tally, row, &told);
}

/* Files of one sandbox in one archive. */
static void upload(struct retry *retry, struct sbx_pending_batch *batch, struct sbx_plane *plane,
	struct sbx_pending_row **rows, size_t count)
{
	struct sbx_put_item *items = sbx_alloc_array(count, sizeof(*items));
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		struct sbx_staged *staged = &rows[i]->staged;
		struct sbx_error why = SBX_ERROR_INIT;
		int fd;
		if (sbx_staging_reopen(batch->staging, staged->sequence, &fd, &why)) {
			fail_row(retry, batch, rows[i], &why);
			continue;
		}
		rows[used] = rows[i];
		items[used++] = (struct sbx_put_item){
			.path = staged->path,
			.type = SBX_TYPE_FILE,
			.mode = staged->mode,
			.mtime_s = staged->mtime_s,
			.mtime_ns = staged->mtime_ns,
			.size = lseek(fd, 0, SEEK_END),
			.fd = fd,
			.only_new = staged->only_new,
		};
	}
	struct sbx_error first = SBX_ERROR_INIT;
	if (used)
		(void)plane->ops->put(
			plane, items, used, retry->call, &first); /* each item has its own result */
	for (size_t i = 0; i < used; i++) {
		struct sbx_error why = SBX_ERROR_INIT;
		(void)close(items[i].fd); /* only read */
		if (items[i].touched)	  /* by us: that may be replaced */
			rows[i]->staged.only_new = false;
		if (items[i].result)
			fail_row(retry, batch, rows[i], &items[i].err);
		else if (sbx_staging_forget(batch->staging, rows[i]->staged.sequence, &why))
			sbx_pending_tell(&retry->tally, rows[i], &why);
		else
			sbx_pending_tell(&retry->tally, rows[i], NULL);
	}
	free(items);
}

/* That was no attempt: their records keep why they did not land. */
static void not_of_this_engine(struct retry *retry, struct sbx_pending_row **rows, size_t count)
{
	struct sbx_error why = SBX_ERROR_INIT;
	sbx_fail(&why, EHOSTDOWN, "it belongs to another engine, --engine %s", rows[0]->engine_url);
	for (size_t i = 0; i < count; i++)
		sbx_pending_tell(&retry->tally, rows[i], &why);
}

static void retry_sandbox(struct retry *retry, struct sbx_pending_batch *batch,
	struct sbx_pending_row **rows, size_t count)
{
	struct sbx_error why = SBX_ERROR_INIT;
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_plane_limits limits;
	sbx_plane_limits_default(&limits);
	if (strcmp(rows[0]->engine_key, sbx_engine_key(retry->engine)) != 0) {
		not_of_this_engine(retry, rows, count);
		return;
	}
	int result = 0;
	if (!rows[0]->staged.sandbox_id[0])
		result = sbx_fail(&why, EIO, "its record cannot be read");
	if (!result)
		result = sbx_sandbox_find(retry->engine, retry->rules, rows[0]->staged.sandbox_id,
			retry->call, &sandbox, &why);
	struct sbx_plane *plane =
		result ? NULL : sbx_transfer_plane(retry->engine, &sandbox, &limits);
	for (size_t at = 0; plane && at < count; at += FILES_AT_ONCE) {
		size_t left = count - at;
		upload(retry, batch, plane, rows + at, left < FILES_AT_ONCE ? left : FILES_AT_ONCE);
	}
	for (size_t i = 0; !plane && i < count; i++)
		fail_row(retry, batch, rows[i], &why);
	sbx_plane_destroy(plane);
	sbx_sandbox_finish(&sandbox);
}

static void retry_batch(void *data, struct sbx_pending_batch *batch)
{
	struct sbx_pending_row **rows = sbx_alloc_array(batch->count, sizeof(*rows));
	bool *taken = sbx_alloc_array(batch->count, sizeof(*taken));
	for (size_t i = 0; i < batch->count; i++) {
		size_t count = 0;
		for (size_t k = i; !taken[i] && k < batch->count; k++) {
			if (taken[k] || strcmp(batch->rows[k].staged.sandbox_id,
						batch->rows[i].staged.sandbox_id) != 0)
				continue;
			rows[count++] = &batch->rows[k];
			taken[k] = k != i;
		}
		if (count)
			retry_sandbox(data, batch, rows, count);
		taken[i] = true;
	}
	free(taken);
	free(rows);
}

int sbx_pending_retry(const char *root, const struct sbx_pending_filter *filter,
	struct sbx_engine *engine, const struct sbx_rules *rules, const struct sbx_call *call,
	sbx_pending_fn tell, void *data, struct sbx_error *err)
{
	struct retry retry = {
		.tally = { .tell = tell, .data = data },
		.engine = engine,
		.rules = rules,
		.call = call,
	};
	struct sbx_pending_walk walk = { .visit = retry_batch, .data = &retry };
	int result = sbx_pending_walk(root, filter, &walk, err);
	return result ? result : sbx_pending_result(&retry.tally, err);
}
