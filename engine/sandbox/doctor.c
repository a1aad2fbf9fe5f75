/*
 * doctor.c: findings about one engine, each with what to do about it. See sbx/doctor.h.
 *
 * Pause is tried, not guessed: a cgroup may be there and not be ours to freeze.
 */
#include <sbx/doctor.h>

#include <sbx/dispose.h>
#include <sbx/guest_user.h>
#include <sbx/image.h>
#include <sbx/transfer.h>

#include "../base/alloc.h"
#include "../files/guest_exec.h"
#include "../files/window.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *sbx_finding_level_name(enum sbx_finding_level level)
{
	static const char *const names[] = { "ok", "note", "warning", "problem" };
	return names[level];
}

void sbx_findings_add(struct sbx_findings *findings, const char *topic,
	enum sbx_finding_level level, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	findings->rows =
		sbx_realloc_array(findings->rows, findings->count + 1, sizeof(*findings->rows));
	findings->rows[findings->count++] = (struct sbx_finding){ topic, level, text };
}

void sbx_findings_finish(struct sbx_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		free(findings->rows[i].text);
	free(findings->rows);
	*findings = (struct sbx_findings){ 0 };
}

/* Docker's YEAR.MONTH or MAJOR.MINOR as one number that can be compared; 0 for nonsense, which is
 * then taken for an old one. */
