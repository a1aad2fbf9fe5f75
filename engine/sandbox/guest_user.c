/* guest_user.c: see sbx/guest_user.h. Each step is asked only for what the ones before it left
 * open, and nothing is remembered. */
#include "user_answer.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "../base/json.h"
#include "../files/guest_exec.h"

#include <sbx/guest_user.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define FILES_MS 20000
#define ID_MS 20000

static int collect(void *data, int stream, const char *bytes, size_t size)
{
	if (stream == 1)
		(void)sbx_buffer_append(data, bytes, size); /* more than a number is no answer */
	return 0;
}

/* 1: answered, 0: not, <0: the step's own timeout, or the engine. */
static int ask_id(struct sbx_engine *engine, const struct sbx_container *container,
	const char *option, const struct sbx_call *call, unsigned *out, struct sbx_error *err)
{
	const char *const argv[] = { "id", option, NULL };
	struct sbx_buffer text = { .limit = 64 };
	const struct sbx_exec exec = {
		.argv = argv, .stdin_fd = -1, .output = collect, .data = &text
	};
	int exit_code = -1;
	struct sbx_call bounded = sbx_call_shorter(call, ID_MS);
	struct sbx_error said = SBX_ERROR_INIT;
	int result =
		sbx_guest_exec(engine, container->id, &exec, &bounded, &exit_code, NULL, &said);
	const char *line = sbx_buffer_text(&text);
	bool answered = result == 0 && exit_code == 0 &&
			sbx_account_number(line, strcspn(line, "\r\n"), out);
	sbx_buffer_finish(&text);
	if (answered)
		return 1;
	bool propagates = said.errnum == ETIMEDOUT || said.errnum == EHOSTDOWN ||
			  said.kind == SBX_KIND_CANCELLED || said.kind == SBX_KIND_GONE;
	if (result == 0 || !propagates)
		return 0;
	if (err)
		*err = said;
	return sbx_wrap(err, "asking the guest for its ids (id %s)", option);
}

static int look_up(struct sbx_engine *engine, const struct sbx_container *container,
	struct sbx_windows *windows, const struct sbx_call *call, struct sbx_user_answer *answer,
	struct sbx_error *err)
{
	if (answer->uid_known && answer->gid_known)
		return 0;
	struct sbx_account_files files;
	struct sbx_call bounded = sbx_call_shorter(call, FILES_MS);
	bool want_passwd = !answer->uid_known || !answer->group;
	int result = sbx_account_files_read(engine, container, windows, want_passwd,
		answer->group != NULL, &bounded, &files, err);
	if (result != 0)
		return result;
	sbx_user_answer_look_up(answer, &files);
	sbx_account_files_finish(&files);
	return 0;
}

static int ask_guest(struct sbx_engine *engine, const struct sbx_container *container,
	const struct sbx_call *call, struct sbx_user_answer *answer, struct sbx_error *err)
{
	/* A paused guest cannot answer, an exited one has nobody to ask. */
	if (container->state != SBX_STATE_RUNNING)
		return 0;
	if (!answer->uid_known) {
		int result = ask_id(engine, container, "-u", call, &answer->uid, err);
		if (result < 0)
			return result;
		answer->uid_known = result == 1;
	}
	if (!answer->gid_known) {
		int result = ask_id(engine, container, "-g", call, &answer->gid, err);
		if (result < 0)
			return result;
		answer->gid_known = result == 1;
	}
	return 0;
}

int sbx_guest_user_resolve(struct sbx_engine *engine, const struct sbx_container *container,
	struct sbx_windows *windows, const struct sbx_call *call, struct sbx_guest_user *out,
	struct sbx_error *err)
{
	struct sbx_user_answer answer cleanup_with(sbx_user_answer_finish);
	sbx_user_answer_begin(container->user, &answer);
	int result = look_up(engine, container, windows, call, &answer, err);
	if (result == 0)
		result = ask_guest(engine, container, call, &answer, err);
	if (result != 0)
		return result;
	if (!answer.uid_known)
		return sbx_fail(err, EOPNOTSUPP,
			"the guest's user \"%s\" cannot be resolved: not in its /etc/passwd, and "
			"its own id command did not answer; create the sandbox with a numeric user "
			"such as 1000:1000",
			container->user);
	/* A known uid without a group answer has group 0 (MAF-121). */
	out->uid = answer.uid;
	out->gid = answer.gid_known ? answer.gid : 0;
	return 0;
}

static bool names_override(const cJSON *capabilities)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, capabilities)
	{
		const char *name = cJSON_IsString(item) ? item->valuestring : "";
		/* Docker keeps what was asked for, Podman spells every one. */
		if (strncasecmp(name, "CAP_", 4) == 0)
			name += 4;
		if (strcasecmp(name, "ALL") == 0 || strcasecmp(name, "DAC_OVERRIDE") == 0)
			return true;
	}
	return false;
}

const char *sbx_guest_root_caveat(const struct sbx_container *container)
{
	const cJSON *host = sbx_json_get(container->json, "HostConfig");
	struct sbx_user_answer answer cleanup_with(sbx_user_answer_finish);
	sbx_user_answer_begin(container->user, &answer);
	bool root = answer.uid_known ? answer.uid == 0
				     : answer.name && strcmp(answer.name, "root") == 0;
	if (!root || !host || !names_override(sbx_json_get(host, "CapDrop")) ||
		names_override(sbx_json_get(host, "CapAdd")))
		return NULL;
	return "the guest is root without capabilities: it cannot write what another user owns, "
	       "nor chown; --user UID:GID gives it a user of its own, --cap-add DAC_OVERRIDE the "
	       "power back";
}
