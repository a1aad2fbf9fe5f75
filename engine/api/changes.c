/*
 * changes.c: what differs from the image. Engines give siblings in no order, so it is made here.
 *
 * A guest can make the list as long as it likes, anywhere. It is read row by row as it comes, and
 * only what concerns the path in question is kept, within a bound.
 */
#include "changes.h"

#include "api.h"
#include "container.h"

#include "../base/alloc.h"

#include <errno.h>
#include <string.h>

enum { ROW_BYTES = 64 * 1024, ROW_DEPTH = 8 };

void sbx_changes_finish(struct sbx_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		free(changes->rows[i].path);
	free(changes->rows);
	*changes = (struct sbx_changes){ 0 };
}

static int by_path(const void *a, const void *b)
{
	const struct sbx_change *one = a, *other = b;
	int order = strcmp(one->path, other->path);
	return order ? order : one->kind - other->kind;
}

/* Is one of the paths the other, or above it? */
static bool on_one_way(const char *one, const char *other)
{
	size_t a = strlen(one), b = strlen(other), shorter = a < b ? a : b;
	if (strncmp(one, other, shorter) != 0)
		return false;
	return a == b || shorter == 1 || (a > b ? one : other)[shorter] == '/';
}

static int keep(struct sbx_changes_reader *reader, const char *path, int kind)
{
	struct sbx_changes *out = &reader->changes;
	if (!on_one_way(path, reader->near))
		return 0;
	int64_t cost = (int64_t)strlen(path) + SBX_CHANGES_ROW_COST;
	if (cost > SBX_CHANGES_MAX - reader->kept)
		return sbx_fail(reader->err, EFBIG,
			"more has changed below %s than can be listed: over %d MiB of names",
			reader->near, SBX_CHANGES_MAX >> 20);
	reader->kept += cost;
	if (out->count == reader->room) {
		reader->room = reader->room ? reader->room * 2 : 64;
		out->rows = sbx_realloc_array(out->rows, reader->room, sizeof(*out->rows));
	}
	out->rows[out->count++] = (struct sbx_change){ sbx_strdup(path), kind };
	return 0;
}

static int no_list(struct sbx_changes_reader *reader)
{
	return sbx_fail(reader->err, EIO, "the engine's list of changes is not one");
}

static int end_row(struct sbx_changes_reader *reader)
{
	cleanup_json cJSON *row = sbx_json_parse(reader->text.data, reader->text.size, ROW_DEPTH,
		"the engine's list of changes", reader->err);
	sbx_buffer_clear(&reader->text);
	if (!row)
		return -EIO;
	const char *path = sbx_json_string(row, "Path");
	int64_t kind = sbx_json_int(row, "Kind", -1);
	if (!path || *path != '/' || kind < 0 || kind > 2)
		return sbx_fail(
			reader->err, EIO, "the engine's list of changes has a row that is none");
	return keep(reader, path, (int)kind);
}

/* A byte of a row: where the row ends is all that is looked at, the rest is the parser's. */
static int row_byte(struct sbx_changes_reader *reader, char byte)
{
	if (!sbx_buffer_append(&reader->text, &byte, 1))
		return sbx_fail(reader->err, EIO, "a row of the list of changes is too long");
	if (reader->escaped) {
		reader->escaped = false;
	} else if (reader->quoted) {
		reader->escaped = byte == '\\';
		reader->quoted = byte != '"';
	} else if (byte == '"') {
		reader->quoted = true;
	} else if (byte == '{') {
		reader->depth++;
	} else if (byte == '}' && --reader->depth == 0) {
		reader->place = SBX_CHANGES_AFTER_ROW;
		return end_row(reader);
	}
	return 0;
}

static int begin_row(struct sbx_changes_reader *reader)
{
	reader->place = SBX_CHANGES_IN_ROW;
	return row_byte(reader, '{');
}

/* No list at all is said as null. */
static int null_byte(struct sbx_changes_reader *reader, char byte)
{
	static const char null[] = "null";
	if (byte != null[reader->letters])
		return no_list(reader);
	reader->place = null[++reader->letters] ? SBX_CHANGES_IN_NULL : SBX_CHANGES_AFTER;
	return 0;
}

