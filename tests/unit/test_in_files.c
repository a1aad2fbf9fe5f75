/*
 * test_in_files.c: what becomes of files under in/, with the mount's loop spoken to as the kernel
 * does and a guest that is a table: what is sent when, under which name, and what is kept.
 */
#include "context.h"
#include "in_file.h"

#include "ops.h"

#include "directory.h"
#include "fuse_kernel.h"
#include "staging_store.h"
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PATH_SIZE 64
#define LARGE (SBX_IN_RESEND_BYTES + 1)

struct row {
	char path[PATH_SIZE]; /* empty: none */
	char content[PATH_SIZE];
	bool is_directory;
	int64_t size;  /* 0: the content's */
	uint32_t mode; /* 0: the usual one */
};

static pthread_mutex_t guest_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next five */
static struct row guest[32];
static const char *stalled; /* the first letters of what waits */
static bool waits;	    /* something does */
static bool no_commands;    /* chmod is none of its commands */
static char done[4096];	    /* by the guest: "put in/a; mv in/a in/b; " */

static struct sbx_fs fs;
static struct sbx_fs_options options;
static pthread_t loop_thread;
static atomic_int syncs_of_the_loop;

/* In the C library's place: whether the loop waits for a disk. */
int fsync(int fd)
{
	(void)fd;
	if (pthread_equal(pthread_self(), loop_thread))
		atomic_fetch_add(&syncs_of_the_loop, 1);
	return 0;
}

static struct row *find_row(const char *path)
{
	for (size_t i = 0; i < sizeof(guest) / sizeof(guest[0]); i++)
		if (strcmp(guest[i].path, path) == 0)
			return &guest[i];
	return NULL;
}

static struct row *add_row(const char *path, const char *content, bool is_directory)
{
	struct row *row = find_row(path);
	row = row ? row : find_row("");
	ck_assert_ptr_nonnull(row);
	(void)snprintf(row->path, sizeof(row->path), "%s", path);
	(void)snprintf(row->content, sizeof(row->content), "%s", content);
	row->is_directory = is_directory;
	row->size = row->mode = 0;
	return row;
}

static void guest_has(const char *path, const char *content, bool is_directory)
{
	pthread_mutex_lock(&guest_lock);
	(void)add_row(path, content, is_directory);
	pthread_mutex_unlock(&guest_lock);
}

static void assert_guest_has(const char *path, const char *content)
{
	pthread_mutex_lock(&guest_lock);
	const struct row *row = find_row(path);
	ck_assert_msg(row && !strcmp(row->content, content), "%s after: %s", path, done);
	pthread_mutex_unlock(&guest_lock);
}

static bool was_done(const char *what)
{
	pthread_mutex_lock(&guest_lock);
	bool found = strstr(done, what);
	pthread_mutex_unlock(&guest_lock);
	return found;
}

static void wait_until_done(const char *what)
{
	for (int i = 0; i < 2000 && !was_done(what); i++)
		usleep(5000);
	ck_assert_msg(was_done(what), "not done: %s, but: %s", what, done);
}

static void stall(const char *what)
{
	pthread_mutex_lock(&guest_lock);
	stalled = what;
	pthread_mutex_unlock(&guest_lock);
}

static void wait_until_stalled(void)
{
	bool reached = false;
	for (int i = 0; i < 2000 && !reached; i++) {
		usleep(5000);
		pthread_mutex_lock(&guest_lock);
		reached = waits;
		pthread_mutex_unlock(&guest_lock);
	}
	ck_assert_msg(reached, "%s was not tried, but: %s", stalled, done);
}

/* Waits while it is stalled, then writes it down; with the lock held when it returns. */
static void begin_op(const char *what)
{
	pthread_mutex_lock(&guest_lock);
	while (stalled && !strncmp(what, stalled, strlen(stalled))) {
		waits = true;
		pthread_mutex_unlock(&guest_lock);
		usleep(2000);
		pthread_mutex_lock(&guest_lock);
	}
	size_t used = strlen(done);
	(void)snprintf(done + used, sizeof(done) - used, "%s; ", what);
}

