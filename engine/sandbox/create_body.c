/*
 * create_body.c: what every sandbox is created with (MAF-28, MAF-29; Engine API v1.41, POST
 * /containers/create).
 *
 * The strong settings are written here and nowhere else: no network, no capabilities but those
 * asked for by name, no-new-privileges first in the list, ceilings on processes, memory (swap
 * included) and CPU, private IPC, no init helper. Nothing in a spec can put a mount, a device, a
 * host path or a socket into this body: it has no field for one.
 */
#include "create_body.h"

#include "labels.h"
#include "seccomp.h"

#include "../base/alloc.h"

/* A guest that prints without end must not fill the engine's disk. Podman's service picks its log
 * driver itself. */
#define LOG_FILE_SIZE "64m"

static cJSON *strings(const char *const *texts, size_t count)
{
	cJSON *array = cJSON_CreateArray();
	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(texts[i]));
	return array;
}

static void add_owned_text(cJSON *object, const char *key, char *text)
{
	sbx_json_add_text(object, key, text);
	free(text);
}

static cJSON *labels(const struct sbx_plan *plan)
{
	const struct sbx_spec *spec = plan->spec;
	cJSON *object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, SBX_LABEL_VERSION, "1");
	add_owned_text(object, SBX_LABEL_SCOPE, sbx_identity_label(spec->scope));
	add_owned_text(object, SBX_LABEL_THREAD, sbx_identity_label(spec->thread));
	add_owned_text(object, SBX_LABEL_AGENT, sbx_identity_label(spec->agent));
	add_owned_text(object, SBX_LABEL_KIND, sbx_identity_label(spec->kind));
	if (spec->call_id)
		add_owned_text(object, SBX_LABEL_CALL, sbx_identity_label(spec->call_id));
	sbx_json_add_text(object, SBX_LABEL_WORKDIR, plan->workdir);
	sbx_json_add_text(object, SBX_LABEL_IN, plan->in_dir);
	add_owned_text(object, SBX_LABEL_OUTPUTS,
		sbx_labels_outputs_print(plan->outputs, plan->output_count));
	sbx_json_add_text(object, SBX_LABEL_CONFIG, plan->config);
	if (spec->ephemeral)
		cJSON_AddStringToObject(object, SBX_LABEL_EPHEMERAL, "1");
	for (size_t i = 0; i < spec->label_count; i++) {
		cleanup_free char *key = sbx_printf(SBX_LABEL_CALLER "%s", spec->labels[i].key);
		sbx_json_add_text(object, key, spec->labels[i].value);
	}
	return object;
}

static void add_ulimit(cJSON *array, const char *name, int limit)
{
	cJSON *ulimit = cJSON_CreateObject();
	cJSON_AddStringToObject(ulimit, "Name", name);
	cJSON_AddNumberToObject(ulimit, "Soft", limit);
	cJSON_AddNumberToObject(ulimit, "Hard", limit);
	cJSON_AddItemToArray(array, ulimit);
}

static int add_security(const struct sbx_spec *spec, bool podman, bool local_engine, char **profile,
	cJSON *host, struct sbx_error *err)
{
	cJSON *array = cJSON_AddArrayToObject(host, "SecurityOpt");
	cJSON_AddItemToArray(array, cJSON_CreateString("no-new-privileges"));
	for (size_t i = 0; i < spec->security_opt_count; i++) {
		cleanup_free char *option = NULL;
		int rc = sbx_security_opt_resolve(
			spec->security_opts[i], podman, local_engine, profile, &option, err);
		if (rc < 0)
			return rc;
		cJSON_AddItemToArray(array, cJSON_CreateString(option));
	}
	return 0;
}

