/*
 * acquire.c: which of the four outcomes it is (MAF-24): a running sandbox is reused, a stopped one
 * started, an absent one created, one that appears under the name meanwhile adopted. Never one that
 * differs from what is asked, never one that is not ours.
 */
#include "acquiring.h"
#include "digest_pin.h"
#include "drift.h"
#include "labels.h"

#include "../base/alloc.h"
#include "../base/json.h"
#include "../base/log.h"
#include "../files/window.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* How long somebody else's half-made container is waited for before it is taken for a leftover. */
#define CREATOR_WAIT_MS 3000
/* With the pauses between them some 12 s, in which the name may be taken and not yet to be seen. */
#define ATTEMPTS 16
/* What a step returns to have the name looked at again. */
#define LOOK_AGAIN 1

const char *sbx_outcome_name(enum sbx_outcome outcome)
{
	static const char *const names[] = { "created", "reused", "restarted", "adopted" };
	return (size_t)outcome < sizeof(names) / sizeof(names[0]) ? names[outcome] : "unknown";
}

/* By the exact name. ABSENT also where the engine took it for the beginning of an id. */
static int look(struct sbx_acquiring *acquiring, struct sbx_container *out, struct sbx_error *err)
{
	int rc = sbx_container_inspect(
		acquiring->engine, acquiring->name, acquiring->call, out, err);
	if (rc < 0)
		return rc;
	if (strcmp(out->name, acquiring->name) == 0)
		return 0;
	sbx_container_finish(out);
	return sbx_fail(err, ENOENT, "no container is named '%s'", acquiring->name);
}

/* The pin of one that is there, by the image it was made from: the reference may be gone since, and
 * a name on a container proves nothing. */
static int check_pin(struct sbx_acquiring *acquiring, const struct sbx_container *container,
	struct sbx_error *err)
{
	const char *pin = acquiring->spec->image;
	if (!acquiring->spec->require_digest_pin)
		return 0;
	if (acquiring->image_known) /* and the drift check found it to be the container's */
		return sbx_digest_pin_holds(pin, &acquiring->image, err);
	struct sbx_image image = { 0 };
	int rc = sbx_image_inspect(
		acquiring->engine, container->image_id, acquiring->call, &image, err);
	if (rc == 0)
		rc = sbx_digest_pin_holds(pin, &image, err);
	else if (err->kind == SBX_KIND_ABSENT)
		rc = sbx_fail(err, EPERM,
			"--require-digest-pin: sandbox %s runs from an image that the engine does "
			"not have any more, so its digest cannot be read",
			acquiring->name);
	sbx_image_finish(&image);
	return rc;
}

/* We ask for none, so it is the engine's default; what that is called is asked only where the name
 * is not one of the usual. */
static int check_runtime(struct sbx_acquiring *acquiring, const struct sbx_container *container,
	struct sbx_error *err)
{
	static const char *const usual[] = { "", "oci", "runc", "crun", "io.containerd.runc.v2" };
	const cJSON *host = sbx_json_get(container->json, "HostConfig");
	const char *runtime = sbx_json_string(host, "Runtime");
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		if (!runtime || strcmp(runtime, usual[i]) == 0)
			return 0;
	}
	struct sbx_engine_info info = { 0 };
	int rc = sbx_engine_info(acquiring->engine, acquiring->call, &info, err);
	if (rc == 0 && strcmp(runtime, info.default_runtime) != 0)
		rc = sbx_fail(err, EPERM,
			"sandbox %s runs by the runtime '%s', which is not the engine's default",
			acquiring->name, runtime);
	sbx_engine_info_finish(&info);
	return rc;
}

static int check_same(struct sbx_acquiring *acquiring, const struct sbx_container *container,
	struct sbx_error *err)
{
	if (sbx_labels_hidden(container->labels, container->label_count) ||
		!sbx_labels_owned(container->labels, container->label_count))
		return sbx_fail(err, EEXIST,
			"the name '%s' is taken by a container that sbxfs did not create",
			acquiring->name);
	int rc = sbx_acquiring_image_present(acquiring, err);
	if (rc < 0)
		return rc;
	struct sbx_plan plan = { 0 };
	rc = sbx_plan_make(
		acquiring->spec, acquiring->image_known ? &acquiring->image : NULL, &plan, err);
	plan.podman = sbx_engine_is_podman(acquiring->engine);
	if (rc == 0)
		rc = sbx_drift_check(&plan, container, err);
	if (rc == 0)
		rc = check_runtime(acquiring, container, err);
	if (rc == 0)
		rc = check_pin(acquiring, container, err);
	sbx_plan_finish(&plan);
	return rc;
}

/* A sandbox that runs already may have been made without the requirement (AIR-13). What its
 * containers run on is not asked again (MAF-10). */
static int admit_running(struct sbx_acquiring *acquiring, struct sbx_error *err)
{
	struct sbx_spec asked = *acquiring->spec;
	asked.require_os = NULL;
	return sbx_acquire_admit(acquiring->engine, &asked, acquiring->call, err);
}