static struct sbx_stat stat_of(const struct row *row)
{
	uint32_t usual = row->is_directory ? 0755 : 0644;
	return (struct sbx_stat){ .type = row->is_directory ? SBX_TYPE_DIR : SBX_TYPE_FILE,
		.mode = row->mode ? row->mode : usual,
		.size = row->size ? row->size : (int64_t)strlen(row->content),
		.mtime_s = 100 };
}

static int guest_stat(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err)
{
	(void)plane;
	(void)call;
	pthread_mutex_lock(&guest_lock);
	const struct row *row = find_row(path);
	if (row)
		*out = stat_of(row);
	pthread_mutex_unlock(&guest_lock);
	return row ? 0 : sbx_fail(err, ENOENT, "%s is not there", path);
}

static int guest_list(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err)
{
	size_t length = strlen(path);
	(void)plane;
	(void)call;
	(void)err;
	begin_op("list");
	out->rows = sbx_alloc_array(sizeof(guest) / sizeof(guest[0]), sizeof(*out->rows));
	for (size_t i = 0; i < sizeof(guest) / sizeof(guest[0]); i++) {
		const struct row *row = &guest[i];
		if (!sbx_in_below(row->path, path) || strchr(row->path + length + 1, '/'))
			continue;
		out->rows[out->count++] =
			(struct sbx_entry){ .name = sbx_strdup(row->path + length + 1),
				.st = stat_of(row) };
	}
	pthread_mutex_unlock(&guest_lock);
	return 0;
}

static void put_one(struct sbx_put_item *item)
{
	char content[PATH_SIZE] = "";
	if (item->type == SBX_TYPE_FILE && item->size < PATH_SIZE)
		ck_assert_int_eq(pread(item->fd, content, sizeof(content) - 1, 0), item->size);
	cleanup_free char *what = sbx_printf("put %s", item->path);
	begin_op(what);
	const struct row *row = find_row(item->path);
	item->result = 0;
	item->kept = row && item->type == SBX_TYPE_DIR;
	if (row && item->only_new)
		item->result = sbx_fail(&item->err, EEXIST, "%s is there", item->path);
	else
		add_row(item->path, content, item->type == SBX_TYPE_DIR)->mode = item->mode;
	pthread_mutex_unlock(&guest_lock);
}

static int guest_put(struct sbx_plane *plane, struct sbx_put_item *items, size_t count,
	const struct sbx_call *call, struct sbx_error *err)
{
	(void)plane;
	(void)call;
	int result = 0;
	for (size_t i = 0; i < count; i++) {
		put_one(&items[i]);
		if (!items[i].result)
			continue;
		*err = items[i].err;
		result = items[i].result;
	}
	return result;
}

static int guest_remove(struct sbx_plane *plane, const char *path, bool recursive,
	const struct sbx_call *call, struct sbx_error *err)
{
	(void)plane;
	(void)recursive;
	(void)call;
	(void)err;
	cleanup_free char *what = sbx_printf("rm %s", path);
	begin_op(what);
	struct row *row = find_row(path);
	if (row)
		*row->path = '\0';
	pthread_mutex_unlock(&guest_lock);
	return 0;
}

static int guest_rename(struct sbx_plane *plane, const char *from, const char *to,
	const struct sbx_call *call, struct sbx_error *err)
{
	(void)plane;
	(void)call;
	(void)err;
	cleanup_free char *what = sbx_printf("mv %s %s", from, to);
	begin_op(what);
	for (size_t i = 0; i < sizeof(guest) / sizeof(guest[0]); i++) {
		struct row *row = &guest[i];
		if (strcmp(row->path, from) != 0 && !sbx_in_below(row->path, from))
			continue;
		struct row *replaced = find_row(to);
		if (replaced && !strcmp(row->path, from))
			*replaced->path = '\0';
		cleanup_free char *path = sbx_printf("%s%s", to, row->path + strlen(from));
		(void)snprintf(row->path, sizeof(row->path), "%s", path);
	}
	pthread_mutex_unlock(&guest_lock);
	return 0;
}

static int guest_set_attributes(struct sbx_plane *plane, const char *path,
	const struct sbx_attributes *want, const struct sbx_call *call, struct sbx_stat *before,
	struct sbx_stat *after, struct sbx_error *err)
{
	(void)plane;
	(void)call;
	cleanup_free char *what = sbx_printf("chmod %s", path);
	begin_op(what);
	struct row *row = find_row(path);
	ck_assert(row && want->set_mode && !want->set_mtime);
	int result = no_commands ? sbx_fail(err, EOPNOTSUPP, "no chmod") : 0;
	*before = stat_of(row);
	row->mode = result ? row->mode : want->mode;
	*after = stat_of(row);
	pthread_mutex_unlock(&guest_lock);
	return result;
}

