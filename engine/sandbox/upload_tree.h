/*
 * upload_tree.h: what an upload will send: host files and directories listed and checked before the
 * first byte moves.
 *
 * A source tree may hold whatever somebody unpacked there. Links, fifos, sockets and devices are
 * refused while it is listed, and a file is sent only if it still is the very file that was listed:
 * between listing and sending it may have been swapped for a link to a file the sandbox must not
 * get.
 */
#ifndef SBX_SANDBOX_UPLOAD_TREE_H
#define SBX_SANDBOX_UPLOAD_TREE_H

#include <sbx/archive.h>
#include <sys/types.h>

/* More than this is refused: the list is held in memory. */
#define SBX_UPLOAD_MAX_ENTRIES 1000000

struct sbx_upload_entry {
	char *source; /* the host path as the caller named it; shared by all entries below it */
	char *below;  /* path below source, "" for the source itself */
	char *path;   /* where it lands, relative to the work dir */
	enum sbx_type type; /* FILE or DIR */
	uint32_t mode;
	int64_t mtime_s;
	int32_t mtime_ns;
	int64_t size;
	dev_t device;
	ino_t inode;
	int fd; /* the source itself, borrowed; -1: it is opened by its name */
};

struct sbx_upload_tree {
	struct sbx_upload_entry *entries; /* a directory before what is in it */
	size_t count, capacity;
	char **sources; /* owns what the entries share */
	size_t source_count;
	int64_t files, bytes;
};

/* Adds a host file or tree, landing at dest/basename(source). dest: relative to the work dir.
 * Errors: EPERM kind POLICY (a link or special file, named), ENOENT, EACCES, EINVAL (a source
 * without a name of its own), EFBIG (too many entries), ENAMETOOLONG. */
int sbx_upload_tree_add(
	struct sbx_upload_tree *tree, const char *source, const char *dest, struct sbx_error *err);

/* The same, landing at dest/name. fd >= 0: what is sent is that regular file, and source only its
 * name in a sentence. */
int sbx_upload_tree_add_as(struct sbx_upload_tree *tree, const char *source, int fd,
	const char *name, const char *dest, struct sbx_error *err);

/* EINVAL when two entries would land at one place. */
int sbx_upload_tree_check(const struct sbx_upload_tree *tree, struct sbx_error *err);

/* The host path of an entry. malloc'd. */
char *sbx_upload_entry_name(const struct sbx_upload_entry *entry);

/* Opens a listed file for reading. ESTALE kind CHANGED when it is not the file that was listed. */
int sbx_upload_tree_open(const struct sbx_upload_entry *entry, struct sbx_error *err);

void sbx_upload_tree_finish(struct sbx_upload_tree *tree);

#endif
