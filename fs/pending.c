/*
 * pending.c: listing, discarding and walking the stores that no mount holds (pending.h).
 */
#include "pending_walk.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static void row_finish(struct sbx_pending_row *row)
{
	free(row->store);
	free(row->mount_dir);
	free(row->engine_key);
	free(row->engine_url);
	sbx_staged_finish(&row->staged);
}

void sbx_pending_finish(struct sbx_pending *pending)
{
	for (size_t i = 0; i < pending->count; i++)
		row_finish(&pending->rows[i]);
	for (size_t i = 0; i < pending->live_count; i++)
		free(pending->live[i]);
	free(pending->rows);
	free(pending->live);
	*pending = (struct sbx_pending){ 0 };
}

static bool matches(const struct sbx_pending_filter *filter, const struct sbx_staged *staged)
{
	if (!filter || !filter->sandbox)
		return true;
	return !strcmp(filter->sandbox, staged->sandbox_name) ||
	       (strlen(filter->sandbox) >= 12 &&
		       sbx_text_has_prefix(staged->sandbox_id, filter->sandbox));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The store directories under root, sorted. */
static int store_names(const char *root, char ***out, size_t *count, struct sbx_error *err)
{
	*out = NULL;
	*count = 0;
	DIR *entries = opendir(root);
	if (!entries)
		return errno == ENOENT ? 0 : sbx_fail_errno(err, errno, "cannot list %s", root);
	errno = 0;
	for (struct dirent *entry; (entry = readdir(entries)); errno = 0) {
		if (entry->d_name[0] == '.')
			continue;
		*out = sbx_realloc_array(*out, *count + 1, sizeof(**out));
		(*out)[(*count)++] = sbx_strdup(entry->d_name);
	}
	int cause = errno;
	(void)closedir(entries); /* read only */
	if (cause)
		return sbx_fail_errno(err, cause, "cannot list %s", root);
	if (*count)
		qsort(*out, *count, sizeof(**out), by_name);
	return 0;
}

static int visit_store(struct sbx_staging *staging, const char *name,
	const struct sbx_pending_filter *filter, sbx_pending_visit_fn visit, void *data,
	struct sbx_error *err)
{
	struct sbx_staged_list list;
	int result = sbx_staging_recover(staging, &list, err);
	if (result)
		return result;
	struct sbx_pending_batch batch = {
		.staging = staging,
		.rows = sbx_alloc_array(list.count, sizeof(*batch.rows)),
	};
	for (size_t i = 0; i < list.count; i++) {
		if (!matches(filter, &list.rows[i]))
			continue;
		batch.rows[batch.count++] = (struct sbx_pending_row){
			.store = sbx_strdup(name),
			.mount_dir = sbx_strdup(sbx_staging_mount_dir(staging)),
			.engine_key = sbx_strdup(sbx_staging_engine_key(staging)),
			.engine_url = sbx_strdup(sbx_staging_engine_url(staging)),
			.staged = list.rows[i],
		};
		list.rows[i] = (struct sbx_staged){ 0 };
	}
	sbx_staged_list_finish(&list);
	if (batch.count)
		visit(data, &batch);
	for (size_t i = 0; i < batch.count; i++)
		row_finish(&batch.rows[i]);
	free(batch.rows);
	return 0;
}

int sbx_pending_walk(const char *root, const struct sbx_pending_filter *filter,
	struct sbx_pending_walk *walk, struct sbx_error *err)
{
	char **names;
	size_t count;
	int result = store_names(root, &names, &count, err);
	for (size_t i = 0; i < count; i++) {
		struct sbx_staging *staging = NULL;
		struct sbx_error why = SBX_ERROR_INIT;
		int opened =
			result ? result : sbx_staging_open_existing(root, names[i], &staging, &why);
		if (opened == -EBUSY && walk->live)
			walk->live(walk->data, names[i]);
		else if (!opened &&
			 (!filter || !filter->mount_dir ||
				 !strcmp(filter->mount_dir, sbx_staging_mount_dir(staging))))
			opened = visit_store(
				staging, names[i], filter, walk->visit, walk->data, &why);
		/* One that vanished was finished by its owner; of the others one bad store must not
		 * hide the rest. */
		if (!result && opened && opened != -EBUSY && opened != -ENOENT)
			sbx_log(SBX_LOG_WARNING, "staging directory %s: %s", names[i], why.message);
		sbx_staging_close(staging);
		free(names[i]);
	}
	free(names);
	return result;
}

struct listing {
	const char *root;
	const struct sbx_pending_filter *filter;
	struct sbx_pending *out;
};

static void list_batch(void *data, struct sbx_pending_batch *batch)
{
	struct sbx_pending *out = ((struct listing *)data)->out;
	out->rows = sbx_realloc_array(out->rows, out->count + batch->count, sizeof(*out->rows));
	memcpy(out->rows + out->count, batch->rows, batch->count * sizeof(*out->rows));
	out->count += batch->count;
	batch->count = 0; /* the rows are ours now */
}

static void list_live(void *data, const char *name)
{
	struct listing *listing = data;
	char *mount_dir = sbx_staging_peek_mount_dir(listing->root, name);
	if (listing->filter && listing->filter->mount_dir &&
		strcmp(listing->filter->mount_dir, mount_dir) != 0) {
		free(mount_dir);
		return;
	}
	struct sbx_pending *out = listing->out;
	out->live = sbx_realloc_array(out->live, out->live_count + 1, sizeof(*out->live));
	out->live[out->live_count++] = mount_dir;
}

int sbx_pending_list(const char *root, const struct sbx_pending_filter *filter,
	struct sbx_pending *out, struct sbx_error *err)
{
	*out = (struct sbx_pending){ 0 };
	struct listing listing = { .root = root, .filter = filter, .out = out };
	struct sbx_pending_walk walk = { .visit = list_batch, .live = list_live, .data = &listing };
	int result = sbx_pending_walk(root, filter, &walk, err);
	if (result)
		sbx_pending_finish(out);
	return result;
}

void sbx_pending_tell(struct sbx_pending_tally *tally, const struct sbx_pending_row *row,
	const struct sbx_error *failure)
{
	if (failure)
		tally->failed++;
	else
		tally->done++;
	if (failure && !tally->first.errnum)
		tally->first = *failure;
	if (tally->tell)
		tally->tell(tally->data, row, failure);
}

int sbx_pending_result(const struct sbx_pending_tally *tally, struct sbx_error *err)
{
	if (!tally->failed)
		return (int)tally->done;
	return sbx_fail_kind(err, SBX_KIND_PARTIAL, EIO,
		"%zu of %zu files were not done; first: %s", tally->failed,
		tally->failed + tally->done, tally->first.message);
}

static void discard_batch(void *data, struct sbx_pending_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct sbx_error why = SBX_ERROR_INIT;
		int result =
			sbx_staging_forget(batch->staging, batch->rows[i].staged.sequence, &why);
		sbx_pending_tell(data, &batch->rows[i], result ? &why : NULL);
	}
}

int sbx_pending_discard(const char *root, const struct sbx_pending_filter *filter,
	sbx_pending_fn tell, void *data, struct sbx_error *err)
{
	struct sbx_pending_tally tally = { .tell = tell, .data = data };
	struct sbx_pending_walk walk = { .visit = discard_batch, .data = &tally };
	int result = sbx_pending_walk(root, filter, &walk, err);
	return result ? result : sbx_pending_result(&tally, err);
}
