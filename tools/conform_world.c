/* conform_world.c: the sandboxes, plants and mount that the probes share, and how a probe looks at
 * them. See conform.h. */
#include "conform.h"

#include "../engine/base/alloc.h"
#include "../engine/base/buffer.h"
#include "../engine/base/text.h"

#include <sbx/acquire.h>
#include <sbx/command.h>
#include <sbx/dispose.h>
#include <sbx/transfer.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((format(printf, 3, 0))) static void say(struct sbx_verdict *verdict,
	enum sbx_verdict_result result, const char *format, va_list args)
{
	verdict->result = result;
	(void)vsnprintf(verdict->text, sizeof(verdict->text), format, args); /* cut is fine */
}

void sbx_verdict_pass(struct sbx_verdict *verdict, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(verdict, SBX_VERDICT_PASS, format, args);
	va_end(args);
}

void sbx_verdict_fail(struct sbx_verdict *verdict, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(verdict, SBX_VERDICT_FAIL, format, args);
	va_end(args);
}

void sbx_verdict_skip(struct sbx_verdict *verdict, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(verdict, SBX_VERDICT_SKIP, format, args);
	va_end(args);
}

static int make(struct sbx_conform *world, struct sbx_probe_sandbox *sandbox, const char *role,
	const char *image, const char *user, const char *workdir, struct sbx_error *err)
{
	static const char *const outputs[] = { "real/", "plain.txt", "link-dir/", "link-file",
		"fifo", "out/" };
	struct sbx_spec spec;
	enum sbx_outcome outcome;
	struct timespec now;
	sbx_spec_init(&spec);
	(void)clock_gettime(CLOCK_REALTIME, &now); /* only for a name that is free */
	sandbox->name =
		sbx_printf("sbxfs-conform-%s-%d-%ld", role, (int)getpid(), now.tv_nsec % 1000000);
	spec.name = sandbox->name;
	spec.kind = "conform";
	spec.image = image;
	spec.user = user;
	spec.workdir = workdir;
	spec.outputs = outputs;
	spec.output_count = sizeof(outputs) / sizeof(outputs[0]);
	spec.ephemeral = true;
	struct sbx_call call = sbx_tool_call(world->tool, 120000);
	int rc = sbx_acquire(
		world->tool->engine, &spec, &call, NULL, &sandbox->sandbox, &outcome, err);
	if (rc < 0)
		return rc;
	sandbox->made = true;
	struct sbx_plane_limits limits;
	sbx_plane_limits_default(&limits);
	sandbox->plane = sbx_transfer_plane(world->tool->engine, &sandbox->sandbox, &limits);
	return 0;
}

static int keep_output(void *data, int stream, const char *bytes, size_t size)
{
	(void)sbx_buffer_append(data, bytes, size); /* cut at the buffer's limit */
	return 0;
}

int sbx_conform_guest(struct sbx_conform *world, struct sbx_probe_sandbox *sandbox,
	const char *line, char *out, size_t size)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_buffer buffer = { .limit = 65536 };
	struct sbx_command_result result = { 0 };
	struct sbx_command command = { .argv = argv,
		.workdir = "/",
		.stdin_fd = -1,
		.timeout_ms = 30000,
		.on_timeout = SBX_ON_TIMEOUT_KILL,
		.max_output_bytes = 1 << 20,
		.output = keep_output,
		.data = &buffer };
	struct sbx_call call = sbx_tool_call(world->tool, 60000);
	int rc = sbx_command_run(
		world->tool->engine, &sandbox->sandbox, &command, &call, &result, &err);
	if (out)
		(void)snprintf(out, size, "%s",
			rc < 0 ? err.message : sbx_buffer_text(&buffer)); /* cut is fine */
	sbx_buffer_finish(&buffer);
	int code = rc < 0 ? -1 : result.exit_code;
	sbx_command_result_finish(&result);
	return code;
}

static const char plant_main[] =
	"set -e; cd /sbxfs-conform/work; mkdir -p real real/deep out in in/kept "
	"../work-outside/sub ../outside;"
	"printf within > real/inside.txt; printf plain > plain.txt; printf secret > "
	"../work-outside/secret.txt;"
	"printf leaf > ../work-outside/sub/leaf.txt; ln -s ../work-outside link-dir; ln -s "
	"../work-outside/secret.txt link-file;"
	"ln -s /sbxfs-conform/work-outside in/link-dir; printf target > ../work-outside/target.txt;"
	"ln -s /sbxfs-conform/work-outside/target.txt in/link-file; printf plain > in/plain.txt; "
	"printf kept > in/kept/file;"
	"ln -s ../work-outside out/to-dir; ln -s ../plain.txt out/to-file; printf ordinary > "
	"out/file; mkfifo fifo out/fifo";

