/* fake_plane.h: a plane over a table, for what is above planes: stats, listings and reads counted.
 */
#ifndef SBX_TESTS_FAKE_PLANE_H
#define SBX_TESTS_FAKE_PLANE_H

#include "base/alloc.h"

#include <sbx/plane.h>

#include <errno.h>
#include <string.h>

struct fake_row {
	const char *path;
	enum sbx_type type;
	const char *content;
	int64_t size;	 /* 0: the content's */
	int read_result; /* what reading it answers, as -errno */
};

struct fake_plane {
	struct sbx_plane plane;
	const struct fake_row *rows;
	size_t count;
	int stats, lists, reads, puts;
	int archive; /* so many files of a tree come in one archive; 0: it is not to be had */
	int passes;  /* it is begun this often */
	int trees;
};

static const struct fake_row *fake_find(struct fake_plane *fake, const char *path)
{
	for (size_t i = 0; i < fake->count; i++)
		if (strcmp(fake->rows[i].path, path) == 0)
			return &fake->rows[i];
	return NULL;
}

static struct sbx_stat fake_stat(const struct fake_row *row)
{
	return (struct sbx_stat){ .type = row->type,
		.mode = 0644,
		.mtime_s = 1700000000,
		.size = row->size ? row->size : (int64_t)strlen(row->content ? row->content : "") };
}

static int fake_stat_many(struct sbx_plane *plane, const char *const *paths, size_t count,
	const struct sbx_call *call, struct sbx_stat *out, int *results, struct sbx_error *errors,
	struct sbx_error *err)
{
	struct fake_plane *fake = (struct fake_plane *)plane;
	fake->stats++;
	for (size_t i = 0; i < count; i++) {
		const struct fake_row *row = fake_find(fake, paths[i]);
		results[i] = row ? 0 : sbx_fail(&errors[i], ENOENT, "%s is not there", paths[i]);
		if (row)
			out[i] = fake_stat(row);
	}
	return 0;
}

static int fake_list(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	struct sbx_listing *out, struct sbx_error *err)
{
	struct fake_plane *fake = (struct fake_plane *)plane;
	size_t size = strlen(path);
	fake->lists++;
	out->rows = sbx_alloc_array(fake->count, sizeof(*out->rows));
	for (size_t i = 0; i < fake->count; i++) {
		const char *row = fake->rows[i].path;
		if (strncmp(row, path, size) != 0 || row[size] != '/' ||
			strchr(row + size + 1, '/'))
			continue;
		out->rows[out->count++] = (struct sbx_entry){ .name = sbx_strdup(row + size + 1),
			.st = fake_stat(&fake->rows[i]) };
	}
	return 0;
}

static int fake_read(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
	const struct sbx_reader *reader, struct sbx_error *err)
{
	struct fake_plane *fake = (struct fake_plane *)plane;
	const struct fake_row *row = fake_find(fake, path);
	fake->reads++;
	if (row->read_result)
		return sbx_fail(err, -row->read_result, "%s cannot be read", path);
	struct sbx_stat st = fake_stat(row);
	st.size = (int64_t)strlen(row->content);
	int result = reader->begin(reader->data, &st);
	return result ? result : reader->bytes(reader->data, row->content, strlen(row->content));
}

static int fake_read_tree(struct sbx_plane *plane, const char *path, int64_t most_bytes,
	const struct sbx_call *call, const struct sbx_tree_reader *reader, struct sbx_error *err)
{
	struct fake_plane *fake = (struct fake_plane *)plane;
	size_t length = strlen(path);
	int result = 0, left = fake->archive;
	fake->trees++;
	for (int pass = 0; result == 0 && pass < (fake->passes ? fake->passes : 1); pass++) {
		reader->again(reader->data);
		left = fake->archive;
		for (size_t i = 0; result == 0 && left && i < fake->count; i++) {
			const struct fake_row *row = &fake->rows[i];
			if (strncmp(row->path, path, length) != 0 || row->path[length] != '/' ||
				row->type != SBX_TYPE_FILE)
				continue;
			struct sbx_stat st = fake_stat(row);
			st.size = (int64_t)strlen(row->content);
			int taken = reader->begin(reader->data, row->path, &st);
			result = taken < 0 ? taken : 0;
			if (taken)
				continue;
			result = reader->bytes(reader->data, row->content, strlen(row->content));
			if (result == 0 && --left)
				result = reader->end(reader->data); /* the last one is cut */
		}
	}
	return result < 0 ? result : left == 0;
}

static const struct sbx_plane_ops fake_ops = { .stat_many = fake_stat_many,
	.list = fake_list,
	.read = fake_read,
	.read_tree = fake_read_tree };

static inline struct fake_plane fake_plane(const struct fake_row *rows, size_t count)
{
	return (struct fake_plane){ .plane = { &fake_ops }, .rows = rows, .count = count };
}

#endif
