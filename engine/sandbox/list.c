/*
 * list.c: all sandboxes of an engine. The list rows alone decide who is worth an inspect, and one
 * that does not answer its inspect is counted, never waited for at the others' expense.
 */
#include "inspect_many.h"
#include "list_around.h"

#include "../base/alloc.h"

#include <errno.h>
#include <sbx/sandbox.h>
#include <string.h>

void sbx_sandbox_list_finish(struct sbx_sandbox_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		sbx_sandbox_finish(&list->rows[i]);
	free(list->rows);
	*list = (struct sbx_sandbox_list){ 0 };
}

static int by_name(const void *a, const void *b)
{
	const struct sbx_sandbox *left = a, *right = b;
	return strcmp(left->container.name, right->container.name);
}

/* The engine as a whole, not one container: the list would be a lie. */
static bool is_general(int result)
{
	return result == -EHOSTDOWN || result == -ECANCELED;
}

static int collect(struct sbx_inspected *rows, size_t count, const struct sbx_rules *rules,
	struct sbx_sandbox_list *out, size_t *missed, struct sbx_error *err)
{
	int failed = 0;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].result == 0) {
			int rc = sbx_sandbox_recognise(
				&rows[i].container, rules, &out->rows[out->count], err);
			if (rc == 1)
				out->count++;
			else if (rc < 0)
				failed = rc;
			sbx_container_finish(&rows[i].container);
		} else if (is_general(rows[i].result)) {
			*err = rows[i].err;
			failed = rows[i].result;
		} else if (rows[i].err.kind != SBX_KIND_ABSENT) {
			(*missed)++; /* one removed since the list is simply not there */
		}
	}
	return failed;
}

int sbx_sandbox_list(struct sbx_engine *engine, const struct sbx_rules *rules, const char *label,
	const struct sbx_call *call, struct sbx_sandbox_list *out, size_t *skipped,
	struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local;
	struct sbx_container_list list = { 0 };
	*out = (struct sbx_sandbox_list){ 0 };
	struct sbx_unanswered unanswered;
	int rc = sbx_list_around(engine, label, call, &list, &unanswered, err);
	if (rc < 0)
		return rc;
	struct sbx_inspected *rows = sbx_alloc_array(list.count, sizeof(*rows));
	size_t count = 0, missed = unanswered.count;
	for (size_t i = 0; i < list.count; i++) {
		if (sbx_sandbox_candidate(&list.rows[i], rules))
			rows[count++].id = list.rows[i].id;
	}
	sbx_inspect_many(engine, rows, count, call);
	out->rows = sbx_alloc_array(count, sizeof(*out->rows));
	rc = collect(rows, count, rules, out, &missed, err);
	free(rows);
	sbx_container_list_finish(&list);
	if (rc < 0) {
		sbx_sandbox_list_finish(out);
		return rc;
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_name);
	if (skipped)
		*skipped = missed;
	return 0;
}
