/*
 * in_upload.c: sends staged files to their sandbox: one archive at a time, holding all that waited
 * for the one before. A file that fails stays and is tried again, later each time.
 */
#include "in_file.h"

/* One file of it. */
struct part {
	struct sbx_staging *staging;
	struct sbx_in_file *file; /* referenced */
	struct sbx_staged record;
	struct sbx_put_item item;
	uint64_t version;
	bool recorded, marked; /* before */
	bool noted;	       /* its record is on disk */
	bool synced;	       /* and durable, after a failure */
};

struct upload {
	struct sbx_job job; /* first */
	size_t count;
	struct part *parts;
	bool ran;
};

void sbx_in_put_item(const struct sbx_in_file *file, struct sbx_put_item *out)
{
	*out = (struct sbx_put_item){
		.path = file->path,
		.type = SBX_TYPE_FILE,
		.mode = file->mode,
		.mtime_s = file->mtime_s,
		.mtime_ns = file->mtime_ns,
		.size = file->size,
		.fd = file->fd,
		.only_new = file->unsure,
	};
}

/* The record says how it went before anybody else can. */
static void settle_record(struct part *part)
{
	struct sbx_put_item *item = &part->item;
	struct sbx_staged *record = &part->record;
	struct sbx_error err = SBX_ERROR_INIT;
	int result;
	if (!item->result) {
		result = sbx_staging_forget_record(part->staging, record->sequence, item->fd, &err);
	} else {
		record->attempts++;
		record->only_new = item->only_new && !item->touched;
		record->errnum = item->err.errnum;
		free(record->reason);
		record->reason = sbx_strdup(item->err.message);
		result = sbx_staging_record(part->staging, record, item->fd, item->fd >= 0, &err);
		part->synced = !result && item->fd >= 0;
		part->noted = part->noted || !result;
	}
	if (result)
		sbx_log(SBX_LOG_WARNING, "%s", err.message);
}

static void note(struct part *part, int fd)
{
	struct sbx_error err = SBX_ERROR_INIT;
	if (sbx_staging_record(part->staging, &part->record, fd, false, &err))
		sbx_log(SBX_LOG_WARNING, "%s", err.message);
	else
		part->noted = true;
}

/* A cut upload leaves half a file in the guest: from now on the record lets the next daemon send it
 * again, over that half. Before, what is there was the guest's own. */
static void begins(void *data)
{
	struct part *part = data;
	if (!part->record.only_new)
		return;
	part->record.only_new = false;
	/* In place where it can be: of thousands, while the guest stands still. */
	note(part, part->noted ? part->item.fd : -1);
}

static int run(struct sbx_job *base, struct sbx_error *err)
{
	struct upload *upload = (struct upload *)base;
	struct sbx_plane *plane = base->view->plane;
	struct sbx_put_item *batch = sbx_alloc_array(upload->count, sizeof(*batch));
	size_t *which = sbx_alloc_array(upload->count, sizeof(*which));
	size_t count = 0;
	upload->ran = true;
	for (size_t i = 0; i < upload->count; i++) {
		struct part *part = &upload->parts[i];
		part->item.path = part->record.path;
		part->item.begins = begins;
		part->item.data = part;
		if (!part->noted)
			note(part, -1);
		if (part->item.result)
			continue;
		which[count] = i;
		batch[count++] = part->item;
	}
	int result = count ? plane->ops->put(plane, batch, count, &base->call, err) : 0;
	for (size_t i = 0; i < count; i++)
		upload->parts[which[i]].item = batch[i];
	for (size_t i = 0; i < upload->count; i++)
		settle_record(&upload->parts[i]);
	free(batch);
	free(which);
	return result;
}

static int64_t backoff_ms(unsigned attempts)
{
	int64_t wait = SBX_IN_RETRY_FIRST_MS;
	while (--attempts && wait < SBX_IN_RETRY_MAX_MS)
		wait *= 2;
	return wait < SBX_IN_RETRY_MAX_MS ? wait : SBX_IN_RETRY_MAX_MS;
}

