/* test_drift.c: what create writes passes its own comparison on both engines' spellings, and every
 * change is named. */
#include "base/alloc.h"
#include "base/json.h"
#include "sandbox/create_body.h"
#include "sandbox/drift.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

static const char *const outputs[] = { "out/", "r.json" };
static const char *const caps[] = { "CAP_NET_RAW" };

static struct sbx_spec spec_of(void)
{
	struct sbx_spec spec;
	sbx_spec_init(&spec);
	spec.image = "tool:1";
	spec.outputs = outputs;
	spec.output_count = 2;
	spec.cap_add = caps;
	spec.cap_add_count = 1;
	return spec;
}

static struct sbx_image image = {
	.id = (char *)"sha256:1", .user = (char *)"guest", .workdir = (char *)"/srv"
};

static const char podman_drop[] =
	"[\"AUDIT_WRITE\",\"CHOWN\",\"DAC_OVERRIDE\",\"FOWNER\",\"FSETID\",\"KILL\",\"MKNOD\","
	"\"NET_BIND_SERVICE\",\"SETFCAP\",\"SETGID\",\"SETPCAP\",\"SETUID\",\"SYS_CHROOT\"]";

static const char masked[] = "[\"/proc/acpi\",\"/proc/kcore\",\"/proc/keys\","
			     "\"/proc/timer_list\",\"/sys/firmware\"]";
static const char read_only[] = "[\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\","
				"\"/proc/sysrq-trigger\"]";

/* As it goes over the wire: numbers are numbers again. */
static cJSON *sent(const struct sbx_plan *plan, bool podman)
{
	cleanup_json cJSON *body = NULL;
	char *profile = NULL;
	ck_assert_int_eq(sbx_create_body(plan, podman, true, &profile, &body, NULL), 0);
	ck_assert_ptr_null(profile);
	cleanup_free char *text = sbx_json_print(body);
	return cJSON_Parse(text);
}

/* What the engine would inspect as, from the body that create would send. */
static struct sbx_container created(const struct sbx_plan *plan, bool podman)
{
	cJSON *body = sent(plan, podman);
	struct sbx_container container = { .image_id = sbx_strdup("sha256:1"),
		.user = sbx_strdup(plan->user),
		.image = sbx_strdup(podman ? "localhost/tool:1" : "tool:1"),
		.json = body };
	cJSON *host = cJSON_GetObjectItem(body, "HostConfig");
	if (podman) {
		cJSON_ReplaceItemInObject(host, "CapDrop", cJSON_Parse(podman_drop));
		cJSON_ReplaceItemInObject(host, "IpcMode", cJSON_CreateString("shareable"));
		cJSON_AddStringToObject(host, "PidMode", "private");
		cJSON_AddItemToObject(host, "Binds", cJSON_CreateArray());
	} else {
		cJSON_AddNullToObject(host, "Binds");
		cJSON_AddStringToObject(host, "CgroupnsMode", "host");
		cJSON_AddItemToObject(host, "MaskedPaths", cJSON_Parse(masked));
		cJSON_AddItemToObject(host, "ReadonlyPaths", cJSON_Parse(read_only));
	}
	const cJSON *label;
	cJSON_ArrayForEach(label, cJSON_GetObjectItem(body, "Labels"))
	{
		container.labels = sbx_realloc_array(
			container.labels, container.label_count + 1, sizeof(*container.labels));
		container.labels[container.label_count++] =
			(struct sbx_pair){ sbx_strdup(label->string),
				sbx_strdup(label->valuestring) };
	}
	return container;
}

static void plan_of(const struct sbx_spec *spec, struct sbx_plan *plan)
{
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_msg(sbx_plan_make(spec, &image, plan, &err) == 0, "%s", err.message);
}

