/*
 * archive_error.c: see archive_error.h. Engines give the cause of a failed system call at the end
 * of their text, after paths whose parts a guest may have named "not a directory"; so these causes
 * count at the end only.
 */
#include "archive_error.h"

#include "container.h"

#include <errno.h>

struct cause {
	const char *text;
	int errnum;
};

static int cause_at_end(const struct sbx_error *err, const struct cause *causes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sbx_api_text_ends(err, causes[i].text))
			return causes[i].errnum;
	}
	return 0;
}

int sbx_archive_errno_of_text(const struct sbx_error *err)
{
	static const struct cause causes[] = {
		{ "not a directory", ENOTDIR },
		{ "too many links", ELOOP },
		{ "too many levels of symbolic links", ELOOP },
		{ "file name too long", ENAMETOOLONG },
	};
	/* Docker names the path after this one. */
	if (sbx_api_text_begins(err, "evalSymlinksInScope: too many links"))
		return ELOOP;
	return cause_at_end(err, causes, sizeof(causes) / sizeof(causes[0]));
}

int sbx_archive_errno_of_put_text(const struct sbx_error *err)
{
	static const struct cause causes[] = {
		{ "no space left on device", ENOSPC }, { "disk quota exceeded", ENOSPC },
		{ "marked read-only", EROFS }, { "read-only file system", EROFS },
		{ "extraction point is not a directory", ENOTDIR },
		{ "exists but is not a directory", ENOTDIR },
		{ "file exists", EISDIR }, /* Podman, for noOverwriteDirNonDir */
	};
	int errnum = cause_at_end(err, causes, sizeof(causes) / sizeof(causes[0]));
	if (errnum)
		return errnum;
	if (sbx_api_text_has(err, "cannot overwrite directory"))
		return EISDIR;
	if (sbx_api_text_has(err, "cannot overwrite non-directory"))
		return ENOTDIR;
	if (sbx_api_text_has(err, "is marked read-only"))
		return EROFS;
	return sbx_archive_errno_of_text(err);
}

static int fail_gone(const char *id, struct sbx_error *err)
{
	return sbx_fail_kind(
		err, SBX_KIND_GONE, ESTALE, "container %.12s is not there any more", id);
}

static int conclude(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, int errnum, struct sbx_error *err)
{
	struct sbx_error said = *err;
	if (errnum) {
		(void)sbx_fail(err, errnum, "%s", said.message);
		err->http_status = said.http_status;
		return sbx_wrap(err, "%s in container %.12s", path, id);
	}
	/* Nothing else an engine says here is certain: a container under removal gives many
	 * different texts. */
	int there = sbx_container_exists(engine, id, call, err);
	if (there < 0)
		return sbx_wrap(err, "%s", path);
	if (!there)
		return fail_gone(id, err);
	*err = said;
	if (said.http_status == 404)
		return sbx_fail(err, ENOENT, "there is no %s in container %.12s", path, id);
	(void)sbx_api_become(err, SBX_KIND_ENGINE, EIO);
	return sbx_wrap(err, "%s in container %.12s", path, id);
}

int sbx_archive_conclude(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	int errnum = err->http_status == 404 ? 0 : sbx_archive_errno_of_text(err);
	return conclude(engine, id, path, call, errnum, err);
}

int sbx_archive_conclude_put(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	int errnum = err->http_status == 404 ? 0 : sbx_archive_errno_of_put_text(err);
	return conclude(engine, id, path, call, errnum, err);
}
