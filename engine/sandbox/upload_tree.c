/* upload_tree.c: see upload_tree.h. */
#include "upload_tree.h"

#include "../base/alloc.h"
#include "beneath.h"

#include <sbx/guest_path.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

char *sbx_upload_entry_name(const struct sbx_upload_entry *entry)
{
	return *entry->below ? sbx_printf("%s/%s", entry->source, entry->below)
			     : sbx_strdup(entry->source);
}

static char *join(const char *directory, const char *name)
{
	return *directory ? sbx_printf("%s/%s", directory, name) : sbx_strdup(name);
}

static const char *special_name(mode_t mode)
{
	if (S_ISLNK(mode))
		return "a symbolic link";
	if (S_ISFIFO(mode))
		return "a fifo";
	if (S_ISSOCK(mode))
		return "a socket";
	return "a device";
}

/* Takes below and path over. */
static int append(struct sbx_upload_tree *tree, char *source, char *below, char *path,
	const struct stat *st, struct sbx_error *err)
{
	struct sbx_upload_entry entry = {
		.source = source,
		.below = below,
		.path = path,
		.type = S_ISDIR(st->st_mode) ? SBX_TYPE_DIR : SBX_TYPE_FILE,
		.mode = st->st_mode & 0777, /* set-id and sticky stay behind */
		.mtime_s = st->st_mtim.tv_sec,
		.mtime_ns = (int32_t)st->st_mtim.tv_nsec,
		.size = S_ISDIR(st->st_mode) ? 0 : st->st_size,
		.device = st->st_dev,
		.inode = st->st_ino,
		.fd = -1,
	};
	if (tree->count == tree->capacity) {
		tree->capacity = tree->capacity ? tree->capacity * 2 : 64;
		tree->entries =
			sbx_realloc_array(tree->entries, tree->capacity, sizeof(*tree->entries));
	}
	tree->entries[tree->count++] = entry;
	cleanup_free char *shown = sbx_upload_entry_name(&entry);
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return sbx_fail(err, EPERM, "%s is %s; only files and directories are sent", shown,
			special_name(st->st_mode));
	if (tree->count > SBX_UPLOAD_MAX_ENTRIES)
		return sbx_fail(err, EFBIG, "%s: more than %d files and directories to send", shown,
			SBX_UPLOAD_MAX_ENTRIES);
	if (sbx_guest_path_check(path, false, err) < 0)
		return sbx_wrap(err, "%s cannot be sent", shown);
	if (entry.type == SBX_TYPE_FILE) {
		tree->files++;
		tree->bytes += entry.size;
	}
	return 0;
}

