/*
 * fuzz_tar_write.c: the archive of an upload. Whatever names, modes, owners and times it is made
 * of, libarchive and our own reader find exactly those, and it has the size that was announced.
 */
#include "base/buffer.h"
#include "files/tar_read.h"
#include "files/tar_write.h"
#include "fuzz.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ITEMS = 8, BODY = 4096 };

static int body_fd(void)
{
	static char bytes[BODY];
	int fd = memfd_create("body", MFD_CLOEXEC);
	promise(fd >= 0 && write(fd, bytes, sizeof(bytes)) == BODY);
	return fd;
}

/* 24 bytes of numbers, then a line that is the name. */
static bool next_item(
	const unsigned char **data, size_t *size, int fd, struct sbx_tar_item *item, char **name)
{
	unsigned char raw[24];
	if (*size < sizeof(raw) + 1)
		return false;
	memcpy(raw, *data, sizeof(raw));
	*data += sizeof(raw);
	*size -= sizeof(raw);
	*name = next_text(data, size);
	if (!**name || **name == '/' || (*name)[strlen(*name) - 1] == '/')
		return false;
	memcpy(&item->uid, raw, 4);
	memcpy(&item->gid, raw + 4, 4);
	memcpy(&item->mtime_s, raw + 8, 8);
	item->mtime_s >>= 12; /* libarchive's own range */
	item->mtime_ns = (int32_t)((raw[16] << 16 | raw[17] << 8 | raw[18]) * 50);
	item->mode = (uint32_t)(raw[19] << 8 | raw[20]) & 07777;
	item->directory = raw[21] & 1;
	item->size = item->directory ? 0 : (raw[22] << 8 | raw[23]) % BODY;
	item->fd = item->size ? fd : -1;
	item->offset = 0;
	item->name = *name;
	return true;
}

struct expected {
	const struct sbx_tar_item *items;
	size_t at, count;
};

/* As the archive has it: "./" before, a slash behind a directory. */
static void same_name(const char *name, const struct sbx_tar_item *item)
{
	size_t size = strlen(item->name);
	promise(strncmp(name, "./", 2) == 0 && strncmp(name + 2, item->name, size) == 0);
	promise(strcmp(name + 2 + size, item->directory ? "/" : "") == 0);
}

static int on_entry(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	struct expected *expected = data;
	promise(expected->at < expected->count);
	const struct sbx_tar_item *item = &expected->items[expected->at++];
	same_name(entry->name, item);
	promise(entry->type == (item->directory ? '5' : '0') && entry->size == item->size);
	promise(entry->uid == item->uid && entry->gid == item->gid && entry->mode == item->mode);
	promise(entry->mtime_s == item->mtime_s &&
		(entry->mtime_ns == item->mtime_ns ||
			(entry->mtime_ns == -1 && item->mtime_ns == 0)));
	return 0;
}

static void read_by_libarchive(
	const struct sbx_buffer *tar, const struct sbx_tar_item *items, size_t count)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	promise(archive_read_support_format_tar(archive) == ARCHIVE_OK);
	promise(archive_read_open_memory(archive, tar->data, tar->size) == ARCHIVE_OK);
	for (size_t i = 0; i < count; i++) {
		int rc = archive_read_next_header(archive, &entry);
		promise(rc == ARCHIVE_OK || rc == ARCHIVE_WARN);
		promise(archive_entry_size(entry) == items[i].size);
		promise(archive_entry_uid(entry) == items[i].uid);
		promise(archive_entry_gid(entry) == items[i].gid);
		promise(archive_entry_perm(entry) == items[i].mode);
		promise(archive_entry_filetype(entry) ==
			(items[i].directory ? AE_IFDIR : AE_IFREG));
		/* It reads -1.5 as -1 and half a second more, POSIX means less: ask where both
		 * agree. */
		promise(items[i].mtime_s < 0 || archive_entry_mtime(entry) == items[i].mtime_s);
		promise(!archive_entry_symlink(entry) && !archive_entry_hardlink(entry));
	}
	promise(archive_read_next_header(archive, &entry) == ARCHIVE_EOF);
	archive_read_free(archive);
}

/* For other readers (read_back.py): the archive, and in a line for each entry what was meant. */
static void keep(const struct sbx_buffer *tar, const struct sbx_tar_item *items, size_t count)
{
	static unsigned number;
	const char *directory = getenv("KEEP_TARS");
	char path[4096];
	if (!directory)
		return;
	(void)snprintf(path, sizeof(path), "%s/%u.tar", directory, ++number);
	FILE *file = fopen(path, "we");
	promise(file);
	bool whole = fwrite(tar->data, 1, tar->size, file) == tar->size;
	promise(fclose(file) == 0 && whole);
	(void)snprintf(path, sizeof(path), "%s/%u.meant", directory, number);
	file = fopen(path, "we");
	promise(file);
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(file, "%d %lld %o %u %u %lld %d ", items[i].directory,
			(long long)items[i].size, items[i].mode, items[i].uid, items[i].gid,
			(long long)items[i].mtime_s, items[i].mtime_ns);
		for (const char *c = items[i].name; *c; c++)
			(void)fprintf(file, "%02x", (unsigned char)*c);
		(void)fputc('\n', file);
	}
	promise(fclose(file) == 0);
}

static void check(const struct sbx_tar_item *items, size_t count)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_buffer tar = { .limit = (size_t)1 << 20 };
	char part[1000];
	int64_t got;
	struct sbx_tar_writer *writer = sbx_tar_writer_create(items, count);
	while ((got = sbx_tar_writer_read(writer, part, sizeof(part))) > 0)
		promise(sbx_buffer_append(&tar, part, (size_t)got));
	promise(got == 0 && (int64_t)tar.size == sbx_tar_writer_size(writer));
	sbx_tar_writer_destroy(writer);

	static const struct sbx_tar_events events = { .entry = on_entry };
	struct expected expected = { items, 0, count };
	struct sbx_tar *reader = sbx_tar_create(&events, &expected);
	promise(sbx_tar_feed(reader, sbx_buffer_text(&tar), tar.size, &err) == 0);
	promise(sbx_tar_finish(reader, &err) == 0 && expected.at == count);
	sbx_tar_destroy(reader);
	read_by_libarchive(&tar, items, count);
	keep(&tar, items, count);
	sbx_buffer_finish(&tar);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static int fd = -1;
	struct sbx_tar_item items[ITEMS] = { 0 };
	char *names[ITEMS] = { 0 };
	size_t count = 0;
	if (fd < 0)
		fd = body_fd();
	while (count < ITEMS && next_item(&data, &size, fd, &items[count], &names[count]))
		count++;
	if (count)
		check(items, count);
	for (size_t i = 0; i < ITEMS; i++)
		free(names[i]);
	return 0;
}