static int take(struct sbx_acquiring *acquiring, struct sbx_container *container,
	struct sbx_sandbox *out, struct sbx_error *err)
{
	struct sbx_sandbox found = { 0 };
	int rc = sbx_sandbox_recognise(container, NULL, &found, err);
	if (rc == 1 && found.refusal)
		rc = sbx_fail(err, EPERM, "sandbox %s cannot be served: %s", acquiring->name,
			found.refusal);
	else if (rc == 0) /* owned labels were just seen */
		rc = sbx_fail(err, EIO, "sandbox %s lost its labels", acquiring->name);
	if (rc < 0) {
		sbx_sandbox_finish(&found);
		return rc;
	}
	*out = found;
	return 0;
}

/* A window of ours or of another sbxfs ends while windows are held off; a pause that is still there
 * then is somebody else's, and stays. */
static int settle_pause(struct sbx_acquiring *acquiring, const char *id, struct sbx_error *err)
{
	int block = sbx_window_block(acquiring->engine, id, acquiring->call, err);
	if (block < 0)
		return block;
	struct sbx_container now = { 0 };
	int rc = sbx_container_inspect(acquiring->engine, id, acquiring->call, &now, err);
	if (rc == 0 && now.state == SBX_STATE_PAUSED)
		rc = sbx_fail(err, EBUSY,
			"sandbox %s was paused by somebody else, and is left so: unpause it first",
			acquiring->name);
	sbx_window_unblock(block);
	sbx_container_finish(&now);
	return rc < 0 ? rc : LOOK_AGAIN;
}

/* Another host's acquire may be between its create and its start. */
static int wait_for_creator(struct sbx_acquiring *acquiring, const char *id, struct sbx_error *err)
{
	struct sbx_call bounded = sbx_call_shorter(acquiring->call, CREATOR_WAIT_MS);
	acquiring->waited = true;
	while (sbx_call_left_ms(&bounded) > 0) {
		struct sbx_container now = { 0 };
		int rc = sbx_container_inspect(acquiring->engine, id, acquiring->call, &now, err);
		bool changed = rc < 0 || now.state != SBX_STATE_CREATED;
		sbx_container_finish(&now);
		if (rc < 0 && err->kind != SBX_KIND_ABSENT)
			return rc;
		if (changed)
			break;
		struct pollfd cancel = { .fd = sbx_cancel_fd(acquiring->call->cancel),
			.events = POLLIN };
		if (poll(&cancel, 1, 100) > 0)
			return sbx_fail(err, ECANCELED,
				"sandbox %s: cancelled while its name was waited for",
				acquiring->name);
	}
	return LOOK_AGAIN;
}

/* A second start that goes wrong in the same way is the container's fault, not a moment's. */
static int start_twice(struct sbx_acquiring *acquiring, const struct sbx_container *container,
	struct sbx_container *running, struct sbx_error *err)
{
	int rc = sbx_acquiring_start(acquiring, container, running, err);
	if (rc == 0 || !acquiring->unstartable)
		return rc;
	sbx_container_finish(running);
	sbx_error_clear(err);
	return sbx_acquiring_start(acquiring, container, running, err);
}

/* One that does not start is made anew, but its outputs go with it: only where it can never start
 * again, and not where a connection broke, an engine failed or a bound was over. */
static int restart(struct sbx_acquiring *acquiring, struct sbx_container *container,
	struct sbx_sandbox *out, struct sbx_error *err)
{
	int rc = sbx_acquire_admit(acquiring->engine, acquiring->spec, acquiring->call, err);
	if (rc < 0)
		return rc;
	const char *workdir = sbx_container_label(container, SBX_LABEL_WORKDIR);
	const char *in_dir = sbx_container_label(container, SBX_LABEL_IN);
	rc = sbx_workdir_prepare(acquiring->engine, container, workdir ? workdir : "",
		in_dir ? in_dir : "", acquiring->call, err);
	if (rc < 0)
		return rc;
	struct sbx_container running = { 0 };
	rc = start_twice(acquiring, container, &running, err);
	if (rc == 0)
		rc = take(acquiring, &running, out, err);
	else if (acquiring->unstartable && (rc = sbx_acquiring_image(acquiring, err)) == 0) {
		/* Only with the image at hand, or nothing would be left of either. */
		sbx_log(SBX_LOG_WARNING, "sandbox %s does not start and is made anew: %s",
			acquiring->name, err->message);
		rc = sbx_container_remove(acquiring->engine, container->id, acquiring->call, err);
		rc = rc < 0 && err->kind != SBX_KIND_ABSENT ? rc : LOOK_AGAIN;
	}
	sbx_container_finish(&running);
	return rc;
}

