/*
 * staging_recover.c: what a former process left in a store (sbx_staging_recover).
 *
 * Whatever was acknowledged has a record and is given back. What can be read but may not be what
 * its writer meant (the process ended while the file was being written, the bytes are missing) is
 * given back as damaged: it is listed and can be saved, and nothing uploads it unasked.
 */
#include "staging_store.h"

#include "staging_record.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void damage(struct sbx_staged *staged, const char *reason)
{
	free(staged->reason);
	staged->reason = sbx_strdup(reason);
	staged->errnum = EIO;
	staged->damaged = true;
}

/* The record of a name, or of a data file of that name, judged against its data. Never fails: what
 * cannot be read is damaged. */
static struct sbx_staged load(
	struct sbx_staging *staging, const char *name, bool record, uint64_t sequence)
{
	struct sbx_staged staged = { 0 };
	struct sbx_buffer text = { .limit = SBX_STAGING_RECORD_MAX };
	struct sbx_error err = SBX_ERROR_INIT;
	char data[SBX_STAGING_NAME_SIZE];
	struct stat st;
	int result = (record ? sbx_staging_read_file : sbx_staging_read_attribute)(
		staging->directory, name, &text, &err);
	if (!result)
		result = sbx_staged_parse(sbx_buffer_text(&text), text.size, &staged, &err);
	sbx_buffer_finish(&text);
	if (result) {
		staged.sandbox_id = sbx_strdup("");
		staged.sandbox_name = sbx_strdup("");
		staged.path = sbx_strdup("");
		damage(&staged, err.message);
	}
	staged.sequence = sequence;
	sbx_staging_data_name(sequence, data);
	if (fstatat(staging->directory, data, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		damage(&staged, "the staged bytes are missing");
	else if (!staged.damaged && (staged.open || st.st_size != staged.size))
		damage(&staged, "the mount ended while this file was being written");
	return staged;
}

static int by_sequence(const void *a, const void *b)
{
	const struct sbx_staged *left = a;
	const struct sbx_staged *right = b;
	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

enum place { NOWHERE, NAMED, ATTRIBUTE };

/* Where the record of a data file is. */
static enum place record_of(struct sbx_staging *staging, const char *name, uint64_t sequence)
{
	char record[SBX_STAGING_NAME_SIZE];
	struct sbx_buffer text = { .limit = SBX_STAGING_RECORD_MAX };
	struct sbx_error err = SBX_ERROR_INIT;
	sbx_staging_record_name(sequence, record);
	if (faccessat(staging->directory, record, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
		errno != ENOENT)
		return NAMED;
	int result = sbx_staging_read_attribute(staging->directory, name, &text, &err);
	sbx_buffer_finish(&text);
	/* Whatever else it is, it is not certain that there is none. */
	return result == -ENODATA || result == -EOPNOTSUPP ? NOWHERE : ATTRIBUTE;
}

bool sbx_staging_is_record(struct sbx_staging *staging, const char *name)
{
	uint64_t sequence;
	return sbx_staging_name_sequence(name, ".json", &sequence) ||
	       (sbx_staging_name_sequence(name, ".data", &sequence) &&
		       record_of(staging, name, sequence) == ATTRIBUTE);
}

/* Bytes that nobody was promised, and records that were never finished. */
static bool is_litter(struct sbx_staging *staging, const char *name)
{
	uint64_t sequence;
	if (sbx_text_has_suffix(name, ".tmp"))
		return true;
	return sbx_staging_name_sequence(name, ".data", &sequence) &&
	       record_of(staging, name, sequence) == NOWHERE;
}

/* Counts its number as given out and, if it is a record or has one, gives it back. */
static void take(struct sbx_staging *staging, const char *name, struct sbx_staged_list *out,
	size_t *capacity)
{
	uint64_t sequence;
	bool record = sbx_staging_name_sequence(name, ".json", &sequence);
	if (!record && !sbx_staging_name_sequence(name, ".data", &sequence))
		return;
	if (sequence >= staging->next)
		staging->next = sequence + 1;
	if (!record && record_of(staging, name, sequence) != ATTRIBUTE)
		return;
	if (out->count == *capacity) {
		*capacity = *capacity ? 2 * *capacity : 16;
		out->rows = sbx_realloc_array(out->rows, *capacity, sizeof(*out->rows));
	}
	out->rows[out->count++] = load(staging, name, record, sequence);
}

int sbx_staging_recover(
	struct sbx_staging *staging, struct sbx_staged_list *out, struct sbx_error *err)
{
	size_t capacity = 0;
	*out = (struct sbx_staged_list){ 0 };
	int fd = openat(staging->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	if (!entries) {
		int cause = errno;
		if (fd >= 0)
			(void)close(fd); /* read only */
		return sbx_fail_errno(err, cause, "cannot list the staging directory");
	}
	errno = 0;
	for (struct dirent *entry; (entry = readdir(entries)); errno = 0) {
		take(staging, entry->d_name, out, &capacity);
		if (is_litter(staging, entry->d_name) &&
			unlinkat(staging->directory, entry->d_name, 0) < 0)
			sbx_log(SBX_LOG_WARNING, "cannot remove %s from the staging directory: %s",
				entry->d_name, strerror(errno));
	}
	int cause = errno;
	(void)closedir(entries); /* read only */
	if (cause) {
		sbx_staged_list_finish(out);
		return sbx_fail_errno(err, cause, "cannot list the staging directory");
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_sequence);
	return 0;
}
