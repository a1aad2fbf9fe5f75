/*
 * in_mount.h: a mount whose loop is spoken to as the kernel does and whose guest is a table, for
 * tests of what is written under in/.
 */
#ifndef SBX_TESTS_IN_MOUNT_H
#define SBX_TESTS_IN_MOUNT_H

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
	int64_t size;	 /* 0: the content's */
	uint32_t mode;	 /* 0: the usual one */
	int64_t mtime_s; /* 0: long ago */
	int32_t mtime_ns;
};

static pthread_mutex_t guest_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next six */
static struct row guest[32];
static const char *stalled; /* the first letters of what waits */
static bool waits;	    /* something does */
static bool no_commands;    /* chmod and rm are none of its commands */
static bool puts_fail;	    /* in the middle */
static unsigned looks;	    /* how often it was asked about a directory */
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

static inline struct row *find_row(const char *path)
{
	for (size_t i = 0; i < sizeof(guest) / sizeof(guest[0]); i++)
		if (strcmp(guest[i].path, path) == 0)
			return &guest[i];
	return NULL;
}

static inline struct row *add_row(const char *path, const char *content, bool is_directory)
{
	struct row *row = find_row(path);
	row = row ? row : find_row("");
	ck_assert_ptr_nonnull(row);
	(void)snprintf(row->path, sizeof(row->path), "%s", path);
	(void)snprintf(row->content, sizeof(row->content), "%s", content);
	row->is_directory = is_directory;
	row->size = row->mode = 0;
	row->mtime_s = row->mtime_ns = 0;
	return row;
}

static inline void guest_has(const char *path, const char *content, bool is_directory)
{
	pthread_mutex_lock(&guest_lock);
	(void)add_row(path, content, is_directory);
	pthread_mutex_unlock(&guest_lock);
}

static inline void assert_guest_has(const char *path, const char *content)
{
	pthread_mutex_lock(&guest_lock);
	const struct row *row = find_row(path);
	ck_assert_msg(row && !strcmp(row->content, content), "%s after: %s", path, done);
	pthread_mutex_unlock(&guest_lock);
}

static inline bool was_done(const char *what)
{
	pthread_mutex_lock(&guest_lock);
	bool found = strstr(done, what);
	pthread_mutex_unlock(&guest_lock);
	return found;
}

static inline unsigned looks_so_far(void)
{
	pthread_mutex_lock(&guest_lock);
	unsigned count = looks;
	pthread_mutex_unlock(&guest_lock);
	return count;
}

static inline void wait_until_done(const char *what)
{
	for (int i = 0; i < 2000 && !was_done(what); i++)
		usleep(5000);
	ck_assert_msg(was_done(what), "not done: %s, but: %s", what, done);
}

static inline void stall(const char *what)
{
	pthread_mutex_lock(&guest_lock);
	stalled = what;
	pthread_mutex_unlock(&guest_lock);
}

static inline void wait_until_stalled(void)
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
static inline void begin_op(const char *what)
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

static inline struct sbx_stat stat_of(const struct row *row)
{
	uint32_t usual = row->is_directory ? 0755 : 0644;
	return (struct sbx_stat){ .type = row->is_directory ? SBX_TYPE_DIR : SBX_TYPE_FILE,
		.mode = row->mode ? row->mode : usual,
		.size = row->size ? row->size : (int64_t)strlen(row->content),
		.mtime_s = row->mtime_s ? row->mtime_s : 100,
		.mtime_ns = row->mtime_ns };
}

static inline int guest_stat(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_stat *out, struct sbx_error *err)
{
	(void)plane;
	(void)call;
	pthread_mutex_lock(&guest_lock);
	const struct row *row = find_row(path);
	looks += row && row->is_directory;
	if (row)
		*out = stat_of(row);
	pthread_mutex_unlock(&guest_lock);
	return row ? 0 : sbx_fail(err, ENOENT, "%s is not there", path);
}

