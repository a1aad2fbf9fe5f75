/*
 * driver.c: one operation of the library against an engine, twice, each told in one line of JSON:
 * result, kind, milliseconds, lines of the audit, what was seen, sentence.
 *
 *   driver URL OP PATH DEADLINE_MS [max_frozen_bytes=N]
 *
 * OP is a word of the table below. The second time shows that the first did not spoil what comes
 * after it. After each line it waits for one on its input, so that whoever started it can look at
 * the engine, and at us, in between.
 */
#include <sbx/guest_user.h>
#include <sbx/sandbox.h>
#include <sbx/sha256.h>
#include <sbx/transfer.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int audits; /* of this operation */

static void on_log(enum sbx_log_level level, const char *line)
{
	audits += strncmp(line, "refused in sandbox", 18) == 0;
	(void)fprintf(stderr, "%s\n", line); /* shown when the driver fails */
}

/* An operation: what it saw goes into `seen`. */
struct operation {
	struct sbx_engine *engine;
	struct sbx_plane *plane; /* NULL where the operation is on no sandbox's */
	const char *op, *path;
	cJSON *seen;
};
typedef int (*operation_fn)(
	struct operation *operation, const struct sbx_call *call, struct sbx_error *err);

static void see_digest(cJSON *seen, struct sbx_sha256 *state, size_t size)
{
	char hex[65];
	sbx_sha256_final(state, hex);
	sbx_json_add_text(seen, "sha256", hex);
	sbx_json_add_int(seen, "bytes", (int64_t)size);
}

static void see_stat(cJSON *seen, const struct sbx_stat *st)
{
	sbx_json_add_text(seen, "type", sbx_type_name(st->type));
	sbx_json_add_int(seen, "mode", st->mode);
	sbx_json_add_int(seen, "size", st->size);
	sbx_json_add_int(seen, "mtime", st->mtime_s);
	sbx_json_add_int(seen, "ns", st->mtime_ns);
}

static int do_stat(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat st = { 0 };
	int rc = on->plane->ops->stat(on->plane, on->path, call, &st, err);
	if (rc == 0)
		see_stat(on->seen, &st);
	sbx_stat_finish(&st);
	return rc;
}

/* Names, and of each what came with it: the bytes of small files, too. */
static int do_list(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_listing listing = { 0 };
	int rc = on->plane->ops->list(on->plane, on->path, call, &listing, err);
	cJSON *entries = cJSON_AddObjectToObject(on->seen, "entries");
	for (size_t i = 0; rc == 0 && i < listing.count; i++) {
		const struct sbx_entry *row = &listing.rows[i];
		cJSON *entry = cJSON_AddObjectToObject(entries, row->name);
		see_stat(entry, &row->st);
		if (!row->content)
			continue;
		struct sbx_sha256 state;
		sbx_sha256_init(&state);
		sbx_sha256_update(&state, row->content, (size_t)row->st.size);
		see_digest(entry, &state, (size_t)row->st.size);
	}
	sbx_listing_finish(&listing);
	return rc;
}

struct digest {
	struct sbx_sha256 state;
	size_t size;
};

static int add_to_digest(void *data, const void *bytes, size_t size)
{
	struct digest *digest = data;
	sbx_sha256_update(&digest->state, bytes, size);
	digest->size += size;
	return 0;
}

/* What was handed out before a failure is seen as well. */
static int do_read(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	struct digest digest = { .size = 0 };
	struct sbx_reader reader = { NULL, add_to_digest, &digest };
	sbx_sha256_init(&digest.state);
	int rc = on->plane->ops->read(on->plane, on->path, call, &reader, err);
	see_digest(on->seen, &digest.state, digest.size);
	return rc;
}

/* Another mode or time than it has. */
static int do_set_attributes(
	struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat was = { 0 }, before, after;
	if (on->plane->ops->stat(on->plane, on->path, call, &was, err) == 0)
		free(was.link_target);
	sbx_error_clear(err);
	audits = 0; /* both are the look's */
	struct sbx_attributes want = { .set_mode = strcmp(on->op, "chmod") == 0,
		.mode = was.mode ^ 0040,
		.mtime_s = was.mtime_s + 1,
		.mtime_ns = 123456000 };
	want.set_mtime = !want.set_mode;
	int rc = on->plane->ops->set_attributes(
		on->plane, on->path, &want, call, &before, &after, err);
	if (rc == 0)
		see_stat(on->seen, &after);
	return rc;
}

static int do_remove(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	return on->plane->ops->remove(on->plane, on->path, false, call, err);
}

static int do_remove_dir(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	return on->plane->ops->remove_dir(on->plane, on->path, call, err);
}

static int do_rename(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_free char *to = sbx_printf("%s.to", on->path);
	return on->plane->ops->rename(on->plane, on->path, to, call, err);
}

