/*
 * freezer.c: see freezer.h. The cgroup is found by the container's own process where it still
 * exists, else at the places where Docker and Podman put one; its path must hold the full container
 * id, so that a reused pid can never lead to somebody else's cgroup. A cgroup has the same path in
 * every hierarchy of version 1 that the engines make it in.
 */
#include "freezer.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CGROUPS "/sys/fs/cgroup"

/* The control file of a cgroup and what it holds when nothing is frozen; where its processor time
 * is counted, and behind which word. */
struct control {
	char *path; /* NULL: not found */
	const char *thawed, *frozen;
	char *usage;
	const char *usage_word;
};

static void control_finish(struct control *control)
{
	free(control->path);
	free(control->usage);
}

/* A cgroup in the v1 freezer hierarchy, or in the unified one. */
static bool find_control(const char *root, const char *cgroup, struct control *out)
{
	out->path = sbx_printf("%s" CGROUPS "/freezer/%s/freezer.state", root, cgroup);
	out->thawed = "THAWED";
	out->frozen = "FROZEN";
	out->usage_word = "";
	if (access(out->path, F_OK) == 0) {
		out->usage = sbx_printf("%s" CGROUPS "/cpuacct/%s/cpuacct.usage", root, cgroup);
		return true;
	}
	free(out->path);
	out->path = sbx_printf("%s" CGROUPS "/%s/cgroup.freeze", root, cgroup);
	out->thawed = "0";
	out->frozen = "1";
	out->usage_word = "usage_usec ";
	if (access(out->path, F_OK) == 0) {
		out->usage = sbx_printf("%s" CGROUPS "/%s/cpu.stat", root, cgroup);
		return true;
	}
	free(out->path);
	out->path = NULL;
	return false;
}

/* The container's cgroup by one of its processes: the line "N:freezer:/PATH" or "0::/PATH". */
static char *cgroup_of(const char *root, int64_t pid, const char *id)
{
	cleanup_free char *path = sbx_printf("%s/proc/%" PRId64 "/cgroup", root, pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return NULL;
	char line[4096];
	char *found = NULL;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		char *controllers = strchr(line, ':');
		char *cgroup = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!cgroup)
			continue;
		*cgroup++ = '\0';
		controllers++;
		bool freezer = strcmp(controllers, "freezer") == 0;
		if (!freezer && controllers[0] != '\0')
			continue;
		if (cgroup[0] != '/' || !strstr(cgroup, id) || strstr(cgroup, ".."))
			continue;
		free(found);
		found = sbx_strdup(cgroup + 1);
		if (freezer)
			break; /* v1 has the freezer where it is mounted at all */
	}
	(void)fclose(file); /* only read */
	return found;
}

static bool is_full_id(const char *id)
{
	return strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64;
}

static struct control control_of(const char *root, const char *id, int64_t container_pid)
{
	static const char *const places[] = { "docker/%s", "system.slice/docker-%s.scope",
		"libpod_parent/libpod-%s", "machine.slice/libpod-%s.scope",
		"machine.slice/libpod-%s.scope/container" };
	struct control control = { 0 };
	if (!is_full_id(id))
		return control;
	cleanup_free char *own = container_pid > 0 ? cgroup_of(root, container_pid, id) : NULL;
	if (own && find_control(root, own, &control))
		return control;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *gap = strstr(places[i], "%s");
		cleanup_free char *cgroup =
			sbx_printf("%.*s%s%s", (int)(gap - places[i]), places[i], id, gap + 2);
		if (find_control(root, cgroup, &control))
			return control;
	}
	return control;
}

/* FROZEN stands for v1's FREEZING, too. */
static enum sbx_freezer read_control(int descriptor, const struct control *control)
{
	char state[32] = "";
	if (descriptor < 0 || pread(descriptor, state, sizeof(state) - 1, 0) <= 0)
		return SBX_FREEZER_UNKNOWN;
	return strncmp(state, control->thawed, strlen(control->thawed)) == 0 ? SBX_FREEZER_THAWED
									     : SBX_FREEZER_FROZEN;
}