static int guest_read(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	const struct sbx_reader *reader, struct sbx_error *err)
{
	static const char zeros[LARGE];
	(void)plane;
	(void)call;
	(void)err;
	begin_op("read");
	struct sbx_stat st = stat_of(find_row(path));
	pthread_mutex_unlock(&guest_lock);
	ck_assert_int_eq(st.size, LARGE);
	int result = reader->begin(reader->data, &st);
	return result ? result : reader->bytes(reader->data, zeros, LARGE);
}

static void guest_end(struct sbx_plane *plane)
{
	(void)plane; /* static */
}

static struct sbx_plane *make_plane(struct sbx_view *view)
{
	static const struct sbx_plane_ops ops = { .stat = guest_stat,
		.list = guest_list,
		.put = guest_put,
		.remove = guest_remove,
		.rename = guest_rename,
		.set_attributes = guest_set_attributes,
		.read = guest_read,
		.destroy = guest_end };
	static struct sbx_plane plane = { .ops = &ops };
	(void)view;
	return &plane;
}

static void *run_loop(void *data)
{
	struct sbx_error err = SBX_ERROR_INIT;
	(void)data;
	ck_assert_int_eq(sbx_loop_run(fs.loop, &err), 0);
	return NULL;
}

static void show_sandbox(void)
{
	char empty[] = "", id[] = ID, name[] = "box", workdir[] = "/work", in_dir[] = "in";
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
		.in_dir = in_dir,
	};
	struct sbx_inventory_listener listener = sbx_views_listener(&fs);
	listener.present(listener.data, &sandbox);
}

static void remove_sandbox(void)
{
	struct sbx_inventory_listener listener = sbx_views_listener(&fs);
	listener.gone(listener.data, ID);
}

static struct sbx_staging *open_own_store(void)
{
	cleanup_free char *root = sbx_printf("%s/staging", directory);
	return open_store(root);
}

/* In a directory of the test's own; what is staged there was left by an earlier mount. */
static void begin(void)
{
	char program[] = "test";
	char *argv[] = { program, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct sbx_error err = SBX_ERROR_INIT;
	guest_has("in", "", true);
	ck_assert_int_eq(sbx_spools_create(directory, 1 << 20, &fs.spools, &err), 0);
	ck_assert_int_eq(sbx_loop_create(&fs, &fs.loop, &err), 0);
	fs.in = sbx_alloc(sizeof(*fs.in));
	fs.in->staging = open_own_store();
	ck_assert_int_eq(sbx_staging_recover(fs.in->staging, &fs.in->orphans, &err), 0);
	sbx_nodes_init(&fs);
	fs.session = fuse_session_new(&args, &sbx_ops, sizeof(sbx_ops), &fs);
	fuse_opt_free_args(&args);
	kernel_attach(fs.session);
	ck_assert_int_eq(sbx_workers_create(&fs, &fs.workers, &err), 0);
	ck_assert_int_eq(sbx_notifier_create(&fs, &fs.notifier, &err), 0);
	show_sandbox();
	sbx_loop_drain(fs.loop, sbx_in_busy, 0);
	sbx_in_home(sbx_views_by_name(&fs, "box"))->admitted = true; /* there is no engine to ask */
	ck_assert_int_eq(pthread_create(&loop_thread, NULL, run_loop, NULL), 0);
	assert_silent(20);
	say_hello();
}

static void prepare(void)
{
	directory_enter();
	sbx_fs_options_init(&options);
	options.deadline_ms = 10000;
	fs = (struct sbx_fs){ .options = &options, .make_plane = make_plane };
}

static bool jobs_left(struct sbx_fs *context)
{
	return sbx_workers_busy(context->workers);
}

/* As fs/mount.c ends a mount. */
static void end(void)
{
	stall(NULL);
	close(kernel);
	pthread_join(loop_thread, NULL);
	fs.leaving = true;
	sbx_requests_fail_all(&fs, ENODEV);
	sbx_notifier_stop(fs.notifier);
	sbx_notifier_destroy(fs.notifier);
	fs.notifier = NULL;
	sbx_workers_cancel(fs.workers);
	sbx_loop_drain(fs.loop, jobs_left, sbx_clock_ms() + 5000);
	sbx_handles_finish(&fs);
	sbx_in_leave(&fs);
	sbx_nodes_finish(&fs);
	sbx_views_finish(&fs);
	sbx_loop_drain(fs.loop, jobs_left, sbx_clock_ms() + 5000);
	sbx_workers_stop(fs.workers);
	sbx_loop_drain(fs.loop, jobs_left, sbx_clock_ms());
	sbx_in_finish(&fs);
	fuse_session_destroy(fs.session);
	sbx_loop_destroy(fs.loop);
	sbx_workers_destroy(fs.workers);
	sbx_spools_destroy(fs.spools);
}

static void finish(void)
{
	end();
	directory_leave();
}

static uint64_t in_dir(void)
{
	return node_of(node_of(FUSE_ROOT_ID, "box"), "in");
}

/* A request whose body is a struct and a name. */
static uint64_t tell_named(
	uint32_t opcode, uint64_t node, const void *body, size_t size, const char *name)
{
	char bytes[256];
	memcpy(bytes, body, size);
	memcpy(bytes + size, name, strlen(name) + 1);
	return tell(opcode, node, bytes, size + strlen(name) + 1);
}

struct open_file {
	uint64_t node, handle;
};

static struct open_file create(uint64_t parent, const char *name)
{
	struct fuse_create_in in = { .flags = O_WRONLY | O_CREAT, .mode = S_IFREG | 0644 };
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} out = { 0 };
	uint64_t unique = tell_named(FUSE_CREATE, parent, &in, sizeof(in), name);
	ck_assert_int_eq(answer(unique, &out, sizeof(out), NULL), 0);
	return (struct open_file){ out.entry.nodeid, out.open.fh };
}

