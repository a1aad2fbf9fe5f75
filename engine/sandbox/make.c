/*
 * make.c: a new sandbox, or none. Whatever fails after the create call, the container goes, within
 * a bound of its own: a cancel or an expired deadline must not leave one behind.
 */
#include "acquiring.h"
#include "create_body.h"
#include "drift.h"
#include "keep_alive.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#define UNDO_MS 30000
/* How long what an unanswered create makes is waited for, and the bound of one look. */
#define APPEAR_MS 15000
#define LOOK_MS 3000

void sbx_acquiring_undo(struct sbx_engine *engine, const char *id, struct sbx_error *err)
{
	struct sbx_error reason = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(UNDO_MS, NULL);
	int rc = sbx_container_remove(engine, id, &call, &reason);
	if (rc < 0 && reason.kind != SBX_KIND_ABSENT)
		(void)sbx_wrap(err, /* its errno is already the caller's result */
			"container %.12s could not be removed again (%s), after", id,
			reason.message);
}

/* The engine may have done it, or be about to: there was no answer, or one of something before it.
 */
static bool unanswered(const struct sbx_error *err)
{
	bool lost = err->errnum == ETIMEDOUT || err->errnum == ECANCELED || err->errnum == EIO;
	return lost && (!err->http_status || err->http_status >= 502);
}

/* One look for what an unanswered create has made. The nonce tells our container from one that
 * somebody else made under the name meanwhile. True: there is nothing more to wait for. */
static bool undo_if_there(
	struct sbx_acquiring *acquiring, const char *nonce, int64_t left_ms, struct sbx_error *err)
{
	struct sbx_container found = { 0 };
	struct sbx_error reason = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(left_ms < LOOK_MS ? left_ms : LOOK_MS, NULL);
	if (sbx_container_inspect(acquiring->engine, acquiring->name, &call, &found, &reason) < 0)
		return reason.errnum == EHOSTDOWN;
	const char *label = sbx_container_label(&found, SBX_LABEL_NONCE);
	if (label && strcmp(label, nonce) == 0)
		sbx_acquiring_undo(acquiring->engine, found.id, err);
	sbx_container_finish(&found);
	acquiring->unseen = false;
	return true;
}

/* A create whose answer was lost may have happened, and a busy engine carries it out later. */
static void undo_unanswered(
	struct sbx_acquiring *acquiring, const char *nonce, struct sbx_error *err)
{
	const int64_t until_ms = sbx_clock_ms() + APPEAR_MS;
	int pause_ms = 50;
	acquiring->unseen = true;
	for (;;) {
		int64_t left_ms = until_ms - sbx_clock_ms();
		if (left_ms <= 0 || undo_if_there(acquiring, nonce, left_ms, err))
			break;
		(void)poll(NULL, 0, pause_ms); /* not to be cut short: a signal brought us here */
		pause_ms = pause_ms < 500 ? pause_ms * 2 : 500;
	}
	if (acquiring->unseen)
		(void)sbx_wrap(err, /* its errno is already the caller's result */
			"the engine did not answer for the create of sandbox %s, which was not "
			"seen and may still appear",
			acquiring->name);
}

static void remove_file(char **path)
{
	if (*path)
		(void)unlink(*path); /* read by now, or of no use */
	free(*path);
}

static int create(struct sbx_acquiring *acquiring, const struct sbx_plan *plan, char **id,
	struct sbx_error *err)
{
	struct sbx_engine *engine = acquiring->engine;
	cleanup_json cJSON *body = NULL;
	cleanup_with(remove_file) char *profile = NULL;
	bool local = sbx_engine_endpoint(engine)->socket_path != NULL;
	int rc = sbx_create_body(plan, sbx_engine_is_podman(engine), local, &profile, &body, err);
	if (rc < 0)
		return rc;
	uint64_t random = 0;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return sbx_fail_errno(err, errno, "getrandom");
	cleanup_free char *nonce = sbx_printf("%016llx", (unsigned long long)random);
	cJSON_AddStringToObject(
		cJSON_GetObjectItemCaseSensitive(body, "Labels"), SBX_LABEL_NONCE, nonce);
	rc = sbx_container_create(engine, acquiring->name, body, acquiring->call, id, err);
	if (rc < 0 && unanswered(err))
		undo_unanswered(acquiring, nonce, err);
	return rc;
}

/* It is not there, or it is no program: a directory, another machine's, not ours to run. */
static bool says_no_command(const struct sbx_error *err)
{
	static const char *const reasons[] = { "permission denied", "exec format error",
		"is a directory", "no such file or directory" };
	const char *text = err->message;
	if (strstr(text, "executable file"))
		return true;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strstr(text, "exec") && strcasestr(text, reasons[i]))
			return true;
	}
	return false;
}

/* What the container printed last, for a sentence. */
static int keep_text(void *data, int stream, const char *bytes, size_t size)
{
	char **text = data;
	free(*text);
	*text = sbx_text_escape_n(bytes, size < 200 ? size : 200);
	return 0;
}

