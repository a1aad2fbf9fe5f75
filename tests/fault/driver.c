/*
 * driver.c: one operation of the library against an engine, twice, each told in one line: errno,
 * kind, milliseconds, lines of the audit, sentence.
 *
 *   driver URL OP PATH DEADLINE_MS      OP: stat, list, read, put, put-new, chmod, utimens,
 *                                       remove, rename, mkdir, sandboxes, inspect
 *
 * The second time shows that the first did not spoil what comes after it.
 */
#include <sbx/guest_user.h>
#include <sbx/sandbox.h>
#include <sbx/transfer.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int count(void *data, const void *bytes, size_t size)
{
	*(size_t *)data += size;
	return 0;
}

static int audits; /* of this operation */

static void on_log(enum sbx_log_level level, const char *line)
{
	audits += strncmp(line, "refused in sandbox", 18) == 0;
	(void)fprintf(stderr, "%s\n", line); /* shown when the driver fails */
}

/* Another mode or time than it has. */
static int set_attributes(struct sbx_plane *plane, const char *op, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat was = { 0 }, before, after;
	if (plane->ops->stat(plane, path, call, &was, err) == 0)
		free(was.link_target);
	sbx_error_clear(err);
	audits = 0; /* both are the look's */
	struct sbx_attributes want = { .set_mode = strcmp(op, "chmod") == 0,
		.mode = was.mode ^ 0040,
		.mtime_s = was.mtime_s + 1,
		.mtime_ns = 123456000 };
	want.set_mtime = !want.set_mode;
	int rc = plane->ops->set_attributes(plane, path, &want, call, &before, &after, err);
	if (rc == 0 && before.mode == after.mode && before.mtime_s == after.mtime_s)
		return sbx_fail(err, EPROTO, "%s did nothing", op);
	return rc;
}

static int on_plane(struct sbx_plane *plane, const char *op, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	if (strcmp(op, "stat") == 0) {
		struct sbx_stat st = { 0 };
		int rc = plane->ops->stat(plane, path, call, &st, err);
		sbx_stat_finish(&st);
		return rc;
	}
	if (strcmp(op, "list") == 0) {
		struct sbx_listing listing = { 0 };
		int rc = plane->ops->list(plane, path, call, &listing, err);
		sbx_listing_finish(&listing);
		return rc;
	}
	if (strcmp(op, "read") == 0) {
		size_t size = 0;
		struct sbx_reader reader = { NULL, count, &size };
		return plane->ops->read(plane, path, call, &reader, err);
	}
	if (strcmp(op, "chmod") == 0 || strcmp(op, "utimens") == 0)
		return set_attributes(plane, op, path, call, err);
	if (strcmp(op, "remove") == 0)
		return plane->ops->remove(plane, path, false, call, err);
	if (strcmp(op, "rename") == 0) {
		cleanup_free char *to = sbx_printf("%s.to", path);
		return plane->ops->rename(plane, path, to, call, err);
	}
	if (strcmp(op, "mkdir") == 0) {
		struct sbx_put_item directory = {
			.path = path, .type = SBX_TYPE_DIR, .mode = 0755, .fd = -1
		};
		return plane->ops->put(plane, &directory, 1, call, err);
	}
	cleanup_close int fd = memfd_create("driver", MFD_CLOEXEC);
	if (fd < 0 || write(fd, "written\n", 8) != 8)
		return sbx_fail_errno(err, errno, "memfd");
	static bool touched; /* a retry may replace what the try before may have left */
	struct sbx_put_item item = { .path = path,
		.type = SBX_TYPE_FILE,
		.mode = 0644,
		.size = 8,
		.fd = fd,
		.only_new = strcmp(op, "put-new") == 0 && !touched };
	int rc = plane->ops->put(plane, &item, 1, call, err);
	touched = item.touched;
	return rc;
}

static int once(struct sbx_engine *engine, struct sbx_plane **plane, struct sbx_sandbox *sandbox,
	const char *op, const char *path, const struct sbx_call *call, struct sbx_error *err)
{
	if (strcmp(op, "sandboxes") == 0) {
		struct sbx_sandbox_list list = { 0 };
		size_t skipped = 0;
		int rc = sbx_sandbox_list(engine, NULL, NULL, call, &list, &skipped, err);
		if (rc == 0 && skipped)
			rc = sbx_fail_kind(
				err, SBX_KIND_PARTIAL, EIO, "%zu could not be inspected", skipped);
		sbx_sandbox_list_finish(&list);
		return rc;
	}
	if (strcmp(op, "inspect") == 0) {
		struct sbx_container container = { 0 };
		int rc = sbx_container_inspect(engine, "box", call, &container, err);
		if (rc == 0)
			sbx_container_finish(&container);
		return rc;
	}
	if (!*plane) {
		int rc = sbx_sandbox_find(engine, NULL, "box", call, sandbox, err);
		if (rc < 0)
			return rc;
		struct sbx_plane_limits limits;
		sbx_plane_limits_default(&limits);
		*plane = sbx_transfer_plane(engine, sandbox, &limits);
	}
	return on_plane(*plane, op, path, call, err);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_endpoint endpoint = { 0 };
	struct sbx_engine *engine = NULL;
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_plane *plane = NULL;
	sbx_log_set_sink(on_log);
	long deadline_ms = strtol(argv[4], NULL, 10);
	struct sbx_call open_call = sbx_call_within(deadline_ms, NULL);
	int rc = sbx_endpoint_find(argv[1], &endpoint, &err);
	if (rc == 0)
		rc = sbx_engine_open(&endpoint, &open_call, &engine, &err);
	if (rc == 0)
		rc = sbx_guardian_start(engine, &err);
	for (int i = 0; i < 2; i++) {
		int64_t start = sbx_clock_ms();
		if (engine && (i || rc >= 0)) {
			/* The second also waits out the guest's share of the time that the first
			 * took frozen. */
			struct sbx_call call = sbx_call_within(deadline_ms * (i ? 4 : 1), NULL);
			sbx_error_clear(&err);
			audits = 0;
			rc = once(engine, &plane, &sandbox, argv[2], argv[3], &call, &err);
		}
		cleanup_free char *text = sbx_text_escape(rc < 0 ? err.message : "");
		printf("%s %s %lld %d %s\n", rc < 0 ? strerrorname_np(-rc) : "OK",
			sbx_kind_name(rc < 0 ? err.kind : 0), (long long)(sbx_clock_ms() - start),
			audits, text);
		(void)fflush(stdout);
		if (!engine) /* opening is the operation: once more from the start */
			rc = sbx_engine_open(&endpoint,
				&(struct sbx_call){ .deadline_ms = sbx_clock_ms() + deadline_ms },
				&engine, &err);
	}
	sbx_plane_destroy(plane);
	sbx_sandbox_finish(&sandbox);
	sbx_guardian_stop();
	sbx_engine_close(engine);
	sbx_endpoint_finish(&endpoint);
	return 0;
}
