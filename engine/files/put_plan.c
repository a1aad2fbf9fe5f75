/* put_plan.c: see put_plan.h. */
#include "put_plan.h"

#include "../base/alloc.h"

#include <string.h>

void sbx_put_plan_free(struct sbx_put_plan *plan)
{
	for (size_t i = 0; i < plan->directory_count; i++)
		free(plan->directories[i].path);
	free(plan->directories);
	free(plan->sends);
	free(plan->base);
	free(plan->entries);
	*plan = (struct sbx_put_plan){ 0 };
}

static int by_path(const void *a, const void *b)
{
	const struct sbx_put_item *const *left = a;
	const struct sbx_put_item *const *right = b;
	return strcmp((*left)->path, (*right)->path);
}

void sbx_put_sort(struct sbx_put_item **items, size_t count)
{
	qsort(items, count, sizeof(struct sbx_put_item *), by_path);
}

size_t sbx_put_batch(struct sbx_put_item *const *items, size_t count)
{
	int64_t bytes = 0;
	size_t taken = 0;
	while (taken < count && taken < SBX_PUT_BATCH_ITEMS) {
		int64_t size = items[taken]->type == SBX_TYPE_FILE ? items[taken]->size : 0;
		if (taken && size > SBX_PUT_BATCH_BYTES - bytes)
			break;
		bytes += size;
		taken++;
	}
	return taken;
}

/* From the back: items are sorted, so what is asked for was most often noted just before. */
enum sbx_put_found sbx_put_directory(const struct sbx_put_plan *plan, const char *path)
{
	for (size_t i = plan->directory_count; i-- > 0;)
		if (strcmp(plan->directories[i].path, path) == 0)
			return plan->directories[i].found;
	return SBX_PUT_UNKNOWN;
}

void sbx_put_note(struct sbx_put_plan *plan, const char *path, enum sbx_put_found found)
{
	plan->directories = sbx_realloc_array(
		plan->directories, plan->directory_count + 1, sizeof(*plan->directories));
	plan->directories[plan->directory_count++] =
		(struct sbx_put_directory){ .path = sbx_strdup(path), .found = found };
}

void sbx_put_send(struct sbx_put_plan *plan, struct sbx_put_item *item, const struct sbx_stat *old)
{
	plan->sends = sbx_realloc_array(plan->sends, plan->send_count + 1, sizeof(*plan->sends));
	plan->sends[plan->send_count++] = (struct sbx_put_send){ .item = item,
		.existed = old,
		.old_size = old ? old->size : 0,
		.old_mtime_s = old ? old->mtime_s : 0 };
}

size_t sbx_put_parent_length(const char *path, size_t length)
{
	while (length > 0 && path[length - 1] != '/')
		length--;
	return length ? length - 1 : 0;
}

size_t sbx_put_common_length(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t same = 0;
	size_t whole = 0;
	while (same < a_length && same < b_length && a[same] == b[same]) {
		if (a[same] == '/')
			whole = same;
		same++;
	}
	bool a_ends = same == a_length || a[same] == '/';
	bool b_ends = same == b_length || b[same] == '/';
	return a_ends && b_ends ? same : whole;
}

static int by_directory(const void *a, const void *b)
{
	const char *left = (*(const struct sbx_put_send *const *)a)->item->path;
	const char *right = (*(const struct sbx_put_send *const *)b)->item->path;
	size_t left_length = sbx_put_parent_length(left, strlen(left));
	size_t right_length = sbx_put_parent_length(right, strlen(right));
	size_t shorter = left_length < right_length ? left_length : right_length;
	int order = strncmp(left, right, shorter);
	if (order == 0 && left_length != right_length)
		return left_length < right_length ? -1 : 1;
	return order ? order : strcmp(left, right);
}

static int by_item(const void *a, const void *b)
{
	const struct sbx_put_send *const *left = a;
	const struct sbx_put_send *const *right = b;
	return strcmp((*left)->item->path, (*right)->item->path);
}

static bool beside(const struct sbx_put_item *a, const struct sbx_put_item *b)
{
	size_t length = sbx_put_parent_length(a->path, strlen(a->path));
	return length == sbx_put_parent_length(b->path, strlen(b->path)) &&
	       strncmp(a->path, b->path, length) == 0;
}

