/* test_freezer.c: a container's freezer is found by its own id only, and thawed only when frozen.
 */
#include "base/alloc.h"
#include "files/freezer.h"
#include "tree.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char root[64];

static void make_root(void)
{
	(void)snprintf(root, sizeof(root), "/tmp/sbxfs-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void remove_root(void)
{
	tree_remove(root);
}

/* Makes the directories of path and the file with that text. */
static void put(const char *path, const char *text)
{
	cleanup_free char *whole = sbx_printf("%s%s", root, path);
	for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(mkdir(whole, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	cleanup_close int fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
}

static void expect(const char *path, const char *text)
{
	cleanup_free char *whole = sbx_printf("%s%s", root, path);
	char got[64] = "";
	cleanup_close int fd = open(whole, O_RDONLY);
	ck_assert_int_ge(read(fd, got, sizeof(got) - 1), 0);
	ck_assert_int_eq(strncmp(got, text, strlen(text)), 0);
}

START_TEST(finds_and_thaws_the_v1_freezer)
{
	static const char path[] = "/sys/fs/cgroup/freezer/docker/" ID "/freezer.state";
	struct sbx_error err = SBX_ERROR_INIT;
	make_root();
	ck_assert_int_eq(sbx_freezer_look_beneath(root, ID, 0), SBX_FREEZER_UNKNOWN);
	ck_assert_int_eq(sbx_freezer_thaw_beneath(root, ID, 0, &err), -ENOENT);
	put(path, "FROZEN\n");
	ck_assert_int_eq(sbx_freezer_look_beneath(root, ID, 0), SBX_FREEZER_FROZEN);
	ck_assert_int_eq(sbx_freezer_thaw_beneath(root, ID, 0, &err), 1);
	expect(path, "THAWED");
	ck_assert_int_eq(sbx_freezer_look_beneath(root, ID, 0), SBX_FREEZER_THAWED);
	ck_assert_int_eq(sbx_freezer_thaw_beneath(root, ID, 0, &err), 0);
	put(path, "FREEZING\n");
	ck_assert_int_eq(sbx_freezer_look_beneath(root, ID, 0), SBX_FREEZER_FROZEN);
	remove_root();
}
END_TEST

START_TEST(finds_the_unified_freezer_by_the_process)
{
	static const char path[] =
		"/sys/fs/cgroup/some.slice/deep/docker-" ID ".scope/cgroup.freeze";
	struct sbx_error err = SBX_ERROR_INIT;
	make_root();
	put(path, "1\n");
	put("/proc/42/cgroup", "0::/some.slice/deep/docker-" ID ".scope\n");
	ck_assert_int_eq(sbx_freezer_look_beneath(root, ID, 0), SBX_FREEZER_UNKNOWN);
	ck_assert_int_eq(sbx_freezer_look_beneath(root, ID, 42), SBX_FREEZER_FROZEN);
	ck_assert_int_eq(sbx_freezer_thaw_beneath(root, ID, 42, &err), 1);
	expect(path, "0");
	remove_root();
}
END_TEST

START_TEST(never_another_containers_cgroup)
{
	static const char path[] = "/sys/fs/cgroup/freezer/docker/other/freezer.state";
	struct sbx_error err = SBX_ERROR_INIT;
	make_root();
	put(path, "FROZEN\n");
	/* The pid was given to another process meanwhile. */
	put("/proc/42/cgroup", "6:freezer:/docker/other\n5:memory:/docker/" ID "\n");
	ck_assert_int_eq(sbx_freezer_thaw_beneath(root, ID, 42, &err), -ENOENT);
	put("/proc/42/cgroup", "6:freezer:/docker/" ID "/../other\n");
	ck_assert_int_eq(sbx_freezer_thaw_beneath(root, ID, 42, &err), -ENOENT);
	/* Not a full id: nothing is looked for at all. */
	ck_assert_int_eq(sbx_freezer_look_beneath(root, "other", 42), SBX_FREEZER_UNKNOWN);
	ck_assert_int_eq(sbx_freezer_thaw_beneath(root, "../docker/other", 0, &err), -ENOENT);
	expect(path, "FROZEN");
	remove_root();
}
END_TEST

START_TEST(reads_what_processor_time_a_container_has_had)
{
	make_root();
	ck_assert_int_eq(sbx_freezer_usage_beneath(root, ID, 0), -1);
	put("/sys/fs/cgroup/freezer/docker/" ID "/freezer.state", "FROZEN\n");
	ck_assert_int_eq(sbx_freezer_usage_beneath(root, ID, 0), -1);
	put("/sys/fs/cgroup/cpuacct/docker/" ID "/cpuacct.usage", "1234567890123\n");
	ck_assert_int_eq(sbx_freezer_usage_beneath(root, ID, 0), 1234567890123);
	put("/sys/fs/cgroup/cpuacct/docker/" ID "/cpuacct.usage", "-3\n");
	ck_assert_int_eq(sbx_freezer_usage_beneath(root, ID, 0), -1);
	put("/sys/fs/cgroup/cpuacct/docker/" ID "/cpuacct.usage", "many\n");
	ck_assert_int_eq(sbx_freezer_usage_beneath(root, ID, 0), -1);
	remove_root();
	make_root();
	put("/sys/fs/cgroup/system.slice/docker-" ID ".scope/cgroup.freeze", "1\n");
	put("/sys/fs/cgroup/system.slice/docker-" ID ".scope/cpu.stat",
		"usage_usec 4711\nuser_usec 4000\nsystem_usec 711\n");
	ck_assert_int_eq(sbx_freezer_usage_beneath(root, ID, 0), 4711);
	remove_root();
}
END_TEST

UNIT_MAIN("freezer", reads_what_processor_time_a_container_has_had, finds_and_thaws_the_v1_freezer,
	finds_the_unified_freezer_by_the_process, never_another_containers_cgroup)
