/*
 * test_fs_kernel.c: the mount's loop, spoken to as the kernel does, over a socket, with a plane
 * that does what each test tells it: lookup counts, one answer to each request, interrupts,
 * deadlines, the sequence of a file that changed.
 */
#include "context.h"
#include "in_file.h"
#include "ops.h"
#include "fuse_kernel.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct fake_plane {
	struct sbx_plane plane;
	pthread_mutex_t lock; /* guards all below */
	struct sbx_stat st;
	char content[64];
	bool stall;
	bool stall_begin; /* the stall comes before a read's header, too */
	bool unconfirmed; /* a read's bytes turn out to be of no version */
	bool dear;	  /* a glance is not enough */
	int64_t row_s;	  /* of a listing's files */
	int64_t ahead_s;  /* the engine's clock of ours */
	bool clockless;
	int32_t row_ns;
	size_t directories; /* what a listing has instead of fake_list's rows */
	int reads, stats, lists, glances, cancelled, made, ended;
};

static struct fake_plane fake;
static struct sbx_fs fs;
static bool podman; /* for begin */
static struct sbx_fs_options options;
static pthread_t loop_thread;
static char cache[] = "/tmp/sbxfs-test-XXXXXX";

static bool stalled(void)
{
	pthread_mutex_lock(&fake.lock);
	bool stall = fake.stall;
	pthread_mutex_unlock(&fake.lock);
	return stall;
}

static int wait_while_stalled(const struct sbx_call *call, struct sbx_error *err)
{
	while (stalled()) {
		if (sbx_cancel_fired(call->cancel)) {
			pthread_mutex_lock(&fake.lock);
			fake.cancelled++;
			pthread_mutex_unlock(&fake.lock);
			return sbx_fail(err, ECANCELED, "cancelled");
		}
		usleep(2000);
	}
	return 0;
}

static int fake_stat(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err)
{
	(void)plane;
	int rc = wait_while_stalled(call, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&fake.lock);
	fake.stats++;
	*out = fake.st;
	pthread_mutex_unlock(&fake.lock);
	if (strcmp(path, "out") == 0 || strcmp(path, "in") == 0)
		*out = (struct sbx_stat){ .type = SBX_TYPE_DIR, .mode = 0755 };
	if (strcmp(path, "link") == 0)
		*out = (struct sbx_stat){ .type = SBX_TYPE_LINK,
			.mode = 0777,
			.link_target = sbx_strdup("/etc/passwd") };
	return 0;
}

static int fake_stat_many(struct sbx_plane *plane, const char *const *paths, size_t count,
	const struct sbx_call *call, struct sbx_stat *out, int *results, struct sbx_error *errors,
	struct sbx_error *err)
{
	(void)errors;
	for (size_t i = 0; i < count; i++)
		results[i] = fake_stat(plane, paths[i], call, &out[i], err);
	return 0;
}

static struct sbx_entry fake_row(const char *name)
{
	return (struct sbx_entry){
		.name = sbx_strdup(name),
		.content = sbx_strdup("x\n"),
		.st = { .type = SBX_TYPE_FILE,
			.mode = 0644,
			.size = 2,
			.mtime_s = fake.row_s,
			.mtime_ns = fake.row_ns },
	};
}

static struct sbx_entry directory_row(char *name, struct sbx_listing *children)
{
	return (struct sbx_entry){
		.name = name, .st = { .type = SBX_TYPE_DIR, .mode = 0755 }, .children = children
	};
}

/* A directory "d" with so many empty ones in it. */
static void list_directories(struct sbx_listing *out)
{
	struct sbx_listing *below = sbx_alloc(sizeof(*below));
	below->count = fake.directories;
	below->rows = sbx_alloc_array(below->count, sizeof(*below->rows));
	for (size_t i = 0; i < below->count; i++)
		below->rows[i] = directory_row(
			sbx_printf("%06zu", i), sbx_alloc(sizeof(struct sbx_listing)));
	out->count = 1;
	out->rows = sbx_alloc(sizeof(*out->rows));
	out->rows[0] = directory_row(sbx_strdup("d"), below);
}

/* "a", "b", "c" and a directory "d", whose own listing comes along. */
static int fake_list(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err)
{
	static const char *const names[] = { "a", "b", "c" };
	(void)plane;
	(void)path;
	(void)call;
	(void)err;
	fake.lists++;
	if (fake.directories) {
		list_directories(out);
		return 0;
	}
	out->rows = sbx_alloc_array(4, sizeof(*out->rows));
	out->count = 4;
	for (size_t i = 0; i < 3; i++)
		out->rows[i] = fake_row(names[i]);
	struct sbx_listing *below = sbx_alloc(sizeof(*below));
	below->rows = sbx_alloc(sizeof(*below->rows));
	below->count = 1;
	below->rows[0] = fake_row("deep");
	out->rows[3] = directory_row(sbx_strdup("d"), below);
	return 0;
}

static int fake_glance(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err)
{
	fake.glances++;
	return fake.dear ? 1 : fake_list(plane, path, call, out, err);
}

