/* image_names.c: see image_names.h. */
#include "image_names.h"

#include "../base/alloc.h"
#include "../base/json.h"
#include "../base/log.h"
#include "account_guard.h"
#include "dir_archive.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sbx/archive.h>
#include <sbx/labels.h>
#include <string.h>
#include <sys/random.h>

enum { PROBE_BYTES = 64 << 20, REMOVE_MS = 20000 };

struct directory {
	struct directory *next;
	char *path;
	struct sbx_names names;
};

struct sbx_image_names {
	pthread_mutex_t lock; /* guards the list; rows are never changed nor removed */
	struct directory *first;
};

void sbx_names_finish(struct sbx_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->rows[i]);
	free(names->rows);
	*names = (struct sbx_names){ 0 };
}

struct sbx_image_names *sbx_image_names_create(void)
{
	struct sbx_image_names *known = sbx_alloc(sizeof(*known));
	(void)pthread_mutex_init(&known->lock, NULL); /* cannot fail without attributes */
	return known;
}

void sbx_image_names_destroy(struct sbx_image_names *known)
{
	if (!known)
		return;
	for (struct directory *row = known->first, *next; row; row = next) {
		next = row->next;
		sbx_names_finish(&row->names);
		free(row->path);
		free(row);
	}
	(void)pthread_mutex_destroy(&known->lock);
	free(known);
}

const struct sbx_names *sbx_image_names_find(struct sbx_image_names *known, const char *directory)
{
	(void)pthread_mutex_lock(&known->lock);
	const struct directory *row = known->first;
	while (row && strcmp(row->path, directory) != 0)
		row = row->next;
	(void)pthread_mutex_unlock(&known->lock);
	return row ? &row->names : NULL;
}

static void remember(
	struct sbx_image_names *known, const char *directory, const struct sbx_listing *listing)
{
	struct directory *row = sbx_alloc(sizeof(*row));
	row->path = sbx_strdup(directory);
	row->names.rows = sbx_alloc_array(listing->count, sizeof(char *));
	for (size_t i = 0; i < listing->count; i++)
		row->names.rows[row->names.count++] = sbx_strdup(listing->rows[i].name);
	(void)pthread_mutex_lock(&known->lock);
	row->next = known->first;
	known->first = row;
	(void)pthread_mutex_unlock(&known->lock);
}

/* Never started: the command need not exist. The role keeps it out of every listing. */
static cJSON *probe_body(const struct sbx_container *container)
{
	cJSON *body = cJSON_CreateObject();
	cJSON_AddStringToObject(body, "Image", container->image_id);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "Cmd"), cJSON_CreateString("/none"));
	cJSON *labels = cJSON_AddObjectToObject(body, "Labels");
	cJSON_AddStringToObject(labels, SBX_LABEL_ROLE, "probe");
	cJSON *host = cJSON_AddObjectToObject(body, "HostConfig");
	cJSON_AddStringToObject(host, "NetworkMode", "none");
	return body;
}

/* Also after a cancel, and where nobody knows whether it was made: it must not stay behind. */
static void remove_probe(struct sbx_engine *engine, const char *id_or_name)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_call_within(REMOVE_MS, NULL);
	if (sbx_container_remove(engine, id_or_name, &call, &err) < 0 &&
		err.kind != SBX_KIND_ABSENT)
		sbx_log(SBX_LOG_WARNING, "the container %s may be left behind: %s", id_or_name,
			err.message);
}

static int create_probe(struct sbx_engine *engine, const struct sbx_container *container,
	const struct sbx_call *call, char **id, struct sbx_error *err)
{
	uint64_t random;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return sbx_fail_errno(err, errno, "random bytes for a name");
	cleanup_free char *name = sbx_printf("sbxfs-probe-%016" PRIx64, random);
	cleanup_json cJSON *body = probe_body(container);
	int result = sbx_container_create(engine, name, body, call, id, err);
	if (!result)
		return 0;
	remove_probe(engine, name);
	return sbx_wrap(err, "a container to see what the image of %s holds", container->name);
}

/* Not there, or no directory: the image put nothing into it. */
static bool holds_nothing(int result)
{
	return result == -ENOENT || result == -ENOTDIR || result == -ELOOP;
}

static int read_probe(struct sbx_engine *engine, const char *id, const char *directory,
	unsigned max_entries, const struct sbx_call *call, struct sbx_listing *listing,
	struct sbx_error *err)
{
	const struct sbx_dir_budget budget = {
		.each = PROBE_BYTES,
		.spare = PROBE_BYTES,
		.deeper = PROBE_BYTES,
		.total = PROBE_BYTES,
		.max_entries = max_entries,
	};
	struct sbx_stat st;
	int result = sbx_archive_head(engine, id, directory, call, &st, err);
	if (result < 0)
		return holds_nothing(result) && err->kind != SBX_KIND_GONE ? 0 : result;
	bool is_directory = st.type == SBX_TYPE_DIR;
	sbx_stat_finish(&st);
	if (!is_directory)
		return 0;
	result = sbx_account_guard(engine, id, call, err);
	if (!result)
		result = sbx_dir_archive_get(engine, id, directory, &budget, call, listing, err);
	if (result == SBX_DIR_CUT)
		return sbx_fail(err, EOPNOTSUPP,
			"the image itself has more than 64 MiB in %s, too much to list it",
			directory);
	return result;
}

int sbx_image_names_read(struct sbx_image_names *known, struct sbx_engine *engine,
	const struct sbx_container *container, const char *directory, unsigned max_entries,
	const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_free char *id = NULL;
	struct sbx_listing listing = { 0 };
	struct sbx_error local = SBX_ERROR_INIT;
	int result = create_probe(engine, container, call, &id, &local);
	if (!result) {
		result = read_probe(engine, id, directory, max_entries, call, &listing, &local);
		remove_probe(engine, id);
	}
	if (!result)
		remember(known, directory, &listing);
	else if (err)
		*err = local;
	sbx_listing_finish(&listing);
	return result;
}