static int plant(struct sbx_conform *world, struct sbx_error *err)
{
	char out[300];
	if (sbx_conform_guest(world, &world->main, plant_main, out, sizeof(out)) != 0)
		return sbx_fail(err, EOPNOTSUPP,
			"the image cannot plant the attacks (it needs sh, ln, mkdir, mkfifo): %s",
			out);
	if (sbx_conform_guest(world, &world->linked,
		    "set -e; cd /sbxfs-conform/top/work; mkdir -p real out in; printf within > "
		    "real/inside.txt",
		    out, sizeof(out)) != 0)
		return sbx_fail(err, EOPNOTSUPP, "the image cannot plant the attacks: %s", out);
	return 0;
}

static void start_mount(struct sbx_conform *world)
{
	char template[] = "/tmp/sbxfs-conform-XXXXXX";
	if (!mkdtemp(template)) {
		(void)snprintf(world->mount_why, sizeof(world->mount_why),
			"no directory in /tmp: %s", strerror(errno));
		return;
	}
	const struct sbx_endpoint *endpoint = sbx_engine_endpoint(world->tool->engine);
	fflush(NULL);
	world->mount_pid = fork();
	if (world->mount_pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL); /* valid arguments */
		int null = open("/dev/null", O_RDWR);
		if (null >= 0)
			(void)dup2(null, STDOUT_FILENO); /* the probes' table is ours alone */
		execl("/proc/self/exe", "sbxfs", "mount", "-f", "--engine", endpoint->url, template,
			(char *)NULL);
		_exit(127);
	}
	cleanup_free char *ready = sbx_printf("%s/.sbxfs/stats.json", template);
	for (int i = 0; i < 100 && world->mount_pid > 0; i++) {
		if (access(ready, R_OK) == 0) {
			world->mount_dir = sbx_strdup(template);
			return;
		}
		if (waitpid(world->mount_pid, NULL, WNOHANG) == world->mount_pid)
			world->mount_pid = 0;
		(void)nanosleep(
			&(struct timespec){ .tv_nsec = 100000000 }, NULL); /* cut short is fine */
	}
	(void)snprintf(world->mount_why, sizeof(world->mount_why),
		"`sbxfs mount` does not serve; see above");
	if (world->mount_pid > 0) {
		(void)kill(world->mount_pid, SIGTERM); /* it may be gone already */
		(void)waitpid(world->mount_pid, NULL, 0);
		world->mount_pid = 0;
	}
	(void)rmdir(template); /* stays behind only if something is mounted there */
}

/* A probe may stand in a system call on the mount, which no token of ours ends. */
static void *watch(void *data)
{
	struct sbx_conform *world = data;
	struct pollfd ends = { .fd = sbx_cancel_fd(world->watch_ends), .events = POLLIN };
	while (!sbx_cancel_fired(world->watch_ends))
		(void)poll(&ends, 1, 1000);    /* an early wake-up is fine */
	(void)kill(world->mount_pid, SIGTERM); /* it may have died; it is waited for later */
	return NULL;
}

static void start_watch(struct sbx_conform *world)
{
	world->watch_ends = sbx_cancel_create_child(world->tool->cancel, NULL);
	world->watched = pthread_create(&world->watcher, NULL, watch, world) == 0;
}

int sbx_conform_build(struct sbx_conform *world, const char *image, struct sbx_error *err)
{
	int rc = make(world, &world->main, "main", image, "0:0", "/sbxfs-conform/work", err);
	if (rc == 0)
		rc = make(world, &world->linked, "linked", image, "0:0", "/sbxfs-conform/top/work",
			err);
	if (rc == 0)
		rc = make(world, &world->plain, "plain", image, NULL, NULL, err);
	if (rc == 0)
		rc = plant(world, err);
	if (rc < 0)
		return rc;
	start_mount(world);
	if (world->mount_dir) {
		start_watch(world);
		world->main.mounted = sbx_printf("%s/%s", world->mount_dir, world->main.name);
		world->linked.mounted = sbx_printf("%s/%s", world->mount_dir, world->linked.name);
		world->plain.mounted = sbx_printf("%s/%s", world->mount_dir, world->plain.name);
	}
	return 0;
}

/* A removal on a thread of its own: whoever ended us by a signal may not wait for long. */
struct clearing {
	struct sbx_conform *world;
	struct sbx_probe_sandbox *sandbox;
	pthread_t thread;
	bool started;
};

static void *dispose(void *data)
{
	struct clearing *clearing = data;
	struct sbx_probe_sandbox *sandbox = clearing->sandbox;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_removed removed = { 0 };
	struct sbx_call call =
		sbx_call_within(30000, NULL); /* the clean-up is not the caller's to cancel */
	if (sandbox->made &&
		sbx_dispose(clearing->world->tool->engine, NULL, sandbox->sandbox.container.id,
			NULL, &call, &removed, &err) < 0) {
		cleanup_free char *text = sbx_text_escape(err.message);
		(void)fprintf(stderr, "%s stays behind: %s\n", sandbox->name,
			text); /* nowhere else to say it */
	}
	free(removed.id);
	free(removed.name);
	free(removed.reason);
	return NULL;
}