bool sbx_put_time_tells(const struct sbx_put_send *send)
{
	int64_t mtime_s = send->item->mtime_s;
	return send->existed && send->item->type == SBX_TYPE_FILE && mtime_s >= 0 &&
	       mtime_s <= INT32_MAX &&
	       (send->old_mtime_s < mtime_s - 1 || send->old_mtime_s > mtime_s + 1);
}

/* Would a look afterwards tell whether it landed? */
static bool tells(const struct sbx_put_send *send)
{
	return !send->existed || sbx_put_time_tells(send) ||
	       (send->item->type == SBX_TYPE_FILE && send->item->size != send->old_size);
}

size_t sbx_put_witnesses(const struct sbx_put_plan *plan, const struct sbx_put_send **out)
{
	size_t count = plan->send_count, kept = 0;
	const struct sbx_put_send *best = NULL; /* of the directory at hand */
	for (size_t i = 0; i < count; i++)
		out[i] = &plan->sends[i];
	qsort(out, count, sizeof(*out), by_directory);
	for (size_t i = 0; i < count; i++) {
		if (!best || tells(out[i]) || !tells(best))
			best = out[i];
		if (i + 1 < count && beside(out[i]->item, out[i + 1]->item))
			continue;
		out[kept++] = best;
		best = NULL;
	}
	qsort(out, kept, sizeof(*out), by_item);
	return kept;
}

void sbx_put_fail_beside(struct sbx_put_plan *plan, const struct sbx_put_item *item)
{
	for (size_t i = 0; i < plan->send_count; i++) {
		struct sbx_put_item *other = plan->sends[i].item;
		if (other == item || !beside(item, other))
			continue;
		other->result = item->result;
		other->err = item->err;
	}
}

static char *base_of(const struct sbx_put_plan *plan)
{
	const char *first = plan->sends[0].item->path;
	size_t length = sbx_put_parent_length(first, strlen(first));
	for (size_t i = 1; i < plan->send_count; i++) {
		const char *path = plan->sends[i].item->path;
		length = sbx_put_common_length(
			first, length, path, sbx_put_parent_length(path, strlen(path)));
	}
	for (;;) {
		char *base = sbx_strndup(first, length);
		if (length == 0 || sbx_put_directory(plan, base) == SBX_PUT_THERE)
			return base;
		free(base);
		length = sbx_put_parent_length(first, length);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct sbx_tar_item *left = a;
	const struct sbx_tar_item *right = b;
	return strcmp(left->name, right->name);
}

/* The part of path below base. */
static const char *below(const char *base, const char *path)
{
	size_t length = strlen(base);
	return length ? path + length + 1 : path;
}

static int by_send(const void *key, const void *send)
{
	return strcmp(key, ((const struct sbx_put_send *)send)->item->path);
}

static bool is_item(const struct sbx_put_plan *plan, const char *path)
{
	return bsearch(path, plan->sends, plan->send_count, sizeof(*plan->sends), by_send);
}

void sbx_put_plan_finish(struct sbx_put_plan *plan, unsigned uid, unsigned gid, int64_t now_s)
{
	if (plan->send_count == 0)
		return;
	plan->base = base_of(plan);
	plan->entries =
		sbx_alloc_array(plan->send_count + plan->directory_count, sizeof(*plan->entries));
	for (size_t i = 0; i < plan->directory_count; i++) {
		const struct sbx_put_directory *directory = &plan->directories[i];
		if (directory->found != SBX_PUT_MISSING || is_item(plan, directory->path))
			continue;
		plan->entries[plan->entry_count++] =
			(struct sbx_tar_item){ .name = below(plan->base, directory->path),
				.directory = true,
				.mode = 0755,
				.uid = uid,
				.gid = gid,
				.mtime_s = now_s,
				.fd = -1 };
	}
	for (size_t i = 0; i < plan->send_count; i++) {
		const struct sbx_put_item *item = plan->sends[i].item;
		bool directory = item->type == SBX_TYPE_DIR;
		plan->entries[plan->entry_count++] =
			(struct sbx_tar_item){ .name = below(plan->base, item->path),
				.directory = directory,
				.mode = item->mode & 07777,
				.uid = uid,
				.gid = gid,
				.mtime_s = item->mtime_s,
				.mtime_ns = item->mtime_ns,
				.size = directory ? 0 : item->size,
				.fd = item->fd,
				.offset = item->offset,
				.moved = item->moved,
				.data = item->data };
	}
	qsort(plan->entries, plan->entry_count, sizeof(*plan->entries), by_name);
}
