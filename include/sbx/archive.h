/*
 * archive.h: the engine's archive calls on one absolute guest path, as the engine answers them,
 * unguarded.
 *
 * These follow links in the middle of a path and, on Podman, at its end: only engine/files may call
 * them, behind its walk and its window. Source: Engine API v1.41, HEAD/GET/PUT
 * /containers/{id}/archive, GET …/changes.
 */
#ifndef SBX_ARCHIVE_H
#define SBX_ARCHIVE_H

#include <sbx/engine.h>
#include <stddef.h>

enum sbx_type {
	SBX_TYPE_FILE,
	SBX_TYPE_DIR,
	SBX_TYPE_LINK,
	SBX_TYPE_FIFO,
	SBX_TYPE_SOCKET,
	SBX_TYPE_DEVICE
};
/* "file", "directory", "symlink", "fifo", "socket", "device". */
const char *sbx_type_name(enum sbx_type type);

struct sbx_stat {
	enum sbx_type type;
	uint32_t mode;	   /* permission bits with set-id and sticky, 07777 */
	int64_t size;	   /* bytes; never negative */
	int64_t mtime_s;   /* since 1970 */
	int32_t mtime_ns;  /* -1: known to the second only (it came from a tar) */
	char *link_target; /* for links, as the engine gives it, else NULL; malloc'd, shown only,
			      never followed */
};
void sbx_stat_finish(struct sbx_stat *st);

/* In all of these id is the container's, path absolute and any bytes but NUL. A path with a glob
 * character is escaped for engines that would expand it.
 *
 * HEAD. Errors: ENOENT kind ABSENT only when the engine said so and the container is still there
 * (checked by inspect); kind GONE when the container is not; ELOOP for a loop, a dangling link on
 * Podman is a link (success); ENOTDIR; ENAMETOOLONG; EIO for a stat header that cannot be read. */
int sbx_archive_head(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, struct sbx_stat *out, struct sbx_error *err);

/* GET: body bytes as they come, valid during the call of fn only. fn returns non-zero to end the
 * transfer at once, and that is returned. Errors as HEAD. A clean end says nothing about
 * completeness: the tar reader judges that. */
typedef int (*sbx_bytes_fn)(void *data, const void *bytes, size_t size);
int sbx_archive_get(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, sbx_bytes_fn fn, void *data, struct sbx_error *err);

/* PUT of a finished tar of size_bytes read by `read` (as fread: 0 is a failure before the end) into
 * directory path. noOverwriteDirNonDir=1, never copyUIDGID. A failure may have changed the guest in
 * part. Errors: ENOENT, EROFS (read-only root), ENOSPC, EISDIR (file over directory), ENOTDIR, EIO
 * with the engine's text; an answer sent early is read. */
typedef int64_t (*sbx_source_fn)(void *data, void *buffer, size_t size);
int sbx_archive_put(struct sbx_engine *engine, const char *id, const char *path, int64_t size_bytes,
	sbx_source_fn read, void *data, const struct sbx_call *call, struct sbx_error *err);

/* GET …/changes: what differs from the image, sorted by path in byte order. kind: 0 changed, 1
 * added, 2 deleted. Only what is above the absolute path `near`, below it, or itself. EFBIG where
 * that is more than is held; ABSENT and GONE as HEAD. */
struct sbx_change {
	char *path;
	int kind;
};
struct sbx_changes {
	struct sbx_change *rows;
	size_t count;
};
int sbx_archive_changes(struct sbx_engine *engine, const char *id, const char *near,
	const struct sbx_call *call, struct sbx_changes *out, struct sbx_error *err);
void sbx_changes_finish(struct sbx_changes *changes);

#endif