/* One that is there. 0 with out and outcome, LOOK_AGAIN, or a refusal. */
static int reuse(struct sbx_acquiring *acquiring, struct sbx_container *container,
	struct sbx_sandbox *out, enum sbx_outcome *outcome, struct sbx_error *err)
{
	int rc = check_same(acquiring, container, err);
	if (rc < 0)
		return rc;
	switch (container->state) {
	case SBX_STATE_RUNNING:
		rc = admit_running(acquiring, err);
		if (rc == 0)
			rc = sbx_workdir_verify(acquiring->engine, container,
				sbx_container_label(container, SBX_LABEL_WORKDIR), acquiring->call,
				err);
		*outcome = SBX_OUTCOME_REUSED;
		return rc < 0 ? rc : take(acquiring, container, out, err);
	case SBX_STATE_PAUSED:
		return settle_pause(acquiring, container->id, err);
	case SBX_STATE_CREATED:
		if (!acquiring->waited)
			return wait_for_creator(acquiring, container->id, err);
		__attribute__((fallthrough)); /* a leftover: started like a stopped one */
	case SBX_STATE_EXITED:
		*outcome = SBX_OUTCOME_RESTARTED;
		return restart(acquiring, container, out, err);
	default:
		return sbx_fail(err, EBUSY,
			"sandbox %s is in a state that is neither running nor stopped: it may be "
			"being removed",
			acquiring->name);
	}
}

/* The name is taken and nobody has it: Docker reserves a name before it shows the container, so
 * whoever was quicker is still at it. */
static int wait_for_name(const struct sbx_acquiring *acquiring, int attempt, struct sbx_error *err)
{
	struct pollfd cancel = { .fd = sbx_cancel_fd(acquiring->call->cancel), .events = POLLIN };
	int64_t left_ms = sbx_call_left_ms(acquiring->call);
	int pause_ms = attempt < 4 ? 50 << attempt : 1000;
	if (poll(&cancel, 1, left_ms < pause_ms ? (int)left_ms : pause_ms) > 0)
		return sbx_fail(err, ECANCELED,
			"sandbox %s: cancelled while its name was waited for", acquiring->name);
	return LOOK_AGAIN;
}

static int acquire_locked(struct sbx_acquiring *acquiring, struct sbx_sandbox *out,
	enum sbx_outcome *outcome, struct sbx_error *err)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct sbx_container container = { 0 };
		int rc = look(acquiring, &container, err);
		if (rc == 0) {
			rc = reuse(acquiring, &container, out, outcome, err);
			sbx_container_finish(&container);
			if (rc == 0 && acquiring->conflict)
				*outcome = SBX_OUTCOME_ADOPTED;
		} else if (err->kind == SBX_KIND_ABSENT) {
			rc = sbx_acquiring_make(acquiring, out, err);
			*outcome = SBX_OUTCOME_CREATED;
			if (rc == -EEXIST) {
				acquiring->conflict = true;
				rc = wait_for_name(acquiring, attempt, err);
			}
		}
		if (rc != LOOK_AGAIN)
			return rc;
	}
	return sbx_fail(err, EBUSY,
		"sandbox %s changed under every attempt to take it: something else creates, starts "
		"or removes it all the time",
		acquiring->name);
}

/* What can take minutes comes before the lock is taken, and only where a create is likely. */
static int fetch_image(struct sbx_acquiring *acquiring, struct sbx_error *err)
{
	struct sbx_container container = { 0 };
	int rc = look(acquiring, &container, err);
	sbx_container_finish(&container);
	if (rc == 0 || err->kind != SBX_KIND_ABSENT)
		return rc;
	rc = sbx_acquire_admit(acquiring->engine, acquiring->spec, acquiring->call, err);
	return rc < 0 ? rc : sbx_acquiring_image(acquiring, err);
}

int sbx_acquire_seen(struct sbx_engine *engine, const struct sbx_spec *spec,
	const struct sbx_call *call, const struct sbx_progress *progress, struct sbx_sandbox *out,
	enum sbx_outcome *outcome, bool *unseen, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_sandbox){ 0 };
	int rc = sbx_spec_check(spec, err);
	if (rc < 0)
		return rc;
	cleanup_free char *name = sbx_spec_name(spec);
	struct sbx_call bounds = call ? *call : (struct sbx_call){ 0 };
	struct sbx_acquiring acquiring = {
		.engine = engine, .spec = spec, .call = &bounds, .progress = progress, .name = name
	};
	rc = fetch_image(&acquiring, err);
	if (rc == 0) {
		cleanup_close int lock = sbx_acquire_lock(engine, name, acquiring.call, err);
		rc = lock < 0 ? lock : acquire_locked(&acquiring, out, outcome, err);
	}
	sbx_image_finish(&acquiring.image);
	if (unseen)
		*unseen = rc < 0 && acquiring.unseen;
	if (rc == 0)
		sbx_log(SBX_LOG_INFO,
			"sandbox %s %s: container %.12s kind '%s' thread '%s' agent '%s'", name,
			sbx_outcome_name(*outcome), out->container.id, spec->kind ? spec->kind : "",
			spec->thread ? spec->thread : "", spec->agent ? spec->agent : "");
	return rc;
}

int sbx_acquire(struct sbx_engine *engine, const struct sbx_spec *spec, const struct sbx_call *call,
	const struct sbx_progress *progress, struct sbx_sandbox *out, enum sbx_outcome *outcome,
	struct sbx_error *err)
{
	return sbx_acquire_seen(engine, spec, call, progress, out, outcome, NULL, err);
}
