/*
 * fuzz_tar_read.c: an engine's archive. However it is cut into pieces, the same entries and the
 * same verdict come out, and a body is exactly as long as its entry says.
 */
#include "files/tar_read.h"
#include "fuzz.h"

struct seen {
	int64_t left;
	uint64_t digest;
};

static void add(struct seen *seen, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < size; i++)
		seen->digest = (seen->digest ^ at[i]) * 1099511628211ULL;
}

static int on_entry(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	struct seen *seen = data;
	promise(entry->size >= 0 && (entry->size == 0 || entry->type == '0'));
	promise(entry->mode <= 07777 && entry->mtime_ns >= -1 && entry->mtime_ns < 1000000000);
	promise(seen->left == 0);
	seen->left = entry->size;
	add(seen, entry->name, strlen(entry->name) + 1);
	add(seen, entry->link, strlen(entry->link) + 1);
	add(seen, &entry->type, 1);
	return 0;
}

static int on_body(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct seen *seen = data;
	seen->left -= (int64_t)size;
	promise(seen->left >= 0);
	add(seen, bytes, size);
	return 0;
}

static int on_end(void *data, struct sbx_error *err)
{
	struct seen *seen = data;
	promise(seen->left == 0);
	add(seen, ";", 1);
	return 0;
}

static const struct sbx_tar_events events = { on_entry, on_body, on_end };

static int read_pieces(const unsigned char *data, size_t size, size_t piece, struct seen *seen)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_tar *tar = sbx_tar_create(&events, seen);
	int rc = 0;
	for (size_t at = 0; at < size && !rc; at += piece)
		rc = sbx_tar_feed(tar, data + at, size - at < piece ? size - at : piece, &err);
	if (!rc)
		rc = sbx_tar_finish(tar, &err);
	promise(rc == 0 || err.message[0]);
	sbx_tar_destroy(tar);
	return rc;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct seen whole = { 0 }, parts = { 0 };
	int first = read_pieces(data, size, size ? size : 1, &whole);
	int second = read_pieces(data, size, 1 + size % 700, &parts);
	promise(first == second);
	promise(first != 0 || whole.digest == parts.digest);
	return 0;
}
