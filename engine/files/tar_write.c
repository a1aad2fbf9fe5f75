/* tar_write.c: see tar_write.h. Source of the format: POSIX.1-2017, pax, "ustar Interchange Format"
 * and "pax Extended Header". */
#include "tar_write.h"

#include "../base/alloc.h"
#include "../base/buffer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 512
#define NAME_MAX_USTAR 100
#define OCTAL_7_MAX 2097151		 /* 7 octal digits */
#define OCTAL_11_MAX INT64_C(8589934591) /* 11 octal digits */
#define END_SIZE 1024

struct ustar {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
		magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct ustar) == BLOCK, "a header is one block");

struct sbx_tar_writer {
	const struct sbx_tar_item *items;
	size_t count;
	int64_t size;
	/* Where reading is: the item's head (headers), then its body, then padding. */
	size_t at;
	struct sbx_buffer head;
	size_t head_at;
	int64_t body_at;
	size_t pad_left;
	bool in_item;
	size_t end_left;
	struct sbx_error error;
};

static size_t padding(int64_t size)
{
	return (size_t)((BLOCK - size % BLOCK) % BLOCK);
}

static int64_t body_size(const struct sbx_tar_item *item)
{
	return item->directory ? 0 : item->size;
}

/* "LENGTH key=value\n", LENGTH counting itself. The value may hold any byte but NUL. */
static void pax_record(struct sbx_buffer *records, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3; /* space, '=', newline */
	size_t length = rest + 1;
	for (;;) {
		char digits[24];
		size_t total = rest + (size_t)snprintf(digits, sizeof(digits), "%zu", length);
		if (total == length)
			break;
		length = total;
	}
	(void)sbx_buffer_printf(
		records, "%zu %s=%s\n", length, key, value); /* a buffer without a limit */
}

static void pax_number(struct sbx_buffer *records, const char *key, int64_t value)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "%" PRId64, value); /* fits */
	pax_record(records, key, text);
}

/* Seconds since 1970 with nine decimals; the fraction of a negative time points away from zero. */
static void pax_mtime(struct sbx_buffer *records, int64_t seconds, int32_t nanoseconds)
{
	char text[48];
	bool negative = seconds < 0;
	if (negative && nanoseconds > 0) {
		seconds++;
		nanoseconds = 1000000000 - nanoseconds;
	}
	uint64_t whole = negative ? (uint64_t)0 - (uint64_t)seconds : (uint64_t)seconds;
	(void)snprintf(text, sizeof(text), "%s%" PRIu64 ".%09" PRId32, negative ? "-" : "", whole,
		nanoseconds); /* fits */
	pax_record(records, "mtime", text);
}

static void octal(char *field, size_t size, int64_t value)
{
	char text[24];
	(void)snprintf(text, sizeof(text), "%0*" PRIo64, (int)size - 1, value); /* fits */
	memcpy(field, text, size - 1);
	field[size - 1] = '\0';
}

static int64_t fitting(int64_t value, int64_t most)
{
	return value < 0 || value > most ? 0 : value; /* the pax record then says it */
}

static void header(struct sbx_buffer *out, const struct sbx_tar_item *item, const char *name,
	char type, int64_t size)
{
	struct ustar block = { 0 };
	size_t length = strlen(name);
	memcpy(block.name, name, length < NAME_MAX_USTAR ? length : NAME_MAX_USTAR);
	octal(block.mode, sizeof(block.mode), item->mode & 07777);
	octal(block.uid, sizeof(block.uid), fitting(item->uid, OCTAL_7_MAX));
	octal(block.gid, sizeof(block.gid), fitting(item->gid, OCTAL_7_MAX));
	octal(block.size, sizeof(block.size), fitting(size, OCTAL_11_MAX));
	octal(block.mtime, sizeof(block.mtime), fitting(item->mtime_s, OCTAL_11_MAX));
	block.type = type;
	memcpy(block.magic, "ustar", 6);
	memcpy(block.version, "00", 2);
	memset(block.checksum, ' ', sizeof(block.checksum));
	unsigned sum = 0;
	for (size_t i = 0; i < BLOCK; i++)
		sum += ((const unsigned char *)&block)[i];
	octal(block.checksum, 7, sum);
	block.checksum[7] = ' ';
	(void)sbx_buffer_append(out, &block, BLOCK); /* a buffer without a limit */
}

static bool plain_ascii(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text >= 0x80)
			return false;
	return true;
}