static void write_text(struct open_file file, const char *text)
{
	struct fuse_write_in in = { .fh = file.handle, .size = (uint32_t)strlen(text) };
	char body[sizeof(in) + PATH_SIZE];
	memcpy(body, &in, sizeof(in));
	memcpy(body + sizeof(in), text, in.size);
	uint64_t unique = tell(FUSE_WRITE, file.node, body, sizeof(in) + in.size);
	ck_assert_int_eq(answer(unique, NULL, 0, NULL), 0);
}

static uint64_t begin_flush(struct open_file file)
{
	struct fuse_flush_in in = { .fh = file.handle };
	return tell(FUSE_FLUSH, file.node, &in, sizeof(in));
}

static void release(struct open_file file)
{
	struct fuse_release_in in = { .fh = file.handle };
	uint64_t unique = tell(FUSE_RELEASE, file.node, &in, sizeof(in));
	ck_assert_int_eq(answer(unique, NULL, 0, NULL), 0);
}

static struct open_file save(uint64_t parent, const char *name, const char *text)
{
	struct open_file file = create(parent, name);
	write_text(file, text);
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), 0);
	release(file);
	return file;
}

static int make_directory(uint64_t parent, const char *name)
{
	struct fuse_mkdir_in in = { .mode = 0755 };
	return answer(tell_named(FUSE_MKDIR, parent, &in, sizeof(in), name), NULL, 0, NULL);
}

static uint64_t begin_rename(uint64_t parent, const char *from, const char *to)
{
	struct fuse_rename_in in = { .newdir = parent };
	char names[2 * PATH_SIZE], body[sizeof(in) + sizeof(names)];
	int size = snprintf(names, sizeof(names), "%s%c%s", from, '\0', to) + 1;
	memcpy(body, &in, sizeof(in));
	memcpy(body + sizeof(in), names, (size_t)size);
	return tell(FUSE_RENAME, parent, body, sizeof(in) + (size_t)size);
}

static int unlink_name(uint64_t parent, const char *name)
{
	return answer(tell(FUSE_UNLINK, parent, name, strlen(name) + 1), NULL, 0, NULL);
}

/* The closes of a copy that was acknowledged are gathered; the directory gets another name while
 * they are. */