static long release_of(const char *version)
{
	char *end;
	long major = strtol(version, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major < 0 || major > 100000 || minor < 0 || minor > 999 ? 0 : major * 1000 + minor;
}

#define OLDEST_DOCKER 20010
#define NEWEST_DOCKER 28999

/* Which releases were tried; docs/engines.md has the list. One whose API sbxfs does not speak,
 * older than 19.03 or one that has dropped 1.41, was refused before this. */
static void look_at_release(
	struct sbx_engine *engine, const struct sbx_engine_info *info, struct sbx_findings *out)
{
	long release = release_of(info->version);
	if (sbx_engine_is_podman(engine))
		sbx_findings_add(out, "support", SBX_FINDING_NOTE,
			"Podman is served as well as its Docker API allows; tested with 4.3");
	else if (release < OLDEST_DOCKER)
		sbx_findings_add(out, "support", SBX_FINDING_WARNING,
			"Docker %s is older than 20.10, the oldest release that is supported: "
			"update it to one from 20.10 to 28.5",
			info->version);
	else if (release > NEWEST_DOCKER)
		sbx_findings_add(out, "support", SBX_FINDING_WARNING,
			"Docker %s is newer than 28.5, the newest release that was tested: `sbxfs "
			"conform` tells whether confinement holds on it",
			info->version);
	else
		sbx_findings_add(out, "support", SBX_FINDING_OK,
			"Docker Engine is supported; tested with 20.10 and 28.5");
}

static void look_at_engine(
	struct sbx_engine *engine, const struct sbx_engine_info *info, struct sbx_findings *out)
{
	const struct sbx_endpoint *endpoint = sbx_engine_endpoint(engine);
	sbx_findings_add(out, "engine", SBX_FINDING_OK, "%s %s at %s (found by %s), API %s",
		info->name, info->version, endpoint->url, endpoint->source,
		sbx_engine_api_version(engine));
	look_at_release(engine, info, out);
	if (sbx_endpoint_exposed(endpoint))
		sbx_findings_add(out, "tls", SBX_FINDING_WARNING,
			"the engine is reached over the network without TLS: anybody in between "
			"sees and changes what is sent");
	if (endpoint->skip_verify)
		sbx_findings_add(out, "tls", SBX_FINDING_WARNING,
			"the context skips verification of the engine's certificate: anybody in "
			"between can pose as it");
	if (strcmp(info->os_type, "linux") == 0)
		sbx_findings_add(out, "os", SBX_FINDING_OK, "linux on %s", info->architecture);
	else
		sbx_findings_add(out, "os", SBX_FINDING_PROBLEM,
			"the engine says its containers are '%s', not linux", info->os_type);
	sbx_findings_add(out, "storage", SBX_FINDING_OK,
		"%s, cgroup version %s, runtime %s; no engine's driver bounds by itself what a "
		"sandbox stores: keep containers on a file system of their own",
		info->storage_driver, *info->cgroup_version ? info->cgroup_version : "unknown",
		info->default_runtime);
	sbx_findings_add(out, "rootless", info->rootless ? SBX_FINDING_OK : SBX_FINDING_NOTE, "%s",
		info->rootless ? "the engine runs without root"
			       : "the engine runs as root; --require-rootless would refuse it");
	sbx_findings_add(out, "userns",
		info->userns || info->rootless ? SBX_FINDING_OK : SBX_FINDING_NOTE, "%s",
		info->userns || info->rootless
			? "guest root is not the host's root"
			: "guest root is the host's root behind capabilities and seccomp; remap "
			  "users with the engine's "
			  "userns-remap setting, or use a rootless engine");
	sbx_findings_add(out, "seccomp",
		info->seccomp_default ? SBX_FINDING_OK : SBX_FINDING_WARNING, "%s",
		info->seccomp_default ? "the engine applies its default profile"
				      : "the engine applies no default seccomp profile: give one "
					"with --security-opt");
	if (info->keeps_limits)
		sbx_findings_add(out, "limits", SBX_FINDING_OK,
			"the engine keeps limits of memory, CPU and processes");
	else
		sbx_findings_add(out, "limits", SBX_FINDING_PROBLEM,
			"the engine keeps no limits of memory, CPU or processes (without root it "
			"needs cgroup version 2 and its controllers): every sandbox is refused");
	long major = strtol(info->version, NULL, 10); /* 0 for nonsense: taken for an old version */
	if (!sbx_engine_is_podman(engine) && major < 29)
		sbx_findings_add(out, "copy", SBX_FINDING_NOTE,
			"this Docker is older than the releases that fixed races of archive copies "
			"with mounts "
			"(CVE-2026-41567, -41568, -42306); sbxfs sends plain tar only and refuses "
			"mounts");
	sbx_findings_add(out, "egress", SBX_FINDING_OK,
		"closed: sandboxes have no network; no other mode is served");
}

/* Pause and resume on the throwaway sandbox, by the engine itself. */
static void try_pause(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_findings *out)
{
	struct sbx_error err = SBX_ERROR_INIT;
	if (sbx_container_pause(engine, id, call, &err) < 0) {
		sbx_findings_add(out, "pause", SBX_FINDING_PROBLEM,
			"the engine cannot pause a sandbox (%s): mount with -o freeze=never, and "
			"know that a guest can "
			"then swap what is read between check and use",
			err.message);
		return;
	}
	if (sbx_container_unpause(engine, id, call, &err) < 0)
		sbx_findings_add(out, "pause", SBX_FINDING_PROBLEM,
			"pause works but unpause does not: %s", err.message);
	else
		sbx_findings_add(out, "pause", SBX_FINDING_OK,
			"pause and unpause work, tried on a throwaway sandbox");
}

struct seen {
	char bytes[64];
	size_t size;
};

static int see(void *data, const void *bytes, size_t size)
{
	struct seen *seen = data;
	if (size > sizeof(seen->bytes) - seen->size)
		return -EFBIG;
	memcpy(seen->bytes + seen->size, bytes, size);
	seen->size += size;
	return 0;
}

/* A sandboxed kernel (gVisor and others) may keep what a guest writes where the engine does not see
 * it. Written twice: the first state may have been seen when the second is not. */
static void try_archive(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_engine_info *info, const struct sbx_call *call, struct sbx_findings *out)
{
	static const char *const argv[] = { "sh", "-c",
		"echo before >sbxfs-doctor; echo written-by-the-guest >sbxfs-doctor", NULL };
	static const char wanted[] = "written-by-the-guest\n";
	struct sbx_error err = SBX_ERROR_INIT;
	struct seen seen = { .size = 0 };
	const struct sbx_reader reader = { .bytes = see, .data = &seen };
	const struct sbx_exec exec = { .argv = argv, .workdir = sandbox->workdir, .stdin_fd = -1 };
	int code = -1;
	int rc = sbx_guest_exec(engine, sandbox->container.id, &exec, call, &code, NULL, &err);
	if (rc < 0 || code) {
		sbx_findings_add(out, "archive", SBX_FINDING_NOTE,
			"not tried whether the engine sees what a guest writes: the image's sh "
			"cannot write in %s",
			sandbox->workdir);
		return;
	}
	struct sbx_plane *plane = sbx_transfer_plane(engine, sandbox, NULL);
	rc = plane->ops->read(plane, "sbxfs-doctor", call, &reader, &err);
	sbx_plane_destroy(plane);
	if (rc == 0 && seen.size == sizeof(wanted) - 1 && !memcmp(seen.bytes, wanted, seen.size))
		sbx_findings_add(out, "archive", SBX_FINDING_OK,
			"the engine sees what a guest writes, tried on a throwaway sandbox");
	else
		sbx_findings_add(out, "archive", SBX_FINDING_PROBLEM,
			"the engine does not see what a guest writes (%s): its runtime '%s' keeps "
			"that to itself, so outputs would be missing or old; use runc or crun",
			rc < 0 ? err.message : "an older content came", info->default_runtime);
}

/* Whoever the image makes its guest, a sandbox's is without capabilities. */
static void look_at_user(const struct sbx_sandbox *sandbox, struct sbx_findings *out)
{
	const char *caveat = sbx_guest_root_caveat(&sandbox->container);
	if (caveat)
		sbx_findings_add(out, "user", SBX_FINDING_NOTE, "%s", caveat);
}

static void try_throwaway(struct sbx_engine *engine, const char *image,
	const struct sbx_engine_info *info, const struct sbx_call *call, struct sbx_findings *out)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_spec spec;
	enum sbx_outcome outcome;
	struct timespec now;
	sbx_spec_init(&spec);
	(void)clock_gettime(CLOCK_REALTIME, &now); /* only to make a name that is free */
	cleanup_free char *name = sbx_printf("sbxfs-doctor-%d-%ld", (int)getpid(), now.tv_nsec);
	spec.name = name;
	spec.kind = "doctor";
	spec.image = image;
	spec.ephemeral = true;
	if (sbx_acquire(engine, &spec, call, NULL, &sandbox, &outcome, &err) < 0) {
		sbx_findings_add(out, "sandbox", SBX_FINDING_PROBLEM,
			"a sandbox of %s cannot be made: %s", image, err.message);
		return;
	}
	sbx_findings_add(out, "sandbox", SBX_FINDING_OK,
		"a hardened sandbox of %s was made and starts", image);
	look_at_user(&sandbox, out);
	try_pause(engine, sandbox.container.id, call, out);
	try_archive(engine, &sandbox, info, call, out);
	struct sbx_call own =
		sbx_call_within(30000, NULL); /* the clean-up is not the caller's to cancel */
	if (sbx_container_remove(engine, sandbox.container.id, &own, &err) < 0 &&
		err.kind != SBX_KIND_ABSENT)
		sbx_findings_add(out, "sandbox", SBX_FINDING_PROBLEM,
			"the throwaway sandbox %s could not be removed: %s", name, err.message);
	sbx_sandbox_finish(&sandbox);
}

