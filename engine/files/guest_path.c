/*
 * guest_path.c: guest paths as text: the lexical rule, joining, the normal form.
 *
 * Promises that a refused path never reaches an engine: engines resolve ".." and follow what they
 * are given. Must never look at a file system, the host's or the guest's.
 */
#include "guest_path.h"

#include "../base/alloc.h"
#include "../base/text.h"

#include <errno.h>
#include <sbx/guest_path.h>
#include <string.h>

enum { PART_MAX = 255, PATH_MAX_BYTES = 4095 };

static bool is_dots(const char *part, size_t size)
{
	return size == 2 && part[0] == '.' && part[1] == '.';
}

static int check_part(const char *path, const char *part, size_t size, struct sbx_error *err)
{
	if (!size)
		return sbx_fail(err, EINVAL, "the path \"%s\" has an empty part", path);
	if (is_dots(part, size))
		return sbx_fail_kind(err, SBX_KIND_CONFINED, EXDEV,
			"the path \"%s\" has a \"..\" part, which could leave the work dir", path);
	if (size == 1 && part[0] == '.')
		return sbx_fail(err, EINVAL, "the path \"%s\" has a \".\" part", path);
	if (size > PART_MAX)
		return sbx_fail(err, ENAMETOOLONG,
			"the path \"%s\" has a part of %zu bytes, and a name has at most %d", path,
			size, PART_MAX);
	return 0;
}

/* Who declares chooses the name, so one that some host or tool reads as another is not taken. What
 * a guest writes has the name it has. */
static int check_declared(const char *path, struct sbx_error *err)
{
	if (!sbx_utf8_valid(path, strlen(path)))
		return sbx_fail(err, EILSEQ, "the path \"%s\" is not UTF-8", path);
	if (strchr(path, '\\'))
		return sbx_fail(err, EINVAL,
			"the path \"%s\" has a backslash, which some read as a separator", path);
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < ' ')
			return sbx_fail(
				err, EINVAL, "the path \"%s\" has a control character", path);
	return 0;
}

int sbx_guest_path_check(const char *path, bool declared, struct sbx_error *err)
{
	size_t length = strlen(path);
	if (!length)
		return sbx_fail(err, EINVAL, "the path is empty");
	if (path[0] == '/')
		return sbx_fail_kind(err, SBX_KIND_CONFINED, EXDEV,
			"the path \"%s\" is absolute, and paths are relative to the work dir",
			path);
	if (length > PATH_MAX_BYTES)
		return sbx_fail(err, ENAMETOOLONG, "the path has %zu bytes, and at most %d pass",
			length, PATH_MAX_BYTES);
	for (const char *part = path;;) {
		size_t size = strcspn(part, "/");
		int result = check_part(path, part, size, err);
		if (result < 0)
			return result;
		if (!part[size])
			break;
		part += size + 1;
	}
	return declared ? check_declared(path, err) : 0;
}

char *sbx_guest_path_join(const char *directory, const char *relative)
{
	if (!*relative)
		return sbx_strdup(directory);
	const char *slash = strcmp(directory, "/") == 0 ? "" : "/";
	return sbx_printf("%s%s%s", directory, slash, relative);
}

int sbx_guest_path_normalise(const char *path, char **out, struct sbx_error *err)
{
	if (path[0] != '/')
		return sbx_fail(err, EINVAL, "the guest path \"%s\" is not absolute", path);
	size_t length = strlen(path);
	if (length > PATH_MAX_BYTES)
		return sbx_fail(err, ENAMETOOLONG,
			"the guest path has %zu bytes, and at most %d pass", length,
			PATH_MAX_BYTES);
	cleanup_free char *normal = sbx_alloc(length + 2);
	size_t used = 0;
	for (const char *part = path; *part;) {
		part += strspn(part, "/");
		size_t size = strcspn(part, "/");
		bool here = !size || (size == 1 && part[0] == '.');
		int result = here ? 0 : check_part(path, part, size, err);
		if (result < 0)
			return result;
		if (!here) {
			normal[used++] = '/';
			memcpy(normal + used, part, size);
			used += size;
		}
		part += size;
	}
	if (!used)
		normal[used++] = '/';
	normal[used] = '\0';
	*out = steal(&normal);
	return 0;
}

const char *sbx_guest_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

bool sbx_guest_path_within(const char *path, const char *directory)
{
	size_t size = strlen(directory);
	if (size == 1)
		return path[0] == '/';
	return strncmp(path, directory, size) == 0 && (!path[size] || path[size] == '/');
}