START_TEST(what_is_gathered_goes_along_with_its_directory)
{
	prepare();
	options.async = true;
	begin();
	uint64_t in = in_dir();
	ck_assert_int_eq(make_directory(in, "tmp"), 0);
	(void)save(node_of(in, "tmp"), "x", "hello");
	stall("mv");
	uint64_t rename = begin_rename(in, "tmp", "final");
	wait_until_stalled();
	usleep((SBX_IN_QUIET_MS + 300) * 1000); /* its turn to be sent comes meanwhile */
	stall(NULL);
	ck_assert_int_eq(answer(rename, NULL, 0, NULL), 0);
	wait_until_done("put in/final/x");
	assert_guest_has("in/final/x", "hello");
	ck_assert(!was_done("put in/tmp/x"));
	finish();
}
END_TEST

/* Its writer still waits for the upload when another file takes the name. */
START_TEST(what_was_replaced_is_not_sent_over_its_successor)
{
	prepare();
	guest_has("in/a", "new", false);
	begin();
	uint64_t in = in_dir();
	(void)node_of(in, "a");
	struct open_file first = create(in, "first"), old = create(in, "b");
	write_text(first, "1");
	write_text(old, "old");
	stall("put in/first");
	uint64_t first_flush = begin_flush(first);
	wait_until_stalled();
	uint64_t old_flush = begin_flush(old);
	uint64_t rename = begin_rename(in, "a", "b");
	assert_silent(50);
	stall(NULL);
	ck_assert_int_eq(answer(first_flush, NULL, 0, NULL), 0);
	ck_assert_int_eq(answer(old_flush, NULL, 0, NULL), 0);
	ck_assert_int_eq(answer(rename, NULL, 0, NULL), 0);
	assert_silent(100);
	assert_guest_has("in/b", "new");
	ck_assert(!was_done("put in/b"));
	finish();
}
END_TEST

/* What the next mount finds. */
static struct sbx_staged_list left_over(void)
{
	struct sbx_staging *staging = open_own_store();
	struct sbx_staged_list list;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_eq(sbx_staging_recover(staging, &list, &err), 0);
	sbx_staging_close(staging);
	return list;
}

/* The mount ends while a writer is in the middle: closing its file for it must not pass off half as
 * whole, neither to the guest nor to the next mount. */
START_TEST(half_a_file_is_never_taken_for_a_whole_one)
{
	for (int async = 0; async < 2; async++) {
		prepare();
		options.async = async;
		begin();
		uint64_t in = in_dir();
		write_text(create(in, "half"), "ha");
		write_text(create(in, "a.part"), "temp");
		(void)create(in, "blank");
		end();
		ck_assert_msg(!was_done("put"), "%s", done);
		struct sbx_staged_list list = left_over();
		ck_assert_uint_eq(list.count, 2);
		ck_assert_str_eq(list.rows[0].path, "in/half");
		ck_assert_str_eq(list.rows[1].path, "in/a.part");
		ck_assert(list.rows[0].damaged && list.rows[1].damaged);
		sbx_staged_list_finish(&list);
		directory_leave();
	}
}
END_TEST

/* Others use the mount meanwhile. */
START_TEST(a_sandbox_that_goes_stops_nobody_for_a_disk)
{
	prepare();
	options.async = true;
	begin();
	uint64_t in = in_dir();
	(void)save(in, "x", "hello");
	(void)save(in, "y", "hello");
	remove_sandbox();
	assert_silent(50);
	for (int tries = 0; fs.in->orphans.count != 2 && tries < 300; tries++)
		assert_silent(10);
	ck_assert_uint_eq(fs.in->orphans.count, 2);
	ck_assert_int_eq(syncs_of_the_loop, 0);
	finish();
}
END_TEST

static bool is_there(uint64_t parent, const char *name)
{
	struct fuse_entry_out entry = { 0 };
	int rc = lookup(parent, name, &entry);
	ck_assert_msg(rc == 0 || rc == ENOENT, "%s: %s", name, strerror(rc));
	return rc == 0 && entry.nodeid;
}

/* Enough names for the engine to be asked for all of them. */
static void have_it_listed(uint64_t parent)
{
	ck_assert(!is_there(parent, "no1"));
	ck_assert(!is_there(parent, "no2"));
	ck_assert(!is_there(parent, "no3"));
	ck_assert(was_done("list"));
}

