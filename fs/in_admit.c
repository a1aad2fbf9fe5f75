/*
 * in_admit.c: whether a sandbox takes writes under in/: its guest user must be known (MAF-120) and
 * its root file system writable. What is unresolved is not remembered: the next writer asks again.
 */
#include "in_file.h"

#include "base/json.h"

#include <sbx/guest_user.h>

const char *sbx_in_refusal(struct sbx_view *view)
{
	return view->in ? sbx_in_home(view)->refusal : NULL;
}

static int run(struct sbx_job *base, struct sbx_error *err)
{
	struct sbx_in_job *job = (struct sbx_in_job *)base;
	struct sbx_container container = { 0 };
	struct sbx_guest_user user;
	int result =
		sbx_container_inspect(base->fs->engine, job->path, &base->call, &container, err);
	if (result)
		return result;
	const cJSON *config = sbx_json_get(container.json, "HostConfig");
	bool sealed = config && sbx_json_bool(config, "ReadonlyRootfs", false);
	if (sealed)
		result = sbx_fail(err, EROFS,
			"the sandbox's root file system is read-only, engines upload nothing into "
			"it; what its guest can write, a tmpfs for one, takes a file by `sbxfs "
			"exec NAME --shell 'cat >FILE' <FILE`");
	else
		result = sbx_guest_user_resolve(
			base->fs->engine, &container, NULL, &base->call, &user, err);
	sbx_container_finish(&container);
	return result;
}

static void finish(struct sbx_in_job *job)
{
	struct sbx_in_view *home = sbx_in_home(job->job.view);
	int result = job->job.result;
	if (!result)
		home->admitted = true;
	if (result && result != -EROFS && result != -EOPNOTSUPP)
		return; /* the engine cannot say now */
	free(home->refusal);
	home->refusal = result ? sbx_strdup(job->job.err.message) : NULL;
}

static void admitted(struct sbx_request *request, int result, const struct sbx_error *err)
{
	if (result == -EROFS || result == -EOPNOTSUPP)
		sbx_answer_error(request, EROFS);
	else if (result && err && (err->kind == SBX_KIND_GONE || err->kind == SBX_KIND_ABSENT))
		sbx_answer_error(request, request->handle ? ESTALE : ENOENT);
	else
		sbx_in_op(request)->go(request);
}

void sbx_in_admit(struct sbx_view *view, struct sbx_request *request, sbx_in_go_fn go)
{
	if (sbx_in_home(view)->admitted || view->gone) {
		if (request && view->gone)
			sbx_answer_error(request, request->handle ? ESTALE : ENOENT);
		else if (request)
			go(request);
		return;
	}
	struct sbx_in_job *job =
		sbx_in_job_create(view->fs, view, run, view->fs->options->deadline_ms);
	job->path = sbx_strdup(view->sandbox.container.id);
	job->finish = finish;
	if (!request) {
		sbx_in_job_start(job);
		return;
	}
	sbx_in_op(request)->go = go;
	sbx_in_job_wait(job, request, true, admitted);
}