static int not_dots(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Opens an entry's directory or file. Everything below the source is opened without links; the
 * source's own parents are the caller's words. */
static int open_entry(const struct sbx_upload_entry *entry, int flags)
{
	if (entry->fd >= 0) {
		int fd = fcntl(entry->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		(void)lseek(fd, 0, SEEK_SET); /* whoever filled it stands at its end */
		return fd;
	}
	if (!*entry->below) {
		int fd = open(entry->source, flags | O_NOFOLLOW | O_CLOEXEC);
		return fd >= 0 ? fd : -errno;
	}
	cleanup_close int top =
		open(entry->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return top >= 0 ? sbx_beneath_open(top, entry->below, flags) : -errno;
}

static int changed(const char *shown, struct sbx_error *err)
{
	return sbx_fail_kind(err, SBX_KIND_CHANGED, ESTALE,
		"%s was changed or replaced while it was being sent", shown);
}

/* What opening answers of an entry that was there when it was listed, and is not the same now. */
static bool replaced(int fd)
{
	return fd == -ELOOP || fd == -ENOTDIR || fd == -ENOENT;
}

/* Appends what is in the directory at `index`. The entries move while they grow. */
static int list_directory(struct sbx_upload_tree *tree, size_t index, struct sbx_error *err)
{
	struct sbx_upload_entry directory = tree->entries[index];
	cleanup_free char *shown = sbx_upload_entry_name(&directory);
	cleanup_close int fd = open_entry(&directory, O_RDONLY | O_DIRECTORY);
	if (replaced(fd))
		return changed(shown, err);
	if (fd < 0)
		return sbx_fail_host(err, -fd, "%s cannot be opened", shown);
	struct stat st;
	if (fstat(fd, &st) < 0)
		return sbx_fail_host(err, errno, "%s cannot be read", shown);
	if (st.st_dev != directory.device || st.st_ino != directory.inode)
		return changed(shown, err);
	struct dirent **names = NULL;
	int count = scandirat(fd, ".", &names, not_dots, by_bytes);
	if (count < 0)
		return sbx_fail_host(err, errno, "%s cannot be listed", shown);
	int result = 0;
	for (int i = 0; i < count; i++) {
		if (result == 0 && fstatat(fd, names[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			result = errno == ENOENT ? changed(shown, err)
						 : sbx_fail_host(err, errno, "%s/%s cannot be read",
							   shown, names[i]->d_name);
		if (result == 0)
			result = append(tree, directory.source,
				join(directory.below, names[i]->d_name),
				join(directory.path, names[i]->d_name), &st, err);
		free(names[i]);
	}
	free(names);
	return result;
}

/* The last part of a source's path; a trailing slash means nothing. NULL: it has no name. */
static char *own_name(const char *source)
{
	size_t size = strlen(source);
	while (size && source[size - 1] == '/')
		size--;
	size_t start = size;
	while (start && source[start - 1] != '/')
		start--;
	char *name = sbx_strndup(source + start, size - start);
	if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return name;
	free(name);
	return NULL;
}

/* The tree takes ownership; entries share the text. Trailing slashes go: open("link/") would
 * follow the link. */
static char *keep_source(struct sbx_upload_tree *tree, const char *source)
{
	size_t size = strlen(source);
	while (size > 1 && source[size - 1] == '/')
		size--;
	tree->sources =
		sbx_realloc_array(tree->sources, tree->source_count + 1, sizeof(*tree->sources));
	return tree->sources[tree->source_count++] = sbx_strndup(source, size);
}

int sbx_upload_tree_add(
	struct sbx_upload_tree *tree, const char *source, const char *dest, struct sbx_error *err)
{
	cleanup_free char *name = own_name(source);
	if (!name)
		return sbx_fail(err, EINVAL,
			"\"%s\" has no name of its own to land under; name the directory itself",
			source);
	return sbx_upload_tree_add_as(tree, source, -1, name, dest, err);
}

int sbx_upload_tree_add_as(struct sbx_upload_tree *tree, const char *source, int fd,
	const char *name, const char *dest, struct sbx_error *err)
{
	if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return sbx_fail(err, EINVAL, "\"%s\" is not a file's name", name);
	char *kept = keep_source(tree, source);
	struct stat st;
	if ((fd >= 0 ? fstat(fd, &st) : lstat(kept, &st)) < 0)
		return sbx_fail_host(err, errno, "%s cannot be read", kept);
	size_t index = tree->count;
	int result = append(tree, kept, sbx_strdup(""), join(dest, name), &st, err);
	tree->entries[index].fd = fd;
	/* Directories are listed as they are met, so the depth costs no stack and no descriptors.
	 */
	for (; result == 0 && index < tree->count; index++)
		if (tree->entries[index].type == SBX_TYPE_DIR)
			result = list_directory(tree, index, err);
	return result;
}

static int by_path(const void *a, const void *b)
{
	return strcmp((*(const struct sbx_upload_entry *const *)a)->path,
		(*(const struct sbx_upload_entry *const *)b)->path);
}

int sbx_upload_tree_check(const struct sbx_upload_tree *tree, struct sbx_error *err)
{
	if (tree->source_count < 2)
		return 0;
	cleanup_free const struct sbx_upload_entry **sorted =
		sbx_alloc_array(tree->count, sizeof(*sorted));
	for (size_t i = 0; i < tree->count; i++)
		sorted[i] = &tree->entries[i];
	qsort(sorted, tree->count, sizeof(*sorted), by_path);
	for (size_t i = 1; i < tree->count; i++) {
		if (strcmp(sorted[i - 1]->path, sorted[i]->path) != 0)
			continue;
		cleanup_free char *one = sbx_upload_entry_name(sorted[i - 1]);
		cleanup_free char *two = sbx_upload_entry_name(sorted[i]);
		return sbx_fail(
			err, EINVAL, "%s and %s would both land at %s", one, two, sorted[i]->path);
	}
	return 0;
}

int sbx_upload_tree_open(const struct sbx_upload_entry *entry, struct sbx_error *err)
{
	cleanup_free char *shown = sbx_upload_entry_name(entry);
	/* O_NONBLOCK: a fifo put in the file's place must not hold us. */
	cleanup_close int fd = open_entry(entry, O_RDONLY | O_NONBLOCK);
	if (replaced(fd))
		return changed(shown, err);
	if (fd < 0)
		return sbx_fail_host(err, -fd, "%s cannot be opened", shown);
	struct stat st;
	if (fstat(fd, &st) < 0)
		return sbx_fail_host(err, errno, "%s cannot be read", shown);
	if (!S_ISREG(st.st_mode) || st.st_dev != entry->device || st.st_ino != entry->inode ||
		st.st_size != entry->size)
		return changed(shown, err);
	return steal_fd(&fd);
}

void sbx_upload_tree_finish(struct sbx_upload_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		free(tree->entries[i].below);
		free(tree->entries[i].path);
	}
	for (size_t i = 0; i < tree->source_count; i++)
		free(tree->sources[i]);
	free(tree->entries);
	free(tree->sources);
	*tree = (struct sbx_upload_tree){ 0 };
}
