/* fetch_plan.c: see fetch_plan.h. */
#include "fetch_plan.h"

#include "../base/alloc.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* Contents that listings bring are kept up to this; the rest is read again. */
#define KEEP_BYTES (64 << 20)
#define MAX_ITEMS 1000000
#define MAX_NAME_BYTES (256 << 20)

const struct sbx_output *sbx_fetch_declared(
	const struct sbx_sandbox *sandbox, const char *path, bool *exact)
{
	for (size_t i = 0; i < sandbox->output_count; i++) {
		const struct sbx_output *output = &sandbox->outputs[i];
		size_t size = strlen(output->path);
		if (strncmp(output->path, path, size) != 0)
			continue;
		*exact = path[size] == '\0';
		if (*exact || (output->directory && path[size] == '/'))
			return output;
	}
	return NULL;
}

/* Takes path and landing over. */
static struct sbx_fetch_item *append(struct sbx_fetch_plan *plan, char *path, char *landing)
{
	if (plan->count == plan->capacity) {
		plan->capacity = plan->capacity ? plan->capacity * 2 : 16;
		plan->items = sbx_realloc_array(plan->items, plan->capacity, sizeof(*plan->items));
	}
	struct sbx_fetch_item *item = &plan->items[plan->count++];
	*item = (struct sbx_fetch_item){ .path = path, .landing = landing };
	return item;
}

void sbx_fetch_refuse(struct sbx_fetch_item *item, const struct sbx_error *why)
{
	free(item->reason);
	item->result = -why->errnum;
	item->reason = sbx_strdup(why->message);
}

/* One of two equal names would overwrite the other, or do so on a host that folds case. */
static int check_collisions(const struct sbx_fetch_plan *plan, struct sbx_error *err)
{
	for (size_t i = 0; i < plan->count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcasecmp(plan->items[i].landing, plan->items[j].landing) == 0)
				return sbx_fail(err, EINVAL,
					"\"%s\" and \"%s\" would both land at \"%s\"",
					plan->items[j].path, plan->items[i].path,
					plan->items[i].landing);
	return 0;
}

int sbx_fetch_plan_names(struct sbx_fetch_plan *plan, const struct sbx_sandbox *sandbox,
	const char *const *paths, size_t count, const struct sbx_fetch_options *options,
	struct sbx_error *err)
{
	const char *name = sandbox->container.name;
	if (sandbox->refusal)
		return sbx_fail(
			err, EOPNOTSUPP, "sandbox %s cannot be read: %s", name, sandbox->refusal);
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(paths[i]);
		while (size > 1 && paths[i][size - 1] == '/')
			size--;
		char *path = sbx_strndup(paths[i], size);
		const char *slash = strrchr(path, '/');
		const char *base = slash && !options->whole_paths ? slash + 1 : path;
		append(plan, path, sbx_strdup(base))->named = true;
		if (sbx_guest_path_check(path, false, err) < 0)
			return sbx_wrap(err, "sandbox %s", name);
		bool exact;
		if (!sbx_fetch_declared(sandbox, path, &exact))
			return sbx_fail(err, EPERM, "\"%s\" is not a declared output of sandbox %s",
				path, name);
	}
	return check_collisions(plan, err);
}

/* ELOOP, ENXIO: what is neither file nor directory is never read. */
static int check_type(const char *name, const struct sbx_fetch_item *item, struct sbx_error *err)
{
	if (item->st.type == SBX_TYPE_FILE || item->st.type == SBX_TYPE_DIR)
		return 0;
	bool link = item->st.type == SBX_TYPE_LINK;
	return sbx_fail(err, link ? ELOOP : ENXIO, "\"%s\" in sandbox %s is a %s and is not read",
		item->path, name, sbx_type_name(item->st.type));
}

/* A declared file must be a file and a declared directory a directory; below one it may be either.
 */
static int check_declared_type(
	const struct sbx_sandbox *sandbox, const struct sbx_fetch_item *item, struct sbx_error *err)
{
	bool exact = false;
	const struct sbx_output *output = sbx_fetch_declared(sandbox, item->path, &exact);
	bool directory = item->st.type == SBX_TYPE_DIR;
	if (!exact || output->directory == directory)
		return 0;
	return sbx_fail(err, directory ? EISDIR : ENOTDIR,
		"\"%s\" in sandbox %s is a %s and was declared as a %s", item->path,
		sandbox->container.name, directory ? "directory" : "file",
		directory ? "file" : "directory");
}

