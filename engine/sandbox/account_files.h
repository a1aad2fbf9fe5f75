/*
 * account_files.h: a guest's passwd and group files: fetched with bounds, and looked up.
 *
 * They are the guest's: whoever is root in there may write anything. They only decide which owner
 * an upload carries, and nothing in them is believed beyond a number in a field.
 */
#ifndef SBX_SANDBOX_ACCOUNT_FILES_H
#define SBX_SANDBOX_ACCOUNT_FILES_H

#include <sbx/container.h>

#define SBX_ACCOUNT_FILE_MAX 65536

struct sbx_account_files {
	char *passwd,
		*group; /* NULL: unanswered (missing, no regular file, too large, unreadable) */
};
void sbx_account_files_finish(struct sbx_account_files *files);

struct sbx_windows;

/* Through the archive calls, in one of windows (NULL: of its own). Unanswered is success. Errors:
 * EHOSTDOWN, ECANCELED, ESTALE kind GONE. */
int sbx_account_files_read(struct sbx_engine *engine, const struct sbx_container *container,
	struct sbx_windows *windows, bool want_passwd, bool want_group, const struct sbx_call *call,
	struct sbx_account_files *out, struct sbx_error *err);

/* A uid or gid: decimal digits up to 4294967294 and nothing else. */
bool sbx_account_number(const char *text, size_t size, unsigned *out);
/* The first line of that name (or uid) whose numbers are numbers. files may be NULL. */
bool sbx_passwd_by_name(const char *passwd, const char *name, unsigned *uid, unsigned *gid);
bool sbx_passwd_by_uid(const char *passwd, unsigned uid, unsigned *gid);
bool sbx_group_by_name(const char *group, const char *name, unsigned *gid);

#endif
