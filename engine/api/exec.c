/*
 * exec.c: one process in a running container: create, start, its output, its exit code.
 *
 * Docker answers a start with its headers before the process exists, and only the exec's Pid says
 * that it does; a pause in between deadlocks Docker 20.10 for good, so `started` waits for the Pid.
 * A Pid of 0 with an exit code means that there never was a process: what follows is the engine's
 * text. Podman keeps no Pid of an ended exec, there the text itself has to tell.
 */
#include "exec_run.h"

#include "container.h"
#include "error_text.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define MAX_FAILURE_TEXT 8192
#define PODMAN_PREFIX "Error: "

int sbx_exec_code_of_text(const char *text)
{
	static const char *const failures[] = { "OCI runtime", "OCI permission denied",
		"unable to start container process", "unable to find user",
		"no matching entries in passwd", "executable file" };
	static const char *const missing[] = { "executable file not found",
		"no such file or directory", "command that was not found" };
	bool failed = false;
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		failed = failed || strcasestr(text, failures[i]);
	if (!failed)
		return 0;
	/* Its surroundings are wrong, not the command. */
	if (strcasestr(text, "chdir to cwd") || strcasestr(text, "unable to find user") ||
		strcasestr(text, "no matching entries in passwd"))
		return 125;
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		if (strcasestr(text, missing[i]))
			return 127;
	}
	return 126;
}

static void announce(struct sbx_exec_run *run)
{
	if (!run->announced && run->exec->started)
		run->exec->started(run->exec->data);
	run->announced = true;
}

/* Sleeps, or is woken by the cancel token. */
static void nap(const struct sbx_call *call, int64_t pause_ms)
{
	int64_t left_ms = sbx_call_left_ms(call);
	struct pollfd fd = { .fd = sbx_cancel_fd(call ? call->cancel : NULL), .events = POLLIN };
	(void)poll(&fd, 1, (int)(left_ms < pause_ms ? left_ms : pause_ms)); /* asked again anyway */
}

static int inspect(struct sbx_exec_run *run, cJSON **json, struct sbx_error *err)
{
	cleanup_free char *target = sbx_api_target(run->engine, "/exec/%s/json", run->exec_id);
	return sbx_api_json(run->engine, "GET", target, NULL, run->call, 0, json, err);
}

void sbx_exec_run_answered(struct sbx_exec_run *run)
{
	int64_t pause_ms = 1;
	while (!sbx_engine_is_podman(run->engine)) {
		struct sbx_error ignored = SBX_ERROR_INIT; /* then nothing more can be learned */
		cleanup_json cJSON *json = NULL;
		if (inspect(run, &json, &ignored))
			break;
		if (sbx_json_int(json, "Pid", 0) > 0)
			break;
		if (cJSON_IsNumber(sbx_json_get(json, "ExitCode"))) {
			run->not_started = true;
			break;
		}
		nap(run->call, pause_ms);
		pause_ms = pause_ms < 50 ? pause_ms * 2 : 50;
	}
	announce(run);
}

static int deliver(struct sbx_exec_run *run, int stream, const char *bytes, size_t size)
{
	return run->exec->output ? run->exec->output(run->exec->data, stream, bytes, size) : 0;
}

static int release_held(struct sbx_exec_run *run)
{
	run->holding = false;
	int result = run->failure.size ? deliver(run, 2, run->failure.data, run->failure.size) : 0;
	sbx_buffer_clear(&run->failure);
	return result;
}

/* Podman puts its own words on the command's stderr: why it could not start, and that it lost the
 * attachment of a command that did not read its stdin. */
static const char *const podman_texts[] = { "Error: runc: ", "Error: crun: ", "Error: OCI ",
	"Error: read unixpacket @->", "Error: write unixpacket @->" };

/* Whether stderr so far, with these bytes, may be Podman's own text. */
static bool may_be_podmans(const struct sbx_exec_run *run, const char *bytes, size_t size)
{
	size_t have = run->failure.size;
	for (size_t i = 0; i < sizeof(podman_texts) / sizeof(podman_texts[0]); i++) {
		const char *text = podman_texts[i];
		size_t length = strlen(text);
		size_t old = have < length ? have : length;
		size_t more = length - old < size ? length - old : size;
		if (memcmp(text, sbx_buffer_text(&run->failure), old) == 0 &&
			memcmp(text + old, bytes, more) == 0)
			return true;
	}
	return false;
}