static void look_at_host(const struct sbx_endpoint *endpoint, struct sbx_findings *out)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_error note = SBX_ERROR_INIT;
	char directory[4096];
	if (access("/dev/fuse", R_OK | W_OK) == 0)
		sbx_findings_add(out, "fuse", SBX_FINDING_OK, "/dev/fuse is there and ours to use");
	else
		sbx_findings_add(out, "fuse", SBX_FINDING_PROBLEM,
			"/dev/fuse cannot be used: %s; `sbxfs mount` needs it, nothing else does "
			"(ls NAME, get, put, exec). In a container: --device /dev/fuse --cap-add "
			"SYS_ADMIN",
			strerror(errno));
	if (geteuid() != 0 && access("/usr/bin/fusermount3", X_OK) != 0 &&
		access("/bin/fusermount3", X_OK) != 0)
		sbx_findings_add(out, "fuse", SBX_FINDING_PROBLEM,
			"fusermount3 is missing: install the package fuse3 to mount as an ordinary "
			"user");
	if (sbx_window_directory_of(endpoint, directory, sizeof(directory), &note, &err) < 0)
		sbx_findings_add(out, "state", SBX_FINDING_PROBLEM,
			"freeze windows cannot be recorded: %s", err.message);
	else if (note.errnum)
		sbx_findings_add(out, "state", SBX_FINDING_PROBLEM,
			"freeze windows are recorded in %s, since %s", directory, note.message);
	else
		sbx_findings_add(out, "state", SBX_FINDING_OK, "freeze windows are recorded in %s",
			directory);
}

int sbx_doctor(struct sbx_engine *engine, const char *image, const struct sbx_call *call,
	struct sbx_findings *findings, struct sbx_engine_info *info, struct sbx_error *err)
{
	struct sbx_sandbox_list list = { 0 };
	struct sbx_error ignored = SBX_ERROR_INIT;
	int rc = sbx_engine_info(engine, call, info, err);
	if (rc < 0)
		return rc;
	look_at_engine(engine, info, findings);
	look_at_host(sbx_engine_endpoint(engine), findings);
	if (!image && sbx_sandbox_list(engine, NULL, NULL, call, &list, NULL, &ignored) == 0 &&
		list.count)
		image = list.rows[0].container.image_id;
	if (image)
		try_throwaway(engine, image, info, call, findings);
	else
		sbx_findings_add(findings, "pause", SBX_FINDING_NOTE,
			"not tried: there is no sandbox yet whose image could be used; give one "
			"with --image");
	sbx_sandbox_list_finish(&list);
	return 0;
}
