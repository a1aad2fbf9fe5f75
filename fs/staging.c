/*
 * staging.c: opening, recovering and closing a store (staging.h).
 *
 * The lock is a flock on the store's directory: it ends with the process however that ends. A store
 * may be removed by the process that holds it, so an opener checks after locking that the directory
 * is still the one of that name.
 */
#include "staging_store.h"

#include "staging_record.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

void sbx_staged_finish(struct sbx_staged *staged)
{
	free(staged->sandbox_id);
	free(staged->sandbox_name);
	free(staged->path);
	free(staged->reason);
	*staged = (struct sbx_staged){ 0 };
}

void sbx_staged_list_finish(struct sbx_staged_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		sbx_staged_finish(&list->rows[i]);
	free(list->rows);
	*list = (struct sbx_staged_list){ 0 };
}

const char *sbx_staging_mount_dir(const struct sbx_staging *staging)
{
	return staging->mount_dir;
}

const char *sbx_staging_engine_key(const struct sbx_staging *staging)
{
	return staging->engine_key;
}

const char *sbx_staging_engine_url(const struct sbx_staging *staging)
{
	return staging->engine_url;
}

char *sbx_staging_root(const char *option, struct sbx_error *err)
{
	if (option)
		return sbx_strdup(option);
	if (geteuid() == 0)
		return sbx_strdup("/var/lib/sbxfs/staging");
	const char *state = getenv("XDG_STATE_HOME");
	if (state && state[0] == '/')
		return sbx_printf("%s/sbxfs/staging", state);
	const char *home = getenv("HOME");
	if (home && home[0] == '/')
		return sbx_printf("%s/.local/state/sbxfs/staging", home);
	sbx_fail(err, ENOENT, "no place for staged files: neither XDG_STATE_HOME nor HOME is set");
	return NULL;
}

