/* tool.c: the life of one subcommand: parse, open, fail, print, close. See tool.h. */
#include "tool.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/log.h"
#include "../engine/base/text.h"

#include <sbx/plane.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Once a run, for people only (MAF-19): what reads our stderr, a guest's among it, gets no word
 * more than it asked for. */
static void give_notice(const struct sbx_tool *tool)
{
	if (!tool->no_notice && !tool->quiet && !getenv("SBXFS_NO_NOTICE") && isatty(STDERR_FILENO))
		(void)fprintf(stderr, /* a courtesy */
			"note: sbxfs " SBX_VERSION
			" is young: options and formats may still change "
			"(--no-notice or SBXFS_NO_NOTICE=1 silences this)\n");
}

int sbx_tool_parse(struct sbx_tool *tool, int argc, char **argv, const struct sbx_option *options,
	bool *done, struct sbx_error *err)
{
	*done = false;
	int rc = sbx_tool_parse_words(tool, argc, argv, options, err);
	if (tool->help) {
		sbx_tool_print_help(tool->command);
		*done = true;
		return 0;
	}
	if (rc < 0) {
		/* Whoever reads documents gets one, also where --json stands behind the mistake. */
		for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
			tool->json |= strcmp(argv[i], "--json") == 0;
		return rc;
	}
	/* What a command did is its output; the library's own account of it is for those who ask.
	 */
	sbx_log_set_level(tool->verbose ? SBX_LOG_DEBUG : SBX_LOG_WARNING);
	give_notice(tool);
	return sbx_tool_read_config(tool, err);
}

/* A terminal signals the whole foreground group and timeout(1) its command and then its group:
 * whoever wants us to end once is heard more than once, and a clean-up must not be cut by that. */
#define SAME_WISH_MS 1000

/* One that was ignored when we began (nohup, a shell's background job) stays so: sigwait would take
 * it all the same. */
static sigset_t signals_to_catch(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction now;
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&set, numbers[i]);
	}
	return set;
}

/* Turns signals into a fired token on a thread of its own, so that no handler ever runs. */
static void *wait_for_signals(void *data)
{
	struct sbx_cancel *cancel = data;
	sigset_t set = signals_to_catch();
	int number;
	if (sigwait(&set, &number) == 0)
		sbx_cancel_fire(cancel);
	for (int64_t until_ms = sbx_clock_ms() + SAME_WISH_MS; until_ms > sbx_clock_ms();) {
		const struct timespec pause = { .tv_nsec = 50000000 };
		(void)sigtimedwait(&set, NULL, &pause); /* taken or none came: the same */
	}
	/* A later signal ends the process at once: the way out of a clean-up that takes too long.
	 */
	if (sigwait(&set, &number) == 0)
		_exit(128 + number);
	return NULL;
}

static int catch_signals(struct sbx_tool *tool, struct sbx_error *err)
{
	sigset_t set = signals_to_catch();
	pthread_t thread;
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail for a valid signal */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	int rc = pthread_create(&thread, NULL, wait_for_signals, tool->cancel);
	if (rc)
		return sbx_fail_errno(err, rc, "a thread for signals could not be started");
	pthread_detach(thread);
	return 0;
}

/* As the docker client has it, an empty variable is none. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

const char *sbx_tool_engine_choice(const struct sbx_tool *tool, const char *source)
{
	if (tool->engine_choice && *tool->engine_choice)
		return tool->engine_choice;
	if (source && *source)
		return source;
	if (variable("SBXFS_ENGINE"))
		return variable("SBXFS_ENGINE");
	return variable("DOCKER_HOST") || variable("DOCKER_CONTEXT") ? NULL : tool->config_engine;
}

#define OPEN_MS 10000

int sbx_tool_open(struct sbx_tool *tool, bool planes, struct sbx_error *err)
{
	struct sbx_endpoint endpoint = { 0 };
	int rc = sbx_endpoint_find(sbx_tool_engine_choice(tool, NULL), &endpoint, err);
	if (rc < 0)
		return rc;
	endpoint.insecure = tool->insecure;
	struct sbx_call bound = sbx_call_within(tool->timeout_ms, NULL);
	struct sbx_call call = sbx_call_shorter(&bound, OPEN_MS);
	rc = sbx_engine_open(&endpoint, &call, &tool->engine, err);
	sbx_endpoint_finish(&endpoint);
	if (rc < 0)
		return rc;
	if (planes) {
		rc = sbx_guardian_start(tool->engine, &bound, err);
		if (rc < 0)
			return rc;
	}
	tool->cancel = sbx_cancel_create();
	return catch_signals(tool, err);
}

struct sbx_call sbx_tool_call(const struct sbx_tool *tool, int64_t default_ms)
{
	struct sbx_call call =
		sbx_call_within(tool->timeout_ms ? tool->timeout_ms : default_ms, tool->cancel);
	call.idle_ms = tool->idle_ms;
	return call;
}

void sbx_tool_close(struct sbx_tool *tool)
{
	if (tool->engine)
		sbx_guardian_stop();
	sbx_engine_close(tool->engine);
	sbx_rules_destroy(tool->rules);
	sbx_list_finish(&tool->operands);
	for (size_t i = 0; i < tool->mount_key_count; i++) {
		free(tool->mount_keys[i].key);
		free(tool->mount_keys[i].value);
	}
	free(tool->mount_keys);
	free(tool->config_engine);
	/* tool->cancel stays: the signal thread may still look at it, and the process is about to
	 * end. */
}

void sbx_tool_note(const struct sbx_tool *tool, const char *format, ...)
{
	va_list args;
	if (tool->quiet)
		return;
	va_start(args, format);
	(void)vfprintf(stderr, format, args); /* a courtesy */
	va_end(args);
}

