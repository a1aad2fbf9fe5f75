/*
 * mount.c: the life of a mount: everything is opened in an order that lets each step fail with one
 * sentence and leave nothing behind, then the daemon confines itself, then threads start.
 *
 * Forks (guardian, reaper) come before threads; what needs privileges (mounting, directories)
 * before the confinement; what a thread may touch is made before the thread.
 */
#include "context.h"

#include "daemon.h"
#include "in.h"
#include "log_sink.h"
#include "mountpoint.h"
#include "ops.h"
#include "reaper.h"

#include "base/confine.h"
#include "files/window.h"
#include "sandbox/list_around.h"
#include "transport/endpoint_files.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

enum { START_MS = 30000, STOP_MS = 20000 };

struct mount {
	struct sbx_fs fs;
	struct sbx_fs_options options; /* a shallow copy: what we filled in is ours */
	char *cache_dir, *mountpoint;
	struct sbx_endpoint endpoint;
	struct sbx_reaper reaper;
	bool guarded;
	int report;  /* -1: in front, or told */
	int process; /* /proc/self */
};

static char *default_cache_dir(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (cache && *cache == '/')
		return sbx_printf("%s/sbxfs", cache);
	if (home && *home == '/')
		return sbx_printf("%s/.cache/sbxfs", home);
	return sbx_printf("/var/tmp/sbxfs-%u", (unsigned)geteuid());
}

static void prepare_process(void)
{
	struct rlimit files;
	(void)umask(077);
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail for these signals */
	(void)signal(SIGXFSZ, SIG_IGN);
	/* One spool per open version; without the raise there are fewer. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &files) < 0)
			sbx_log(SBX_LOG_WARNING, "RLIMIT_NOFILE: %s", strerror(errno));
	}
}

static int open_engine(struct mount *mount, struct sbx_error *err)
{
	struct sbx_call call = sbx_call_within(START_MS, NULL);
	int rc = sbx_endpoint_find(mount->options.engine_choice, &mount->endpoint, err);
	if (rc)
		return rc;
	mount->endpoint.insecure = mount->options.insecure;
	rc = sbx_engine_open(&mount->endpoint, &call, &mount->fs.engine, err);
	if (rc)
		return rc;
	mount->fs.podman = sbx_engine_is_podman(mount->fs.engine);
	mount->fs.engine_up = true;
	/* Without it nothing is ever paused: a daemon that dies must not leave a guest frozen. */
	if (mount->options.freeze == SBX_FREEZE_NEVER)
		return 0;
	rc = sbx_guardian_start(mount->fs.engine, NULL, err);
	mount->guarded = rc >= 0;
	return rc < 0 ? rc : 0;
}

static int open_caches(struct mount *mount, struct sbx_error *err)
{
	if (!mount->options.cache_dir)
		mount->options.cache_dir = mount->cache_dir = default_cache_dir();
	/* Where libsbx spools what it verifies before a byte is given: inside what we may write. */
	if (setenv("TMPDIR", mount->options.cache_dir, 1) < 0)
		return sbx_fail_errno(err, errno, "TMPDIR");
	int rc = sbx_spools_create(
		mount->options.cache_dir, mount->options.cache_budget, &mount->fs.spools, err);
	return rc ? rc : sbx_in_init(&mount->fs, err);
}

/* libfuse's own sentences: kept for the log, since ours is the one that the user sees. */
__attribute__((format(printf, 2, 0))) static void fuse_says(
	enum fuse_log_level level, const char *format, va_list args)
{
	char line[256];
	(void)level; /* what libfuse finds grave, we report ourselves */
	if (vsnprintf(line, sizeof(line), format, args) > 0) {
		line[strcspn(line, "\n")] = '\0';
		sbx_log(SBX_LOG_DEBUG, "libfuse: %s", line);
	}
}

/* Which of the things that mounting takes is missing here. What they all have in common is that no
 * other command needs them. */
static int fail_mount(const struct mount *mount, int errnum, struct sbx_error *err)
{
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return sbx_fail(err, EOPNOTSUPP,
			"%s: cannot mount, /dev/fuse cannot be used: %s (load the fuse module; in "
			"a container: --device /dev/fuse --cap-add "
			"SYS_ADMIN)" SBX_MOUNTPOINT_OTHERWISE,
			mount->mountpoint, strerror(errno));
	if (geteuid() != 0 && access("/usr/bin/fusermount3", X_OK) < 0 &&
		access("/bin/fusermount3", X_OK) < 0)
		return sbx_fail(err, EOPNOTSUPP,
			"%s: cannot mount, fusermount3 is missing (install the package "
			"fuse3)" SBX_MOUNTPOINT_OTHERWISE,
			mount->mountpoint);
	if (mount->options.allow_other && geteuid() != 0)
		return sbx_fail_errno(err, errnum,
			"%s: cannot mount (allow_other needs user_allow_other in /etc/fuse.conf)",
			mount->mountpoint);
	if (errnum == EPERM)
		return sbx_fail(err, EOPNOTSUPP,
			"%s: cannot mount, the kernel does not permit it (in a container: "
			"--cap-add "
			"SYS_ADMIN, and an AppArmor profile that allows "
			"it)" SBX_MOUNTPOINT_OTHERWISE,
			mount->mountpoint);
	return sbx_fail_errno(err, errnum, "%s: cannot mount", mount->mountpoint);
}