static int explain_exit(struct sbx_acquiring *acquiring, const struct sbx_container *container,
	struct sbx_error *err)
{
	cleanup_free char *text = NULL;
	struct sbx_call bounded = sbx_call_shorter(acquiring->call, 2000);
	/* Only adds to the sentence: without it the exit code is told alone. */
	struct sbx_error ignored = SBX_ERROR_INIT;
	(void)sbx_container_logs(
		acquiring->engine, container->id, 1, false, &bounded, keep_text, &text, &ignored);
	return sbx_fail(err, EOPNOTSUPP,
		"sandbox %s ended at once with exit code %d%s%s: its image's `sh` and `sleep` do "
		"not keep it alive",
		acquiring->name, container->exit_code, text ? ", saying " : "", text ? text : "");
}

int sbx_acquiring_start(struct sbx_acquiring *acquiring, const struct sbx_container *container,
	struct sbx_container *running, struct sbx_error *err)
{
	int rc = sbx_container_start(acquiring->engine, container->id, acquiring->call, err);
	const char *const *argv = acquiring->spec->argv;
	acquiring->unstartable = rc < 0 && err->http_status && says_no_command(err);
	if (rc < 0 && says_no_command(err) && argv)
		return sbx_fail(err, EINVAL, "image %s has no command '%s' that can be run: %s",
			acquiring->spec->image, argv[0], err->message);
	acquiring->no_shell = rc < 0 && says_no_command(err) && !argv &&
			      strstr(err->message, SBX_KEEP_ALIVE_SHELL);
	if (rc < 0 && says_no_command(err))
		return sbx_fail(err, EOPNOTSUPP,
			"image %s has no `sleep` that can be run, which a sandbox's first process "
			"needs: %s",
			acquiring->spec->image, err->message);
	if (rc < 0)
		return sbx_wrap(err, "sandbox %s cannot be started", acquiring->name);
	rc = sbx_container_inspect(acquiring->engine, container->id, acquiring->call, running, err);
	if (rc < 0)
		return sbx_wrap(err, "sandbox %s", acquiring->name);
	/* A command of the caller's own may well be done already. */
	if (argv)
		return 0;
	rc = sbx_keep_alive_watch(acquiring->engine, running, acquiring->call, err);
	if (rc < 0)
		return sbx_wrap(err, "sandbox %s", acquiring->name);
	if (running->state != SBX_STATE_EXITED)
		return 0;
	/* A shell of another machine has been started before anybody looks into it. */
	acquiring->no_shell = acquiring->unstartable = true;
	return explain_exit(acquiring, running, err);
}

/* From a created container to a running sandbox. */
static int complete(struct sbx_acquiring *acquiring, const struct sbx_plan *plan, const char *id,
	struct sbx_sandbox *out, struct sbx_error *err)
{
	struct sbx_container created = { 0 }, running = { 0 };
	int rc = sbx_container_inspect(acquiring->engine, id, acquiring->call, &created, err);
	if (rc == 0 && strcmp(created.image_id, plan->image_id) != 0)
		rc = sbx_fail_kind(err, SBX_KIND_CHANGED, ESTALE,
			"image %s became another one while the sandbox was created",
			acquiring->spec->image);
	/* A limit that an engine accepts and drops is no limit. */
	if (rc == 0)
		rc = sbx_drift_hardening(plan, &created, err);
	if (rc == 0)
		rc = sbx_workdir_prepare(acquiring->engine, &created, plan->workdir, plan->in_dir,
			acquiring->call, err);
	if (rc == 0)
		rc = sbx_acquiring_start(acquiring, &created, &running, err);
	if (rc == 0) {
		rc = sbx_sandbox_recognise(&running, NULL, out, err);
		rc = rc == 1  ? 0
		     : rc < 0 ? rc
			      : sbx_fail(err, EIO, "the engine dropped the labels of sandbox %s",
					acquiring->name);
	}
	sbx_container_finish(&created);
	sbx_container_finish(&running);
	return rc;
}

static int attempt(struct sbx_acquiring *acquiring, const struct sbx_plan *plan,
	struct sbx_sandbox *out, struct sbx_error *err)
{
	cleanup_free char *id = NULL;
	int rc = create(acquiring, plan, &id, err);
	if (rc < 0)
		return rc;
	rc = complete(acquiring, plan, id, out, err);
	if (rc < 0)
		sbx_acquiring_undo(acquiring->engine, id, err);
	return rc;
}

int sbx_acquiring_make(
	struct sbx_acquiring *acquiring, struct sbx_sandbox *out, struct sbx_error *err)
{
	int rc = sbx_acquire_admit(acquiring->engine, acquiring->spec, acquiring->call, err);
	if (rc == 0)
		rc = sbx_acquiring_image(acquiring, err);
	struct sbx_plan plan = { 0 };
	if (rc == 0)
		rc = sbx_plan_make(acquiring->spec, &acquiring->image, &plan, err);
	plan.podman = sbx_engine_is_podman(acquiring->engine);
	acquiring->no_shell = false;
	if (rc == 0)
		rc = attempt(acquiring, &plan, out, err);
	if (rc < 0 && acquiring->no_shell) {
		sbx_error_clear(err);
		plan.without_shell = true;
		rc = attempt(acquiring, &plan, out, err);
	}
	sbx_plan_finish(&plan);
	return rc;
}