static int on_output(void *data, int stream, const char *bytes, size_t size)
{
	struct sbx_exec_run *run = data;
	if (run->not_started) {
		(void)sbx_buffer_append(&run->failure, bytes, size); /* the first of it is enough */
		return 0;
	}
	if (run->holding && stream == 2) {
		if (may_be_podmans(run, bytes, size) &&
			sbx_buffer_append(&run->failure, bytes, size))
			return 0;
		int result = release_held(run);
		if (result)
			return result;
	}
	return deliver(run, stream, bytes, size);
}

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct sbx_exec_run *run = data;
	return sbx_frames_feed(&run->frames, bytes, size, run->err);
}

static void on_headers(void *data, int status)
{
	struct sbx_exec_run *run = data;
	if (status == 200 || status == 101)
		sbx_exec_run_answered(run);
}

static void add_strings(cJSON *body, const char *key, const char *const *list)
{
	if (!list)
		return;
	cJSON *array = cJSON_AddArrayToObject(body, key);
	for (size_t i = 0; list[i]; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(list[i]));
}

/* A refusal that is about the command is no error: its exit code is in run->refused_code, the text
 * in run->failure. */
static int refusal(struct sbx_exec_run *run, const char *text, int result)
{
	struct sbx_error *err = run->err;
	int code = err->http_status == 404 || err->http_status == 409 ? 0
								      : sbx_exec_code_of_text(text);
	if (code) {
		sbx_buffer_clear(&run->failure);
		(void)sbx_buffer_append(
			&run->failure, text, strlen(text)); /* shorter than its limit */
		run->refused_code = code;
		sbx_error_clear(err);
		return 0;
	}
	if (sbx_api_text_has(err, "paused"))
		result = sbx_api_become(err, SBX_KIND_CONFLICT, EBUSY);
	else if (sbx_api_text_has(err, "not running") ||
		 sbx_api_text_has(err, "on running containers") ||
		 sbx_api_text_has(err, "state improper"))
		result = sbx_api_become(err, SBX_KIND_CONFLICT, ESRCH);
	return sbx_container_refine(run->engine, run->id, run->call, result, err);
}

static int create(struct sbx_exec_run *run)
{
	const struct sbx_exec *exec = run->exec;
	cleanup_json cJSON *body = cJSON_CreateObject();
	cJSON_AddBoolToObject(body, "AttachStdin", exec->stdin_fd >= 0 && !exec->detach);
	cJSON_AddBoolToObject(body, "AttachStdout", true); /* Podman refuses to start without */
	cJSON_AddBoolToObject(body, "AttachStderr", true);
	cJSON_AddBoolToObject(body, "Tty", false);
	add_strings(body, "Cmd", exec->argv);
	add_strings(body, "Env", exec->env);
	if (exec->user)
		cJSON_AddStringToObject(body, "User", exec->user);
	if (exec->workdir)
		cJSON_AddStringToObject(body, "WorkingDir", exec->workdir);
	cleanup_free char *text = sbx_json_print(body);
	cleanup_free char *target = sbx_container_target(run->engine, run->id, "/exec", run->err);
	if (!target)
		return -EINVAL;
	struct sbx_http_request request = { .method = "POST",
		.target = target,
		.content_type = "application/json",
		.body = text,
		.body_size = strlen(text) };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = sbx_http_perform(
		sbx_api_http(run->engine), &request, run->call, &response, run->err);
	if (result)
		return result;
	result = sbx_api_status(&response, run->err);
	if (result) {
		cleanup_free char *said = sbx_error_text(response.body, response.body_size);
		return refusal(run, said, result);
	}
	cleanup_json cJSON *json = sbx_json_parse(response.body ? response.body : "",
		response.body_size, 8, "creating an exec", run->err);
	const char *id = sbx_json_string(json, "Id");
	if (!id || !*id || strspn(id, "0123456789abcdef") != strlen(id))
		return sbx_fail(run->err, EIO, "the engine gave no exec id");
	run->exec_id = sbx_strdup(id);
	run->start_target = sbx_api_target(run->engine, "/exec/%s/start", id);
	return 0;
}