int sbx_fetch_cap(const struct sbx_ceilings *ceilings, const char *path, int64_t size,
	int64_t total_bytes, int64_t total_entries, struct sbx_error *err)
{
	if (ceilings->max_file_bytes && size > ceilings->max_file_bytes)
		return sbx_fail(err, EFBIG,
			"\"%s\" has %" PRId64 " bytes, the ceiling of one file is %" PRId64
			" (--max-file)",
			path, size, ceilings->max_file_bytes);
	if (ceilings->max_files && total_entries > ceilings->max_files)
		return sbx_fail(err, EFBIG,
			"\"%s\" would be file %" PRId64 ", the ceiling is %" PRId64
			" files, with the directories and links found among them (--max-files)",
			path, total_entries, ceilings->max_files);
	if (ceilings->max_total_bytes && total_bytes > ceilings->max_total_bytes)
		return sbx_fail(err, EFBIG,
			"\"%s\" would make it %" PRId64 " bytes in all, the ceiling is %" PRId64
			" (--max-total)",
			path, total_bytes, ceilings->max_total_bytes);
	return 0;
}

static int account(struct sbx_fetch_plan *plan, struct sbx_fetch_item *item,
	const struct sbx_fetch_options *options, struct sbx_error *err)
{
	bool file = item->st.type == SBX_TYPE_FILE;
	if (item->st.type == SBX_TYPE_DIR && options->match_count) {
		item->directory = true; /* on the way to a file, and made with it */
		return 0;
	}
	int64_t size = file ? item->st.size : 0;
	int64_t room = INT64_MAX - plan->bytes;
	item->directory = item->st.type == SBX_TYPE_DIR;
	if (item->directory && item->named) /* declared by the caller, not made up by the guest */
		return 0;
	plan->files += file;
	plan->entries++;
	plan->bytes += size < room ? size : room;
	return sbx_fetch_cap(&options->ceilings, item->path, size, plan->bytes, plan->entries, err);
}