/* Everything of an item but its body. */
static void make_head(const struct sbx_tar_item *item, struct sbx_buffer *out)
{
	static const char zeros[BLOCK];
	cleanup_free char *name = sbx_printf("./%s%s", item->name, item->directory ? "/" : "");
	struct sbx_buffer records = { 0 };
	if (strlen(name) > NAME_MAX_USTAR || !plain_ascii(name))
		pax_record(&records, "path", name);
	if (body_size(item) > OCTAL_11_MAX)
		pax_number(&records, "size", body_size(item));
	if (item->uid > OCTAL_7_MAX)
		pax_number(&records, "uid", item->uid);
	if (item->gid > OCTAL_7_MAX)
		pax_number(&records, "gid", item->gid);
	if (item->mtime_ns > 0 || item->mtime_s < 0 || item->mtime_s > OCTAL_11_MAX)
		pax_mtime(&records, item->mtime_s, item->mtime_ns > 0 ? item->mtime_ns : 0);
	if (records.size) {
		static const struct sbx_tar_item plain = { .mode = 0644 };
		header(out, &plain, "./pax", 'x', (int64_t)records.size);
		(void)sbx_buffer_append(out, records.data, records.size); /* no limit */
		(void)sbx_buffer_append(out, zeros, padding((int64_t)records.size));
	}
	sbx_buffer_finish(&records);
	header(out, item, name, item->directory ? '5' : '0', body_size(item));
}

struct sbx_tar_writer *sbx_tar_writer_create(const struct sbx_tar_item *items, size_t count)
{
	struct sbx_tar_writer *writer = sbx_alloc(sizeof(*writer));
	writer->items = items;
	writer->count = count;
	writer->end_left = END_SIZE;
	writer->size = END_SIZE;
	for (size_t i = 0; i < count; i++) {
		struct sbx_buffer head = { 0 };
		make_head(&items[i], &head);
		writer->size += (int64_t)head.size + body_size(&items[i]) +
				(int64_t)padding(body_size(&items[i]));
		sbx_buffer_finish(&head);
	}
	return writer;
}

void sbx_tar_writer_destroy(struct sbx_tar_writer *writer)
{
	if (!writer)
		return;
	sbx_buffer_finish(&writer->head);
	free(writer);
}

int64_t sbx_tar_writer_size(const struct sbx_tar_writer *writer)
{
	return writer->size;
}

const struct sbx_error *sbx_tar_writer_error(const struct sbx_tar_writer *writer)
{
	return writer->error.errnum ? &writer->error : NULL;
}

static size_t smaller(size_t a, int64_t b)
{
	return b < (int64_t)a ? (size_t)b : a;
}

static int64_t read_body(
	struct sbx_tar_writer *writer, const struct sbx_tar_item *item, void *buffer, size_t size)
{
	size_t wanted = smaller(size, item->size - writer->body_at);
	ssize_t got;
	do {
		got = pread(item->fd, buffer, wanted, item->offset + writer->body_at);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return sbx_fail_kind(&writer->error, SBX_KIND_ENGINE, errno,
			"reading the staged bytes of %s: %m", item->name);
	if (got == 0)
		return sbx_fail(&writer->error, EIO,
			"the staged file of %s is shorter (%" PRId64
			" bytes) than its size (%" PRId64 ")",
			item->name, writer->body_at, item->size);
	writer->body_at += got;
	if (item->moved)
		item->moved(item->data, got);
	return got;
}

static size_t take(const char *from, size_t *at, size_t size, void *buffer, size_t room)
{
	size_t count = smaller(room, (int64_t)(size - *at));
	memcpy(buffer, from + *at, count);
	*at += count;
	return count;
}

/* The next bytes of the current item; 0 when it is through. */
static int64_t read_item(struct sbx_tar_writer *writer, char *buffer, size_t size)
{
	const struct sbx_tar_item *item = &writer->items[writer->at];
	if (!writer->in_item) {
		sbx_buffer_clear(&writer->head);
		make_head(item, &writer->head);
		writer->head_at = 0;
		writer->body_at = 0;
		writer->pad_left = padding(body_size(item));
		writer->in_item = true;
	}
	if (writer->head_at < writer->head.size)
		return (int64_t)take(
			writer->head.data, &writer->head_at, writer->head.size, buffer, size);
	if (writer->body_at < body_size(item))
		return read_body(writer, item, buffer, size);
	size_t pad = smaller(size, (int64_t)writer->pad_left);
	memset(buffer, 0, pad);
	writer->pad_left -= pad;
	return (int64_t)pad;
}

/* As much as fits: a header is 512 bytes, and each piece is a write to the engine and a wake-up of
 * it. */
int64_t sbx_tar_writer_read(void *data, void *buffer, size_t size)
{
	struct sbx_tar_writer *writer = data;
	char *next = buffer;
	while (size && writer->at < writer->count && !writer->error.errnum) {
		int64_t got = read_item(writer, next, size);
		if (got < 0)
			break; /* what came before it is sent, the next call says why */
		if (got == 0) {
			writer->at++;
			writer->in_item = false;
		}
		next += got;
		size -= (size_t)got;
	}
	if (writer->at == writer->count) {
		size_t end = smaller(size, (int64_t)writer->end_left);
		memset(next, 0, end);
		writer->end_left -= end;
		next += end;
	}
	if (next == buffer && writer->error.errnum)
		return -writer->error.errnum;
	return next - (char *)buffer;
}