static void clear_sandboxes(struct sbx_conform *world)
{
	struct clearing all[] = { { .world = world, .sandbox = &world->main },
		{ .world = world, .sandbox = &world->linked },
		{ .world = world, .sandbox = &world->plain } };
	enum { COUNT = sizeof(all) / sizeof(all[0]) };
	for (int i = 0; i < COUNT; i++)
		all[i].started = pthread_create(&all[i].thread, NULL, dispose, &all[i]) == 0;
	for (int i = 0; i < COUNT; i++) {
		struct sbx_probe_sandbox *sandbox = all[i].sandbox;
		if (all[i].started)
			(void)pthread_join(all[i].thread, NULL); /* a valid, joinable thread */
		else
			(void)dispose(&all[i]);
		sbx_plane_destroy(sandbox->plane);
		sbx_sandbox_finish(&sandbox->sandbox);
		free(sandbox->name);
		free(sandbox->mounted);
	}
}

void sbx_conform_clear(struct sbx_conform *world)
{
	sbx_cancel_fire(world->watch_ends);
	if (world->watched)
		(void)pthread_join(world->watcher, NULL); /* a valid, joinable thread */
	sbx_cancel_unref(world->watch_ends);
	if (world->mount_pid > 0)
		(void)kill(world->mount_pid, SIGTERM); /* it may have died */
	clear_sandboxes(world);
	if (world->mount_pid > 0)
		(void)waitpid(world->mount_pid, NULL, 0);
	if (world->mount_dir && rmdir(world->mount_dir) < 0)
		(void)fprintf(stderr, "%s stays behind: %s\n", world->mount_dir,
			strerror(errno)); /* as above */
	free(world->mount_dir);
}

bool sbx_conform_expect(struct sbx_verdict *verdict, const char *what, int rc, int want, int want2,
	const struct sbx_error *err)
{
	if (rc == -want || (want2 >= 0 && rc == -want2))
		return true;
	sbx_verdict_fail(verdict, "%s: %s (%s) instead of %s", what,
		rc < 0 ? strerrorname_np(-rc) : "success", rc < 0 && err ? err->message : "",
		want ? strerrorname_np(want) : "success");
	return false;
}

long sbx_conform_slurp(
	const struct sbx_probe_sandbox *sandbox, const char *path, char *out, size_t size)
{
	cleanup_free char *full = sbx_printf("%s/%s", sandbox->mounted, path);
	cleanup_close int fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size_t have = 0;
	while (have < size - 1) {
		ssize_t got = read(fd, out + have, size - 1 - have);
		if (got < 0)
			return -errno;
		if (!got)
			break;
		have += (size_t)got;
	}
	out[have] = '\0';
	return (long)have;
}

int sbx_conform_spill(const struct sbx_probe_sandbox *sandbox, const char *path, const char *text)
{
	cleanup_free char *full = sbx_printf("%s/%s", sandbox->mounted, path);
	int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	int rc = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	if (close(fd) < 0 && !rc)
		rc = -errno;
	return rc;
}

struct fetching {
	char *out;
	size_t size, have;
};

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct fetching *fetching = data;
	size_t room = fetching->size - 1 - fetching->have;
	size_t take = size < room ? size : room;
	memcpy(fetching->out + fetching->have, bytes, take);
	fetching->have += take;
	return 0;
}

long sbx_conform_fetch(struct sbx_conform *world, struct sbx_probe_sandbox *sandbox,
	const char *path, char *out, size_t size, struct sbx_error *err)
{
	struct fetching fetching = { out, size, 0 };
	struct sbx_reader reader = { NULL, on_bytes, &fetching };
	struct sbx_call call = sbx_tool_call(world->tool, 30000);
	int rc = sandbox->plane->ops->read(sandbox->plane, path, &call, &reader, err);
	out[fetching.have] = '\0';
	return rc < 0 ? rc : (long)fetching.have;
}

int sbx_conform_put(struct sbx_conform *world, struct sbx_probe_sandbox *sandbox, const char *path,
	const char *text, struct sbx_error *err)
{
	cleanup_close int fd = memfd_create("sbxfs-conform", MFD_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return sbx_fail_errno(err, errno, "a memory file");
	struct sbx_put_item item = { .path = path,
		.type = SBX_TYPE_FILE,
		.mode = 0644,
		.mtime_s = time(NULL),
		.size = (int64_t)strlen(text),
		.fd = fd };
	struct sbx_call call = sbx_tool_call(world->tool, 30000);
	int rc = sandbox->plane->ops->put(sandbox->plane, &item, 1, &call, err);
	return rc;
}
