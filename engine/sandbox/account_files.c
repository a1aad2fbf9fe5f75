/* account_files.c: see account_files.h. A HEAD comes first: on Docker 20.10 and Podman a passwd
 * file that is a fifo hangs every archive GET of its container. */
#include "account_files.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "../files/tar_read.h"
#include "../files/window.h"

#include <sbx/archive.h>
#include <sbx/plane.h>
#include <errno.h>
#include <string.h>

void sbx_account_files_finish(struct sbx_account_files *files)
{
	free(files->passwd);
	free(files->group);
	files->passwd = files->group = NULL;
}

struct fetch {
	struct sbx_tar *tar;
	struct sbx_buffer text;
	unsigned entries;
	struct sbx_error err;
};

static int on_entry(void *data, const struct sbx_tar_entry *entry, struct sbx_error *err)
{
	struct fetch *fetch = data;
	if (fetch->entries++ || entry->type != '0' || entry->size > SBX_ACCOUNT_FILE_MAX)
		return sbx_fail(
			err, EIO, "not one regular file of at most %d bytes", SBX_ACCOUNT_FILE_MAX);
	return 0;
}

static int on_body(void *data, const void *bytes, size_t size, struct sbx_error *err)
{
	struct fetch *fetch = data;
	if (!sbx_buffer_append(&fetch->text, bytes, size))
		return sbx_fail(err, EFBIG, "an account file is too large");
	return 0;
}

static int on_bytes(void *data, const void *bytes, size_t size)
{
	struct fetch *fetch = data;
	return sbx_tar_feed(fetch->tar, bytes, size, &fetch->err);
}

/* NULL: unanswered, with err saying why. */
static char *get(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat st = { 0 };
	if (sbx_archive_head(engine, id, path, call, &st, err) != 0)
		return NULL;
	bool fits = st.type == SBX_TYPE_FILE && st.size <= SBX_ACCOUNT_FILE_MAX;
	sbx_stat_finish(&st);
	if (!fits) {
		(void)sbx_fail(err, ENXIO, "%s is no regular file of at most %d bytes", path,
			SBX_ACCOUNT_FILE_MAX); /* the caller reads err */
		return NULL;
	}
	static const struct sbx_tar_events events = { .entry = on_entry, .body = on_body };
	struct fetch fetch = { .text = { .limit = SBX_ACCOUNT_FILE_MAX } };
	fetch.tar = sbx_tar_create(&events, &fetch);
	int result = sbx_archive_get(engine, id, path, call, on_bytes, &fetch, err);
	if (result == 0)
		result = sbx_tar_finish(fetch.tar, err);
	sbx_tar_destroy(fetch.tar);
	char *text = NULL;
	if (result == 0 && fetch.entries == 1)
		text = sbx_strdup(sbx_buffer_text(&fetch.text));
	sbx_buffer_finish(&fetch.text);
	return text;
}

static bool is_directory(struct sbx_engine *engine, const char *id, const char *path,
	const struct sbx_call *call, struct sbx_error *err)
{
	struct sbx_stat st = { 0 };
	if (sbx_archive_head(engine, id, path, call, &st, err) != 0)
		return false;
	bool directory = st.type == SBX_TYPE_DIR;
	sbx_stat_finish(&st);
	return directory;
}

/* Failures that say something about the engine, not about the file. */
static bool propagates(const struct sbx_error *err)
{
	return err->errnum == EHOSTDOWN || err->kind == SBX_KIND_GONE ||
	       err->kind == SBX_KIND_CANCELLED;
}

static int read_all(struct sbx_engine *engine, const char *id, bool want_passwd, bool want_group,
	const struct sbx_call *call, struct sbx_account_files *out, struct sbx_error *err)
{
	struct sbx_error said = SBX_ERROR_INIT;
	if (is_directory(engine, id, "/etc", call, &said)) {
		if (want_passwd)
			out->passwd = get(engine, id, "/etc/passwd", call, &said);
		if (want_group && !propagates(&said))
			out->group = get(engine, id, "/etc/group", call, &said);
	}
	if (!propagates(&said))
		return 0;
	*err = said;
	return -said.errnum;
}

int sbx_account_files_read(struct sbx_engine *engine, const struct sbx_container *container,
	struct sbx_windows *windows, bool want_passwd, bool want_group, const struct sbx_call *call,
	struct sbx_account_files *out, struct sbx_error *err)
{
	*out = (struct sbx_account_files){ 0 };
	struct sbx_error said = SBX_ERROR_INIT;
	struct sbx_plane_limits limits;
	sbx_plane_limits_default(&limits);
	struct sbx_windows *own =
		windows ? NULL : sbx_windows_create(engine, container->id, &limits);
	struct sbx_window_ticket ticket;
	windows = windows ? windows : own;
	int result = sbx_window_enter(windows, SBX_WINDOW_READ, call, &ticket, &said);
	/* Where the engine cannot pause they are read all the same: only root in there can change
	 * them, and all they decide is who owns what we upload. */
	bool entered = result == 0;
	if (result == 0 || result == -EOPNOTSUPP)
		result = read_all(engine, container->id, want_passwd, want_group, call, out, &said);
	if (entered) {
		struct sbx_error left = SBX_ERROR_INIT;
		int held = sbx_window_leave(windows, &ticket, true, call, &left);
		if (held != 0) {
			sbx_account_files_finish(out);
			if (result == 0 && propagates(&left)) {
				said = left;
				result = held;
			}
		}
	}
	sbx_windows_destroy(own);
	if (result == 0 || !propagates(&said))
		return 0;
	sbx_account_files_finish(out);
	if (err)
		*err = said;
	return result;
}