/* A listing's name becomes a host name: it must be one part and stay in its directory. */
static bool usable_name(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

/* Directories are looked into whatever their name is. */
static bool is_wanted(const struct sbx_entry *entry, const struct sbx_fetch_options *options)
{
	bool wanted = !options->match_count || entry->st.type == SBX_TYPE_DIR;
	for (size_t i = 0; !wanted && i < options->match_count; i++)
		wanted = fnmatch(options->match[i], entry->name, 0) == 0;
	return wanted;
}

static int add_entry(struct sbx_fetch_plan *plan, const char *path, const char *landing,
	struct sbx_entry *entry, const char *sandbox, const struct sbx_fetch_options *options,
	struct sbx_error *err)
{
	if (!usable_name(entry->name))
		return sbx_fail(err, EIO, "the engine listed an impossible name in \"%s\"", path);
	if (!is_wanted(entry, options))
		return 0;
	if (plan->count >= MAX_ITEMS)
		return sbx_fail(
			err, EFBIG, "\"%s\": more than %d files and directories", path, MAX_ITEMS);
	struct sbx_fetch_item *item = append(plan, sbx_printf("%s/%s", path, entry->name),
		sbx_printf("%s/%s", landing, entry->name));
	item->st = entry->st;
	entry->st.link_target = NULL;
	plan->name_bytes += strlen(item->path) + strlen(item->landing);
	if (plan->name_bytes > MAX_NAME_BYTES)
		return sbx_fail(err, EFBIG, "\"%s\": the names below it have more than %d bytes",
			path, MAX_NAME_BYTES);
	struct sbx_error why = SBX_ERROR_INIT;
	if (check_type(sandbox, item, &why) < 0) {
		sbx_fetch_refuse(item, &why);
		return account(plan, item, options, err);
	}
	if (entry->content && plan->kept_bytes + (size_t)item->st.size <= KEEP_BYTES) {
		plan->kept_bytes += (size_t)item->st.size;
		item->content = steal(&entry->content);
	}
	return account(plan, item, options, err);
}

/* Appends what is in a directory. One found in a listing may be gone by now; a named one may not.
 */
static int list_directory(struct sbx_fetch_plan *plan, size_t index, struct sbx_plane *plane,
	const char *sandbox, const struct sbx_fetch_options *options, const struct sbx_call *call,
	struct sbx_error *err)
{
	cleanup_with(sbx_listing_finish) struct sbx_listing listing = { 0 };
	struct sbx_fetch_item *item = &plan->items[index];
	int result = plane->ops->list(plane, item->path, call, &listing, err);
	if (result < 0 && !item->named &&
		(err->kind == SBX_KIND_ABSENT || err->kind == SBX_KIND_CONFINED ||
			err->kind == SBX_KIND_NOT_DIRECTORY)) {
		sbx_fetch_refuse(item, err);
		sbx_error_clear(err);
		return 0;
	}
	/* The items move while they grow. */
	const char *path = item->path, *landing = item->landing;
	for (size_t i = 0; result == 0 && i < listing.count; i++)
		result = add_entry(plan, path, landing, &listing.rows[i], sandbox, options, err);
	return result;
}

static int stat_named(struct sbx_fetch_plan *plan, struct sbx_plane *plane,
	const struct sbx_sandbox *sandbox, const struct sbx_fetch_options *options,
	const struct sbx_call *call, struct sbx_error *err)
{
	size_t count = plan->count;
	cleanup_free const char **paths = sbx_alloc_array(count, sizeof(*paths));
	cleanup_free struct sbx_stat *stats = sbx_alloc_array(count, sizeof(*stats));
	cleanup_free int *results = sbx_alloc_array(count, sizeof(*results));
	cleanup_free struct sbx_error *errors = sbx_alloc_array(count, sizeof(*errors));
	for (size_t i = 0; i < count; i++)
		paths[i] = plan->items[i].path;
	int result = plane->ops->stat_many(plane, paths, count, call, stats, results, errors, err);
	if (result < 0)
		return result;
	for (size_t i = 0; i < count; i++)
		plan->items[i].st = stats[i]; /* owned by the plan from here, also on failure */
	for (size_t i = 0; result == 0 && i < count; i++) {
		struct sbx_fetch_item *item = &plan->items[i];
		if (results[i] < 0 && errors[i].kind == SBX_KIND_ABSENT && options->missing_ok) {
			if (options->required && options->required[i])
				return sbx_fail_kind(err, SBX_KIND_OUTPUT_MISSING, ENOENT,
					"the required output \"%s\" of sandbox %s was not written",
					item->path, sandbox->container.name);
			sbx_fetch_refuse(item, &errors[i]);
			continue;
		}
		if (results[i] < 0) {
			*err = errors[i];
			return results[i];
		}
		result = check_type(sandbox->container.name, item, err);
		if (result == 0)
			result = check_declared_type(sandbox, item, err);
		if (result == 0 && options->only_files && item->st.type == SBX_TYPE_DIR)
			result = sbx_fail(err, EISDIR,
				"\"%s\" in sandbox %s is a directory, which is no bytes to hand on",
				item->path, sandbox->container.name);
		if (result == 0)
			result = account(plan, item, options, err);
	}
	return result;
}

int sbx_fetch_plan_stat(struct sbx_fetch_plan *plan, struct sbx_plane *plane,
	const struct sbx_sandbox *sandbox, const struct sbx_fetch_options *options,
	const struct sbx_call *call, struct sbx_error *err)
{
	int result = plan->count ? stat_named(plan, plane, sandbox, options, call, err) : 0;
	for (size_t i = 0; result == 0 && i < plan->count; i++)
		if (plan->items[i].directory && !plan->items[i].result)
			result = list_directory(
				plan, i, plane, sandbox->container.name, options, call, err);
	if (result == 0 && options->match_count && !plan->files)
		return sbx_fail(err, ENOENT,
			"nothing that was named in sandbox %s has a file of a name that matches",
			sandbox->container.name);
	return result;
}

void sbx_fetch_plan_finish(struct sbx_fetch_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct sbx_fetch_item *item = &plan->items[i];
		free(item->path);
		free(item->landing);
		free(item->content);
		free(item->reason);
		sbx_stat_finish(&item->st);
	}
	free(plan->items);
	*plan = (struct sbx_fetch_plan){ 0 };
}