START_TEST(the_body_is_hardened)
{
	struct sbx_spec spec = spec_of();
	struct sbx_plan plan;
	plan_of(&spec, &plan);
	cleanup_json cJSON *body = sent(&plan, false);
	const cJSON *host = sbx_json_get(body, "HostConfig");
	ck_assert_str_eq(sbx_json_string(host, "NetworkMode"), "none");
	ck_assert_str_eq(cJSON_GetArrayItem(sbx_json_get(host, "CapDrop"), 0)->valuestring, "ALL");
	ck_assert_str_eq(
		cJSON_GetArrayItem(sbx_json_get(host, "CapAdd"), 0)->valuestring, "NET_RAW");
	ck_assert_str_eq(cJSON_GetArrayItem(sbx_json_get(host, "SecurityOpt"), 0)->valuestring,
		"no-new-privileges");
	ck_assert_int_eq(sbx_json_int(host, "MemorySwap", 0), sbx_json_int(host, "Memory", 1));
	ck_assert_int_eq(sbx_json_int(host, "PidsLimit", 0), 512);
	static const char *const never[] = { "Binds", "Mounts", "Tmpfs", "Devices", "VolumesFrom" };
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		ck_assert_ptr_null(sbx_json_get(host, never[i]));
	ck_assert_str_eq(sbx_json_string(body, "WorkingDir"), "/srv");
	ck_assert_str_eq(sbx_json_string(body, "User"), "guest");
	sbx_plan_finish(&plan);
}
END_TEST

START_TEST(what_was_created_matches)
{
	struct sbx_spec spec = spec_of();
	struct sbx_plan plan;
	plan_of(&spec, &plan);
	for (int podman = 0; podman < 2; podman++) {
		struct sbx_container container = created(&plan, podman);
		struct sbx_error err = SBX_ERROR_INIT;
		plan.podman = podman;
		ck_assert_msg(sbx_drift_check(&plan, &container, &err) == 0, "%s", err.message);
		sbx_container_finish(&container);
	}
	sbx_plan_finish(&plan);
}
END_TEST

/* spec differs from what was created in that one thing. */
static void named(const struct sbx_spec *asked, const char *word)
{
	struct sbx_spec spec = spec_of();
	struct sbx_plan made, plan;
	plan_of(&spec, &made);
	plan_of(asked, &plan);
	struct sbx_container container = created(&made, false);
	struct sbx_error err = SBX_ERROR_INIT;
	ck_assert_int_eq(sbx_drift_check(&plan, &container, &err), -EPERM);
	const char *list = strstr(err.message, " in: ");
	ck_assert_ptr_nonnull(list);
	ck_assert_str_eq(list + 5, word);
	sbx_container_finish(&container);
	sbx_plan_finish(&made);
	sbx_plan_finish(&plan);
}

START_TEST(each_difference_is_named)
{
	struct sbx_spec spec = spec_of();
	spec.workdir = "/other";
	named(&spec, "--workdir");
	spec = spec_of();
	spec.in_dir = "up";
	named(&spec, "--in-dir");
	spec = spec_of();
	spec.output_count = 1;
	named(&spec, "--output");
	spec = spec_of();
	spec.user = "0";
	named(&spec, "--user");
	spec = spec_of();
	const char *env = "A=1";
	spec.env = &env;
	spec.env_count = 1;
	named(&spec, "--env");
	spec = spec_of();
	spec.pids_limit = 9;
	named(&spec, "--pids-limit");
	spec = spec_of();
	spec.nano_cpus = 5;
	named(&spec, "--cpus");
	spec = spec_of();
	const char *option = "apparmor=x";
	spec.security_opts = &option;
	spec.security_opt_count = 1;
	named(&spec, "--security-opt");
	spec = spec_of();
	spec.cap_add_count = 0;
	named(&spec, "--cap-add");
	spec = spec_of();
	spec.memory_bytes *= 2;
	named(&spec, "--memory");
	spec = spec_of();
	spec.agent = "b";
	named(&spec, "--agent");
	spec = spec_of();
	spec.name = "same";
	spec.call_id = "one";
	named(&spec, "--call");
}
END_TEST

START_TEST(order_of_outputs_means_nothing)
{
	static const char *const turned[] = { "r.json", "out/" };
	struct sbx_spec spec = spec_of(), asked = spec_of();
	asked.outputs = turned;
	struct sbx_plan made, plan;
	plan_of(&spec, &made);
	plan_of(&asked, &plan);
	struct sbx_container container = created(&made, false);
	ck_assert_int_eq(sbx_drift_check(&plan, &container, NULL), 0);
	sbx_container_finish(&container);
	sbx_plan_finish(&made);
	sbx_plan_finish(&plan);
}
END_TEST

