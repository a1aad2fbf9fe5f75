/*
 * produced.c: see sbx/produced.h.
 *
 * A guest decides how many names there are: what is held is bounded, and over the bound there is no
 * list rather than a part of one. What concerns one path only is said at its row.
 */
#include <sbx/produced.h>

#include "../base/alloc.h"
#include "fetch_plan.h"

#include <errno.h>
#include <string.h>

#define MAX_ROWS 1000000
#define MAX_NAME_BYTES (256 << 20)

struct run {
	struct sbx_plane *plane;
	const char *sandbox;
	const struct sbx_call *call;
	struct sbx_products out;
	size_t capacity;
	size_t name_bytes;
	size_t *open; /* rows whose directories are still to be listed */
	size_t open_count, open_capacity;
	struct sbx_error *err;
};

/* Takes path over. */
static struct sbx_product *append(struct run *run, char *path)
{
	struct sbx_products *out = &run->out;
	if (out->count == run->capacity) {
		run->capacity = run->capacity ? run->capacity * 2 : 64;
		out->rows = sbx_realloc_array(out->rows, run->capacity, sizeof(*out->rows));
	}
	struct sbx_product *row = &out->rows[out->count++];
	*row = (struct sbx_product){ .path = path };
	run->name_bytes += strlen(path);
	return row;
}

static void refuse(struct run *run, struct sbx_product *row, const struct sbx_error *why)
{
	row->reason = sbx_strdup(why->message);
	run->out.refused++;
}

static void list_later(struct run *run, const struct sbx_product *row)
{
	if (run->open_count == run->open_capacity) {
		run->open_capacity = run->open_capacity ? run->open_capacity * 2 : 16;
		run->open = sbx_realloc_array(run->open, run->open_capacity, sizeof(*run->open));
	}
	run->open[run->open_count++] = (size_t)(row - run->out.rows);
}

/* What a refusal says of this one path only. */
static bool one_path_only(const struct sbx_error *err)
{
	switch (err->kind) {
	case SBX_KIND_CONFINED:
	case SBX_KIND_ABSENT:
	case SBX_KIND_NOT_DIRECTORY:
	case SBX_KIND_NOT_REGULAR:
	case SBX_KIND_TOO_BIG:
	case SBX_KIND_UNSUPPORTED:
	case SBX_KIND_CHANGED:
	case SBX_KIND_USAGE: /* a name that cannot be asked for */
		return true;
	default:
		return false;
	}
}

/* A listing may bring those of directories below it. Their depth is a path's, which is bounded. */
static int add_listing(struct run *run, const char *directory, struct sbx_listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		struct sbx_entry *entry = &listing->rows[i];
		struct sbx_product *row = append(run, sbx_printf("%s/%s", directory, entry->name));
		row->st = entry->st;
		entry->st.link_target = NULL;
		if (run->out.count > MAX_ROWS || run->name_bytes > MAX_NAME_BYTES)
			return sbx_fail(run->err, EFBIG,
				"sandbox %s has more outputs than can be listed: over %d, or %d "
				"MiB of names",
				run->sandbox, MAX_ROWS, MAX_NAME_BYTES >> 20);
		if (row->st.type == SBX_TYPE_DIR && !entry->children)
			list_later(run, row);
		if (row->st.type != SBX_TYPE_DIR || !entry->children)
			continue;
		cleanup_free char *path = sbx_strdup(row->path); /* rows move while they grow */
		int result = add_listing(run, path, entry->children);
		if (result < 0)
			return result;
	}
	return 0;
}

static int list_directory(struct run *run, size_t index)
{
	cleanup_with(sbx_listing_finish) struct sbx_listing listing = { 0 };
	cleanup_free char *path = sbx_strdup(run->out.rows[index].path);
	struct sbx_error why = SBX_ERROR_INIT;
	int result = run->plane->ops->list(run->plane, path, run->call, &listing, &why);
	if (result == 0)
		return add_listing(run, path, &listing);
	if (one_path_only(&why)) {
		refuse(run, &run->out.rows[index], &why);
		return 0;
	}
	if (run->err)
		*run->err = why;
	return result;
}

/* As it is asked for: the caller's one path, or everything declared. */
static int stat_named(struct run *run, const char *const *paths, size_t count, bool must_exist)
{
	cleanup_free struct sbx_stat *stats = sbx_alloc_array(count, sizeof(*stats));
	cleanup_free int *results = sbx_alloc_array(count, sizeof(*results));
	cleanup_free struct sbx_error *errors = sbx_alloc_array(count, sizeof(*errors));
	int result = count ? run->plane->ops->stat_many(run->plane, paths, count, run->call, stats,
				     results, errors, run->err)
			   : 0;
	if (result < 0)
		return result;
	for (size_t i = 0; i < count; i++)
		append(run, sbx_strdup(paths[i]))->st = stats[i];
	for (size_t i = 0; i < count; i++) {
		struct sbx_product *row = &run->out.rows[i];
		bool absent = results[i] < 0 && errors[i].kind == SBX_KIND_ABSENT;
		if (results[i] == 0) {
			if (row->st.type == SBX_TYPE_DIR)
				list_later(run, row);
		} else if (absent && !must_exist) {
			row->absent = true;
		} else if (!must_exist && one_path_only(&errors[i])) {
			row->absent = true;
			refuse(run, row, &errors[i]);
		} else {
			if (run->err)
				*run->err = errors[i];
			return results[i];
		}
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct sbx_product *)a)->path, ((const struct sbx_product *)b)->path);
}