enum sbx_freezer sbx_freezer_look_beneath(const char *root, const char *id, int64_t container_pid)
{
	struct control control cleanup_with(control_finish) = control_of(root, id, container_pid);
	if (!control.path)
		return SBX_FREEZER_UNKNOWN;
	cleanup_close int descriptor = open(control.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return read_control(descriptor, &control);
}

int64_t sbx_freezer_usage_beneath(const char *root, const char *id, int64_t container_pid)
{
	struct control control cleanup_with(control_finish) = control_of(root, id, container_pid);
	if (!control.usage)
		return -1;
	cleanup_close int descriptor = open(control.usage, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[512] = "";
	if (descriptor < 0 || pread(descriptor, text, sizeof(text) - 1, 0) <= 0)
		return -1;
	char *number = strstr(text, control.usage_word);
	if (!number)
		return -1;
	number += strlen(control.usage_word);
	number[strcspn(number, "\n")] = '\0';
	long long usage = -1;
	return sbx_text_to_int64(number, &usage) && usage >= 0 ? usage : -1;
}

static int set(
	const char *root, const char *id, int64_t container_pid, bool freeze, struct sbx_error *err)
{
	struct control control cleanup_with(control_finish) = control_of(root, id, container_pid);
	if (!control.path)
		return sbx_fail(err, ENOENT, "no freezer cgroup of container %.12s was found", id);
	cleanup_close int descriptor = open(control.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (descriptor < 0)
		return sbx_fail_errno(err, errno, "opening %s", control.path);
	enum sbx_freezer state = read_control(descriptor, &control);
	if (state == SBX_FREEZER_UNKNOWN)
		return sbx_fail_errno(err, errno, "reading %s", control.path);
	if (state == (freeze ? SBX_FREEZER_FROZEN : SBX_FREEZER_THAWED))
		return 0;
	const char *word = freeze ? control.frozen : control.thawed;
	ssize_t size = (ssize_t)strlen(word);
	if (pwrite(descriptor, word, (size_t)size, 0) != size)
		return sbx_fail_errno(err, errno, "writing %s", control.path);
	return 1;
}

int sbx_freezer_thaw_beneath(
	const char *root, const char *id, int64_t container_pid, struct sbx_error *err)
{
	return set(root, id, container_pid, false, err);
}

/* A socket may be forwarded from elsewhere; then no cgroup here has that container's id. */
static bool is_local(const struct sbx_engine *engine)
{
	return sbx_engine_endpoint(engine)->socket_path != NULL;
}

enum sbx_freezer sbx_freezer_look(
	const struct sbx_engine *engine, const char *id, int64_t container_pid)
{
	return is_local(engine) ? sbx_freezer_look_beneath("", id, container_pid)
				: SBX_FREEZER_UNKNOWN;
}

int64_t sbx_freezer_usage(const struct sbx_engine *engine, const char *id, int64_t container_pid)
{
	return is_local(engine) ? sbx_freezer_usage_beneath("", id, container_pid) : -1;
}

static int may_set(const struct sbx_engine *engine, struct sbx_error *err)
{
	if (is_local(engine) && geteuid() == 0)
		return 0;
	return sbx_fail(err, EOPNOTSUPP,
		"a container's cgroup can be thawed directly only as root and next to a local "
		"engine");
}

int sbx_freezer_thaw(const struct sbx_engine *engine, const char *id, int64_t container_pid,
	struct sbx_error *err)
{
	int result = may_set(engine, err);
	return result ? result : sbx_freezer_thaw_beneath("", id, container_pid, err);
}

int sbx_freezer_refreeze(const struct sbx_engine *engine, const char *id, int64_t container_pid,
	struct sbx_error *err)
{
	int result = may_set(engine, err);
	return result ? result : set("", id, container_pid, true, err);
}
