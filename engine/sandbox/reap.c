/*
 * reap.c: removal by age (MAF-150..156). The inventory comes first and any failure of it deletes
 * nothing; each that has expired is inspected once more, by its id, right before it goes, and is
 * judged by that. Age is the time since creation: it says nothing of use. On Podman one container
 * can keep itself from being listed: then too nothing goes, and it is named (MAF-153).
 */
#include "reap.h"

#include "labels.h"
#include "list_around.h"
#include "removal.h"

#include "../base/alloc.h"

#include <errno.h>
#include <sbx/spec.h>
#include <string.h>
#include <time.h>

#define NS 1000000000LL

static bool is(const struct sbx_pair *labels, size_t count, const char *key, const char *value)
{
	const char *label = sbx_labels_get(labels, count, key);
	return label && strcmp(label, value) == 0;
}

bool sbx_reap_owned(const struct sbx_pair *labels, size_t count, const char *scope_label)
{
	if (!is(labels, count, SBX_LABEL_VERSION, "1"))
		return false;
	if (scope_label && !is(labels, count, SBX_LABEL_SCOPE, scope_label))
		return false;
	/* Made by a process that is gone, which is why nobody else will collect them. */
	if (is(labels, count, SBX_LABEL_EPHEMERAL, "1") ||
		is(labels, count, SBX_LABEL_ROLE, "probe"))
		return true;
	return sbx_labels_owned(labels, count) && !sbx_labels_hidden(labels, count);
}

bool sbx_reap_expired(int64_t created_ns, int64_t now_ns, int64_t older_than_s)
{
	if (created_ns <= 0 || created_ns >= now_ns)
		return false;
	int64_t age_ns = now_ns - created_ns;
	return age_ns / NS > older_than_s || (age_ns / NS == older_than_s && age_ns % NS > 0);
}

static int64_t wall_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	return (int64_t)now.tv_sec * NS + now.tv_nsec;
}

/* A row that cannot be read makes the inventory one that cannot be trusted. */
static int check_rows(const struct sbx_container_list *list, struct sbx_error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct sbx_container_summary *row = &list->rows[i];
		if (strlen(row->id) != 64 || row->created_s <= 0)
			return sbx_fail(err, EIO,
				"the engine's list has a container without a full id or a creation "
				"time ('%s'): nothing is reaped",
				row->name);
	}
	return 0;
}

/* An inventory with a gap is none. The others can still be removed by scope, which does not rest on
 * a whole inventory. */
static int check_whole(const struct sbx_unanswered *unanswered, struct sbx_error *err)
{
	if (!unanswered->count)
		return 0;
	return sbx_fail(err, EIO,
		"the container whose id begins with %s does not let itself be listed (rm --scope "
		"removes around it)",
		unanswered->prefixes[0]);
}

struct sweep {
	struct sbx_engine *engine;
	const struct sbx_reap *reap;
	const struct sbx_call *call;
	const char *scope_label;
	int64_t now_ns;
};

/* The last look: 1 it is still what was chosen, 0 it is not, or is gone. */
static int look_again(const struct sweep *sweep, struct sbx_removed *row, struct sbx_error *err)
{
	struct sbx_container container = { 0 };
	struct sbx_call bounded = sbx_call_shorter(sweep->call, SBX_REMOVAL_BOUND_MS);
	int rc = sbx_container_inspect(sweep->engine, row->id, &bounded, &container, err);
	if (rc < 0) {
		row->result = sbx_removal_unasked(err);
		row->reason = row->result == SBX_REMOVAL_ABSENT
				      ? sbx_strdup("it was gone before it was its turn")
				      : sbx_printf("not removed, for it cannot be inspected: %s",
						err->message);
		return row->result == SBX_REMOVAL_ABSENT ? 0 : rc;
	}
	bool same =
		strcmp(container.id, row->id) == 0 &&
		sbx_reap_owned(container.labels, container.label_count, sweep->scope_label) &&
		sbx_reap_expired(container.created_ns, sweep->now_ns, sweep->reap->older_than_s);
	if (container.created_ns > 0)
		row->age_s = (sweep->now_ns - container.created_ns) / NS;
	if (!same) {
		row->result = SBX_REMOVAL_KEPT;
		row->reason = sbx_strdup("it is not old enough, or not ours, by its own inspect");
	}
	sbx_container_finish(&container);
	return same;
}

static void sweep_one(const struct sweep *sweep, struct sbx_removed *row)
{
	struct sbx_error err = SBX_ERROR_INIT;
	if (sbx_cancel_fired(sweep->call->cancel)) {
		sbx_removal_cancelled(row);
		return;
	}
	if (look_again(sweep, row, &err) != 1)
		return;
	if (sweep->reap->dry_run) {
		row->result = SBX_REMOVAL_KEPT;
		row->reason = sbx_strdup("dry run");
		return;
	}
	struct sbx_call bounded = sbx_call_shorter(sweep->call, SBX_REMOVAL_BOUND_MS);
	(void)sbx_removal_perform(sweep->engine, &bounded, row, &err); /* kept in the row */
}

int sbx_reap(struct sbx_engine *engine, const struct sbx_reap *reap, const struct sbx_call *call,
	struct sbx_removals *out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_removals){ 0 };
	if (reap->older_than_s <= 0)
		return sbx_fail(err, EINVAL, "--older-than must be above zero");
	cleanup_free char *scope_label = reap->scope ? sbx_identity_label(reap->scope) : NULL;
	const struct sbx_call unbounded = { 0 };
	struct sweep sweep = { .engine = engine,
		.reap = reap,
		.call = call ? call : &unbounded,
		.scope_label = scope_label,
		.now_ns = wall_ns() };
	struct sbx_container_list list = { 0 };
	struct sbx_unanswered unanswered;
	int rc = sbx_list_around(engine, SBX_LABEL_VERSION, sweep.call, &list, &unanswered, err);
	if (rc == 0)
		rc = check_whole(&unanswered, err);
	if (rc == 0)
		rc = check_rows(&list, err);
	if (rc < 0) {
		sbx_container_list_finish(&list);
		return sbx_wrap(err, "the inventory failed and nothing was removed");
	}
	for (size_t i = 0; i < list.count; i++) {
		const struct sbx_container_summary *row = &list.rows[i];
		if (!sbx_reap_owned(row->labels, row->label_count, scope_label) ||
			!sbx_reap_expired(row->created_s * NS, sweep.now_ns, reap->older_than_s))
			continue;
		struct sbx_removed *removed = sbx_removals_add(out, row->id, row->name);
		removed->age_s = sweep.now_ns / NS - row->created_s;
	}
	sbx_container_list_finish(&list);
	for (size_t i = 0; i < out->count; i++)
		sweep_one(&sweep, &out->rows[i]);
	return sbx_removals_conclude(out, err);
}
