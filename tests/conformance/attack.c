/*
 * attack.c: the host's side of a race: one operation on one guest path, again and again, counting
 * what leaked.
 *
 *   attack OP SANDBOX PATH COUNT FREEZE SECONDS     OP: read, stat, list, put, replace, uniform
 *
 * FREEZE is always, or never, which takes the guard away: the premise. A leak is, for read, content
 * that begins with "SECRET"; for stat, a size of 4242 bytes; for list, a name that begins with
 * "secret"; for uniform, a file of more than one byte value. put writes a new name PATHn each time,
 * replace writes PATH itself: they count no leak here, the test looks into the guest. With never it
 * ends at the first leak. Prints one line of counts: good met what is the guest's own; links met a
 * link, by a refusal with ELOOP or a stat that says so.
 */
#include "files/guest_exec.h"

#include <sbx/sandbox.h>
#include <sbx/transfer.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct tally {
	long attempts, good, refused, links, leaks, hung;
};

struct content {
	char head[16];
	size_t have;
	int first;
	bool mixed;
};

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct content *content = data;
	const unsigned char *b = bytes;
	for (size_t i = 0; i < size; i++) {
		if (content->have < sizeof(content->head) - 1)
			content->head[content->have] = (char)b[i];
		if (!content->have)
			content->first = b[i];
		content->mixed = content->mixed || b[i] != content->first;
		content->have++;
	}
	return 0;
}

static int once(struct sbx_plane *plane, const char *op, const char *path, long number,
	struct tally *tally, struct sbx_error *err)
{
	struct sbx_call call = sbx_call_within(30000, NULL);
	if (strcmp(op, "read") == 0 || strcmp(op, "uniform") == 0) {
		struct content content = { 0 };
		struct sbx_reader reader = { NULL, on_bytes, &content };
		int rc = plane->ops->read(plane, path, &call, &reader, err);
		/* Bytes that came before a refusal are seen too. */
		if (strcmp(op, "uniform") == 0)
			tally->leaks += rc == 0 && content.mixed;
		else
			tally->leaks += strncmp(content.head, "SECRET", 6) == 0;
		return rc;
	}
	if (strcmp(op, "stat") == 0) {
		struct sbx_stat st = { 0 };
		int rc = plane->ops->stat(plane, path, &call, &st, err);
		tally->leaks += rc == 0 && st.size == 4242;
		if (rc == 0 && st.type == SBX_TYPE_LINK) {
			tally->links++;
			tally->good--;
		}
		sbx_stat_finish(&st);
		return rc;
	}
	if (strcmp(op, "list") == 0) {
		struct sbx_listing listing = { 0 };
		int rc = plane->ops->list(plane, path, &call, &listing, err);
		for (size_t i = 0; rc == 0 && i < listing.count; i++) {
			if (strncmp(listing.rows[i].name, "secret", 6) == 0) {
				tally->leaks++;
				break;
			}
		}
		sbx_listing_finish(&listing);
		return rc;
	}
	char name[4096];
	if (strcmp(op, "replace") == 0)
		(void)snprintf(name, sizeof(name), "%s", path);
	else
		(void)snprintf(name, sizeof(name), "%s%ld", path, number);
	int fd = memfd_create("attack", MFD_CLOEXEC);
	if (fd < 0 || write(fd, "x", 1) != 1)
		return -errno;
	struct sbx_put_item item = {
		.path = name, .type = SBX_TYPE_FILE, .mode = 0644, .size = 1, .fd = fd
	};
	int rc = plane->ops->put(plane, &item, 1, &call, err);
	(void)close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	if (argc != 7)
		return 2;
	const char *op = argv[1], *path = argv[3];
	long count = strtol(argv[4], NULL, 10);
	bool never = strcmp(argv[5], "never") == 0;
	int64_t end = sbx_clock_ms() + 1000 * strtol(argv[6], NULL, 10);
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_endpoint endpoint = { 0 };
	struct sbx_engine *engine = NULL;
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_plane_limits limits;
	struct sbx_call call = sbx_call_within(20000, NULL);
	if (sbx_endpoint_find(NULL, &endpoint, &err) < 0 ||
		sbx_engine_open(&endpoint, &call, &engine, &err) < 0 ||
		sbx_guardian_start(engine, NULL, &err) < 0 ||
		sbx_sandbox_find(engine, NULL, argv[2], &call, &sandbox, &err) < 0) {
		(void)fprintf(stderr, "attack: %s\n", err.message);
		return 1;
	}
	sbx_plane_limits_default(&limits);
	limits.freeze = never ? SBX_FREEZE_NEVER : SBX_FREEZE_ALWAYS;
	limits.linger_ms = 0;
	/* The long runs take more of the guest's time than anybody should. */
	const char *duty = getenv("ATTACK_DUTY");
	if (duty)
		limits.max_duty_percent = (unsigned)strtoul(duty, NULL, 10);
	struct sbx_plane *plane = sbx_transfer_plane(engine, &sandbox, &limits);
	struct tally tally = { 0 };
	char last[1024] = "";
	while (tally.attempts < count && sbx_clock_ms() < end && !(never && tally.leaks)) {
		int rc = once(plane, op, path, tally.attempts, &tally, &err);
		plane->ops->rest(plane); /* every attempt is a race of its own */
		tally.attempts++;
		tally.good += rc == 0;
		tally.refused += rc < 0;
		tally.links += rc == -ELOOP;
		tally.hung += rc == -ETIMEDOUT;
		if (rc < 0)
			(void)snprintf(last, sizeof(last), "%s", err.message);
	}
	struct sbx_window_counters counters;
	sbx_window_counters(&counters);
	printf("attempts=%ld good=%ld refused=%ld links=%ld leaks=%ld timeouts=%ld windows=%llu\n",
		tally.attempts, tally.good, tally.refused, tally.links, tally.leaks, tally.hung,
		(unsigned long long)counters.windows);
	if (*last)
		(void)fprintf(stderr, "last refusal: %s\n", last);
	sbx_plane_destroy(plane);
	sbx_sandbox_finish(&sandbox);
	sbx_guardian_stop();
	sbx_engine_close(engine);
	sbx_endpoint_finish(&endpoint);
	return 0;
}
