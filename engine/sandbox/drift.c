/*
 * drift.c: see drift.h. A name says nothing about what stands behind it: another program may have
 * created it, or this one with other options. What engines print back as it was sent is compared
 * with the inspect itself; the rest by the digests of the config label.
 */
#include "drift.h"

#include "config_digest.h"
#include "labels.h"
#include "seccomp.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "../base/json.h"
#include "../base/text.h"

#include <errno.h>
#include <string.h>

/* Collects names, those of the options where there is one; each once, for two looks may find the
 * same. Without a limit on the buffer appending cannot fail. */
static void differs(struct sbx_buffer *names, const char *name)
{
	if (strstr(sbx_buffer_text(names), name))
		return;
	(void)sbx_buffer_printf(names, "%s%s", names->size ? ", " : "", name);
}

static bool empty(const cJSON *object, const char *key)
{
	const cJSON *item = sbx_json_get(object, key);
	return !item || cJSON_IsNull(item) || (!item->child && !cJSON_IsTrue(item));
}

static bool no_new_privileges(const cJSON *host)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, sbx_json_get(host, "SecurityOpt"))
	{
		const char *text = cJSON_IsString(item) ? item->valuestring : "";
		if (strcmp(text, "no-new-privileges") == 0 ||
			strcmp(text, "no-new-privileges=true") == 0 ||
			strcmp(text, "no-new-privileges:true") == 0)
			return true;
	}
	return false;
}

static bool has_text(const cJSON *list, const char *text)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
			return true;
	}
	return false;
}

static bool asked_for(const struct sbx_spec *spec, const char *capability)
{
	bool asked = false;
	for (size_t i = 0; i < spec->cap_add_count && !asked; i++) {
		cleanup_free char *name = sbx_capability_name(spec->cap_add[i]);
		asked = strcmp(capability, name) == 0;
	}
	return asked;
}

/* With or without "CAP_", as versions differ. */
static bool drops(const cJSON *dropped, const char *capability)
{
	cleanup_free char *prefixed = sbx_printf("CAP_%s", capability);
	return has_text(dropped, capability) || has_text(dropped, prefixed);
}

static bool drops_each(const cJSON *dropped, const struct sbx_spec *spec, const char *const *names)
{
	for (; *names; names++) {
		if (!drops(dropped, *names) && !asked_for(spec, *names))
			return false;
	}
	return true;
}

/* Docker prints "ALL" back. Podman prints what it gives by default and this one lacks: the first
 * list with every version, the second with those, and the settings, that give more. */
static bool drops_all(const cJSON *host, const struct sbx_plan *plan)
{
	static const char *const always[] = { "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL",
		"NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT", NULL };
	static const char *const older[] = { "AUDIT_WRITE", "MKNOD", "NET_RAW", NULL };
	const cJSON *dropped = sbx_json_get(host, "CapDrop");
	if (has_text(dropped, "ALL") || has_text(dropped, "all"))
		return true;
	if (!plan->podman || !drops_each(dropped, plan->spec, always))
		return false;
	bool gives_more =
		drops(dropped, older[0]) || drops(dropped, older[1]) || drops(dropped, older[2]);
	return !gives_more || drops_each(dropped, plan->spec, older);
}

/* Podman prints the path that it was given, of a copy that is gone: which profile it was is for the
 * config label to tell there. */
static bool listed(const cJSON *list, const char *option, bool podman)
{
	const cJSON *item;
	cleanup_free char *text = NULL;
	bool profile = sbx_text_has_prefix(option, "seccomp=") &&
		       strcmp(option, "seccomp=unconfined") != 0;
	if (!podman || !profile)
		return sbx_security_opt_content(option, &text, NULL) == 0 && has_text(list, text);
	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item) && sbx_text_has_prefix(item->valuestring, "seccomp=/"))
			return true;
	}
	return false;
}

