/*
 * seccomp.c: see seccomp.h. A profile is read before anything is created: engines notice a bad one
 * only at start, with the container already there.
 */
#include "seccomp.h"

#include "../base/alloc.h"
#include "../base/json.h"
#include "../base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PROFILE_MAX (1 << 20)
#define NNP "no-new-privileges"

/* The file of a seccomp option, NULL for other options and for seccomp=unconfined. */
static const char *profile_of(const char *option)
{
	if (!sbx_text_has_prefix(option, "seccomp=") || strcmp(option, "seccomp=unconfined") == 0)
		return NULL;
	return option + strlen("seccomp=");
}

static int read_profile(const char *path, char **out, struct sbx_error *err)
{
	/* Non-blocking, so that a fifo by that name is an error and not a hang. */
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return sbx_fail_kind(err, SBX_KIND_USAGE, EINVAL,
			"--security-opt: seccomp profile '%s' cannot be read: %s", path,
			strerror(errno));
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return sbx_fail(err, EINVAL,
			"--security-opt: seccomp profile '%s' is not a regular file", path);
	cleanup_free char *text = sbx_alloc(PROFILE_MAX + 1);
	size_t size = 0;
	for (ssize_t got; size <= PROFILE_MAX; size += (size_t)got) {
		got = read(fd, text + size, PROFILE_MAX + 1 - size);
		if (got < 0)
			return sbx_fail_kind(err, SBX_KIND_USAGE, EINVAL,
				"--security-opt: seccomp profile '%s' cannot be read: %s", path,
				strerror(errno));
		if (got == 0)
			break;
	}
	if (size > PROFILE_MAX)
		return sbx_fail(err, EINVAL,
			"--security-opt: seccomp profile '%s' is over %d bytes", path, PROFILE_MAX);
	struct sbx_error parse = SBX_ERROR_INIT;
	cleanup_json cJSON *json = sbx_json_parse(text, size, 32, "seccomp profile", &parse);
	if (!cJSON_IsObject(json) || !sbx_json_string(json, "defaultAction"))
		return sbx_fail(err, EINVAL,
			"--security-opt: seccomp profile '%s' is not a JSON object with a "
			"defaultAction",
			path);
	*out = sbx_json_print(json);
	return 0;
}

int sbx_security_opt_check(const char *option, struct sbx_error *err)
{
	size_t key = strcspn(option, "=:");
	if (strncasecmp(option, NNP, key) == 0 && key == strlen(NNP))
		return sbx_fail(err, EPERM,
			"--security-opt '%s': " NNP
			" is always on and cannot be given, changed or removed",
			option);
	const char *profile = profile_of(option);
	if (profile) {
		cleanup_free char *text = NULL;
		return read_profile(profile, &text, err);
	}
	if (strcmp(option, "seccomp=unconfined") == 0 ||
		(sbx_text_has_prefix(option, "apparmor=") && option[strlen("apparmor=")]) ||
		(sbx_text_has_prefix(option, "label=") && option[strlen("label=")]))
		return 0;
	return sbx_fail(err, EINVAL,
		"--security-opt '%s' is none of seccomp=FILE, seccomp=unconfined, apparmor=PROFILE "
		"and label=…",
		option);
}

static int write_copy(int fd, const char *text)
{
	for (size_t left = strlen(text); left;) {
		ssize_t written = write(fd, text, left);
		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			text += written;
			left -= (size_t)written;
		}
	}
	return 0;
}

/* What was checked, where nobody but us can change it: the profile's own file may be another one by
 * the time the engine opens it. Not a secret, and an engine may run as another user: 0644. */
static int copy_profile(const char *text, char **path, struct sbx_error *err)
{
	cleanup_free char *made = sbx_strdup("/tmp/sbxfs-seccomp-XXXXXX");
	cleanup_close int fd = mkostemp(made, O_CLOEXEC);
	if (fd < 0)
		return sbx_fail_errno(err, errno, "no copy of a seccomp profile in /tmp");
	int result = write_copy(fd, text);
	if (result == 0 && fchmod(fd, 0644) < 0)
		result = -errno;
	if (result < 0) {
		(void)unlink(made); /* it is of no use */
		return sbx_fail_errno(err, -result, "no copy of a seccomp profile in /tmp");
	}
	*path = steal(&made);
	return 0;
}

int sbx_security_opt_resolve(const char *option, bool podman, bool local_engine, char **copy,
	char **out, struct sbx_error *err)
{
	const char *profile = profile_of(option);
	if (!profile) {
		*out = sbx_strdup(option);
		return 0;
	}
	cleanup_free char *text = NULL;
	int rc = read_profile(profile, &text, err);
	if (rc < 0)
		return rc;
	if (!podman) {
		*out = sbx_printf("seccomp=%s", text);
		return 0;
	}
	if (!local_engine)
		return sbx_fail(err, EOPNOTSUPP,
			"--security-opt '%s': Podman opens a profile by its path on the engine's "
			"host, so it works for a local engine only",
			option);
	rc = copy_profile(text, copy, err);
	if (rc == 0)
		*out = sbx_printf("seccomp=%s", *copy);
	return rc;
}

int sbx_security_opt_content(const char *option, char **out, struct sbx_error *err)
{
	return sbx_security_opt_resolve(option, false, true, NULL, out, err);
}