static int fake_read(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	const struct sbx_reader *reader, struct sbx_error *err)
{
	(void)plane;
	(void)path;
	pthread_mutex_lock(&fake.lock);
	struct sbx_stat st = fake.st;
	char content[64];
	memcpy(content, fake.content, sizeof(content));
	fake.reads++;
	bool unconfirmed = fake.unconfirmed;
	pthread_mutex_unlock(&fake.lock);
	int rc = fake.stall_begin ? wait_while_stalled(call, err) : 0;
	if (!rc)
		rc = reader->begin(reader->data, &st);
	if (!rc)
		rc = reader->bytes(reader->data, content, (size_t)st.size);
	if (!rc)
		rc = wait_while_stalled(call, err);
	return rc || !unconfirmed ? rc : sbx_fail(err, ESTALE, "it changed");
}

static int64_t fake_now_s(struct sbx_plane *plane)
{
	(void)plane;
	return fake.clockless ? 0 : time(NULL) + fake.ahead_s;
}

static void fake_destroy(struct sbx_plane *plane)
{
	(void)plane; /* static */
	pthread_mutex_lock(&fake.lock);
	fake.ended++;
	pthread_mutex_unlock(&fake.lock);
}

static const struct sbx_plane_ops fake_ops = { .stat = fake_stat,
	.stat_many = fake_stat_many,
	.list = fake_list,
	.glance = fake_glance,
	.read = fake_read,
	.now_s = fake_now_s,
	.destroy = fake_destroy };

static struct sbx_plane *make_fake(struct sbx_view *view)
{
	(void)view;
	fake.plane.ops = &fake_ops;
	fake.made++;
	return &fake.plane;
}

static uint64_t begin_open(uint64_t node)
{
	struct fuse_open_in in = { .flags = 0 };
	return tell(FUSE_OPEN, node, &in, sizeof(in));
}

static int open_file(uint64_t node, uint64_t *handle)
{
	struct fuse_open_out out = { 0 };
	int rc = answer(begin_open(node), &out, sizeof(out), NULL);
	*handle = out.fh;
	return rc;
}

static uint64_t begin_read_of(uint64_t node, uint64_t handle, uint32_t size)
{
	struct fuse_read_in in = { .fh = handle, .size = size };
	return tell(FUSE_READ, node, &in, sizeof(in));
}

static uint64_t begin_read(uint64_t node, uint64_t handle)
{
	return begin_read_of(node, handle, 4096);
}

static void release(uint64_t node, uint64_t handle)
{
	struct fuse_release_in in = { .fh = handle };
	ck_assert_int_eq(answer(tell(FUSE_RELEASE, node, &in, sizeof(in)), NULL, 0, NULL), 0);
}

static void *run_loop(void *data)
{
	struct sbx_error err = SBX_ERROR_INIT;
	(void)data;
	ck_assert_int_eq(sbx_loop_run(fs.loop, &err), 0);
	return NULL;
}

static void set_file(const char *content, int64_t second)
{
	pthread_mutex_lock(&fake.lock);
	(void)snprintf(fake.content, sizeof(fake.content), "%s", content);
	fake.st = (struct sbx_stat){ .type = SBX_TYPE_FILE,
		.mode = 04755,
		.size = (int64_t)strlen(content),
		.mtime_s = second,
		.mtime_ns = 7 };
	pthread_mutex_unlock(&fake.lock);
}

static void set_stall(bool stall)
{
	pthread_mutex_lock(&fake.lock);
	fake.stall = stall;
	pthread_mutex_unlock(&fake.lock);
}

static void show_sandbox(const char *with_id, const char *with_name)
{
	char empty[] = "", id[65], name[16], workdir[] = "/work", in[] = "in";
	char out[] = "out", file[] = "file", link[] = "link", nested[] = "x/y/z";
	(void)snprintf(id, sizeof(id), "%s", with_id);
	(void)snprintf(name, sizeof(name), "%s", with_name);
	struct sbx_output outputs[] = { { file, false }, { link, false }, { out, true },
		{ nested, false } };
	struct sbx_sandbox sandbox = {
		.container = { .id = id,
			.name = name,
			.image_id = empty,
			.image = empty,
			.state = SBX_STATE_RUNNING,
			.user = empty,
			.workdir = empty,
			.created = empty },
		.workdir = workdir,
		.in_dir = in,
		.outputs = outputs,
		.output_count = 4,
	};
	struct sbx_inventory_listener listener = sbx_views_listener(&fs);
	listener.present(listener.data, &sandbox);
}