/* Returns when the output has ended, or at once for a detached one. */
static int start(struct sbx_exec_run *run)
{
	bool detach = run->exec->detach;
	run->start_body =
		detach ? "{\"Detach\":true,\"Tty\":false}" : "{\"Detach\":false,\"Tty\":false}";
	struct sbx_http_request request = { .method = "POST",
		.target = run->start_target,
		.content_type = "application/json",
		.body = run->start_body,
		.body_size = strlen(run->start_body),
		.write = detach ? NULL : on_bytes,
		.write_data = run,
		.headers_done = detach ? NULL : on_headers,
		.no_idle_limit = !detach };
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response = { 0 };
	int result;
	if (!detach && run->exec->stdin_fd >= 0)
		result = sbx_exec_run_with_stdin(run, &response);
	else
		result = sbx_http_perform(
			sbx_api_http(run->engine), &request, run->call, &response, run->err);
	if (result)
		return result;
	result = sbx_api_status(&response, run->err);
	if (result) {
		cleanup_free char *said = sbx_error_text(response.body, response.body_size);
		return refusal(run, said, result);
	}
	return 0;
}

/* The exit code, once the engine has it: a command may close its output and go on. */
static int await_exit(struct sbx_exec_run *run, int *code)
{
	for (int64_t pause_ms = 2;; pause_ms = pause_ms < 500 ? pause_ms * 2 : 500) {
		cleanup_json cJSON *json = NULL;
		int result = inspect(run, &json, run->err);
		if (result) {
			if (run->err->http_status == 404 &&
				!sbx_container_exists(run->engine, run->id, run->call, NULL))
				return sbx_fail(run->err, ENOENT,
					"container %.12s was removed while the command ran",
					run->id);
			if (run->err->http_status)
				result = sbx_api_become(run->err, SBX_KIND_ENGINE, EIO);
			return result;
		}
		int64_t exit_code = sbx_json_int(json, "ExitCode", -1);
		if (!sbx_json_bool(json, "Running", true) && exit_code >= 0 && exit_code <= 255) {
			*code = (int)exit_code;
			return 0;
		}
		if (run->call && sbx_cancel_fired(run->call->cancel))
			return sbx_fail(run->err, ECANCELED, "the command was cancelled");
		if (!sbx_call_left_ms(run->call))
			return sbx_fail(run->err, ETIMEDOUT, "the command did not end in time");
		nap(run->call, pause_ms);
	}
}

/* After the last byte: frames whole, the exit code, and whose text it was that we hold. */
static int conclude(struct sbx_exec_run *run, int *code)
{
	int result = sbx_frames_end(&run->frames, run->err);
	if (!result)
		result = await_exit(run, code);
	if (result)
		return result;
	if (run->holding && run->failure.size) {
		int told =
			*code >= 125 && *code <= 127 ? sbx_exec_code_of_text(run->failure.data) : 0;
		if (told)
			*code = told;
		else if (strstr(run->failure.data, "unixpacket @->/proc/self/fd/"))
			sbx_buffer_clear(&run->failure); /* says nothing about the command */
		else
			return release_held(run);
	} else if (run->not_started) {
		int told = sbx_exec_code_of_text(sbx_buffer_text(&run->failure));
		*code = told ? told : 126;
	}
	return 0;
}

/* One line: Podman adds a second about its own lost attachment. */
static char *failure_text(struct sbx_exec_run *run)
{
	const char *text = sbx_buffer_text(&run->failure);
	if (sbx_text_has_prefix(text, PODMAN_PREFIX))
		text += strlen(PODMAN_PREFIX);
	return sbx_error_text(text, strcspn(text, "\r\n"));
}

int sbx_exec(struct sbx_engine *engine, const char *id, const struct sbx_exec *exec,
	const struct sbx_call *call, int *exit_code, char **failure, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	struct sbx_exec_run run = { .engine = engine,
		.id = id,
		.exec = exec,
		.call = call,
		.err = err ? err : &local,
		.holding = sbx_engine_is_podman(engine) };
	run.frames = (struct sbx_frames){ .output = on_output, .data = &run };
	run.failure.limit = MAX_FAILURE_TEXT;
	int code = 0;
	if (failure)
		*failure = NULL;
	int result = create(&run);
	if (!result && !run.refused_code)
		result = start(&run);
	announce(&run);
	code = run.refused_code;
	if (!result && !code && !exec->detach)
		result = conclude(&run, &code);
	if (!result && failure && run.failure.size)
		*failure = failure_text(&run);
	if (!result && exit_code)
		*exit_code = code;
	sbx_buffer_finish(&run.failure);
	free(run.exec_id);
	free(run.start_target);
	return result;
}