void sbx_in_sent(
	struct sbx_in_file *file, uint64_t version, int result, const struct sbx_error *err)
{
	struct sbx_view *view = file->home->view;
	struct sbx_in *in = view->fs->in;
	int64_t now_ms = sbx_clock_ms();
	sbx_in_file_ref(file);
	file->sending = 0;
	if (!result) {
		in->uploaded_files++;
		in->uploaded_bytes += (uint64_t)file->size;
		file->landed = SBX_LANDED_YES;
		file->landed_version = version;
		file->attempts = 0;
		file->retry_at_ms = 0;
		file->recorded = file->marked = file->unsure = false;
		file->idle_since_ms = now_ms;
		sbx_loop_wake_at(view->fs->loop, now_ms + view->fs->options->entry_timeout_ms + 1);
		sbx_error_clear(&file->failure);
		if (file->node)
			file->node->verified_ms = now_ms;
		sbx_in_passed(view, file->path);
		sbx_view_changed(view, file->path);
	} else {
		in->failures++;
		file->failure = *err;
		file->retry_at_ms = now_ms + backoff_ms(++file->attempts);
		sbx_loop_wake_at(view->fs->loop, file->retry_at_ms);
		sbx_log(SBX_LOG_WARNING, "%s: %s has not landed: %s", view->sandbox.container.name,
			file->path, err->message);
	}
	sbx_waiters_resume(&file->settled, result, err);
	sbx_in_file_freed(file);
	sbx_in_file_unref(file);
}

/* What the record on disk says by now. */
static void learn(struct part *part, bool ran)
{
	struct sbx_in_file *file = part->file;
	if (!ran) {
		file->recorded = part->recorded;
		file->marked = part->marked;
		return;
	}
	file->recorded = part->noted && part->item.result;
	if (file->recorded)
		file->noted_version = part->version;
	if (part->synced)
		file->kept_version = part->version;
	if (!part->item.touched)
		return;
	file->unsure = false; /* by us: that may be replaced */
	if (file->landed == SBX_LANDED_NO)
		file->landed = SBX_LANDED_MAYBE;
}

static void part_done(struct part *part, const struct sbx_job *job, bool ran)
{
	struct sbx_in_file *file = part->file;
	int result = ran ? part->item.result : job->result;
	const struct sbx_error *err = ran ? &part->item.err : &job->err;
	learn(part, ran);
	if (!file->linked && file->lost)
		sbx_in_settle_lost(file, result);
	else if (result && !part->synced)
		sbx_in_keep(file); /* before anybody may change it */
	sbx_in_sent(file, part->version, result, result ? err : NULL);
	sbx_in_file_close(file);
	sbx_in_file_unref(file);
	sbx_staged_finish(&part->record);
}

static void done(struct sbx_job *base)
{
	struct upload *upload = (struct upload *)base;
	struct sbx_view *view = base->view;
	struct sbx_fs *fs = base->fs;
	sbx_in_home(view)->uploads--;
	for (size_t i = 0; i < upload->count; i++)
		part_done(&upload->parts[i], base, upload->ran);
	free(upload->parts);
	sbx_in_pump(sbx_in_home(view));
	sbx_job_free(base);
	fs->in->jobs--;
	sbx_in_check_barrier(fs);
}

/* Into the archive, or with the reason why it cannot be. */
static void add(struct upload *upload, struct sbx_in_file *file)
{
	struct part *part = &upload->parts[upload->count++];
	struct sbx_error err = SBX_ERROR_INIT;
	int result = file->home->view->gone
			     ? sbx_fail_kind(&err, SBX_KIND_GONE, ESTALE, "the sandbox was removed")
			     : sbx_in_file_open(file, &err);
	sbx_in_put_item(file, &part->item);
	part->item.result = result;
	part->item.err = err;
	sbx_in_file_ref(file);
	part->staging = file->home->view->fs->in->staging;
	part->file = file;
	part->version = file->version;
	part->recorded = file->recorded;
	part->marked = file->marked;
	part->noted = file->recorded && !file->marked && file->noted_version == file->version;
	sbx_in_file_describe(file, &part->record);
	file->sending = file->version;
	file->recorded = true; /* the job writes it first */
	file->marked = false;
}