static void begin(void)
{
	char program[] = "test";
	char *argv[] = { program, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct sbx_error err = SBX_ERROR_INIT;
	sbx_fs_options_init(&options);
	options.deadline_ms = 10000;
	fs = (struct sbx_fs){ .options = &options, .make_plane = make_fake, .podman = podman };
	pthread_mutex_init(&fake.lock, NULL);
	set_file("first\n", 100);
	fake.row_s = 5;
	fake.row_ns = 1;
	ck_assert_ptr_nonnull(mkdtemp(cache));
	ck_assert_int_eq(sbx_spools_create(cache, 1 << 20, &fs.spools, &err), 0);
	ck_assert_int_eq(sbx_loop_create(&fs, &fs.loop, &err), 0);
	fs.in = sbx_alloc(sizeof(*fs.in));
	sbx_nodes_init(&fs);
	fs.session = fuse_session_new(&args, &sbx_ops, sizeof(sbx_ops), &fs);
	fuse_opt_free_args(&args);
	kernel_attach(fs.session);
	ck_assert_int_eq(sbx_workers_create(&fs, &fs.workers, &err), 0);
	ck_assert_int_eq(sbx_notifier_create(&fs, &fs.notifier, &err), 0);
	show_sandbox(ID, "box");
	sbx_loop_drain(fs.loop, sbx_in_busy, 0);
	sbx_in_home(sbx_views_by_name(&fs, "box"))->admitted = true; /* there is no engine to ask */
	ck_assert_int_eq(pthread_create(&loop_thread, NULL, run_loop, NULL), 0);
	assert_silent(20);
	say_hello();
}

static bool jobs_left(struct sbx_fs *context)
{
	return sbx_workers_busy(context->workers);
}

static void finish(void)
{
	set_stall(false);
	close(kernel);
	pthread_join(loop_thread, NULL);
	sbx_requests_fail_all(&fs, ENODEV);
	sbx_notifier_stop(fs.notifier);
	sbx_notifier_destroy(fs.notifier);
	fs.notifier = NULL;
	sbx_workers_cancel(fs.workers);
	sbx_loop_drain(fs.loop, jobs_left, sbx_clock_ms() + 5000);
	ck_assert_ptr_null(fs.requests.parked);
	sbx_handles_finish(&fs);
	sbx_nodes_finish(&fs);
	sbx_views_finish(&fs);
	sbx_loop_drain(fs.loop, jobs_left, sbx_clock_ms() + 5000);
	sbx_workers_stop(fs.workers);
	sbx_loop_drain(fs.loop, jobs_left, sbx_clock_ms());
	fuse_session_destroy(fs.session);
	sbx_loop_destroy(fs.loop);
	sbx_workers_destroy(fs.workers);
	sbx_spools_destroy(fs.spools);
	free(fs.in);
	rmdir(cache);
}

START_TEST(shows_a_file_without_set_id_bits)
{
	struct fuse_entry_out entry = { 0 };
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	ck_assert_int_eq(lookup(box, "file", &entry), 0);
	ck_assert_uint_eq(entry.attr.mode, S_IFREG | 0555);
	ck_assert_uint_eq(entry.attr.size, 6);
	ck_assert_uint_eq(entry.attr.mtimensec, 7);
	ck_assert_uint_gt(entry.attr_valid, 1000);
	/* Not declared: absent without a question to the engine, and remembered as such. */
	int stats = fake.stats;
	ck_assert_int_eq(lookup(box, "other", &entry), 0);
	ck_assert_uint_eq(entry.nodeid, 0);
	ck_assert_uint_eq(entry.entry_valid, 2);
	ck_assert_int_eq(fake.stats, stats);
	finish();
}
END_TEST

START_TEST(never_hands_out_a_link)
{
	struct fuse_entry_out entry = { 0 };
	uint64_t handle;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	ck_assert_int_eq(lookup(box, "link", &entry), 0);
	ck_assert_uint_eq(entry.attr.mode, S_IFREG);
	ck_assert_uint_eq(entry.attr.size, 0);
	ck_assert_int_eq(open_file(entry.nodeid, &handle), ELOOP);
	ck_assert_int_eq(answer(tell(FUSE_READLINK, entry.nodeid, NULL, 0), NULL, 0, NULL), ENOSYS);
	finish();
}
END_TEST

START_TEST(opens_the_version_that_is_there)
{
	char bytes[64] = "";
	size_t got = 0;
	uint64_t handle, old_handle;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t old = node_of(box, "file");
	ck_assert_int_eq(open_file(old, &old_handle), 0);
	ck_assert_int_eq(answer(begin_read(old, old_handle), bytes, sizeof(bytes), &got), 0);
	ck_assert_uint_eq(got, 6);
	set_file("the second version\n", 101);
	usleep(1100 * 1000); /* what was known holds no longer */
	ck_assert_int_eq(open_file(old, &handle), ESTALE);
	uint64_t new = node_of(box, "file");
	ck_assert_uint_ne(new, old);
	ck_assert_int_eq(open_file(new, &handle), 0);
	ck_assert_int_eq(answer(begin_read(new, handle), bytes, sizeof(bytes), &got), 0);
	ck_assert_uint_eq(got, 19);
	ck_assert_int_eq(memcmp(bytes, "the second version\n", 19), 0);
	/* Both are exact while both are open. */
	ck_assert_int_eq(answer(begin_read(old, old_handle), bytes, sizeof(bytes), &got), 0);
	ck_assert_uint_eq(got, 6);
	ck_assert_int_eq(memcmp(bytes, "first\n", 6), 0);
	ck_assert_int_eq(fake.reads, 2);
	release(old, old_handle);
	release(new, handle);
	finish();
}
END_TEST

/* All bytes have come before it is known that they are of no version. */
START_TEST(what_was_not_confirmed_is_told_to_nobody)
{
	char bytes[64] = "";
	size_t got = 0;
	uint64_t handle;
	begin();
	fake.unconfirmed = true;
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t old = node_of(box, "file");
	set_stall(true);
	ck_assert_int_eq(open_file(old, &handle), 0);
	ck_assert_int_eq(answer(begin_read_of(old, handle, 5), bytes, sizeof(bytes), &got), 0);
	ck_assert_uint_eq(got, 5); /* lazily, as far as it goes */
	uint64_t read = begin_read(old, handle);
	assert_silent(50);
	set_stall(false);
	ck_assert_int_eq(answer(read, NULL, 0, NULL), ESTALE);
	ck_assert_int_eq(answer(begin_read_of(old, handle, 5), NULL, 0, NULL), ESTALE);
	release(old, handle);
	/* Its pages serve no other open. */
	fake.unconfirmed = false;
	ck_assert_int_eq(open_file(old, &handle), ESTALE);
	uint64_t new = node_of(box, "file");
	ck_assert_uint_ne(new, old);
	ck_assert_int_eq(open_file(new, &handle), 0);
	ck_assert_int_eq(answer(begin_read(new, handle), bytes, sizeof(bytes), &got), 0);
	ck_assert_uint_eq(got, 6);
	release(new, handle);
	finish();
}
END_TEST

START_TEST(interrupts_a_read_once)
{
	uint64_t handle;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t file = node_of(box, "file");
	set_stall(true);
	ck_assert_int_eq(open_file(file, &handle), 0);
	uint64_t read = begin_read(file, handle);
	assert_silent(50);
	struct fuse_interrupt_in in = { .unique = read };
	(void)tell(FUSE_INTERRUPT, 0, &in, sizeof(in));
	ck_assert_int_eq(answer(read, NULL, 0, NULL), EINTR);
	set_stall(false);
	assert_silent(100);
	release(file, handle);
	finish();
}
END_TEST

START_TEST(gives_up_at_the_deadline)
{
	begin();
	options.deadline_ms = 200;
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	set_stall(true);
	uint64_t unique = tell(FUSE_LOOKUP, box, "file", 5);
	ck_assert_int_eq(answer(unique, NULL, 0, NULL), ETIMEDOUT);
	set_stall(false);
	assert_silent(100);
	finish();
}
END_TEST

START_TEST(an_early_close_ends_the_transfer)
{
	uint64_t handle;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t file = node_of(box, "file");
	set_stall(true);
	ck_assert_int_eq(open_file(file, &handle), 0);
	release(file, handle);
	for (int i = 0; i < 200 && !fake.cancelled; i++)
		usleep(5000);
	ck_assert_int_eq(fake.cancelled, 1);
	set_stall(false);
	/* The next open starts anew. */
	ck_assert_int_eq(open_file(file, &handle), 0);
	ck_assert_int_eq(fake.reads, 2);
	release(file, handle);
	finish();
}
END_TEST

START_TEST(counts_lookups_of_a_listing)
{
	struct fuse_open_out opened = { 0 };
	struct fuse_read_in in = { .size = 4096 };
	char rows[4096];
	size_t got = 0;
	uint64_t first = 0;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	struct fuse_open_in open_in = { .flags = 0 };
	ck_assert_int_eq(answer(tell(FUSE_OPENDIR, out, &open_in, sizeof(open_in)), &opened,
				 sizeof(opened), NULL),
		0);
	in.fh = opened.fh;
	ck_assert_int_eq(
		answer(tell(FUSE_READDIRPLUS, out, &in, sizeof(in)), rows, sizeof(rows), &got), 0);
	int named = 0;
	for (size_t at = 0; at < got;) {
		struct fuse_direntplus *row = (struct fuse_direntplus *)(rows + at);
		named += row->entry_out.nodeid != 0;
		if (row->entry_out.nodeid && !first)
			first = row->entry_out.nodeid;
		at += FUSE_DIRENTPLUS_SIZE(row);
	}
	ck_assert_int_eq(named, 4);
	/* What the listing brought is read without another request. */
	uint64_t handle;
	ck_assert_int_eq(open_file(first, &handle), 0);
	ck_assert_int_eq(fake.reads, 0);
	release(first, handle);
	struct fuse_forget_in forget = { .nlookup = 1 };
	(void)tell(FUSE_FORGET, first, &forget, sizeof(forget));
	struct fuse_getattr_in attr = { 0 };
	ck_assert_int_eq(
		answer(tell(FUSE_GETATTR, first, &attr, sizeof(attr)), NULL, 0, NULL), ESTALE);
	finish();
}
END_TEST

/* A tool that walks a tree asks the engine once. */
START_TEST(what_lies_deeper_comes_with_the_listing)
{
	struct fuse_open_in open_in = { .flags = 0 };
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	ck_assert_int_eq(
		answer(tell(FUSE_OPENDIR, out, &open_in, sizeof(open_in)), NULL, 0, NULL), 0);
	int stats = fake.stats;
	uint64_t directory = node_of(out, "d");
	ck_assert_int_eq(
		answer(tell(FUSE_OPENDIR, directory, &open_in, sizeof(open_in)), NULL, 0, NULL), 0);
	uint64_t handle, deep = node_of(directory, "deep");
	ck_assert_int_eq(open_file(deep, &handle), 0);
	release(deep, handle);
	ck_assert_int_eq(fake.lists, 1);
	ck_assert_int_eq(fake.stats, stats);
	ck_assert_int_eq(fake.reads, 0);
	finish();
}
END_TEST

static uint64_t open_directory(uint64_t node)
{
	struct fuse_open_in in = { .flags = 0 };
	struct fuse_open_out out = { 0 };
	ck_assert_int_eq(
		answer(tell(FUSE_OPENDIR, node, &in, sizeof(in)), &out, sizeof(out), NULL), 0);
	return out.fh;
}

/* A guest makes more directories than are kept, and one listing brings them all: what is being
 * looked through is not dropped for what is in it (DIRECTORIES_MAX is 4096). */
START_TEST(more_directories_than_are_kept)
{
	char rows[4096];
	size_t got = 0;
	fake.directories = 5000;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	(void)open_directory(out);
	uint64_t d = node_of(out, "d");
	struct fuse_read_in in = { .fh = open_directory(d), .size = sizeof(rows) };
	ck_assert_int_eq(
		answer(tell(FUSE_READDIRPLUS, d, &in, sizeof(in)), rows, sizeof(rows), &got), 0);
	ck_assert_uint_gt(got, sizeof(rows) / 2);
	(void)open_directory(node_of(d, "000000"));
	ck_assert_int_eq(fake.lists, 1);
	/* There was no room for this one: it is asked for by itself. */
	(void)open_directory(node_of(d, "004999"));
	ck_assert_int_eq(fake.lists, 2);
	finish();
}
END_TEST

/* Where each question is dear, the second about a directory is answered with all of it. */
START_TEST(many_questions_become_one_listing)
{
	podman = true;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	int stats = fake.stats;
	(void)node_of(out, "a");
	ck_assert_int_eq(fake.stats, stats + 1);
	uint64_t handle, file = node_of(out, "b");
	(void)node_of(out, "c");
	ck_assert_int_eq(open_file(file, &handle), 0);
	release(file, handle);
	ck_assert_int_eq(fake.stats, stats + 1);
	ck_assert_int_eq(fake.glances, 1);
	ck_assert_int_eq(fake.reads, 0);
	finish();
}
END_TEST

/* Where a question is cheap a few are asked one by one, unless they turn out to take long: a reader
 * of many small files, each of which is a window and an archive, gets them all at once. */
START_TEST(slow_questions_become_one_listing)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	for (size_t i = 0; i < 4; i++)
		(void)node_of(out, names[i]);
	ck_assert_int_eq(fake.glances, 0);
	for (size_t i = 4; i < 7; i++) {
		assert_silent(200);
		(void)node_of(out, names[i]);
	}
	ck_assert_int_eq(fake.glances, 1);
	finish();
}
END_TEST