void sbx_tool_print(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	(void)vprintf(format, args); /* main looks at ferror(stdout) once, at the end */
	va_end(args);
}

const char *sbx_tool_utc(int64_t seconds, char text[64])
{
	struct tm tm;
	time_t time = (time_t)seconds;
	if (!gmtime_r(&time, &tm) || !strftime(text, 64, "%Y-%m-%dT%H:%M:%S", &tm))
		memcpy(text, "?", 2);
	return text;
}

void sbx_tool_print_json(cJSON *json)
{
	cleanup_free char *text = sbx_json_print_shown(json);
	sbx_tool_print("%s\n", text);
	cJSON_Delete(json);
}

void sbx_tool_say_local(const char *sandbox, const char *path)
{
	cleanup_free char *name = sbx_text_escape(sandbox ? sandbox : "");
	cleanup_free char *file = sbx_text_escape(path ? path : "");
	(void)fprintf(stderr,
		"%s: %s has a temporary name: it is kept here until it gets another one\n", name,
		file); /* nowhere else to say it */
}

int sbx_tool_fail(const struct sbx_tool *tool, const struct sbx_error *err)
{
	cleanup_free char *sentence = sbx_text_escape(err->message);
	(void)fprintf(stderr, "sbxfs %s: %s\n", tool->command->name,
		sentence); /* nowhere else to say it */
	if (tool->json) {
		cJSON *json = cJSON_CreateObject();
		cJSON *inner = cJSON_AddObjectToObject(json, "error");
		cJSON_AddStringToObject(inner, "kind", sbx_kind_name(err->kind));
		sbx_json_add_text(inner, "message", err->message);
		sbx_json_add_int(inner, "exit_code", sbx_kind_exit_code(err->kind));
		sbx_tool_print_json(json);
	}
	return sbx_kind_exit_code(err->kind);
}

void sbx_tool_progress_line(void *data, const char *line)
{
	sbx_tool_note(data, "%s\n", line);
}

int sbx_tool_find_sandbox(
	struct sbx_tool *tool, const char *name, struct sbx_sandbox *out, struct sbx_error *err)
{
	struct sbx_call call = sbx_tool_call(tool, 30000);
	return sbx_sandbox_find(tool->engine, tool->rules, name, &call, out, err);
}

bool sbx_tool_words(struct sbx_tool *tool, int argc, char **argv, const struct sbx_option *options,
	size_t least, size_t most, int *code)
{
	struct sbx_error err = SBX_ERROR_INIT;
	bool done = false;
	*code = 0;
	int rc = sbx_tool_parse(tool, argc, argv, options, &done, &err);
	if (rc == 0 && done)
		return false;
	if (rc == 0)
		rc = sbx_tool_operands(tool, least, most, &err);
	if (rc == 0)
		rc = sbx_sandbox_name_check(tool->operands.items[0], &err);
	if (rc < 0)
		*code = sbx_tool_fail(tool, &err);
	return rc == 0;
}

bool sbx_tool_enter(struct sbx_tool *tool, bool planes, struct sbx_sandbox *out, int *code)
{
	struct sbx_error err = SBX_ERROR_INIT;
	int rc = sbx_tool_open(tool, planes, &err);
	if (rc == 0)
		rc = sbx_tool_find_sandbox(tool, tool->operands.items[0], out, &err);
	if (rc < 0)
		*code = sbx_tool_fail(tool, &err);
	return rc == 0;
}

bool sbx_tool_begin(struct sbx_tool *tool, int argc, char **argv, const struct sbx_option *options,
	size_t least, size_t most, bool planes, struct sbx_sandbox *out, int *code)
{
	return sbx_tool_words(tool, argc, argv, options, least, most, code) &&
	       sbx_tool_enter(tool, planes, out, code);
}

cJSON *sbx_tool_sandbox_json(const struct sbx_sandbox *sandbox)
{
	const struct sbx_container *container = &sandbox->container;
	cJSON *json = cJSON_CreateObject();
	sbx_json_add_text(json, "name", container->name);
	sbx_json_add_text(json, "id", container->id);
	cJSON_AddStringToObject(json, "state", sbx_state_name(container->state));
	sbx_json_add_text(json, "image", container->image);
	sbx_json_add_text(json, "image_id", container->image_id);
	sbx_json_add_text(json, "created", container->created);
	sbx_json_add_text(json, "user", container->user);
	sbx_json_add_text(json, "workdir", sandbox->workdir ? sandbox->workdir : "");
	cJSON *outputs = cJSON_AddArrayToObject(json, "outputs");
	for (size_t i = 0; i < sandbox->output_count; i++) {
		cleanup_free char *text = sbx_printf(
			"%s%s", sandbox->outputs[i].path, sandbox->outputs[i].directory ? "/" : "");
		cJSON_AddItemToArray(outputs, cJSON_CreateString(text));
	}
	if (sandbox->in_dir)
		sbx_json_add_text(json, "in", sandbox->in_dir);
	else
		cJSON_AddNullToObject(json, "in");
	if (sandbox->refusal)
		sbx_json_add_text(json, "refusal", sandbox->refusal);
	cJSON *labels = cJSON_AddObjectToObject(json, "labels");
	for (size_t i = 0; i < container->label_count; i++)
		sbx_json_add_text(labels, container->labels[i].key,
			sbx_identity_label_shown(container->labels[i].value));
	cJSON *mounts = cJSON_AddArrayToObject(json, "mounts");
	for (size_t i = 0; i < container->mount_count; i++) {
		cJSON *mount = cJSON_CreateObject();
		sbx_json_add_text(mount, "type", container->mounts[i].type);
		sbx_json_add_text(mount, "destination", container->mounts[i].destination);
		cJSON_AddItemToArray(mounts, mount);
	}
	return json;
}
