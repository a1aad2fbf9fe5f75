/* removal.c: see removal.h. Asked and refused, asked and unanswered, never asked: each a result of
 * its own (MAF-34). */
#include "removal.h"

#include "../base/alloc.h"

#include <errno.h>

const char *sbx_removal_name(enum sbx_removal removal)
{
	static const char *const names[] = { "removed", "absent", "refused", "unreachable",
		"unlisted", "unknown", "kept" };
	return (size_t)removal < sizeof(names) / sizeof(names[0]) ? names[removal] : "unknown";
}

static enum sbx_removal result_of(const struct sbx_error *err)
{
	if (err->kind == SBX_KIND_ABSENT)
		return SBX_REMOVAL_ABSENT;
	if (err->errnum == EHOSTDOWN)
		return SBX_REMOVAL_UNREACHABLE;
	return err->http_status ? SBX_REMOVAL_REFUSED : SBX_REMOVAL_UNKNOWN;
}

enum sbx_removal sbx_removal_unasked(const struct sbx_error *err)
{
	if (err->kind == SBX_KIND_ABSENT)
		return SBX_REMOVAL_ABSENT;
	return err->errnum == EHOSTDOWN ? SBX_REMOVAL_UNREACHABLE : SBX_REMOVAL_UNLISTED;
}

void sbx_removal_cancelled(struct sbx_removed *removed)
{
	removed->result = SBX_REMOVAL_UNLISTED;
	free(removed->reason);
	removed->reason = sbx_strdup("cancelled before it was its turn");
}

int sbx_removal_perform(struct sbx_engine *engine, const struct sbx_call *call,
	struct sbx_removed *removed, struct sbx_error *err)
{
	int rc = sbx_container_remove(engine, removed->id, call, err);
	if (rc == 0) {
		removed->result = SBX_REMOVAL_REMOVED;
		return 0;
	}
	removed->result = result_of(err);
	free(removed->reason);
	removed->reason = sbx_strdup(err->message);
	if (removed->result == SBX_REMOVAL_ABSENT)
		return 0;
	if (removed->result == SBX_REMOVAL_UNKNOWN)
		return sbx_wrap(err, "sandbox %s may still be there: its removal was not answered",
			removed->name);
	return sbx_wrap(err, "sandbox %s is not removed", removed->name);
}

struct sbx_removed *sbx_removals_add(
	struct sbx_removals *removals, const char *id, const char *name)
{
	removals->rows =
		sbx_realloc_array(removals->rows, removals->count + 1, sizeof(*removals->rows));
	struct sbx_removed *row = &removals->rows[removals->count++];
	*row = (struct sbx_removed){
		.id = sbx_strdup(id), .name = sbx_strdup(name), .result = SBX_REMOVAL_UNKNOWN
	};
	return row;
}

void sbx_removals_add_unanswered(
	struct sbx_removals *removals, const struct sbx_unanswered *unanswered)
{
	for (size_t i = 0; i < unanswered->count; i++) {
		struct sbx_removed *row = sbx_removals_add(removals, unanswered->prefixes[i], "");
		row->result = SBX_REMOVAL_UNLISTED;
		row->reason =
			sbx_printf("the container whose id begins with %s does not let itself "
				   "be listed",
				unanswered->prefixes[i]);
	}
}

int sbx_removals_conclude(struct sbx_removals *removals, struct sbx_error *err)
{
	const struct sbx_removed *first = NULL;
	removals->removed = removals->failed = 0;
	for (size_t i = 0; i < removals->count; i++) {
		const struct sbx_removed *row = &removals->rows[i];
		if (row->result == SBX_REMOVAL_REMOVED)
			removals->removed++;
		if (row->result != SBX_REMOVAL_REMOVED && row->result != SBX_REMOVAL_ABSENT &&
			row->result != SBX_REMOVAL_KEPT) {
			removals->failed++;
			first = first ? first : row;
		}
	}
	if (!first)
		return 0;
	return sbx_fail_kind(err, SBX_KIND_PARTIAL, EIO,
		"%zu of %zu sandboxes are not removed; the first is %s (%s: %s)", removals->failed,
		removals->count, *first->name ? first->name : first->id,
		sbx_removal_name(first->result), first->reason ? first->reason : "no reason given");
}

void sbx_removals_finish(struct sbx_removals *removals)
{
	for (size_t i = 0; i < removals->count; i++) {
		free(removals->rows[i].id);
		free(removals->rows[i].name);
		free(removals->rows[i].reason);
	}
	free(removals->rows);
	*removals = (struct sbx_removals){ 0 };
}