/* One that one archive cannot tell is not tried again and again. */
START_TEST(a_large_directory_is_glanced_at_once)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	podman = fake.dear = true;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	int stats = fake.stats;
	for (size_t i = 0; i < 6; i++)
		(void)node_of(out, names[i]);
	ck_assert_int_eq(fake.glances, 1);
	ck_assert_int_eq(fake.stats, stats + 6);
	finish();
}
END_TEST

static void list(uint64_t directory)
{
	struct fuse_open_in in = { .flags = 0 };
	ck_assert_int_eq(answer(tell(FUSE_OPENDIR, directory, &in, sizeof(in)), NULL, 0, NULL), 0);
}

static void assert_content(uint64_t node, const char *content)
{
	char bytes[64] = "";
	size_t got = 0;
	uint64_t handle;
	ck_assert_int_eq(open_file(node, &handle), 0);
	ck_assert_int_eq(answer(begin_read(node, handle), bytes, sizeof(bytes) - 1, &got), 0);
	ck_assert_str_eq(bytes, content);
	release(node, handle);
}

/* What the guest writes in the second of the listing has the listing's time and size. */
START_TEST(a_second_that_is_not_over_brings_no_content)
{
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	fake.row_s = time(NULL);
	fake.row_ns = -1;
	list(out);
	set_file("y\n", fake.row_s);
	assert_content(node_of(out, "a"), "y\n");
	ck_assert_int_eq(fake.reads, 1);
	finish();
}
END_TEST