/* tar and others remove a name to make it anew, and would be told that it is there. */
START_TEST(a_removed_name_is_gone_at_once)
{
	prepare();
	guest_has("in/a", "old", false);
	begin();
	uint64_t in = in_dir();
	have_it_listed(in);
	ck_assert(is_there(in, "a"));
	ck_assert_int_eq(unlink_name(in, "a"), 0);
	ck_assert(was_done("rm in/a"));
	ck_assert(!is_there(in, "a"));
	(void)save(in, "a", "new");
	assert_guest_has("in/a", "new");
	finish();
}
END_TEST

/* mkdir -p looks again when it is told so. */
START_TEST(a_directory_that_is_there_already_is_found)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	have_it_listed(in);
	guest_has("in/d", "", true);
	ck_assert_int_eq(make_directory(in, "d"), EEXIST);
	ck_assert(is_there(in, "d"));
	finish();
}
END_TEST

/* Else each file made later would be remembered for as long as the mount lives. */
START_TEST(names_are_forgotten_when_their_listing_is_old)
{
	prepare();
	options.entry_timeout_ms = 100;
	begin();
	uint64_t in = in_dir();
	have_it_listed(in);
	const struct sbx_in_view *home = sbx_in_home(sbx_views_by_name(&fs, "box"));
	ck_assert_ptr_nonnull(home->names);
	usleep(300 * 1000);
	(void)create(in, "x");
	ck_assert_ptr_null(home->names);
	finish();
}
END_TEST

/* Of staged files, held by this process. */
static int descriptors(void)
{
	DIR *stream = opendir("/proc/self/fd");
	int count = 0;
	ck_assert_ptr_nonnull(stream);
	for (const struct dirent *entry; (entry = readdir(stream));) {
		char target[PATH_MAX] = "";
		if (readlinkat(dirfd(stream), entry->d_name, target, sizeof(target) - 1) > 0)
			count += strstr(target, ".data") != NULL;
	}
	ck_assert_int_eq(closedir(stream), 0);
	return count;
}

/* The kernel remembers nodes for long, thousands of them. */
START_TEST(a_file_that_was_removed_while_open_is_closed_with_it)
{
	prepare();
	begin();
	uint64_t in = in_dir();
	struct open_file file = create(in, "x");
	write_text(file, "text");
	ck_assert_int_eq(unlink_name(in, "x"), 0);
	ck_assert_int_eq(descriptors(), 1); /* it can still be read */
	release(file);
	/* RELEASE is answered before its file is put away. */
	for (int tries = 0; descriptors() != 0 && tries < 300; tries++)
		(void)nanosleep(
			&(struct timespec){ .tv_nsec = 10000000 }, NULL); /* cut short is fine */
	ck_assert_int_eq(descriptors(), 0);
	finish();
}
END_TEST

/* Nobody asks the mount for anything after that. */
START_TEST(a_file_that_landed_by_itself_is_closed)
{
	prepare();
	options.async = true;
	options.entry_timeout_ms = 50;
	begin();
	(void)save(in_dir(), "x", "text");
	wait_until_done("put in/x");
	for (int i = 0; i < 1000 && descriptors(); i++)
		usleep(5000);
	ck_assert_int_eq(descriptors(), 0);
	finish();
}
END_TEST

