/* test_container_parse.c: what inspect and the list say, in both engines' forms. */
#include "api/container_parse.h"
#include "base/alloc.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int parse(const char *text, bool podman, struct sbx_container *out)
{
	cJSON *json = sbx_json_parse(text, strlen(text), 0, "inspect", NULL);
	ck_assert_ptr_nonnull(json);
	return sbx_container_parse(json, podman, out, NULL);
}

static bool has_mount(const struct sbx_container *container, const char *destination)
{
	for (size_t i = 0; i < container->mount_count; i++) {
		if (strcmp(container->mounts[i].destination, destination) == 0)
			return true;
	}
	return false;
}

START_TEST(reads_an_inspect)
{
	struct sbx_container box;
	ck_assert_int_eq(
		parse("{\"Id\":\"" ID "\",\"Name\":\"/box\",\"Image\":\"sha256:aa\","
		      "\"Created\":\"2023-11-14T22:13:20Z\","
		      "\"State\":{\"Status\":\"exited\",\"ExitCode\":42,\"Pid\":0,\"Paused\":false}"
		      ","
		      "\"Config\":{\"User\":\"guest\",\"WorkingDir\":\"/work\",\"Image\":\"i:1\","
		      "\"Labels\":{\"a\":\"b\",\"n\":1,\"\":\"\"}},"
		      "\"Mounts\":[{\"Type\":\"volume\",\"Destination\":\"/vol\"},"
		      "{\"Type\":\"bind\",\"Destination\":\"relative\"},7],"
		      "\"HostConfig\":{\"Tmpfs\":{\"/t/\":\"\"},\"ReadonlyRootfs\":true,"
		      "\"Mounts\":[{\"Type\":\"tmpfs\",\"Target\":\"/mt\"},"
		      "{\"Type\":\"volume\",\"Target\":\"/vol\"}]}}",
			false, &box),
		0);
	ck_assert_str_eq(box.name, "box");
	ck_assert_int_eq(box.state, SBX_STATE_EXITED);
	ck_assert_int_eq(box.exit_code, 42);
	ck_assert_int_eq(box.created_ns, 1700000000LL * 1000000000);
	ck_assert_str_eq(box.user, "guest");
	ck_assert_uint_eq(box.label_count, 2);
	ck_assert_str_eq(sbx_container_label(&box, "a"), "b");
	ck_assert_ptr_null(sbx_container_label(&box, "n"));
	ck_assert_uint_eq(box.mount_count, 3);
	ck_assert(has_mount(&box, "/vol") && has_mount(&box, "/t") && has_mount(&box, "/mt"));
	sbx_container_finish(&box);
}
END_TEST

START_TEST(podman_hides_tmpfs_of_a_read_only_root)
{
	static const char text[] = "{\"Id\":\"" ID "\",\"Name\":\"box\","
				   "\"State\":{\"Status\":\"running\",\"Paused\":true},"
				   "\"HostConfig\":{\"ReadonlyRootfs\":true,\"Mounts\":null}}";
	struct sbx_container box;
	ck_assert_int_eq(parse(text, true, &box), 0);
	ck_assert_int_eq(box.state, SBX_STATE_PAUSED);
	ck_assert(
		has_mount(&box, "/run") && has_mount(&box, "/tmp") && has_mount(&box, "/var/tmp"));
	ck_assert_str_eq(box.user, "");
	ck_assert_int_eq(box.created_ns, 0);
	sbx_container_finish(&box);
	ck_assert_int_eq(parse(text, false, &box), 0);
	ck_assert_uint_eq(box.mount_count, 0);
	sbx_container_finish(&box);
}
END_TEST

START_TEST(refuses_what_is_no_container)
{
	static const char *const texts[] = { "{}", "[]", "null", "{\"Id\":\"" ID "\"}",
		"{\"Id\":\"short\",\"Name\":\"/b\",\"State\":{\"Status\":\"running\"}}",
		"{\"Id\":\"" ID "\",\"Name\":\"/b\",\"State\":\"running\"}",
		"{\"Id\":7,\"Name\":\"/b\",\"State\":{\"Status\":\"running\"}}" };
	struct sbx_container box;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_int_eq(parse(texts[i], false, &box), -EIO);
}
END_TEST

START_TEST(reads_a_list)
{
	static const char text[] =
		"[{\"Id\":\"" ID "\",\"Names\":[\"/other/alias\",\"/box\"],\"Image\":\"i\","
		"\"Created\":1700000000,\"State\":\"paused\",\"Labels\":{\"k\":\"v\"}},"
		"{\"Id\":\"" ID "\",\"Names\":null,\"State\":\"removing\",\"Labels\":null}]";
	cleanup_json cJSON *json = sbx_json_parse(text, strlen(text), 0, "list", NULL);
	struct sbx_container_list list;
	ck_assert_int_eq(sbx_container_list_parse(json, &list, NULL), 0);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.rows[0].name, "box");
	ck_assert_int_eq(list.rows[0].state, SBX_STATE_PAUSED);
	ck_assert_int_eq(list.rows[0].created_s, 1700000000);
	ck_assert_uint_eq(list.rows[0].label_count, 1);
	ck_assert_int_eq(list.rows[1].state, SBX_STATE_UNKNOWN);
	sbx_container_list_finish(&list);
	cleanup_json cJSON *none = cJSON_Parse("{}"), *bad = cJSON_Parse("[{\"Id\":\"x\"}]");
	ck_assert_int_eq(sbx_container_list_parse(none, &list, NULL), -EIO);
	ck_assert_int_eq(sbx_container_list_parse(bad, &list, NULL), -EIO);
}
END_TEST

UNIT_MAIN("container_parse", reads_an_inspect, podman_hides_tmpfs_of_a_read_only_root,
	refuses_what_is_no_container, reads_a_list)
