/* staging_store.h: stores of staged files for tests, under a root that goes away again. */
#ifndef SBX_TESTS_STAGING_STORE_H
#define SBX_TESTS_STAGING_STORE_H

#include "staging.h"
#include "tree.h"
#include "unit.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

static inline char *make_root(void)
{
	char template[] = "/tmp/sbxfs-staging-XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(template));
	return sbx_printf("%s/state/staging", template);
}

static inline void remove_root(char *root)
{
	*strrchr(root, '/') = '\0';
	*strrchr(root, '/') = '\0';
	tree_remove(root);
	free(root);
}

static inline struct sbx_staging *open_store(const char *root)
{
	struct sbx_staging *staging = NULL;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_msg(
		!sbx_staging_open(root, "0123456789abcdef", "unix:///e", "/mnt/x", &staging, &err),
		"%s", err.message);
	return staging;
}

/* One staged file of these bytes, recorded. */
static inline uint64_t stage(
	struct sbx_staging *staging, const char *path, const char *bytes, bool open)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_staged staged = {
		.sandbox_id = (char[]){ "ab12" },
		.sandbox_name = (char[]){ "box" },
		.path = (char *)path,
		.mode = 0640,
		.mtime_s = 1700000000,
		.only_new = true,
		.mtime_ns = 123456789,
		.size = (int64_t)strlen(bytes),
		.open = open,
		.attempts = 2,
		.errnum = EHOSTDOWN,
		.reason = (char[]){ "the engine does not answer" },
	};
	int fd;
	ck_assert_int_eq(sbx_staging_create(staging, &staged.sequence, &fd, &err), 0);
	ck_assert_int_eq(write(fd, bytes, strlen(bytes)), strlen(bytes));
	ck_assert_int_eq(sbx_staging_record(staging, &staged, fd, true, &err), 0);
	ck_assert_int_eq(close(fd), 0);
	return staged.sequence;
}

#endif