static int mount_session(struct mount *mount, struct sbx_error *err)
{
	cleanup_free char *options = sbx_printf(
		"subtype=sbxfs,fsname=sbxfs,nosuid,nodev,noexec,noatime,default_permissions%s",
		mount->options.allow_other ? ",allow_other" : "");
	char program[] = "sbxfs", flag[] = "-o";
	char *argv[] = { program, flag, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	fuse_set_log_func(fuse_says);
	mount->fs.session = fuse_session_new(&args, &sbx_ops, sizeof(sbx_ops), &mount->fs);
	fuse_opt_free_args(&args);
	if (!mount->fs.session)
		return sbx_fail(err, EINVAL, "libfuse does not take the mount options %s", options);
	errno = 0;
	if (fuse_session_mount(mount->fs.session, mount->mountpoint) != 0) {
		return fail_mount(mount, errno ? errno : EPERM, err);
	}
	if (sbx_mountpoint_is_descriptor(mount->mountpoint))
		return 0; /* who handed it over unmounts */
	return sbx_reaper_start(mount->mountpoint, &mount->reaper, err);
}

static int confine(struct mount *mount, struct sbx_error *err)
{
	char windows[PATH_MAX] = "";
	char state[PATH_MAX] = "";
	/* Held open: a directory of /proc that is made anew would not be covered by its rule. */
	mount->process = open("/proc/self", O_PATH | O_CLOEXEC);
	bool freezer = access("/sys/fs/cgroup/freezer", F_OK) == 0; /* cgroup version 1 */
	if (mount->guarded) {
		int rc = sbx_window_directory_of(
			&mount->endpoint, windows, sizeof(windows), NULL, err);
		if (!rc)
			rc = sbx_window_directory(state, sizeof(state), err);
		if (rc)
			return rc;
	}
	const struct sbx_confine_path own[] = {
		{ mount->options.cache_dir, 1 },
		{ sbx_in_staging_path(&mount->fs), 1 },
		{ *windows ? windows : NULL, 1 },
		{ *state ? state : NULL, 1 },
		{ "/dev/null", 1 },
		{ "/proc/self", 0 }, /* windows name their owner by its start time */
		/* Whether a window's pause really holds, and the thaw of what an engine has wedged.
		 */
		{ freezer ? "/sys/fs/cgroup/freezer" : "/sys/fs/cgroup", 1, 1 },
		{ freezer ? "/sys/fs/cgroup/cpuacct" : NULL, 0 },
	};
	struct sbx_confine_path paths[sizeof(own) / sizeof(own[0]) + SBX_ENDPOINT_FILES];
	memcpy(paths, own, sizeof(own));
	sbx_endpoint_files(&mount->endpoint, paths + sizeof(own) / sizeof(own[0]));
	return sbx_confine(paths, sizeof(paths) / sizeof(paths[0]), err);
}

static void serving(struct sbx_fs *fs)
{
	struct mount *mount = (struct mount *)((char *)fs - offsetof(struct mount, fs));
	sbx_log(SBX_LOG_INFO, "serving %s from %s", mount->mountpoint, mount->endpoint.url);
	sbx_daemon_report(&mount->report, 0, NULL);
}

static int start_threads(struct mount *mount, struct sbx_error *err)
{
	struct sbx_fs *fs = &mount->fs;
	struct sbx_call call = sbx_call_within(START_MS, NULL);
	struct sbx_inventory_listener listener = sbx_views_listener(fs);
	int rc = sbx_workers_create(fs, &fs->workers, err);
	if (rc)
		return rc;
	rc = sbx_notifier_create(fs, &fs->notifier, err);
	if (rc)
		return rc;
	return sbx_inventory_start(
		fs->engine, mount->options.rules, &listener, &call, &fs->inventory, err);
}

/* Between the mount and the first answer to the kernel everybody who looks at the directory that it
 * is in waits: an engine that does not list is found out before. */
static int list_once(struct mount *mount, struct sbx_error *err)
{
	struct sbx_call call = sbx_call_within(START_MS, NULL);
	struct sbx_container_list rows = { 0 };
	struct sbx_unanswered unanswered;
	int rc = sbx_list_around(mount->fs.engine, NULL, &call, &rows, &unanswered, err);
	sbx_container_list_finish(&rows);
	return rc;
}

static int start(struct mount *mount, struct sbx_error *err)
{
	struct sbx_fs *fs = &mount->fs;
	fs->options = &mount->options;
	fs->serving = serving;
	fs->make_plane = sbx_view_archive_plane;
	fs->started_ms = sbx_clock_ms();
	fs->views.changed_s = time(NULL);
	prepare_process();
	int rc = open_engine(mount, err);
	if (!rc)
		rc = open_caches(mount, err);
	if (!rc)
		rc = list_once(mount, err);
	if (!rc)
		rc = sbx_loop_create(fs, &fs->loop, err);
	if (rc)
		return rc;
	sbx_nodes_init(fs);
	rc = mount_session(mount, err);
	if (!rc)
		rc = confine(mount, err);
	return rc ? rc : start_threads(mount, err);
}

static bool jobs_left(struct sbx_fs *fs)
{
	return sbx_workers_busy(fs->workers);
}

/* Users first: the name is free and nobody waits any more, whatever the engine still does. */
static void leave_kernel(struct mount *mount)
{
	struct sbx_fs *fs = &mount->fs;
	fs->leaving = true;
	sbx_requests_fail_all(fs, ENODEV);
	sbx_reaper_finish(&mount->reaper);
	sbx_notifier_stop(fs->notifier);
	if (fs->session)
		fuse_session_unmount(fs->session);
	sbx_notifier_destroy(fs->notifier);
	fs->notifier = NULL;
}

/* Then the sandboxes: calls are cancelled, then every plane closes its window, all at once. */
static void leave_engine(struct mount *mount)
{
	struct sbx_fs *fs = &mount->fs;
	sbx_inventory_stop(fs->inventory);
	if (fs->workers) {
		sbx_workers_cancel(fs->workers);
		sbx_loop_drain(fs->loop, jobs_left, sbx_clock_ms() + STOP_MS);
	}
	sbx_handles_finish(fs);
	sbx_in_leave(fs);
	sbx_nodes_finish(fs);
	sbx_views_finish(fs);
	if (fs->workers) {
		sbx_loop_drain(fs->loop, jobs_left, sbx_clock_ms() + STOP_MS);
		sbx_workers_stop(fs->workers);
		sbx_loop_drain(fs->loop, jobs_left, sbx_clock_ms());
	}
	sbx_in_finish(fs);
	if (mount->guarded)
		sbx_guardian_stop();
}

/* Each part accepts that it was never made. */
static void stop(struct mount *mount)
{
	struct sbx_fs *fs = &mount->fs;
	leave_kernel(mount);
	leave_engine(mount);
	if (fs->session)
		fuse_session_destroy(fs->session);
	sbx_loop_destroy(fs->loop);
	sbx_workers_destroy(fs->workers);
	sbx_spools_destroy(fs->spools);
	sbx_engine_close(fs->engine);
	sbx_endpoint_finish(&mount->endpoint);
	free(fs->read_buffer);
	if (mount->process >= 0)
		(void)close(mount->process); /* a name, nothing was written */
	free(mount->cache_dir);
	free(mount->mountpoint);
}

static int serve(struct mount *mount, struct sbx_error *err)
{
	int rc = start(mount, err);
	if (!rc)
		rc = sbx_loop_run(mount->fs.loop, err);
	if (rc)
		sbx_daemon_report(&mount->report, rc, err);
	stop(mount);
	return rc;
}

int sbx_fs_run(const struct sbx_fs_options *options, struct sbx_error *err)
{
	struct mount mount = {
		.options = *options, .report = -1, .process = -1, .reaper.pipe = -1
	};
	int result = 0;
	if (!options->mountpoint)
		return sbx_fail_kind(err, SBX_KIND_USAGE, EINVAL, "no directory to mount on");
	sbx_log_set_level((enum sbx_log_level)options->log_level);
	int rc = sbx_mountpoint_prepare(options->mountpoint, &mount.mountpoint, err);
	if (rc) {
		free(mount.mountpoint);
		return rc;
	}
	if (options->foreground) {
		sbx_log_sink_front();
		return serve(&mount, err);
	}
	rc = sbx_daemon_fork(&mount.report, &result, err);
	if (rc) {
		free(mount.mountpoint);
		return rc < 0 ? rc : result;
	}
	sbx_log_sink_behind();
	rc = serve(&mount, err);
	exit(rc ? 1 : 0);
}
