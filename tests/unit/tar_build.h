/* tar_build.h: archives made by hand for tests, right ones and every kind of wrong one. */
#ifndef SBX_TESTS_TAR_BUILD_H
#define SBX_TESTS_TAR_BUILD_H

#include "base/buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct tar_header {
	const char *name;
	char type;
	int64_t size;
	const char *link;
	const char *size_field; /* verbatim instead of size, 12 bytes */
	const char *prefix;
	bool gnu, no_magic, bad_checksum;
	unsigned mtime;
};

static inline void tar_put_header(struct sbx_buffer *tar, const struct tar_header *header)
{
	unsigned char block[512] = { 0 };
	char *text = (char *)block;
	strncpy(text, header->name, 100);
	memcpy(text + 100, "0100644", 8);
	memcpy(text + 108, "0001750", 8);
	memcpy(text + 116, "0001750", 8);
	if (header->size_field)
		memcpy(text + 124, header->size_field, 12);
	else
		(void)snprintf(text + 124, 12, "%011llo", (unsigned long long)header->size);
	(void)snprintf(text + 136, 12, "%011o", header->mtime);
	block[156] = (unsigned char)header->type;
	if (header->link)
		strncpy(text + 157, header->link, 100);
	if (!header->no_magic)
		memcpy(text + 257, header->gnu ? "ustar  " : "ustar\00000", 8);
	if (header->prefix)
		strncpy(text + 345, header->prefix, 155);
	unsigned sum = 8 * ' ';
	for (size_t i = 0; i < sizeof(block); i++)
		sum += block[i];
	(void)snprintf(text + 148, 8, "%06o", sum + header->bad_checksum);
	block[155] = ' ';
	ck_assert(sbx_buffer_append(tar, block, sizeof(block)));
}

static inline void tar_put_body(struct sbx_buffer *tar, const void *bytes, size_t size)
{
	static const char zeros[512];
	ck_assert(sbx_buffer_append(tar, bytes, size));
	ck_assert(sbx_buffer_append(tar, zeros, (512 - size % 512) % 512));
}

/* A header of this type with its body. */
static inline void tar_put(struct sbx_buffer *tar, char type, const char *name, const char *body)
{
	struct tar_header header = { .name = name, .type = type, .size = (int64_t)strlen(body) };
	tar_put_header(tar, &header);
	tar_put_body(tar, body, strlen(body));
}

/* "LENGTH KEY=VALUE\n" */
static inline void tar_put_record(struct sbx_buffer *records, const char *key, const char *value)
{
	size_t length = strlen(key) + strlen(value) + 3, digits = 1;
	while (snprintf(NULL, 0, "%zu", length + digits) != (int)digits)
		digits++;
	ck_assert(sbx_buffer_printf(records, "%zu %s=%s\n", length + digits, key, value));
}

static inline void tar_put_end(struct sbx_buffer *tar)
{
	static const char zeros[1024];
	ck_assert(sbx_buffer_append(tar, zeros, sizeof(zeros)));
}

#endif