static void add_limits(const struct sbx_spec *spec, bool podman, cJSON *host)
{
	sbx_json_add_int(host, "PidsLimit", spec->pids_limit);
	sbx_json_add_int(host, "Memory", spec->memory_bytes);
	sbx_json_add_int(host, "MemorySwap", spec->memory_bytes);
	sbx_json_add_int(host, "NanoCpus", spec->nano_cpus);
	if (podman) {
		/* Its defaults are above what a rootless or nested service may set, and start then
		 * fails. */
		cJSON *ulimits = cJSON_AddArrayToObject(host, "Ulimits");
		add_ulimit(ulimits, "nofile", 1024);
		add_ulimit(ulimits, "nproc", 1000);
	} else {
		cJSON *log = cJSON_AddObjectToObject(host, "LogConfig");
		cJSON_AddStringToObject(log, "Type", "json-file");
		cJSON *config = cJSON_AddObjectToObject(log, "Config");
		cJSON_AddStringToObject(config, "max-size", LOG_FILE_SIZE);
		cJSON_AddStringToObject(config, "max-file", "2");
	}
}

static int add_host_config(const struct sbx_spec *spec, bool podman, bool local_engine,
	char **profile, cJSON *body, struct sbx_error *err)
{
	static const char *const all[] = { "ALL" };
	cJSON *host = cJSON_AddObjectToObject(body, "HostConfig");
	cJSON_AddStringToObject(host, "NetworkMode", "none");
	cJSON_AddItemToObject(host, "CapDrop", strings(all, 1));
	cJSON *added = cJSON_AddArrayToObject(host, "CapAdd");
	for (size_t i = 0; i < spec->cap_add_count; i++) {
		cleanup_free char *name = sbx_capability_name(spec->cap_add[i]);
		cJSON_AddItemToArray(added, cJSON_CreateString(name));
	}
	cJSON_AddStringToObject(host, "IpcMode", "private");
	cJSON_AddFalseToObject(host, "Init");
	cJSON_AddFalseToObject(host, "Privileged");
	add_limits(spec, podman, host);
	return add_security(spec, podman, local_engine, profile, host, err);
}

/* The longest sleep that every sleep understands: busybox has no "infinity". */
#define LONGEST "2147483647"

/* What a command leaves running becomes the first process's child, and stays a zombie that counts
 * against the pids limit until it is waited for: a shell in `wait` does so, a `sleep` never does.
 * A sleep that the guest kills is begun again; one that cannot be run ends the sandbox. */
static cJSON *keep_alive(bool without_shell)
{
	static const char *const reaping[] = { SBX_KEEP_ALIVE_SHELL, "-c",
		"while :; do sleep " LONGEST " & wait $!; s=$?; [ $s -gt 128 ] || exit $s; done" };
	static const char *const plain[] = { "sleep", LONGEST };
	return without_shell ? strings(plain, 2) : strings(reaping, 3);
}

static void add_process(const struct sbx_plan *plan, cJSON *body)
{
	const struct sbx_spec *spec = plan->spec;
	size_t argc = 0;
	while (spec->argv && spec->argv[argc])
		argc++;
	/* As the entry point, for an image's own would be put before a Cmd; with an entry point
	 * given, no engine adds the image's Cmd. */
	cJSON_AddItemToObject(body, "Entrypoint",
		spec->argv ? strings(spec->argv, argc) : keep_alive(plan->without_shell));
	if (spec->env_count)
		cJSON_AddItemToObject(body, "Env", strings(spec->env, spec->env_count));
}

int sbx_create_body(const struct sbx_plan *plan, bool podman, bool local_engine, char **profile,
	cJSON **out, struct sbx_error *err)
{
	cleanup_json cJSON *body = cJSON_CreateObject();
	sbx_json_add_text(body, "Image", plan->spec->image);
	sbx_json_add_text(body, "WorkingDir", plan->workdir);
	if (*plan->user)
		sbx_json_add_text(body, "User", plan->user);
	cJSON_AddTrueToObject(body, "NetworkDisabled");
	add_process(plan, body);
	cJSON_AddItemToObject(body, "Labels", labels(plan));
	int rc = add_host_config(plan->spec, podman, local_engine, profile, body, err);
	if (rc < 0)
		return rc;
	*out = steal(&body);
	return 0;
}