/* By the engine's clock, whatever ours says; where that is not known no second is over. */
START_TEST(nor_one_that_is_over_by_our_clock_only)
{
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	fake.ahead_s = -10;
	fake.row_s = time(NULL) - 10;
	fake.row_ns = -1;
	list(out);
	set_file("y\n", fake.row_s);
	assert_content(node_of(out, "a"), "y\n");
	ck_assert_int_eq(fake.reads, 1);
	usleep(1100 * 1000); /* what was known holds no longer */
	fake.clockless = true;
	fake.row_s -= 100;
	list(out);
	set_file("z\n", fake.row_s);
	assert_content(node_of(out, "b"), "z\n");
	ck_assert_int_eq(fake.reads, 2);
	finish();
}
END_TEST

START_TEST(a_second_that_is_over_brings_content)
{
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	fake.row_ns = -1;
	list(out);
	assert_content(node_of(out, "a"), "x\n");
	ck_assert_int_eq(fake.reads, 0);
	finish();
}
END_TEST

/* The kernel gets what is known with the first open, and need not ask for it. */
START_TEST(a_known_content_comes_with_the_open)
{
	struct {
		struct fuse_notify_store_out head;
		char bytes[64];
	} stored = { 0 };
	struct fuse_open_in in = { .flags = 0 };
	struct fuse_open_out first;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	fake.row_ns = -1;
	list(out);
	uint64_t node = node_of(out, "a");
	uint64_t unique = tell(FUSE_OPEN, node, &in, sizeof(in));
	notice(FUSE_NOTIFY_STORE, &stored, sizeof(stored));
	ck_assert_uint_eq(stored.head.nodeid, node);
	ck_assert_uint_eq(stored.head.offset, 0);
	ck_assert_uint_eq(stored.head.size, 2);
	ck_assert_str_eq(stored.bytes, "x\n");
	ck_assert_int_eq(answer(unique, &first, sizeof(first), NULL), 0);
	ck_assert_int_eq(first.open_flags & FOPEN_KEEP_CACHE, FOPEN_KEEP_CACHE);
	/* Somebody may be in the middle of a READ of it now, or have its pages. */
	uint64_t before = fs.counters.bytes_read, handle;
	ck_assert_int_eq(open_file(node, &handle), 0);
	release(node, handle);
	release(node, first.fh);
	ck_assert_int_eq(open_file(node, &handle), 0);
	release(node, handle);
	ck_assert_uint_eq(fs.counters.bytes_read, before);
	finish();
}
END_TEST