static int do_mkdir(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_put_item directory = {
		.path = on->path, .type = SBX_TYPE_DIR, .mode = 0755, .fd = -1
	};
	return on->plane->ops->put(on->plane, &directory, 1, call, err);
}

static int written(int *fd, struct sbx_error *err)
{
	*fd = memfd_create("driver", MFD_CLOEXEC);
	return *fd >= 0 && write(*fd, "written\n", 8) == 8 ? 0
							   : sbx_fail_errno(err, errno, "memfd");
}

static int do_put(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_close int fd = -1;
	if (written(&fd, err) < 0)
		return -err->errnum;
	static bool touched; /* a retry may replace what the try before may have left */
	struct sbx_put_item item = { .path = on->path,
		.type = SBX_TYPE_FILE,
		.mode = 0644,
		.size = 8,
		.fd = fd,
		.only_new = strcmp(on->op, "put-new") == 0 && !touched };
	int rc = on->plane->ops->put(on->plane, &item, 1, call, err);
	touched = item.touched;
	return rc;
}

/* Files with numbers for names in one directory, by one upload; others the next time. */
static int do_put_many(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	enum { MANY = 12 };
	static int number;
	cleanup_close int fd = -1;
	if (written(&fd, err) < 0)
		return -err->errnum;
	struct sbx_put_item items[MANY];
	for (int i = 0; i < MANY; i++)
		items[i] = (struct sbx_put_item){ .path = sbx_printf("%s/%d", on->path, number++),
			.type = SBX_TYPE_FILE,
			.mode = 0644,
			.size = 8,
			.fd = fd };
	int rc = on->plane->ops->put(on->plane, items, MANY, call, err);
	for (int i = 0; i < MANY; i++)
		free((char *)items[i].path);
	return rc;
}

/* The same ones each time: enough that the library looks at their directory's archive first. */
static int do_put_ten(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	enum { TEN = 10 };
	struct sbx_put_item items[TEN];
	char *paths[TEN];
	cleanup_close int fd = -1;
	if (written(&fd, err) < 0)
		return -err->errnum;
	for (int i = 0; i < TEN; i++) {
		paths[i] = sbx_printf("%s/%d", on->path, i);
		items[i] = (struct sbx_put_item){
			.path = paths[i], .type = SBX_TYPE_FILE, .mode = 0644, .size = 8, .fd = fd
		};
	}
	int rc = on->plane->ops->put(on->plane, items, TEN, call, err);
	for (int i = 0; i < TEN; i++)
		free(paths[i]);
	return rc;
}

/* The files of a tree that were given whole. */
struct tree {
	cJSON *files;
	char *path; /* of the one that is given */
	struct digest digest;
};

static void tree_again(void *data)
{
	struct tree *tree = data;
	while (tree->files->child)
		cJSON_Delete(cJSON_DetachItemViaPointer(tree->files, tree->files->child));
}

static int tree_begin(void *data, const char *path, const struct sbx_stat *st)
{
	struct tree *tree = data;
	free(tree->path);
	tree->path = sbx_strdup(path);
	tree->digest.size = 0;
	sbx_sha256_init(&tree->digest.state);
	return st->type != SBX_TYPE_FILE;
}

static int tree_bytes(void *data, const void *bytes, size_t size)
{
	struct tree *tree = data;
	return add_to_digest(&tree->digest, bytes, size);
}

static int tree_end(void *data)
{
	struct tree *tree = data;
	see_digest(cJSON_AddObjectToObject(tree->files, tree->path), &tree->digest.state,
		tree->digest.size);
	return 0;
}

static int do_tree(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	struct tree tree = { .files = cJSON_AddObjectToObject(on->seen, "files") };
	struct sbx_tree_reader reader = { tree_again, tree_begin, tree_bytes, tree_end, &tree };
	int rc = on->plane->ops->read_tree(on->plane, on->path, 4 << 20, call, &reader, err);
	cJSON_AddBoolToObject(on->seen, "whole", rc == 0);
	free(tree.path);
	return rc;
}

static int do_sandboxes(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_sandbox_list list = { 0 };
	size_t skipped = 0;
	int rc = sbx_sandbox_list(on->engine, NULL, NULL, call, &list, &skipped, err);
	if (rc == 0 && skipped)
		rc = sbx_fail_kind(
			err, SBX_KIND_PARTIAL, EIO, "%zu could not be inspected", skipped);
	cJSON *names = cJSON_AddArrayToObject(on->seen, "names");
	for (size_t i = 0; rc == 0 && i < list.count; i++)
		cJSON_AddItemToArray(names, cJSON_CreateString(list.rows[i].container.name));
	sbx_sandbox_list_finish(&list);
	return rc;
}

static int do_inspect(struct operation *on, const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_container container = { 0 };
	int rc = sbx_container_inspect(on->engine, "box", call, &container, err);
	if (rc < 0)
		return rc;
	sbx_json_add_text(on->seen, "id", container.id);
	sbx_json_add_text(on->seen, "name", container.name);
	sbx_json_add_text(on->seen, "state", sbx_state_name(container.state));
	sbx_container_finish(&container);
	return 0;
}

