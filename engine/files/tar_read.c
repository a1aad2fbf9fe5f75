/*
 * tar_read.c: see tar_read.h.
 *
 * Every byte here may have been chosen by a guest: file names, sizes and extended attributes are
 * its own. The reader therefore keeps one block, one bounded extension buffer and nothing else.
 */
#include "tar_read.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "tar_number.h"

#include <errno.h>
#include <string.h>

enum {
	BLOCK = 512,
	EXTENSION_BYTES = 64 * 1024, /* of all extension headers of one entry */
	EXTENSION_COUNT = 32,
	TRAILING_BYTES = 1 << 20, /* ignored after the end blocks */
};

/* Where the fields lie in a header block: offset and size. */
#define NAME 0, 100
#define MODE 100, 8
#define UID 108, 8
#define GID 116, 8
#define SIZE 124, 12
#define MTIME 136, 12
#define CHECKSUM 148, 8
#define LINK 157, 100
#define PREFIX 345, 155
enum { CHECKSUM_AT = 148, CHECKSUM_SIZE = 8, TYPE_AT = 156, MAGIC_AT = 257 };

enum state { HEADER, EXTENSION, BODY, PADDING, DONE };

/* What extension headers said of the entry that follows them. */
struct overrides {
	char *name, *link;
	bool has_size, has_mtime, has_uid, has_gid;
	int64_t size, mtime_s, uid, gid;
	int32_t mtime_ns;
};

struct sbx_tar {
	const struct sbx_tar_events *events;
	void *data;
	enum state state;
	unsigned char block[BLOCK];
	size_t fill;  /* of block */
	int64_t left; /* of a body or an extension */
	size_t padding;
	bool in_entry; /* the padding ends an entry, not an extension */
	unsigned zero_blocks;
	char extension_type;
	struct sbx_buffer extension;
	size_t extension_bytes;
	unsigned extension_count;
	struct overrides overrides;
	size_t trailing;
	int result; /* of the failure that ended it */
	struct sbx_error failure;
};

struct sbx_tar *sbx_tar_create(const struct sbx_tar_events *events, void *data)
{
	struct sbx_tar *tar = sbx_alloc(sizeof(*tar));
	tar->events = events;
	tar->data = data;
	tar->extension.limit = EXTENSION_BYTES;
	return tar;
}

static void clear_overrides(struct sbx_tar *tar)
{
	free(tar->overrides.name);
	free(tar->overrides.link);
	tar->overrides = (struct overrides){ 0 };
	tar->extension_bytes = 0;
	tar->extension_count = 0;
}

void sbx_tar_destroy(struct sbx_tar *tar)
{
	if (!tar)
		return;
	clear_overrides(tar);
	sbx_buffer_finish(&tar->extension);
	free(tar);
}

static int malformed(struct sbx_error *err, const char *what)
{
	return sbx_fail(err, EIO, "the engine's archive is malformed: %s", what);
}

static char *text_field(const struct sbx_tar *tar, size_t offset, size_t size)
{
	const char *text = (const char *)tar->block + offset;
	return sbx_strndup(text, strnlen(text, size));
}

static bool number_field(const struct sbx_tar *tar, size_t offset, size_t size, int64_t *out)
{
	return sbx_tar_field(tar->block + offset, size, out);
}

static bool all_zero(const unsigned char *block)
{
	for (size_t i = 0; i < BLOCK; i++) {
		if (block[i])
			return false;
	}
	return true;
}

static bool checksum_agrees(const struct sbx_tar *tar)
{
	int64_t said, sum = 0;
	for (size_t i = 0; i < BLOCK; i++) {
		bool own = i >= CHECKSUM_AT && i < CHECKSUM_AT + CHECKSUM_SIZE;
		sum += own ? ' ' : tar->block[i];
	}
	return number_field(tar, CHECKSUM, &said) && said == sum;
}

/* One pax record's value replaces what the header will say; an empty one takes an earlier back. */
static int apply_record(
	struct sbx_tar *tar, const char *key, const char *value, size_t size, struct sbx_error *err)
{
	struct overrides *over = &tar->overrides;
	if (strncmp(key, "GNU.sparse.", 11) == 0)
		return malformed(err, "a sparse file, which is not read");
	char **text = strcmp(key, "path") == 0	     ? &over->name
		      : strcmp(key, "linkpath") == 0 ? &over->link
						     : NULL;
	if (text) {
		if (memchr(value, '\0', size))
			return malformed(err, "a name with a NUL byte");
		free(*text);
		*text = size ? sbx_strndup(value, size) : NULL;
		return 0;
	}
	bool good = true;
	if (strcmp(key, "size") == 0)
		good = (over->has_size = size) == 0 || sbx_tar_decimal(value, size, &over->size);
	else if (strcmp(key, "uid") == 0)
		good = (over->has_uid = size) == 0 || sbx_tar_decimal(value, size, &over->uid);
	else if (strcmp(key, "gid") == 0)
		good = (over->has_gid = size) == 0 || sbx_tar_decimal(value, size, &over->gid);
	else if (strcmp(key, "mtime") == 0)
		good = (over->has_mtime = size) == 0 ||
		       sbx_tar_time(value, size, &over->mtime_s, &over->mtime_ns);
	return good ? 0 : malformed(err, "a pax record whose number is none");
}

