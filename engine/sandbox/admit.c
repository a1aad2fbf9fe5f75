/*
 * admit.c: what the engine and the image must be before anything is created from them: rootless,
 * user namespace and OS family as asked (AIR-13, MAF-09, MAF-10), the image there, pinned, and
 * without volumes of its own (MAF-27, MAF-29). What cannot be read is not taken for granted.
 */
#include "acquiring.h"
#include "digest_pin.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int admit_info(
	const struct sbx_spec *spec, const struct sbx_engine_info *info, struct sbx_error *err)
{
	if (spec->require_rootless && !info->rootless)
		return sbx_fail(err, EPERM,
			"--require-rootless: this engine does not say that it runs rootless");
	if (spec->require_userns && !info->userns && !info->rootless)
		return sbx_fail(err, EPERM,
			"--require-userns: this engine remaps no user namespace (its security "
			"options name neither userns nor rootless)");
	if (spec->require_os && strcmp(info->os_type, "linux") != 0)
		return sbx_fail(err, EPERM,
			"--require-os posix: this engine says its containers run on '%s'",
			*info->os_type ? info->os_type : "(nothing)");
	return 0;
}

int sbx_acquire_admit(struct sbx_engine *engine, const struct sbx_spec *spec,
	const struct sbx_call *call, struct sbx_error *err)
{
	int rc = sbx_isolation_check(spec, err);
	if (rc < 0)
		return rc;
	if (spec->require_digest_pin) {
		rc = sbx_digest_pin_check(spec->image ? spec->image : "", err);
		if (rc < 0)
			return rc;
	}
	if (!spec->require_rootless && !spec->require_userns && !spec->require_os)
		return 0;
	struct sbx_engine_info info = { 0 };
	struct sbx_error reason = SBX_ERROR_INIT;
	rc = sbx_engine_info(engine, call, &info, &reason);
	/* Unreadable is not a yes: the requirement fails closed. */
	if (rc < 0)
		return sbx_fail_kind(err, reason.kind, reason.errnum,
			"the engine's description, which a --require option needs, cannot be read: "
			"%s",
			reason.message);
	rc = admit_info(spec, &info, err);
	sbx_engine_info_finish(&info);
	return rc;
}

void sbx_acquiring_report(const struct sbx_acquiring *acquiring, const char *format, ...)
{
	if (!acquiring->progress || !acquiring->progress->line)
		return;
	char *text = NULL;
	va_list args;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	cleanup_free char *line = sbx_text_escape(text);
	free(text);
	acquiring->progress->line(acquiring->progress->data, line);
}

static void pull_line(void *data, const char *line)
{
	sbx_acquiring_report(data, "%s", line);
}

static int pull(struct sbx_acquiring *acquiring, struct sbx_error *err)
{
	const struct sbx_spec *spec = acquiring->spec;
	struct sbx_call *call = acquiring->call;
	struct sbx_call bounded = sbx_call_within(spec->pull_timeout_ms, call->cancel);
	int64_t began_ms = sbx_clock_ms();
	bounded.idle_ms = spec->pull_timeout_ms;
	sbx_acquiring_report(acquiring, "pulling image %s", spec->image);
	int rc =
		sbx_image_pull(acquiring->engine, spec->image, &bounded, pull_line, acquiring, err);
	if (call->deadline_ms)
		call->deadline_ms += sbx_clock_ms() - began_ms;
	if (rc == -ETIMEDOUT)
		return sbx_fail(err, ETIMEDOUT, "pulling image %s did not end within %lld s",
			spec->image, (long long)spec->pull_timeout_ms / 1000);
	if (rc == 0)
		return 0;
	/* An image that is not to be had is the caller's mistake, as a wrong option is. */
	if (err && rc != -ECANCELED && rc != -EHOSTDOWN) {
		err->errnum = EINVAL;
		err->kind = SBX_KIND_USAGE;
	}
	return sbx_wrap(err, "image %s is not on the engine and cannot be pulled", spec->image);
}

/* A volume of the image's would be mounted, on every engine, without being asked for. */
static int check_image(
	const struct sbx_spec *spec, const struct sbx_image *image, struct sbx_error *err)
{
	if (image->volumes && image->volumes[0])
		return sbx_fail(err, EPERM,
			"image %s declares a volume at '%s': a sandbox has no mounts, so it cannot "
			"be made from this image",
			spec->image, image->volumes[0]);
	if (spec->require_digest_pin)
		return sbx_digest_pin_holds(spec->image, image, err);
	return 0;
}

int sbx_acquiring_image_present(struct sbx_acquiring *acquiring, struct sbx_error *err)
{
	if (acquiring->image_known)
		return 1;
	int rc = sbx_image_inspect(
		acquiring->engine, acquiring->spec->image, acquiring->call, &acquiring->image, err);
	if (rc < 0 && err->kind == SBX_KIND_ABSENT)
		return 0;
	if (rc < 0)
		return rc;
	acquiring->image_known = true;
	return 1;
}

int sbx_acquiring_image(struct sbx_acquiring *acquiring, struct sbx_error *err)
{
	int rc = sbx_acquiring_image_present(acquiring, err);
	if (rc == 0) {
		rc = pull(acquiring, err);
		if (rc == 0)
			rc = sbx_acquiring_image_present(acquiring, err);
		if (rc == 0)
			return sbx_fail(err, ENOENT,
				"image %s was pulled but the engine does not have it",
				acquiring->spec->image);
	}
	return rc < 0 ? rc : check_image(acquiring->spec, &acquiring->image, err);
}
