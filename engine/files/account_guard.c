/* account_guard.c: see account_guard.h. */
#include "account_guard.h"

#include "walked.h"

#include <errno.h>

enum { ACCOUNT_FILE_MAX = 16 << 20 };

static int refuse(const char *file, const char *what, struct sbx_error *err)
{
	return sbx_fail(err, EOPNOTSUPP,
		"the sandbox's %s is %s, and the engine could hang on it while it looks up a name",
		file, what);
}

/* An engine opens what the link resolves to; what that is can be asked without opening it. */
static int check_target(struct sbx_engine *engine, const char *id, const char *file,
	const struct sbx_stat *link, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat st;
	if (!link->link_target || link->link_target[0] != '/')
		return refuse(file, "a symlink that cannot be resolved", err);
	int result = sbx_archive_head(engine, id, link->link_target, call, &st, err);
	if (result == -ENOENT && err->kind == SBX_KIND_ABSENT)
		return 0;
	if (result < 0)
		return result;
	enum sbx_type type = st.type;
	int64_t size = st.size;
	sbx_stat_finish(&st);
	if (type != SBX_TYPE_FILE)
		return refuse(file, "a symlink to something other than a file", err);
	return size <= ACCOUNT_FILE_MAX ? 0 : refuse(file, "larger than 16 MiB", err);
}

static int check_file(struct sbx_engine *engine, const char *id, const char *file,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat st;
	int result = sbx_archive_head(engine, id, file, call, &st, err);
	if (result == -ENOENT && err->kind == SBX_KIND_ABSENT)
		return 0; /* images without accounts are common */
	if (result == -ENOTDIR)
		return 0; /* nor is there anything to open below a file */
	if (result < 0)
		return result;
	if (st.type == SBX_TYPE_LINK)
		result = check_target(engine, id, file, &st, call, err);
	else if (st.type != SBX_TYPE_FILE)
		result = refuse(file, "neither a plain file nor absent", err);
	else if (st.size > ACCOUNT_FILE_MAX)
		result = refuse(file, "larger than 16 MiB", err);
	sbx_stat_finish(&st);
	return result;
}

int sbx_account_guard(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	int result = check_file(engine, id, "/etc/passwd", call, &local);
	if (!result)
		result = check_file(engine, id, "/etc/group", call, &local);
	if (result < 0 && err)
		*err = local;
	return result;
}

int sbx_account_guard_walk(
	struct sbx_walk *walk, const struct sbx_call *call, struct sbx_error *err)
{
	static const char safe[] = "account files"; /* no path: those begin with a slash */
	struct sbx_plane_archive *plane = walk->plane;
	if (sbx_walked_has(plane->walked, walk->key, safe))
		return 0;
	int result = sbx_account_guard(plane->engine, plane->container.id, call, err);
	if (result < 0)
		return result;
	sbx_walked_add(plane->walked, walk->key, safe);
	return 0;
}