/* As a set, beside no-new-privileges: engines print back what they were sent. */
static bool same_security(const cJSON *host, const struct sbx_plan *plan)
{
	const struct sbx_spec *spec = plan->spec;
	const cJSON *list = sbx_json_get(host, "SecurityOpt"), *item;
	size_t others = 0;
	cJSON_ArrayForEach(item, list)
	{
		const char *text = cJSON_IsString(item) ? item->valuestring : "";
		others += !sbx_text_has_prefix(text, "no-new-privileges");
	}
	for (size_t i = 0; i < spec->security_opt_count; i++) {
		if (!listed(list, spec->security_opts[i], plan->podman))
			return false;
	}
	return others == spec->security_opt_count;
}

/* Podman says nothing about these. */
static bool masks(const cJSON *host, const struct sbx_plan *plan)
{
	static const char *const masked[] = { "/proc/kcore", "/proc/keys", "/proc/timer_list",
		"/sys/firmware" };
	static const char *const read_only[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
		"/proc/sysrq-trigger" };
	if (plan->podman)
		return true;
	for (size_t i = 0; i < sizeof(masked) / sizeof(masked[0]); i++) {
		if (!has_text(sbx_json_get(host, "MaskedPaths"), masked[i]))
			return false;
	}
	for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++) {
		if (!has_text(sbx_json_get(host, "ReadonlyPaths"), read_only[i]))
			return false;
	}
	return true;
}

static bool adds_only(const cJSON *host, const struct sbx_spec *spec)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, sbx_json_get(host, "CapAdd"))
	{
		cleanup_free char *has =
			sbx_capability_name(cJSON_IsString(item) ? item->valuestring : "?");
		if (!asked_for(spec, has))
			return false;
	}
	return true;
}

/* A namespace of the host's or of another container's. */
static bool shares(const cJSON *host, const char *key)
{
	const char *mode = sbx_json_string(host, key);
	return mode && (strcmp(mode, "host") == 0 || sbx_text_has_prefix(mode, "container:") ||
			       sbx_text_has_prefix(mode, "ns:"));
}

static void confinement(const struct sbx_plan *plan, const struct sbx_container *container,
	struct sbx_buffer *names)
{
	/* Not CgroupnsMode: Docker on cgroup v1 prints "host" there for everybody. */
	static const char *const spaces[] = { "PidMode", "IpcMode", "UTSMode", "UsernsMode" };
	const cJSON *host = sbx_json_get(container->json, "HostConfig");
	const char *network = sbx_json_string(host, "NetworkMode");
	if (!network || strcmp(network, "none") != 0)
		differs(names, "network");
	if (sbx_json_bool(host, "Privileged", true))
		differs(names, "privileged");
	if (!no_new_privileges(host))
		differs(names, "no-new-privileges");
	if (!same_security(host, plan))
		differs(names, "--security-opt");
	if (!masks(host, plan))
		differs(names, "masked paths");
	if (!drops_all(host, plan))
		differs(names, "cap-drop");
	if (!adds_only(host, plan->spec))
		differs(names, "--cap-add");
	if (container->mount_count || !empty(host, "Binds") || !empty(host, "VolumesFrom"))
		differs(names, "mounts");
	if (!empty(host, "Devices") || !empty(host, "DeviceRequests") ||
		!empty(host, "DeviceCgroupRules"))
		differs(names, "devices");
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		if (shares(host, spaces[i]))
			differs(names, spaces[i]);
	}
}

static void limits(const struct sbx_spec *spec, const struct sbx_container *container,
	struct sbx_buffer *names)
{
	const cJSON *host = sbx_json_get(container->json, "HostConfig");
	if (sbx_json_int(host, "Memory", -1) != spec->memory_bytes)
		differs(names, "--memory");
	else if (sbx_json_int(host, "MemorySwap", -1) != spec->memory_bytes)
		differs(names, "memory swap");
	if (sbx_json_int(host, "NanoCpus", -1) != spec->nano_cpus)
		differs(names, "--cpus");
	if (sbx_json_int(host, "PidsLimit", -1) != spec->pids_limit)
		differs(names, "--pids-limit");
}

static int verdict(
	struct sbx_buffer *names, const char *format_name, const char *what, struct sbx_error *err)
{
	int rc = 0;
	if (names->size)
		rc = sbx_fail(
			err, EPERM, "sandbox %s %s: %s", format_name, what, sbx_buffer_text(names));
	sbx_buffer_finish(names);
	return rc;
}