static int check_path(const struct sbx_sandbox *sandbox, const char *path, struct sbx_error *err)
{
	const char *name = sandbox->container.name;
	bool exact;
	if (sbx_guest_path_check(path, false, err) < 0)
		return sbx_wrap(err, "sandbox %s", name);
	if (!sbx_fetch_declared(sandbox, path, &exact))
		return sbx_fail(
			err, EPERM, "\"%s\" is not a declared output of sandbox %s", path, name);
	return 0;
}

int sbx_produced(struct sbx_plane *plane, const struct sbx_sandbox *sandbox, const char *path,
	const struct sbx_call *call, struct sbx_products *out, struct sbx_error *err)
{
	struct run run = {
		.plane = plane, .sandbox = sandbox->container.name, .call = call, .err = err
	};
	*out = (struct sbx_products){ 0 };
	if (sandbox->refusal)
		return sbx_fail(err, EOPNOTSUPP, "sandbox %s cannot be read: %s", run.sandbox,
			sandbox->refusal);
	size_t count = path ? 1 : sandbox->output_count;
	cleanup_free const char **paths = sbx_alloc_array(count, sizeof(*paths));
	size_t size = path ? strlen(path) : 0;
	while (size > 1 && path[size - 1] == '/')
		size--;
	cleanup_free char *plain = path ? sbx_strndup(path, size) : NULL;
	for (size_t i = 0; i < count; i++)
		paths[i] = plain ? plain : sandbox->outputs[i].path;
	int result = plain ? check_path(sandbox, plain, err) : 0;
	if (result == 0)
		result = stat_named(&run, paths, count, path != NULL);
	while (result == 0 && run.open_count)
		result = list_directory(&run, run.open[--run.open_count]);
	free(run.open);
	if (result < 0) {
		sbx_products_finish(&run.out);
		return result;
	}
	if (run.out.count)
		qsort(run.out.rows, run.out.count, sizeof(*run.out.rows), by_path);
	*out = run.out;
	return 0;
}

void sbx_products_finish(struct sbx_products *products)
{
	for (size_t i = 0; i < products->count; i++) {
		free(products->rows[i].path);
		free(products->rows[i].reason);
		sbx_stat_finish(&products->rows[i].st);
	}
	free(products->rows);
	*products = (struct sbx_products){ 0 };
}

/* Is a path below rows[index] among the changes? They are sorted: those begin where the path with
 * a slash would stand. */
static bool has_below(const struct sbx_changes *changes, size_t index)
{
	cleanup_free char *prefix = sbx_printf("%s/", changes->rows[index].path);
	size_t low = index + 1, high = changes->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(changes->rows[middle].path, prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < changes->count &&
	       strncmp(changes->rows[low].path, prefix, strlen(prefix)) == 0;
}

static bool is_declared(const struct sbx_sandbox *sandbox, const char *path)
{
	const char *workdir = sandbox->workdir ? sandbox->workdir : "/";
	size_t size = strcmp(workdir, "/") == 0 ? 0 : strlen(workdir);
	bool exact;
	return strncmp(path, workdir, size) == 0 && path[size] == '/' &&
	       sbx_fetch_declared(sandbox, path + size + 1, &exact);
}

int sbx_changed(struct sbx_engine *engine, const struct sbx_sandbox *sandbox,
	const struct sbx_call *call, struct sbx_changed_list *out, struct sbx_error *err)
{
	struct sbx_changes changes = { 0 };
	*out = (struct sbx_changed_list){ 0 };
	/* Names alone, and no path of a guest's goes to the engine: this needs no walk. */
	int result = sbx_archive_changes(engine, sandbox->container.id, "/", call, &changes, err);
	if (result < 0)
		return result;
	out->rows = sbx_alloc_array(changes.count, sizeof(*out->rows));
	for (size_t i = 0; i < changes.count; i++) {
		struct sbx_change *change = &changes.rows[i];
		if (change->kind == 0 && has_below(&changes, i))
			continue;
		struct sbx_changed *row = &out->rows[out->count++];
		*row = (struct sbx_changed){ steal(&change->path), change->kind, false };
		row->declared = is_declared(sandbox, row->path);
	}
	sbx_changes_finish(&changes);
	return 0;
}

void sbx_changed_list_finish(struct sbx_changed_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->rows[i].path);
	free(list->rows);
	*list = (struct sbx_changed_list){ 0 };
}