/* Makes path and its parents, each private. */
static int make_directories(const char *path, struct sbx_error *err)
{
	cleanup_free char *copy = sbx_strdup(path);
	for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return sbx_fail_errno(
				err, errno, "cannot make the staging directory %s", copy);
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* A directory of ours that nobody else can enter. A link in its place could lead our files, and our
 * removals, anywhere. */
static int open_private(int parent, const char *name, int *fd, struct sbx_error *err)
{
	struct stat st;
	*fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return sbx_fail(err, EPERM,
			"%s is a link or no directory, so nothing is staged there", name);
	if (*fd < 0)
		return sbx_fail_errno(err, errno, "cannot open the staging directory %s", name);
	int result = 0;
	if (fstat(*fd, &st) < 0)
		result = sbx_fail_errno(err, errno, "cannot stat the staging directory %s", name);
	else if (st.st_uid != geteuid())
		result = sbx_fail(
			err, EPERM, "the staging directory %s belongs to another user", name);
	else if ((st.st_mode & 07777) != 0700 && fchmod(*fd, 0700) < 0)
		result = sbx_fail_errno(err, errno, "cannot make %s private", name);
	if (!result)
		return 0;
	(void)close(*fd); /* nothing was written through it */
	*fd = -1;
	return result;
}

/* Opens and locks the store; *fd stays -1 when it vanished meanwhile, which is worth another try.
 */
static int lock_store(int root, const char *name, int *fd, struct sbx_error *err)
{
	cleanup_close int directory = -1;
	struct stat held;
	struct stat named;
	*fd = -1;
	int result = open_private(root, name, &directory, err);
	if (result)
		return result;
	if (flock(directory, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return sbx_fail_kind(err, SBX_KIND_CONFLICT, EBUSY,
				"another mount holds the staging directory %s", name);
		return sbx_fail_errno(err, errno, "cannot lock the staging directory %s", name);
	}
	if (fstat(directory, &held) == 0 && fstatat(root, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		held.st_ino == named.st_ino && held.st_dev == named.st_dev)
		*fd = steal_fd(&directory);
	return 0;
}

static int open_store(const char *root, const char *name, bool make, struct sbx_staging **out,
	struct sbx_error *err)
{
	cleanup_close int top = -1;
	cleanup_close int directory = -1;
	int result = open_private(AT_FDCWD, root, &top, err);
	for (int tries = 0; !result && directory < 0; tries++) {
		if (make && mkdirat(top, name, 0700) < 0 && errno != EEXIST)
			return sbx_fail_errno(
				err, errno, "cannot make the staging directory %s", name);
		result = lock_store(top, name, &directory, err);
		if (!result && directory < 0 && tries == 100)
			result = sbx_fail(
				err, EIO, "the staging directory %s keeps vanishing", name);
	}
	if (result)
		return result;
	struct sbx_staging *staging = sbx_alloc(sizeof(*staging));
	staging->root = steal_fd(&top);
	staging->directory = steal_fd(&directory);
	staging->name = sbx_strdup(name);
	atomic_init(&staging->next, 1);
	*out = staging;
	return 0;
}

/* FNV-1a: two mount points of one user that share a name can only find each other's lock. */
static uint64_t text_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

int sbx_staging_open(const char *root, const char *engine_key, const char *engine_url,
	const char *mount_dir, struct sbx_staging **out, struct sbx_error *err)
{
	*out = NULL;
	cleanup_free char *name = sbx_printf("%s-%016" PRIx64, engine_key, text_hash(mount_dir));
	int result = make_directories(root, err);
	if (!result)
		result = open_store(root, name, true, out, err);
	if (result)
		return result;
	cleanup_json cJSON *about = cJSON_CreateObject();
	sbx_json_add_text(about, "mount", mount_dir);
	sbx_json_add_text(about, "engine_key", engine_key);
	sbx_json_add_text(about, "engine", engine_url);
	cleanup_free char *text = sbx_json_print(about);
	result = sbx_staging_write_file((*out)->directory, "about.json", text, true, err);
	if (result) {
		sbx_staging_close(*out);
		*out = NULL;
		return result;
	}
	(*out)->mount_dir = sbx_strdup(mount_dir);
	(*out)->engine_key = sbx_strdup(engine_key);
	(*out)->engine_url = sbx_strdup(engine_url);
	return 0;
}

/* NULL, with a line in the log, when it cannot be read: the files are still worth having. */
static cJSON *read_about(int directory, const char *name)
{
	struct sbx_buffer text = { .limit = SBX_STAGING_RECORD_MAX };
	struct sbx_error err = SBX_ERROR_INIT;
	cJSON *about = NULL;
	int result = sbx_staging_read_file(directory, "about.json", &text, &err);
	if (!result)
		about = sbx_json_parse(sbx_buffer_text(&text), text.size, 4, "about.json", &err);
	if (!about && result != -ENOENT) /* another mount's, which just ended and took it along */
		sbx_log(SBX_LOG_WARNING, "staging directory %s: %s", name, err.message);
	sbx_buffer_finish(&text);
	return about;
}

static char *about_text(const cJSON *about, const char *key)
{
	const char *text = about ? sbx_json_string(about, key) : NULL;
	return sbx_strdup(text ? text : "");
}

int sbx_staging_open_existing(
	const char *root, const char *name, struct sbx_staging **out, struct sbx_error *err)
{
	*out = NULL;
	int result = open_store(root, name, false, out, err);
	if (result)
		return result;
	cleanup_json cJSON *about = read_about((*out)->directory, name);
	(*out)->mount_dir = about_text(about, "mount");
	(*out)->engine_key = about_text(about, "engine_key");
	(*out)->engine_url = about_text(about, "engine");
	return 0;
}

char *sbx_staging_peek_mount_dir(const char *root, const char *name)
{
	cleanup_free char *path = sbx_printf("%s/%s", root, name);
	cleanup_close int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_json cJSON *about = directory < 0 ? NULL : read_about(directory, name);
	return about_text(about, "mount");
}

void sbx_staging_close(struct sbx_staging *staging)
{
	if (!staging)
		return;
	bool kept = false;
	sbx_staging_drop_spares(staging);
	DIR *entries = fdopendir(dup(staging->directory));
	for (struct dirent *entry; entries && (entry = readdir(entries));)
		kept = kept || sbx_staging_is_record(staging, entry->d_name);
	if (entries && !kept) {
		rewinddir(entries);
		for (struct dirent *entry; (entry = readdir(entries));)
			(void)unlinkat(staging->directory, entry->d_name,
				0); /* "." and ".." refuse; what stays is only litter */
		(void)unlinkat(staging->root, staging->name, AT_REMOVEDIR); /* the same */
	}
	if (entries)
		(void)closedir(entries); /* read only */
	(void)close(staging->directory); /* only syncing writers need its result, and they synced */
	(void)close(staging->root);	 /* read only */
	free(staging->name);
	free(staging->mount_dir);
	free(staging->engine_key);
	free(staging->engine_url);
	free(staging);
}