START_TEST(weakened_confinement_is_named)
{
	static const struct {
		const char *key, *json, *word;
	} rows[] = { { "NetworkMode", "\"bridge\"", "network" },
		{ "Privileged", "true", "privileged" },
		{ "SecurityOpt", "[]", "no-new-privileges" },
		{ "SecurityOpt", "[\"no-new-privileges=false\"]", "no-new-privileges" },
		{ "CapDrop", "[\"CHOWN\"]", "cap-drop" }, { "CapDrop", podman_drop, "cap-drop" },
		{ "SecurityOpt", "[\"no-new-privileges\",\"seccomp=unconfined\"]",
			"--security-opt" },
		{ "MaskedPaths", "[]", "masked paths" },
		{ "ReadonlyPaths", "null", "masked paths" },
		{ "DeviceCgroupRules", "[\"a *:* rwm\"]", "devices" },
		{ "CapAdd", "[\"SYS_ADMIN\"]", "--cap-add" },
		{ "Binds", "[\"/:/host\"]", "mounts" }, { "Devices", "[{}]", "devices" },
		{ "PidMode", "\"host\"", "PidMode" }, { "IpcMode", "\"container:x\"", "IpcMode" },
		{ "Memory", "0", "--memory" }, { "PidsLimit", "null", "--pids-limit" } };
	struct sbx_spec spec = spec_of();
	struct sbx_plan plan;
	plan_of(&spec, &plan);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_container container = created(&plan, false);
		cJSON *host = cJSON_GetObjectItem(container.json, "HostConfig");
		cJSON_DeleteItemFromObject(host, rows[i].key);
		cJSON_AddItemToObject(host, rows[i].key, cJSON_Parse(rows[i].json));
		struct sbx_error err = SBX_ERROR_INIT;
		ck_assert_int_eq(sbx_drift_hardening(&plan, &container, &err), -EPERM);
		ck_assert_msg(
			strstr(err.message, rows[i].word), "%s: %s", rows[i].word, err.message);
		sbx_container_finish(&container);
	}
	sbx_plan_finish(&plan);
}
END_TEST

/* Ten names of any kind are not all of them. */
START_TEST(podmans_names_are_the_known_ones)
{
	struct sbx_spec spec = spec_of();
	struct sbx_plan plan;
	plan_of(&spec, &plan);
	plan.podman = true;
	static const struct {
		const char *from, *to;
		int result;
	} rows[] = { { "\"CHOWN\"", "\"SYS_TIME\"", -EPERM },
		{ "\"MKNOD\"", "\"SYS_TIME\"", -EPERM }, { "\"SYS_CHROOT\"", "\"SYSLOG\"", -EPERM },
		{ "\"CHOWN\"", "\"CAP_CHOWN\"", 0 } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_container container = created(&plan, true);
		const char *at = strstr(podman_drop, rows[i].from);
		cleanup_free char *text = sbx_printf("%.*s%s%s", (int)(at - podman_drop),
			podman_drop, rows[i].to, at + strlen(rows[i].from));
		cJSON_ReplaceItemInObject(cJSON_GetObjectItem(container.json, "HostConfig"),
			"CapDrop", cJSON_Parse(text));
		ck_assert_int_eq(sbx_drift_check(&plan, &container, NULL), rows[i].result);
		sbx_container_finish(&container);
	}
	sbx_plan_finish(&plan);
}
END_TEST

/* Copied labels do not make another's container ours. */
START_TEST(what_labels_do_not_say_is_compared)
{
	struct sbx_spec spec = spec_of();
	struct sbx_plan plan;
	plan_of(&spec, &plan);
	struct sbx_container container = created(&plan, false);
	struct sbx_error err = SBX_ERROR_INIT;
	free(container.user);
	container.user = sbx_strdup("root");
	ck_assert_int_eq(sbx_drift_check(&plan, &container, &err), -EPERM);
	ck_assert_msg(strstr(err.message, "--user"), "%s", err.message);
	sbx_container_finish(&container);
	sbx_plan_finish(&plan);
}
END_TEST

UNIT_MAIN("drift", podmans_names_are_the_known_ones, what_labels_do_not_say_is_compared,
	the_body_is_hardened, what_was_created_matches, each_difference_is_named,
	order_of_outputs_means_nothing, weakened_confinement_is_named)
