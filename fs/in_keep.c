/*
 * in_keep.c: staged files that outlive us.
 *
 * A close that uploads nothing (a temporary name, -o async) puts the file on record: it survives
 * this process, as what is written to any file does. An fsync that uploads nothing, and an upload
 * that failed, make it durable. The syncs have a queue of their own, so they never wait for an
 * engine.
 */
#include "in_file.h"

struct keep {
	struct sbx_job job; /* first */
	struct sbx_in_file *file;
	struct sbx_staged record;
	uint64_t version;
	int fd;
};

static int run(struct sbx_job *base, struct sbx_error *err)
{
	struct keep *keep = (struct keep *)base;
	return sbx_staging_record(base->fs->in->staging, &keep->record, keep->fd, true, err);
}

static void done(struct sbx_job *base)
{
	struct keep *keep = (struct keep *)base;
	struct sbx_in_file *file = keep->file;
	struct sbx_fs *fs = base->fs;
	int result = base->result;
	file->keeping = false;
	if (!result) {
		file->kept_version = file->noted_version = keep->version;
		file->recorded = true;
		file->marked = false;
	}
	sbx_waiters_resume(&file->settled, result, result ? &base->err : NULL);
	sbx_in_file_freed(file);
	sbx_in_file_close(file);
	sbx_in_file_unref(file);
	sbx_staged_finish(&keep->record);
	sbx_job_free(base);
	fs->in->jobs--;
	sbx_in_check_barrier(fs);
}

void sbx_in_keep(struct sbx_in_file *file)
{
	struct sbx_fs *fs = file->home->view->fs;
	struct sbx_error err = SBX_ERROR_INIT;
	if (file->keeping || !file->linked)
		return;
	int result = sbx_in_file_open(file, &err);
	if (result) {
		sbx_waiters_resume(&file->settled, result, &err);
		return;
	}
	struct keep *keep = sbx_job_create(fs, NULL, sizeof(*keep), 0);
	keep->job.run = run;
	keep->job.queue = &fs->in->disk;
	keep->job.done = done;
	keep->file = file;
	keep->version = file->version;
	keep->fd = file->fd;
	sbx_in_file_describe(file, &keep->record);
	file->keeping = true;
	sbx_in_file_ref(file);
	fs->in->jobs++;
	sbx_job_start(&keep->job);
}

static int write_record(
	struct sbx_in_file *file, const char *path, bool open, struct sbx_error *err)
{
	struct sbx_staged record;
	sbx_in_file_describe(file, &record);
	free(record.path);
	record.path = sbx_strdup(path);
	record.open |= open;
	int result = sbx_staging_record(
		file->home->view->fs->in->staging, &record, file->fd, false, err);
	sbx_staged_finish(&record);
	return result;
}

int sbx_in_note_path(struct sbx_in_file *file, const char *path, struct sbx_error *err)
{
	return file->recorded ? write_record(file, path, file->marked, err) : 0;
}

int sbx_in_note(struct sbx_in_file *file, struct sbx_error *err)
{
	int result = write_record(file, file->path, false, err);
	if (result)
		return result;
	file->noted_version = file->version;
	file->recorded = true;
	file->marked = false;
	return 0;
}