/* Written while nobody could say whether the guest has that name, and the mount was killed. */
static void leave_new_file(const char *path, const char *text)
{
	struct sbx_staging *staging = open_own_store();
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_staged staged = {
		.sandbox_id = (char[]){ ID },
		.sandbox_name = (char[]){ "box" },
		.path = (char *)path,
		.mode = 0644,
		.size = (int64_t)strlen(text),
		.only_new = true,
	};
	struct sbx_staged_list earlier;
	int fd;
	ck_assert_int_eq(sbx_staging_recover(staging, &earlier, &err), 0);
	sbx_staged_list_finish(&earlier);
	ck_assert_int_eq(sbx_staging_create(staging, &staged.sequence, &fd, &err), 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(sbx_staging_record(staging, &staged, fd, false, &err), 0);
	ck_assert_int_eq(close(fd), 0);
	sbx_staging_close(staging);
}

/* Removing or renaming ours does nothing to what the guest made under that name. */
START_TEST(the_guests_own_file_outlives_one_that_may_not_replace_it)
{
	prepare();
	guest_has("in/x", "guest", false);
	guest_has("in/y", "guest", false);
	leave_new_file("in/x", "ours");
	leave_new_file("in/y", "ours");
	begin();
	uint64_t in = in_dir();
	wait_until_done("put in/x");
	wait_until_done("put in/y");
	assert_guest_has("in/x", "guest");
	ck_assert(is_there(in, "x"));
	ck_assert_int_eq(unlink_name(in, "x"), 0);
	ck_assert(is_there(in, "y"));
	ck_assert_int_eq(answer(begin_rename(in, "y", "z"), NULL, 0, NULL), 0);
	ck_assert(!was_done("rm"));
	assert_guest_has("in/x", "guest");
	assert_guest_has("in/y", "guest");
	assert_guest_has("in/z", "ours");
	finish();
}
END_TEST

static void guest_has_large(const char *path)
{
	pthread_mutex_lock(&guest_lock);
	add_row(path, "", false)->size = LARGE;
	pthread_mutex_unlock(&guest_lock);
}

static uint64_t begin_chmod(uint64_t node, uint32_t mode)
{
	struct fuse_setattr_in in = { .valid = FATTR_MODE, .mode = S_IFREG | mode };
	return tell(FUSE_SETATTR, node, &in, sizeof(in));
}

static void assert_mode(uint64_t chmod, uint32_t mode)
{
	struct fuse_attr_out out = { 0 };
	ck_assert_int_eq(answer(chmod, &out, sizeof(out), NULL), 0);
	ck_assert_uint_eq(out.attr.mode, S_IFREG | mode);
}

/* What was opened before the guest had the new mode would put the old one back. */
START_TEST(a_file_is_opened_when_its_mode_is_set)
{
	prepare();
	guest_has_large("in/a");
	begin();
	uint64_t node = node_of(in_dir(), "a");
	struct fuse_open_in cut = { .flags = O_WRONLY | O_TRUNC };
	struct fuse_open_out open = { 0 };
	stall("chmod");
	uint64_t chmod = begin_chmod(node, 0600);
	wait_until_stalled();
	uint64_t opening = tell(FUSE_OPEN, node, &cut, sizeof(cut));
	assert_silent(50);
	stall(NULL);
	ck_assert_int_eq(answer(opening, &open, sizeof(open), NULL), 0);
	assert_mode(chmod, 0600);
	struct open_file file = { node, open.fh };
	write_text(file, "text");
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), 0);
	ck_assert(!was_done("read"));
	assert_guest_has("in/a", "text");
	ck_assert_uint_eq(find_row("in/a")->mode, 0600);
	finish();
}
END_TEST

/* The size decides the way, and where the guest cannot do it the outcome is the same. */
START_TEST(a_mode_goes_with_the_bytes_of_small_files_only)
{
	prepare();
	guest_has_large("in/large");
	begin();
	uint64_t in = in_dir();
	assert_mode(begin_chmod(save(in, "small", "text").node, 0600), 0600);
	ck_assert(!was_done("chmod"));
	assert_mode(begin_chmod(node_of(in, "large"), 0600), 0600);
	ck_assert(was_done("chmod in/large") && !was_done("put in/large"));
	ck_assert_uint_eq(find_row("in/small")->mode, 0600);
	ck_assert_uint_eq(find_row("in/large")->mode, 0600);
	no_commands = true;
	assert_mode(begin_chmod(node_of(in, "large"), 0640), 0640);
	ck_assert(was_done("read; put in/large"));
	ck_assert_uint_eq(find_row("in/large")->mode, 0640);
	finish();
}
END_TEST

UNIT_MAIN("in_files", a_file_is_opened_when_its_mode_is_set,
	a_mode_goes_with_the_bytes_of_small_files_only,
	what_is_gathered_goes_along_with_its_directory,
	the_guests_own_file_outlives_one_that_may_not_replace_it,
	a_file_that_was_removed_while_open_is_closed_with_it,
	a_file_that_landed_by_itself_is_closed, names_are_forgotten_when_their_listing_is_old,
	a_directory_that_is_there_already_is_found, a_removed_name_is_gone_at_once,
	a_sandbox_that_goes_stops_nobody_for_a_disk, half_a_file_is_never_taken_for_a_whole_one,
	what_was_replaced_is_not_sent_over_its_successor)