static void set_nanoseconds(int32_t ns)
{
	pthread_mutex_lock(&fake.lock);
	fake.st.mtime_ns = ns;
	pthread_mutex_unlock(&fake.lock);
}

/* A file of a second that is not over for long, which listings tell to the second. */
static int64_t set_young_file(const char *content)
{
	int64_t second = time(NULL) + 1;
	set_file(content, second);
	fake.row_s = second;
	fake.row_ns = -1;
	return second;
}

static void wait_until_over(int64_t second)
{
	while (time(NULL) < second + 2)
		usleep(20 * 1000);
}

/* Read within the second that it was written in, then written again: a listing to the second cannot
 * tell the two. */
START_TEST(a_listing_confirms_no_time_of_a_second_that_was_not_over)
{
	uint64_t handle;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t out = node_of(box, "out");
	int64_t second = set_young_file("1\n");
	uint64_t old = node_of(out, "a");
	assert_content(old, "1\n");
	set_file("2\n", second);
	set_nanoseconds(8);
	wait_until_over(second);
	list(out);
	ck_assert_uint_eq(node_of(out, "a"), old); /* as far as the listing tells */
	ck_assert_int_eq(open_file(old, &handle), ESTALE);
	uint64_t new = node_of(out, "a");
	ck_assert_uint_ne(new, old);
	assert_content(new, "2\n");
	/* That one was asked for when the second was over: now a listing is enough. */
	usleep(1100 * 1000);
	list(out);
	int stats = fake.stats;
	ck_assert_uint_eq(node_of(out, "a"), new);
	assert_content(new, "2\n");
	ck_assert_int_eq(fake.stats, stats);
	ck_assert_int_eq(fake.reads, 2);
	finish();
}
END_TEST

static void list_with_stats(uint64_t directory)
{
	struct fuse_open_in open_in = { .flags = 0 };
	struct fuse_open_out opened = { 0 };
	struct fuse_read_in in = { .size = 4096 };
	uint64_t unique = tell(FUSE_OPENDIR, directory, &open_in, sizeof(open_in));
	ck_assert_int_eq(answer(unique, &opened, sizeof(opened), NULL), 0);
	in.fh = opened.fh;
	unique = tell(FUSE_READDIRPLUS, directory, &in, sizeof(in));
	ck_assert_int_eq(answer(unique, NULL, 0, NULL), 0);
}

/* Enough names in a row to be answered by a listing. */
static void look_up_all(uint64_t directory)
{
	(void)node_of(directory, "b");
	(void)node_of(directory, "c");
	(void)node_of(directory, "a");
}

/* The same for what the guest has under in/, by the rows of a listing and by its names. */
START_TEST(nor_under_in)
{
	static void (*const ways[])(uint64_t directory) = { list_with_stats, look_up_all };
	uint64_t handle;
	begin();
	uint64_t in = node_of(node_of(FUSE_ROOT_ID, "box"), "in");
	for (size_t i = 0; i < 2; i++) {
		int64_t second = set_young_file("1\n");
		uint64_t old = node_of(in, "a");
		assert_content(old, "1\n");
		set_file("2\n", second);
		set_nanoseconds(8);
		wait_until_over(second);
		int lists = fake.lists;
		ways[i](in);
		ck_assert_int_eq(fake.lists, lists + 1); /* the premise */
		ck_assert_int_eq(open_file(old, &handle), ESTALE);
		assert_content(node_of(in, "a"), "2\n");
		usleep(1100 * 1000); /* what was known holds no longer */
	}
	finish();
}
END_TEST