/* "LENGTH KEY=VALUE\n", LENGTH counting itself. Returns the record's length or -EIO. */
static int read_record(struct sbx_tar *tar, char *text, size_t size, struct sbx_error *err)
{
	static const char bad[] = "a pax record with a wrong length";
	size_t digits = 0;
	int64_t length;
	while (digits < size && text[digits] != ' ')
		digits++;
	if (!sbx_tar_decimal(text, digits, &length) || length > (int64_t)size ||
		(size_t)length < digits + 2 || text[length - 1] != '\n')
		return malformed(err, bad);
	char *key = text + digits + 1, *end = text + length - 1;
	char *equals = memchr(key, '=', (size_t)(end - key));
	if (!equals || equals == key || memchr(key, '\0', (size_t)(equals - key)))
		return malformed(err, "a pax record without a key");
	*equals = '\0';
	int result = apply_record(tar, key, equals + 1, (size_t)(end - equals - 1), err);
	return result < 0 ? result : (int)length;
}

static int end_extension(struct sbx_tar *tar, struct sbx_error *err)
{
	char *text = tar->extension.data;
	size_t size = tar->extension.size;
	if (tar->extension_type == 'L' || tar->extension_type == 'K') {
		char **name =
			tar->extension_type == 'L' ? &tar->overrides.name : &tar->overrides.link;
		free(*name);
		*name = sbx_strdup(sbx_buffer_text(&tar->extension)); /* ends at the first NUL */
		return 0;
	}
	if (tar->extension_type == 'g') /* engines send none; what one says is not believed */
		return 0;
	while (size) {
		int used = read_record(tar, text, size, err);
		if (used < 0)
			return used;
		text += used;
		size -= (size_t)used;
	}
	return 0;
}

/* A body or an extension of this size follows, filled up to whole blocks. */
static void expect(struct sbx_tar *tar, enum state state, int64_t size)
{
	tar->state = state;
	tar->left = size;
	tar->padding = (size_t)((BLOCK - size % BLOCK) % BLOCK);
}

static int begin_extension(struct sbx_tar *tar, struct sbx_error *err)
{
	int64_t size;
	if (!number_field(tar, SIZE, &size))
		return malformed(err, "an extension header's size is no number");
	if (size > (int64_t)(EXTENSION_BYTES - tar->extension_bytes) ||
		++tar->extension_count > EXTENSION_COUNT)
		return malformed(err, "more extension headers than 64 KiB or 32 for one entry");
	tar->extension_type = (char)tar->block[TYPE_AT];
	tar->extension_bytes += (size_t)size;
	sbx_buffer_clear(&tar->extension);
	expect(tar, EXTENSION, size);
	return 0;
}

static int entry_numbers(
	const struct sbx_tar *tar, struct sbx_tar_entry *entry, struct sbx_error *err)
{
	const struct overrides *over = &tar->overrides;
	int64_t mode, uid, gid;
	entry->mtime_ns = -1;
	if (!number_field(tar, MODE, &mode) || !number_field(tar, UID, &uid) ||
		!number_field(tar, GID, &gid) || !number_field(tar, SIZE, &entry->size) ||
		!number_field(tar, MTIME, &entry->mtime_s))
		return malformed(err, "a header field is no number, negative or too large");
	if (over->has_size)
		entry->size = over->size;
	if (over->has_uid)
		uid = over->uid;
	if (over->has_gid)
		gid = over->gid;
	if (over->has_mtime) {
		entry->mtime_s = over->mtime_s;
		entry->mtime_ns = over->mtime_ns;
	}
	if (uid > UINT32_MAX || gid > UINT32_MAX)
		return malformed(err, "an owner id beyond 32 bits");
	if (entry->type != '0' && entry->size)
		return malformed(err, "a body where there can be none");
	entry->mode = (uint32_t)(mode & 07777); /* Docker 20.10 sends the type bits along */
	entry->uid = (uint32_t)uid;
	entry->gid = (uint32_t)gid;
	return 0;
}