int sbx_drift_hardening(
	const struct sbx_plan *plan, const struct sbx_container *container, struct sbx_error *err)
{
	struct sbx_buffer names = { 0 };
	confinement(plan, container, &names);
	limits(plan->spec, container, &names);
	return verdict(&names, plan->name, "is not confined by the engine as asked", err);
}

static void label_differs(const struct sbx_container *container, const char *key, const char *asked,
	const char *name, struct sbx_buffer *names)
{
	const char *value = sbx_container_label(container, key);
	if (!value || strcmp(value, asked) != 0)
		differs(names, name);
}

static void identity(const struct sbx_spec *spec, const struct sbx_container *container,
	struct sbx_buffer *names)
{
	const struct {
		const char *key, *value, *name;
	} rows[] = { { SBX_LABEL_SCOPE, spec->scope, "--scope" },
		{ SBX_LABEL_THREAD, spec->thread, "--thread" },
		{ SBX_LABEL_AGENT, spec->agent, "--agent" },
		{ SBX_LABEL_KIND, spec->kind, "--kind" } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *asked = sbx_identity_label(rows[i].value);
		label_differs(container, rows[i].key, asked, rows[i].name, names);
	}
	/* No empty call: one that was made without has no label. */
	cleanup_free char *call = spec->call_id ? sbx_identity_label(spec->call_id) : NULL;
	const char *value = sbx_container_label(container, SBX_LABEL_CALL);
	if (!call != !value || (call && strcmp(call, value) != 0))
		differs(names, "--call");
}

/* As sets: the order of declarations means nothing. */
static bool same_outputs(const struct sbx_plan *plan, const struct sbx_container *container)
{
	const char *label = sbx_container_label(container, SBX_LABEL_OUTPUTS);
	char **texts = NULL;
	size_t count = 0, matched = 0;
	if (sbx_labels_outputs(label ? label : "[]", &texts, &count, NULL) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < plan->output_count; j++) {
			const struct sbx_output *output = &plan->outputs[j];
			cleanup_free char *asked =
				sbx_printf("%s%s", output->path, output->directory ? "/" : "");
			matched += strcmp(texts[i], asked) == 0;
		}
	}
	sbx_texts_free(texts, count);
	return count == plan->output_count && matched == count;
}

static void image(const struct sbx_plan *plan, const struct sbx_container *container,
	struct sbx_buffer *names)
{
	const char *asked = plan->spec->image;
	/* An image that is not on the engine any more has no id to compare: then the reference the
	 * container was made from decides, with or without the registry Podman puts before it. */
	bool same = *plan->image_id
			    ? strcmp(plan->image_id, container->image_id) == 0
			    : strcmp(asked, container->image) == 0 ||
				      (sbx_text_has_prefix(container->image, "localhost/") &&
					      strcmp(asked, container->image +
								    strlen("localhost/")) == 0);
	if (!same)
		differs(names, "--image");
}

static void config(const struct sbx_plan *plan, const struct sbx_container *container,
	struct sbx_buffer *names)
{
	const char *labelled = sbx_container_label(container, SBX_LABEL_CONFIG);
	cleanup_free char *parts = sbx_config_difference(plan->config, labelled ? labelled : "");
	if (parts)
		differs(names, parts);
}

int sbx_drift_check(
	const struct sbx_plan *plan, const struct sbx_container *container, struct sbx_error *err)
{
	struct sbx_buffer names = { 0 };
	identity(plan->spec, container, &names);
	image(plan, container, &names);
	/* Without a work dir asked for and without the image, whatever it has is what was meant. */
	if (plan->spec->workdir || *plan->image_id)
		label_differs(container, SBX_LABEL_WORKDIR, plan->workdir, "--workdir", &names);
	label_differs(container, SBX_LABEL_IN, plan->in_dir, "--in-dir", &names);
	if (!same_outputs(plan, container))
		differs(&names, "--output");
	config(plan, container, &names);
	if ((plan->spec->user || *plan->image_id) && strcmp(container->user, plan->user) != 0)
		differs(&names, "--user");
	confinement(plan, container, &names);
	limits(plan->spec, container, &names);
	return verdict(&names, plan->name, "exists and differs from what is asked in", err);
}