/* Podman's archives round a time, also up. */
START_TEST(a_rounded_second_changes_no_known_time)
{
	struct fuse_entry_out entry = { 0 };
	podman = true;
	begin();
	set_file("1\n", 100);
	set_nanoseconds(700000000);
	fake.row_s = 101;
	fake.row_ns = -1;
	uint64_t in = node_of(node_of(FUSE_ROOT_ID, "box"), "in");
	uint64_t file = node_of(in, "a");
	usleep(1100 * 1000); /* what was known holds no longer */
	list_with_stats(in);
	ck_assert_int_eq(lookup(in, "a", &entry), 0);
	ck_assert_uint_eq(entry.nodeid, file);
	ck_assert_uint_eq(entry.attr.mtime, 100);
	ck_assert_uint_eq(entry.attr.mtimensec, 700000000);
	finish();
}
END_TEST

static struct {
	struct sbx_post post;
	bool young, old;
	_Atomic bool over;
} swept;

static bool listing_is_kept(void)
{
	return sbx_directory_known(sbx_views_by_name(&fs, "box"), "out", INT64_MAX);
}

/* On the loop's thread. */
static void sweep(struct sbx_post *post)
{
	(void)post;
	fs.listings_due_ms = 1;
	(void)sbx_directories_sweep(&fs, sbx_clock_ms());
	swept.young = listing_is_kept();
	(void)sbx_directories_sweep(&fs, sbx_clock_ms() + INT64_C(2) * SBX_LISTING_KEPT_MS);
	swept.old = listing_is_kept();
	swept.over = true;
}

START_TEST(old_listings_are_let_go)
{
	begin();
	uint64_t out = node_of(node_of(FUSE_ROOT_ID, "box"), "out");
	list(out);
	swept.post.run = sweep;
	sbx_loop_post(fs.loop, &swept.post);
	while (!swept.over)
		usleep(2000);
	ck_assert(swept.young);
	ck_assert(!swept.old);
	list(out);
	ck_assert_int_eq(fake.lists, 2);
	finish();
}
END_TEST

static void remove_sandbox(const char *id)
{
	struct sbx_inventory_listener listener = sbx_views_listener(&fs);
	listener.gone(listener.data, id);
}

static int ended(void)
{
	pthread_mutex_lock(&fake.lock);
	int count = fake.ended;
	pthread_mutex_unlock(&fake.lock);
	return count;
}

static void wait_ended(int count)
{
	for (int i = 0; i < 2000 && ended() < count; i++)
		usleep(5000);
	ck_assert_int_eq(ended(), count);
}

/* The kernel forgets nodes when it likes. What a sandbox takes up beside them goes with it. */
START_TEST(removed_sandboxes_leave_no_plane_behind)
{
	char id[65], bytes[64], name[16];
	size_t got;
	begin();
	for (int i = 0; i < 60; i++) {
		uint64_t handle;
		(void)snprintf(id, sizeof(id), "%064x", i + 1);
		(void)snprintf(name, sizeof(name), "box%d", i);
		show_sandbox(id, name);
		uint64_t box = 0;
		for (int tries = 0; tries < 1000 && !box; tries++) {
			struct fuse_entry_out entry = { 0 };
			if (lookup(FUSE_ROOT_ID, name, &entry) == 0)
				box = entry.nodeid;
			else
				usleep(1000);
		}
		uint64_t file = node_of(box, "file");
		ck_assert_int_eq(open_file(file, &handle), 0);
		ck_assert_int_eq(answer(begin_read(file, handle), bytes, sizeof(bytes), &got), 0);
		release(file, handle);
		remove_sandbox(id);
		wait_ended(i + 1);
		/* Its nodes are still there, and nobody asks the plane. */
		int stats = fake.stats, reads = fake.reads;
		ck_assert_int_ne(open_file(file, &handle), 0);
		ck_assert_int_eq(lookup(box, "out", NULL), ENOENT);
		ck_assert_int_eq(fake.stats + fake.reads, stats + reads);
	}
	ck_assert_int_eq(fake.made, 61);
	finish();
	ck_assert_int_eq(ended(), 61);
}
END_TEST

/* A job that is started when it is too late for its plane. */
static struct {
	struct sbx_post post;
	uint64_t node;
	_Atomic int ran, result;
} late;

static int run_late(struct sbx_job *job, struct sbx_error *err)
{
	(void)job;
	(void)err;
	late.ran++;
	return 0;
}

static void late_done(struct sbx_job *job)
{
	late.result = job->result;
	sbx_job_free(job);
}

static void start_late(struct sbx_post *post)
{
	(void)post;
	struct sbx_view *view = sbx_node_get(&fs, late.node)->view;
	struct sbx_job *job = sbx_job_create(&fs, view, sizeof(*job), 0);
	job->run = run_late;
	job->done = late_done;
	sbx_job_start(job);
}

