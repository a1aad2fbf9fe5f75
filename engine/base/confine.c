/*
 * confine.c: see confine.h. Source: landlock(7), prctl(2).
 *
 * It guards against a bug of ours that a guest's bytes could reach: a daemon that is taken over can
 * read and write its caches and speak to the engine, but opens no other file of the host. Unix
 * sockets and descriptors that are open already are not in Landlock's reach.
 */
#include "confine.h"

#include "alloc.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

static const uint64_t read_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t file_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
				    LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_EXECUTE;

/* Everything that the first version knows, and of later ones what this kernel has. */
static uint64_t handled_rights(int version)
{
	uint64_t rights = (1ULL << 13) - 1;
	if (version >= 2)
		rights |= LANDLOCK_ACCESS_FS_REFER;
	if (version >= 3)
		rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
	return rights;
}

static uint64_t write_rights(void)
{
	return read_rights | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |
	       LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
	       LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
	       LANDLOCK_ACCESS_FS_REFER;
}

static int allow(
	int ruleset, const struct sbx_confine_path *path, uint64_t handled, struct sbx_error *err)
{
	struct stat st;
	cleanup_close int fd = open(path->path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : sbx_fail_errno(err, errno, "%s", path->path);
	struct landlock_path_beneath_attr rule = {
		.allowed_access =
			(!path->write		  ? read_rights
				: path->no_making ? read_rights | LANDLOCK_ACCESS_FS_WRITE_FILE
						  : write_rights()) &
			handled,
		.parent_fd = fd,
	};
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= file_rights;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return sbx_fail_errno(err, errno, "landlock: %s", path->path);
	return 0;
}

static int allow_all(int ruleset, const struct sbx_confine_path *paths, size_t count,
	uint64_t handled, struct sbx_error *err)
{
	for (size_t i = 0; i < count; i++) {
		int rc = paths[i].path ? allow(ruleset, &paths[i], handled, err) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* What the sanitizers read of a process while it runs, and where counts of coverage are written. */
static const struct sbx_confine_path instruments[] = {
#ifdef SBX_COVERAGE
	{ SBX_COVERAGE, 1, 0 },
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	{ "/proc", 0, 0 },
	{ "/usr", 0, 0 },
#endif
	{ NULL, 0, 0 },
};

static int landlock(const struct sbx_confine_path *paths, size_t count, struct sbx_error *err)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (version <= 0) {
		sbx_log(SBX_LOG_WARNING, "this kernel has no Landlock: this process can open every "
					 "file that its user can");
		return 0;
	}
	struct landlock_ruleset_attr attr = { .handled_access_fs = handled_rights((int)version) };
	cleanup_close int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return sbx_fail_errno(err, errno, "landlock");
	int rc = allow_all(ruleset, paths, count, attr.handled_access_fs, err);
	if (!rc)
		rc = allow_all(ruleset, instruments, sizeof(instruments) / sizeof(instruments[0]),
			attr.handled_access_fs, err);
	if (rc)
		return rc;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return sbx_fail_errno(err, errno, "landlock");
	return 0;
}

int sbx_confine(const struct sbx_confine_path *paths, size_t count, struct sbx_error *err)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return sbx_fail_errno(err, errno, "prctl");
	return landlock(paths, count, err);
}