/* What is queued and can be read now, within the bounds of one archive; upload NULL: only counts.
 */
static size_t collect(struct sbx_in_view *home, struct upload *upload)
{
	struct sbx_in_file **at = &home->first_queued;
	struct sbx_in_file *kept = NULL;
	size_t count = 0;
	int64_t bytes = 0;
	while (*at) {
		struct sbx_in_file *file = *at;
		bool full = count == SBX_IN_BATCH_FILES ||
			    (count && bytes + file->size > SBX_IN_BATCH_BYTES);
		bool taken = !full && !sbx_in_file_busy(file);
		if (taken) {
			bytes += file->size;
			count++;
		}
		if (!taken || !upload) {
			kept = file;
			at = &file->next_queued;
			continue;
		}
		*at = file->next_queued;
		file->queued = false;
		add(upload, file);
	}
	home->last_queued = kept;
	return count;
}

void sbx_in_pump(struct sbx_in_view *home)
{
	struct sbx_view *view = home->view;
	bool closed = home->uploads || home->moves || home->gather_until_ms > sbx_clock_ms();
	size_t count = closed ? 0 : collect(home, NULL);
	if (!count)
		return;
	home->gather_since_ms = home->gather_until_ms = 0;
	struct upload *upload = sbx_job_create(view->fs, view, sizeof(*upload), 0);
	upload->job.run = run;
	upload->job.done = done;
	upload->job.length = SBX_JOB_LONG;
	upload->parts = sbx_alloc_array(count, sizeof(*upload->parts));
	(void)collect(home, upload); /* the same ones */
	int64_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += upload->parts[i].item.size;
	upload->job.from_turn_ms = sbx_in_upload_ms(bytes);
	home->uploads++;
	view->fs->in->jobs++;
	view->fs->in->uploads++;
	sbx_job_start(&upload->job);
}

static void enqueue(struct sbx_in_file *file)
{
	struct sbx_in_view *home = file->home;
	if (file->linked && !file->queued && !file->spoiled && sbx_in_file_dirty(file) &&
		file->sending != file->version) {
		file->queued = true;
		file->next_queued = NULL;
		if (home->last_queued)
			home->last_queued->next_queued = file;
		else
			home->first_queued = file;
		home->last_queued = file;
		file->retry_at_ms = 0;
	}
}

void sbx_in_upload(struct sbx_in_file *file)
{
	enqueue(file);
	file->home->gather_until_ms = 0; /* somebody waits */
	sbx_in_pump(file->home);
}

void sbx_in_upload_soon(struct sbx_in_file *file)
{
	struct sbx_in_view *home = file->home;
	int64_t now_ms = sbx_clock_ms();
	enqueue(file);
	if (!home->gather_since_ms)
		home->gather_since_ms = now_ms;
	int64_t latest_ms = home->gather_since_ms + SBX_IN_GATHER_MS;
	home->gather_until_ms = now_ms + SBX_IN_QUIET_MS;
	if (home->gather_until_ms > latest_ms)
		home->gather_until_ms = latest_ms;
	sbx_loop_wake_at(home->view->fs->loop, home->gather_until_ms);
	sbx_in_pump(home);
}

static void landed(struct sbx_request *request, int result, const struct sbx_error *err)
{
	struct sbx_in_op *op = sbx_in_op(request);
	if (op->file->landed_version >= op->version)
		sbx_answer_error(request, 0);
	else if (result)
		sbx_answer_failure(request, result, err);
	else if (!op->file->linked)
		sbx_answer_error(request, op->file->lost ? ESTALE : 0);
	else {
		sbx_request_park(request, &op->file->settled, landed);
		sbx_in_upload(op->file);
	}
}

void sbx_in_answer_when_landed(struct sbx_request *request, struct sbx_in_file *file)
{
	struct sbx_in_op *op = sbx_in_op(request);
	if (!op->file) {
		op->file = file;
		sbx_in_file_ref(file);
	}
	op->version = file->version;
	sbx_in_wait_long(request);
	landed(request, 0, NULL);
}