START_TEST(a_plane_in_use_outlives_its_sandbox)
{
	uint64_t handle;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t file = node_of(box, "file"), other;
	uint64_t directory = node_of(box, ".sbxfs");
	uint64_t log = node_of(directory, "log"), refused = node_of(directory, "refused");
	set_stall(true);
	ck_assert_int_eq(open_file(file, &handle), 0);
	uint64_t read = begin_read(file, handle);
	remove_sandbox(ID);
	assert_silent(100);
	ck_assert_int_eq(ended(), 0);
	set_stall(false);
	(void)answer(read, NULL, 0, NULL); /* its bytes, or ESTALE */
	wait_ended(1);
	release(file, handle);
	ck_assert_int_ne(open_file(log, &other), 0);
	(void)open_file(refused, &other); /* what is known is shown, or an error */
	late.node = file;
	late.result = 1;
	late.post.run = start_late;
	sbx_loop_post(fs.loop, &late.post);
	for (int i = 0; i < 2000 && late.result == 1; i++)
		usleep(5000);
	ck_assert_int_eq(late.result, -ESTALE);
	ck_assert_int_eq(late.ran, 0);
	finish();
	ck_assert_int_eq(ended(), 1);
}
END_TEST

/* What comes of a sandbox that went first is kept for nobody, and its names are not there. */
START_TEST(answers_that_outlive_a_sandbox)
{
	struct sbx_spool_counts counts;
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t file = node_of(box, "file");
	usleep(1100 * 1000); /* what was known holds no longer */
	fake.stall_begin = true;
	set_stall(true);
	uint64_t opening = begin_open(file);
	assert_silent(50);
	remove_sandbox(ID);
	assert_silent(100);
	set_stall(false);
	ck_assert_int_ne(answer(opening, NULL, 0, NULL), 0);
	wait_ended(1);
	assert_silent(100);
	sbx_spools_counts(fs.spools, &counts);
	ck_assert_uint_eq(counts.kept, 0);
	ck_assert_uint_eq(counts.memory_bytes, 0);
	finish();
}
END_TEST

START_TEST(a_name_of_a_sandbox_that_went_is_not_there)
{
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	set_stall(true);
	uint64_t looking = tell(FUSE_LOOKUP, box, "file", 5);
	assert_silent(50);
	remove_sandbox(ID);
	assert_silent(100);
	set_stall(false);
	ck_assert_int_eq(answer(looking, NULL, 0, NULL), ENOENT);
	finish();
}
END_TEST

/* An old listing answers for what only file managers look for. */
START_TEST(an_old_listing_says_nothing_of_git)
{
	struct fuse_entry_out entry = { 0 };
	begin();
	uint64_t out = node_of(node_of(FUSE_ROOT_ID, "box"), "out");
	list(out);
	usleep(1100 * 1000); /* what was known holds no longer */
	ck_assert_int_eq(lookup(out, ".hidden", &entry), 0);
	ck_assert_uint_eq(entry.nodeid, 0);
	ck_assert_uint_ne(node_of(out, ".git"), 0);
	finish();
}
END_TEST

START_TEST(refuses_to_write_outside_in)
{
	struct fuse_mkdir_in in = { .mode = 0755 };
	char body[sizeof(in) + 2];
	begin();
	uint64_t box = node_of(FUSE_ROOT_ID, "box");
	uint64_t file = node_of(box, "file");
	memcpy(body, &in, sizeof(in));
	memcpy(body + sizeof(in), "d", 2);
	ck_assert_int_eq(answer(tell(FUSE_MKDIR, box, body, sizeof(body)), NULL, 0, NULL), EROFS);
	ck_assert_int_eq(answer(tell(FUSE_UNLINK, box, "file", 5), NULL, 0, NULL), EROFS);
	struct fuse_open_in open_in = { .flags = O_WRONLY };
	ck_assert_int_eq(
		answer(tell(FUSE_OPEN, file, &open_in, sizeof(open_in)), NULL, 0, NULL), EROFS);
	finish();
}
END_TEST

UNIT_MAIN("fs_kernel", answers_that_outlive_a_sandbox, a_name_of_a_sandbox_that_went_is_not_there,
	an_old_listing_says_nothing_of_git, nor_one_that_is_over_by_our_clock_only,
	shows_a_file_without_set_id_bits, never_hands_out_a_link, opens_the_version_that_is_there,
	what_was_not_confirmed_is_told_to_nobody, interrupts_a_read_once, gives_up_at_the_deadline,
	an_early_close_ends_the_transfer, counts_lookups_of_a_listing,
	what_lies_deeper_comes_with_the_listing, more_directories_than_are_kept,
	many_questions_become_one_listing, slow_questions_become_one_listing,
	a_large_directory_is_glanced_at_once, a_second_that_is_not_over_brings_no_content,
	a_second_that_is_over_brings_content, a_known_content_comes_with_the_open,
	a_listing_confirms_no_time_of_a_second_that_was_not_over, nor_under_in,
	old_listings_are_let_go, a_rounded_second_changes_no_known_time,
	removed_sandboxes_leave_no_plane_behind, a_plane_in_use_outlives_its_sandbox,
	refuses_to_write_outside_in)
