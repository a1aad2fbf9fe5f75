/*
 * outputs.c: declared outputs, the work dir and the in dir, checked as one declaration.
 *
 * A declaration is what the host will ever show of a guest, so it is literal (no patterns), lexical
 * (refused before any engine call) and without overlap: one guest path belongs to one output.
 */
#include "outputs.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <sbx/guest_path.h>
#include <string.h>

static char *without_final_slash(const char *text)
{
	size_t length = strlen(text);
	return sbx_strndup(text, length > 1 && text[length - 1] == '/' ? length - 1 : length);
}

/* a is b or lies below it; both relative and in normal form. */
static bool same_or_below(const char *a, const char *b)
{
	size_t length = strlen(b);
	return strncmp(a, b, length) == 0 && (a[length] == '\0' || a[length] == '/');
}

/* Kernel file systems: their names are not the image's or the guest's files (MAF-90). */
static const char *kernel_place(const char *absolute)
{
	static const char *const places[] = { "/proc", "/sys", "/dev" };
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (same_or_below(absolute, places[i]))
			return places[i];
	}
	return NULL;
}

/* What the mount shows in every sandbox's directory: a guest's file of that name could not be seen.
 */
static int check_not_ours(const char *path, const char *what, struct sbx_error *err)
{
	if (same_or_below(path, ".sbxfs"))
		return sbx_fail(err, EINVAL, "%s '%s' lies in .sbxfs, whose files are sbxfs's own",
			what, path);
	return 0;
}

int sbx_workdir_parse(const char *text, char **out, struct sbx_error *err)
{
	if (text[0] != '/')
		return sbx_fail(err, EINVAL, "work dir '%s' is not an absolute path", text);
	cleanup_free char *path = without_final_slash(text);
	if (!path[1])
		return sbx_fail(err, EINVAL, "work dir '/' is the whole root: name one below it");
	struct sbx_error reason = SBX_ERROR_INIT;
	int rc = sbx_guest_path_check(path + 1, true, &reason);
	if (rc < 0)
		return sbx_fail_kind(err, SBX_KIND_USAGE, -rc == EXDEV ? EINVAL : -rc,
			"work dir '%s' is not in normal form: %s", text, reason.message);
	const char *place = kernel_place(path);
	if (place)
		return sbx_fail(
			err, EINVAL, "work dir '%s' lies in %s, a kernel file system", text, place);
	*out = steal(&path);
	return 0;
}

int sbx_in_dir_parse(const char *text, char **out, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local; /* a wrap needs one */
	cleanup_free char *path = without_final_slash(text);
	if (sbx_guest_path_check(path, true, err) < 0)
		return sbx_wrap(err, "in dir '%s'", text);
	if (check_not_ours(path, "in dir", err) < 0)
		return -EINVAL;
	*out = steal(&path);
	return 0;
}

static int parse_one(
	const char *workdir, const char *text, struct sbx_output *out, struct sbx_error *err)
{
	if (!*text)
		return sbx_fail(err, EINVAL, "output '' is empty: declare a path in the work dir");
	out->directory = sbx_text_has_suffix(text, "/");
	out->path = sbx_strndup(text, strlen(text) - (out->directory ? 1 : 0));
	if (sbx_guest_path_check(out->path[0] ? out->path : "/", true, err) < 0)
		return sbx_wrap(err, "output '%s'", text);
	if (check_not_ours(out->path, "output", err) < 0)
		return -EINVAL;
	cleanup_free char *absolute = sbx_printf("%s/%s", workdir, out->path);
	const char *place = kernel_place(absolute);
	if (place)
		return sbx_fail(
			err, EPERM, "output '%s' lies in %s, a kernel file system", text, place);
	if (strlen(absolute) > 4095)
		return sbx_fail(err, ENAMETOOLONG, "output '%s' is too long below work dir '%s'",
			text, workdir);
	return 0;
}

static int check_overlap(
	const struct sbx_output *outputs, size_t index, const char *in_dir, struct sbx_error *err)
{
	const char *path = outputs[index].path;
	if (in_dir && same_or_below(path, in_dir))
		return sbx_fail(err, EINVAL,
			"output '%s' lies in the in dir '%s', which is what the host writes", path,
			in_dir);
	if (in_dir && same_or_below(in_dir, path))
		return sbx_fail(err, EINVAL, "output '%s' holds the in dir '%s'", path, in_dir);
	for (size_t i = 0; i < index; i++) {
		if (strcmp(outputs[i].path, path) == 0)
			return sbx_fail(err, EINVAL, "output '%s' is declared twice", path);
		if (same_or_below(path, outputs[i].path) || same_or_below(outputs[i].path, path))
			return sbx_fail(err, EINVAL,
				"outputs '%s' and '%s' overlap: one holds the other", path,
				outputs[i].path);
	}
	return 0;
}

int sbx_outputs_parse(const char *workdir, const char *in_dir, const char *const *texts,
	size_t count, struct sbx_output **out, size_t *out_count, struct sbx_error *err)
{
	struct sbx_error local = SBX_ERROR_INIT;
	err = err ? err : &local; /* a wrap needs one */
	struct sbx_output *outputs = sbx_alloc_array(count, sizeof(*outputs));
	for (size_t i = 0; i < count; i++) {
		int rc = parse_one(workdir, texts[i], &outputs[i], err);
		if (rc == 0)
			rc = check_overlap(outputs, i, in_dir, err);
		if (rc < 0) {
			sbx_outputs_free(outputs, i + 1);
			return rc;
		}
	}
	*out = outputs;
	*out_count = count;
	return 0;
}

void sbx_outputs_free(struct sbx_output *outputs, size_t count)
{
	for (size_t i = 0; outputs && i < count; i++)
		free(outputs[i].path);
	free(outputs);
}