/* A byte between the rows, before the list or after it. */
static int other_byte(struct sbx_changes_reader *reader, char byte)
{
	if (byte && strchr(" \t\r\n", byte))
		return 0;
	switch (reader->place) {
	case SBX_CHANGES_BEFORE:
		if (byte != '[')
			return null_byte(reader, byte);
		reader->place = SBX_CHANGES_BEGUN;
		return 0;
	case SBX_CHANGES_BEGUN:
	case SBX_CHANGES_AFTER_COMMA:
		if (byte == '{')
			return begin_row(reader);
		break;
	case SBX_CHANGES_AFTER_ROW:
		if (byte == ',') {
			reader->place = SBX_CHANGES_AFTER_COMMA;
			return 0;
		}
		break;
	default:
		return no_list(reader);
	}
	if (byte != ']' || reader->place == SBX_CHANGES_AFTER_COMMA)
		return no_list(reader);
	reader->place = SBX_CHANGES_AFTER;
	return 0;
}

static int feed_byte(struct sbx_changes_reader *reader, char byte)
{
	switch (reader->place) {
	case SBX_CHANGES_IN_ROW:
		return row_byte(reader, byte);
	case SBX_CHANGES_IN_NULL:
		return null_byte(reader, byte);
	default:
		return other_byte(reader, byte);
	}
}

int sbx_changes_feed(void *data, const void *bytes, size_t size)
{
	struct sbx_changes_reader *reader = data;
	int result = 0;
	reader->text.limit = ROW_BYTES;
	for (size_t i = 0; i < size && !result; i++)
		result = feed_byte(reader, ((const char *)bytes)[i]);
	return result;
}

static void sort_once_each(struct sbx_changes *changes)
{
	if (!changes->count)
		return;
	qsort(changes->rows, changes->count, sizeof(*changes->rows), by_path);
	size_t kept = 1;
	for (size_t i = 1; i < changes->count; i++) {
		if (strcmp(changes->rows[i].path, changes->rows[kept - 1].path) == 0)
			free(changes->rows[i].path);
		else
			changes->rows[kept++] = changes->rows[i];
	}
	changes->count = kept;
}

int sbx_changes_end(struct sbx_changes_reader *reader, struct sbx_changes *out)
{
	if (reader->place != SBX_CHANGES_AFTER)
		return no_list(reader);
	sort_once_each(&reader->changes);
	*out = reader->changes;
	reader->changes = (struct sbx_changes){ 0 };
	return 0;
}

void sbx_changes_reader_finish(struct sbx_changes_reader *reader)
{
	sbx_changes_finish(&reader->changes);
	sbx_buffer_finish(&reader->text);
}

int sbx_archive_changes(struct sbx_engine *engine, const char *id, const char *near,
	const struct sbx_call *call, struct sbx_changes *out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT, own = SBX_ERROR_INIT;
	err = err ? err : &local;
	*out = (struct sbx_changes){ 0 };
	cleanup_free char *target = sbx_container_target(engine, id, "/changes", err);
	if (!target)
		return -EINVAL;
	cleanup_with(sbx_changes_reader_finish) struct sbx_changes_reader reader = { .near = near,
		.err = &own };
	struct sbx_http_request request = {
		.method = "GET", .target = target, .write = sbx_changes_feed, .write_data = &reader
	};
	cleanup_with(sbx_http_response_finish) struct sbx_http_response response;
	int result = sbx_api_request(engine, &request, call, &response, err);
	if (!result)
		result = sbx_changes_end(&reader, out);
	else if (err->http_status)
		result = sbx_container_refine(engine, id, call, result, err);
	if (own.errnum)
		*err = own; /* a failure of ours has its sentence there, one of the request's in err
			     */
	if (result == -ENOENT && err->kind == SBX_KIND_ABSENT)
		return sbx_fail_kind(
			err, SBX_KIND_GONE, ESTALE, "container %.12s is not there any more", id);
	return result;
}