static inline int guest_list(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
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

static inline void take_item(struct row *row, const struct sbx_put_item *item)
{
	row->mode = item->mode;
	row->mtime_s = item->mtime_s;
	row->mtime_ns = item->mtime_ns;
}

static inline void put_one(struct sbx_put_item *item)
{
	char content[PATH_SIZE] = "";
	if (item->type == SBX_TYPE_FILE && item->size < PATH_SIZE)
		ck_assert_int_eq(pread(item->fd, content, sizeof(content) - 1, 0), item->size);
	cleanup_free char *what = sbx_printf("put %s", item->path);
	begin_op(what);
	const struct row *row = find_row(item->path);
	item->result = 0;
	item->kept = row && item->type == SBX_TYPE_DIR;
	bool taken = !row || !item->only_new;
	if (taken && item->begins)
		item->begins(item->data);
	if (taken && puts_fail) {
		item->touched = true;
		item->result = sbx_fail(&item->err, EIO, "%s was cut", item->path);
	} else if (!taken)
		item->result = sbx_fail(&item->err, EEXIST, "%s is there", item->path);
	else
		take_item(add_row(item->path, content, item->type == SBX_TYPE_DIR), item);
	pthread_mutex_unlock(&guest_lock);
}

static inline int guest_put(struct sbx_plane *plane, struct sbx_put_item *items, size_t count,
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

static inline int guest_remove(struct sbx_plane *plane, const char *path, bool recursive,
	const struct sbx_call *call, struct sbx_error *err)
{
	(void)plane;
	(void)recursive;
	(void)call;
	cleanup_free char *what = sbx_printf("rm %s", path);
	begin_op(what);
	struct row *row = find_row(path);
	if (row && !no_commands)
		*row->path = '\0';
	pthread_mutex_unlock(&guest_lock);
	return no_commands ? sbx_fail(err, EOPNOTSUPP, "no rm") : 0;
}

static inline int guest_rename(struct sbx_plane *plane, const char *from, const char *to,
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

static inline int guest_set_attributes(struct sbx_plane *plane, const char *path,
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

static inline int guest_read(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	const struct sbx_reader *reader, struct sbx_error *err)
{
	static const char zeros[LARGE];
	(void)plane;
	(void)call;
	(void)err;
	begin_op("read");
	const struct row row = *find_row(path);
	pthread_mutex_unlock(&guest_lock);
	struct sbx_stat st = stat_of(&row);
	int result = reader->begin(reader->data, &st);
	return result ? result
		      : reader->bytes(
				reader->data, row.size ? zeros : row.content, (size_t)st.size);
}

static inline int64_t guest_now_s(struct sbx_plane *plane)
{
	(void)plane;
	return time(NULL);
}

static inline void guest_end(struct sbx_plane *plane)
{
	(void)plane; /* static */
}

static inline struct sbx_plane *make_plane(struct sbx_view *view)
{
	static const struct sbx_plane_ops ops = { .stat = guest_stat,
		.list = guest_list,
		.put = guest_put,
		.remove = guest_remove,
		.rename = guest_rename,
		.set_attributes = guest_set_attributes,
		.read = guest_read,
		.now_s = guest_now_s,
		.destroy = guest_end };
	static struct sbx_plane plane = { .ops = &ops };
	(void)view;
	return &plane;
}

static inline void *run_loop(void *data)
{
	struct sbx_error err = SBX_ERROR_INIT;
	(void)data;
	ck_assert_int_eq(sbx_loop_run(fs.loop, &err), 0);
	return NULL;
}

static inline void show_sandbox(void)
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

static inline void remove_sandbox(void)
{
	struct sbx_inventory_listener listener = sbx_views_listener(&fs);
	listener.gone(listener.data, ID);
}

static inline struct sbx_staging *open_own_store(void)
{
	cleanup_free char *root = sbx_printf("%s/staging", directory);
	return open_store(root);
}

/* In a directory of the test's own; what is staged there was left by an earlier mount. */
static inline void begin(void)
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

static inline void prepare(void)
{
	directory_enter();
	sbx_fs_options_init(&options);
	options.deadline_ms = 10000;
	fs = (struct sbx_fs){ .options = &options, .make_plane = make_plane };
}

static inline bool jobs_left(struct sbx_fs *context)
{
	return sbx_workers_busy(context->workers);
}

/* As fs/mount.c ends a mount. */
static inline void end(void)
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

static inline void finish(void)
{
	end();
	directory_leave();
}

static inline uint64_t in_dir(void)
{
	return node_of(node_of(FUSE_ROOT_ID, "box"), "in");
}

/* A request whose body is a struct and a name. */
static inline uint64_t tell_named(
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

static inline struct open_file create(uint64_t parent, const char *name)
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

static inline uint64_t begin_write(struct open_file file, const char *text)
{
	struct fuse_write_in in = { .fh = file.handle, .size = (uint32_t)strlen(text) };
	char body[sizeof(in) + PATH_SIZE];
	memcpy(body, &in, sizeof(in));
	memcpy(body + sizeof(in), text, in.size);
	return tell(FUSE_WRITE, file.node, body, sizeof(in) + in.size);
}

static inline void write_text(struct open_file file, const char *text)
{
	ck_assert_int_eq(answer(begin_write(file, text), NULL, 0, NULL), 0);
}

static inline uint64_t begin_flush(struct open_file file)
{
	struct fuse_flush_in in = { .fh = file.handle };
	return tell(FUSE_FLUSH, file.node, &in, sizeof(in));
}

static inline void release(struct open_file file)
{
	struct fuse_release_in in = { .fh = file.handle };
	uint64_t unique = tell(FUSE_RELEASE, file.node, &in, sizeof(in));
	ck_assert_int_eq(answer(unique, NULL, 0, NULL), 0);
}

static inline struct open_file save(uint64_t parent, const char *name, const char *text)
{
	struct open_file file = create(parent, name);
	write_text(file, text);
	ck_assert_int_eq(answer(begin_flush(file), NULL, 0, NULL), 0);
	release(file);
	return file;
}

static inline int make_directory(uint64_t parent, const char *name)
{
	struct fuse_mkdir_in in = { .mode = 0755 };
	return answer(tell_named(FUSE_MKDIR, parent, &in, sizeof(in), name), NULL, 0, NULL);
}

static inline uint64_t begin_rename(uint64_t parent, const char *from, const char *to)
{
	struct fuse_rename_in in = { .newdir = parent };
	char names[2 * PATH_SIZE], body[sizeof(in) + sizeof(names)];
	int size = snprintf(names, sizeof(names), "%s%c%s", from, '\0', to) + 1;
	memcpy(body, &in, sizeof(in));
	memcpy(body + sizeof(in), names, (size_t)size);
	return tell(FUSE_RENAME, parent, body, sizeof(in) + (size_t)size);
}

static inline int unlink_name(uint64_t parent, const char *name)
{
	return answer(tell(FUSE_UNLINK, parent, name, strlen(name) + 1), NULL, 0, NULL);
}

/* What the next mount finds. */
static inline struct sbx_staged_list left_over(void)
{
	struct sbx_staging *staging = open_own_store();
	struct sbx_staged_list list;
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_eq(sbx_staging_recover(staging, &list, &err), 0);
	sbx_staging_close(staging);
	return list;
}

static inline bool is_there(uint64_t parent, const char *name)
{
	struct fuse_entry_out entry = { 0 };
	int rc = lookup(parent, name, &entry);
	ck_assert_msg(rc == 0 || rc == ENOENT, "%s: %s", name, strerror(rc));
	return rc == 0 && entry.nodeid;
}

static inline uint64_t begin_chmod(uint64_t node, uint32_t mode)
{
	struct fuse_setattr_in in = { .valid = FATTR_MODE, .mode = S_IFREG | mode };
	return tell(FUSE_SETATTR, node, &in, sizeof(in));
}

static inline struct open_file open_node(uint64_t node, uint32_t flags)
{
	struct fuse_open_in in = { .flags = flags };
	struct fuse_open_out out = { 0 };
	ck_assert_int_eq(
		answer(tell(FUSE_OPEN, node, &in, sizeof(in)), &out, sizeof(out), NULL), 0);
	return (struct open_file){ node, out.fh };
}

static inline uint64_t begin_read(struct open_file file)
{
	struct fuse_read_in in = { .fh = file.handle, .size = PATH_SIZE };
	return tell(FUSE_READ, file.node, &in, sizeof(in));
}

static inline void assert_reads(struct open_file file, const char *text)
{
	char bytes[PATH_SIZE + 1] = "";
	size_t size = 0;
	ck_assert_int_eq(answer(begin_read(file), bytes, PATH_SIZE, &size), 0);
	ck_assert_uint_eq(size, strlen(text));
	ck_assert_str_eq(bytes, text);
}

/* Of staged files, held by this process. */
static inline int descriptors(void)
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

/* Written while nobody could say whether the guest has that name, and the mount was killed. */
static inline void leave_new_file(const char *path, const char *text)
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

#endif