static const struct {
	const char *word;
	operation_fn run;
	bool on_plane;
} operations[] = {
	{ "stat", do_stat, true },
	{ "list", do_list, true },
	{ "read", do_read, true },
	{ "chmod", do_set_attributes, true },
	{ "utimens", do_set_attributes, true },
	{ "remove", do_remove, true },
	{ "rmdir", do_remove_dir, true },
	{ "rename", do_rename, true },
	{ "mkdir", do_mkdir, true },
	{ "put", do_put, true },
	{ "put-new", do_put, true },
	{ "put-many", do_put_many, true },
	{ "put-ten", do_put_ten, true },
	{ "tree", do_tree, true },
	{ "sandboxes", do_sandboxes, false },
	{ "inspect", do_inspect, false },
};

static int find_operation(const char *word)
{
	for (int i = 0; i < (int)(sizeof(operations) / sizeof(operations[0])); i++) {
		if (strcmp(operations[i].word, word) == 0)
			return i;
	}
	return -1;
}

struct session {
	struct sbx_engine *engine;
	struct sbx_sandbox sandbox;
	struct sbx_plane *plane;
	struct sbx_plane_limits limits;
};

static int once(struct session *session, int which, const char *path, cJSON *seen,
	const struct sbx_call *call, struct sbx_error *err)
{
	if (operations[which].on_plane && !session->plane) {
		int rc = sbx_sandbox_find(
			session->engine, NULL, "box", call, &session->sandbox, err);
		if (rc < 0)
			return rc;
		session->plane =
			sbx_transfer_plane(session->engine, &session->sandbox, &session->limits);
	}
	struct operation on = { session->engine, session->plane, operations[which].word, path,
		seen };
	return operations[which].run(&on, call, err);
}

static void tell(int rc, const struct sbx_error *err, int64_t ms, cJSON *seen)
{
	cleanup_json cJSON *line = cJSON_CreateObject();
	sbx_json_add_text(line, "result", rc < 0 ? strerrorname_np(-rc) : "OK");
	sbx_json_add_text(line, "kind", sbx_kind_name(rc < 0 ? err->kind : 0));
	sbx_json_add_int(line, "ms", ms);
	sbx_json_add_int(line, "audits", audits);
	sbx_json_add_text(line, "message", rc < 0 ? err->message : "");
	cJSON_AddItemToObject(line, "seen", seen);
	cleanup_free char *text = sbx_json_print_shown(line);
	puts(text);
	(void)fflush(stdout); /* a reader that is gone has given us up */
	for (int c = 0; c != EOF && c != '\n';)
		c = getchar();
}

int main(int argc, char **argv)
{
	struct session session = { .engine = NULL };
	long long frozen = 0;
	int which = argc >= 5 ? find_operation(argv[2]) : -1;
	if (which < 0 || argc > 6 ||
		(argc == 6 && sscanf(argv[5], "max_frozen_bytes=%lld", &frozen) != 1)) {
		(void)fprintf(stderr, "driver: no such operation or option\n");
		return 2;
	}
	sbx_plane_limits_default(&session.limits);
	session.limits.max_frozen_bytes = frozen;
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_endpoint endpoint = { 0 };
	sbx_log_set_sink(on_log);
	long deadline_ms = strtol(argv[4], NULL, 10);
	struct sbx_call open_call = sbx_call_within(deadline_ms, NULL);
	int64_t start = sbx_clock_ms();
	int rc = sbx_endpoint_find(argv[1], &endpoint, &err);
	if (rc == 0)
		rc = sbx_engine_open(&endpoint, &open_call, &session.engine, &err);
	if (rc == 0)
		rc = sbx_guardian_start(session.engine, NULL, &err);
	for (int i = 0; i < 2; i++) {
		cJSON *seen = cJSON_CreateObject();
		if (session.engine && (i || rc >= 0)) {
			/* The second also waits out the guest's share of the time that the first
			 * took frozen. */
			struct sbx_call call = sbx_call_within(deadline_ms * (i ? 4 : 1), NULL);
			sbx_error_clear(&err);
			audits = 0;
			start = sbx_clock_ms();
			rc = once(&session, which, argv[3], seen, &call, &err);
		}
		tell(rc, &err, sbx_clock_ms() - start, seen);
		start = sbx_clock_ms();
		if (!session.engine &&
			i == 0) /* opening is the operation: once more from the start */
			rc = sbx_engine_open(&endpoint,
				&(struct sbx_call){ .deadline_ms = start + deadline_ms },
				&session.engine, &err);
	}
	sbx_plane_destroy(session.plane);
	sbx_sandbox_finish(&session.sandbox);
	sbx_guardian_stop();
	sbx_engine_close(session.engine);
	sbx_endpoint_finish(&endpoint);
	return 0;
}