static char *header_name(const struct sbx_tar *tar)
{
	cleanup_free char *name = text_field(tar, NAME);
	/* Only POSIX headers ("ustar" and a NUL) have a prefix; GNU keeps other things there. */
	if (tar->block[MAGIC_AT + 5] != '\0')
		return steal(&name);
	cleanup_free char *prefix = text_field(tar, PREFIX);
	return *prefix ? sbx_printf("%s/%s", prefix, name) : steal(&name);
}

static int begin_entry(struct sbx_tar *tar, struct sbx_error *err)
{
	struct sbx_tar_entry entry = { .type = (char)tar->block[TYPE_AT] };
	if (entry.type == '\0') /* how old writers spell a file */
		entry.type = '0';
	int result = entry_numbers(tar, &entry, err);
	if (result < 0)
		return result;
	cleanup_free char *name = steal(&tar->overrides.name);
	cleanup_free char *link = steal(&tar->overrides.link);
	if (!name)
		name = header_name(tar);
	if (!link)
		link = text_field(tar, LINK);
	entry.name = name;
	entry.link = entry.type == '1' || entry.type == '2' ? link : "";
	clear_overrides(tar);
	expect(tar, BODY, entry.size);
	return tar->events->entry(tar->data, &entry, err);
}

static int read_header(struct sbx_tar *tar, struct sbx_error *err)
{
	tar->fill = 0;
	if (all_zero(tar->block)) {
		if (tar->extension_count)
			return malformed(err, "an extension header without an entry");
		if (++tar->zero_blocks == 2)
			tar->state = DONE;
		return 0;
	}
	if (tar->zero_blocks)
		return malformed(err, "one end block where there must be two");
	if (memcmp(tar->block + MAGIC_AT, "ustar", 5) != 0 || !checksum_agrees(tar))
		return malformed(err, "a header without its magic or with a wrong checksum");
	switch (tar->block[TYPE_AT]) {
	case 'x':
	case 'g':
	case 'L':
	case 'K':
		return begin_extension(tar, err);
	case '\0':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
		return begin_entry(tar, err);
	case 'S':
		return malformed(err, "a sparse file, which is not read");
	default:
		return malformed(err, "an entry of unknown type");
	}
}

/* Leaves whatever has run out of bytes, so that an empty body ends with its header. */
static int settle(struct sbx_tar *tar, struct sbx_error *err)
{
	int result = 0;
	if ((tar->state == EXTENSION || tar->state == BODY) && !tar->left) {
		tar->in_entry = tar->state == BODY;
		tar->state = PADDING;
		if (!tar->in_entry)
			result = end_extension(tar, err);
	}
	if (!result && tar->state == PADDING && !tar->padding) {
		tar->state = HEADER;
		if (tar->in_entry && tar->events->entry_end)
			result = tar->events->entry_end(tar->data, err);
	}
	return result;
}

/* Takes some of the bytes; *used says how many. */
static int step(struct sbx_tar *tar, const unsigned char *bytes, size_t size, size_t *used,
	struct sbx_error *err)
{
	size_t take = size;
	int result = 0;
	switch (tar->state) {
	case HEADER:
		take = size < BLOCK - tar->fill ? size : BLOCK - tar->fill;
		memcpy(tar->block + tar->fill, bytes, take);
		tar->fill += take;
		if (tar->fill == BLOCK)
			result = read_header(tar, err);
		break;
	case EXTENSION:
	case BODY:
		if ((int64_t)take > tar->left)
			take = (size_t)tar->left;
		tar->left -= (int64_t)take;
		if (tar->state == BODY && tar->events->body)
			result = tar->events->body(tar->data, bytes, take, err);
		else if (tar->state == EXTENSION &&
			 !sbx_buffer_append(&tar->extension, bytes, take))
			result = malformed(err, "an extension header over its bound");
		break;
	case PADDING:
		take = size < tar->padding ? size : tar->padding;
		tar->padding -= take;
		break;
	case DONE:
		tar->trailing += take;
		if (tar->trailing > TRAILING_BYTES)
			result = malformed(err, "more than 1 MiB after its end");
		break;
	}
	*used = take;
	return result ? result : settle(tar, err);
}

int sbx_tar_feed(struct sbx_tar *tar, const void *bytes, size_t size, struct sbx_error *err)
{
	const unsigned char *next = bytes;
	while (size && !tar->result) {
		size_t used = 0;
		tar->result = step(tar, next, size, &used, &tar->failure);
		next += used;
		size -= used;
	}
	if (tar->result && err)
		*err = tar->failure;
	return tar->result;
}

int sbx_tar_finish(struct sbx_tar *tar, struct sbx_error *err)
{
	if (tar->result) {
		if (err)
			*err = tar->failure;
		return tar->result;
	}
	if (tar->state != DONE)
		return sbx_fail(err, EIO,
			"the engine's archive ends before its end blocks: what it holds changed "
			"while it was read");
	return 0;
}
