/*
 * dispose.c: removing sandboxes by name or identity (MAF-31..34, 40). Always a forced removal,
 * never a stop. What is removed is chosen from the engine's list, which answers also while a
 * container's own lock is held; "not there" is only ever what the engine said.
 */
#include "removal.h"

#include "inspect_many.h"
#include "labels.h"
#include "names.h"

#include "../base/alloc.h"

#include <errno.h>
#include <sbx/spec.h>
#include <string.h>

/* The container's list row by name or id, its labels with it; not there: row->id stays NULL. Asked
 * by an inspect, for on Podman a stranger can hold up a list; where the inspect does not answer, by
 * the list, which on Docker answers also while the container's own lock is held. */
static int find_row(struct sbx_engine *engine, const char *name, const struct sbx_call *call,
	struct sbx_container_summary *row, struct sbx_error *err)
{
	struct sbx_container container = { 0 };
	struct sbx_call bounded = sbx_call_shorter(call, SBX_INSPECT_BOUND_MS);
	int rc = sbx_container_inspect(engine, name, &bounded, &container, err);
	if (rc == 0 && sbx_name_is(name, container.name, container.id)) {
		*row = (struct sbx_container_summary){ .id = steal(&container.id),
			.name = steal(&container.name),
			.image = steal(&container.image),
			.labels = steal(&container.labels),
			.label_count = container.label_count };
		container.label_count = 0;
	}
	sbx_container_finish(&container);
	if (rc == 0 || err->kind == SBX_KIND_ABSENT)
		return 0;
	if (rc != -ETIMEDOUT || sbx_call_left_ms(call) == 0)
		return rc;
	struct sbx_container_list list = { 0 };
	rc = sbx_container_list(engine, NULL, call, &list, err);
	for (size_t i = 0; i < list.count; i++) {
		struct sbx_container_summary *listed = &list.rows[i];
		bool exact = strcmp(listed->name, name) == 0;
		/* An exact name wins over the beginning of an id. */
		if (exact || (!row->id && sbx_name_is(name, listed->name, listed->id))) {
			struct sbx_container_summary swap = *row;
			*row = *listed;
			*listed = swap;
		}
	}
	sbx_container_list_finish(&list);
	return rc;
}

static int choose(const struct sbx_container_summary *row, const struct sbx_rules *rules,
	const char *name, const char *instance_id, struct sbx_removed *out, struct sbx_error *err)
{
	if (!row->id || (instance_id && strncmp(row->id, instance_id, strlen(instance_id)) != 0)) {
		out->result = SBX_REMOVAL_ABSENT;
		out->name = sbx_strdup(name);
		out->id = sbx_strdup(instance_id ? instance_id : "");
		out->reason = sbx_strdup(
			row->id ? "another sandbox has the name now" : "no such sandbox");
		return 0;
	}
	out->id = sbx_strdup(row->id);
	out->name = sbx_strdup(row->name);
	if (sbx_sandbox_candidate(row, rules))
		return 1;
	out->result = SBX_REMOVAL_REFUSED;
	out->reason = sbx_strdup("not a sandbox");
	return sbx_fail(err, EPERM,
		"container '%s' is not a sandbox (no label of one, no rule matches it) and is not "
		"removed",
		name);
}

int sbx_dispose(struct sbx_engine *engine, const struct sbx_rules *rules, const char *name,
	const char *instance_id, const struct sbx_call *call, struct sbx_removed *out,
	struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_removed){ .result = SBX_REMOVAL_UNKNOWN };
	int rc = sbx_sandbox_name_check(name, err);
	/* Else a live sandbox would be called absent, which is a success. */
	if (rc == 0 && instance_id && !sbx_id_typed(instance_id))
		rc = sbx_fail(err, EINVAL,
			"instance '%.64s' is not a container's id, or its first 12 digits or more",
			instance_id);
	if (rc < 0)
		return rc;
	struct sbx_container_summary row = { 0 };
	rc = find_row(engine, name, call, &row, err);
	if (rc < 0) {
		out->result = sbx_removal_unasked(err);
		out->name = sbx_strdup(name);
		out->reason = sbx_strdup(err->message);
		return sbx_wrap(err, "sandbox %s", name);
	}
	rc = choose(&row, rules, name, instance_id, out, err);
	struct sbx_container_list only = { .rows = sbx_alloc(sizeof(row)), .count = 1 };
	only.rows[0] = row;
	sbx_container_list_finish(&only);
	if (rc == 1)
		rc = sbx_removal_perform(engine, call, out, err);
	return rc;
}

/* The label's value of what was asked, or NULL for any. */
static char *wanted(const char *value)
{
	return value ? sbx_identity_label(value) : NULL;
}

static bool labelled(const struct sbx_container_summary *row, const char *key, const char *value)
{
	const char *label = sbx_labels_get(row->labels, row->label_count, key);
	return !value || (label && strcmp(label, value) == 0);
}

int sbx_dispose_identity(struct sbx_engine *engine, const struct sbx_identity_filter *filter,
	const struct sbx_call *call, struct sbx_removals *out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_removals){ 0 };
	cleanup_free char *scope = sbx_identity_label(filter->scope);
	cleanup_free char *thread = wanted(filter->thread), *agent = wanted(filter->agent),
			  *kind = wanted(filter->kind);
	cleanup_free char *asked = sbx_printf(SBX_LABEL_SCOPE "=%s", scope);
	struct sbx_container_list list = { 0 };
	struct sbx_unanswered unanswered;
	int rc = sbx_list_around(engine, asked, call, &list, &unanswered, err);
	if (rc < 0)
		return sbx_wrap(err, "the sandboxes of scope '%s' cannot be listed", filter->scope);
	for (size_t i = 0; i < list.count; i++) {
		const struct sbx_container_summary *row = &list.rows[i];
		/* The engine filters by the scope; what is removed is decided here. */
		if (!sbx_labels_get(row->labels, row->label_count, SBX_LABEL_VERSION) ||
			!labelled(row, SBX_LABEL_SCOPE, scope) ||
			!labelled(row, SBX_LABEL_THREAD, thread) ||
			!labelled(row, SBX_LABEL_AGENT, agent) ||
			!labelled(row, SBX_LABEL_KIND, kind))
			continue;
		struct sbx_removed *removed = sbx_removals_add(out, row->id, row->name);
		struct sbx_error reason = SBX_ERROR_INIT;
		struct sbx_call bounded = sbx_call_shorter(call, SBX_REMOVAL_BOUND_MS);
		if (sbx_cancel_fired(bounded.cancel))
			sbx_removal_cancelled(removed);
		else /* what comes of it is kept in the row */
			(void)sbx_removal_perform(engine, &bounded, removed, &reason);
	}
	sbx_container_list_finish(&list);
	sbx_removals_add_unanswered(out, &unanswered);
	return sbx_removals_conclude(out, err);
}
