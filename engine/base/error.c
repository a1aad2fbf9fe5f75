/* error.c: see sbx/error.h. */
#include <sbx/error.h>

#include "alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static enum sbx_kind kind_of(int errnum)
{
	switch (errnum) {
	case ELOOP:
	case EXDEV:
		return SBX_KIND_CONFINED;
	case ENOENT:
		return SBX_KIND_ABSENT;
	case ENOTDIR:
		return SBX_KIND_NOT_DIRECTORY;
	case ENXIO:
	case EISDIR:
		return SBX_KIND_NOT_REGULAR;
	case EFBIG:
		return SBX_KIND_TOO_BIG;
	case EOPNOTSUPP:
	case EROFS:
		return SBX_KIND_UNSUPPORTED;
	case ETIMEDOUT:
		return SBX_KIND_DEADLINE;
	case ENOBUFS:
		return SBX_KIND_OVER_BUDGET;
	case EPERM:
		return SBX_KIND_POLICY;
	case EINVAL:
	case ENAMETOOLONG:
	case EILSEQ:
		return SBX_KIND_USAGE;
	case ESTALE:
		return SBX_KIND_CHANGED;
	case EBUSY:
	case EEXIST:
	case ESRCH:
		return SBX_KIND_CONFLICT;
	case ECANCELED:
		return SBX_KIND_CANCELLED;
	default:
		return SBX_KIND_ENGINE;
	}
}

/* Cuts at a whole UTF-8 character. */
static void store(char *out, size_t size, const char *text)
{
	size_t length = strlen(text);
	if (length >= size) {
		length = size - 1;
		while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(out, text, length);
	out[length] = '\0';
}

static void fill(struct sbx_error *err, enum sbx_kind kind, int errnum, const char *text)
{
	if (!err)
		return;
	err->errnum = errnum;
	err->kind = kind;
	err->http_status = 0;
	store(err->message, sizeof(err->message), text);
}

__attribute__((format(printf, 1, 0))) static char *vformat(const char *format, va_list args)
{
	char *text = NULL;
	if (vasprintf(&text, format, args) < 0)
		abort();
	return text;
}

int sbx_fail(struct sbx_error *err, int errnum, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	cleanup_free char *text = vformat(format, args);
	va_end(args);
	fill(err, kind_of(errnum), errnum, text);
	return -errnum;
}

int sbx_fail_kind(struct sbx_error *err, enum sbx_kind kind, int errnum, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	cleanup_free char *text = vformat(format, args);
	va_end(args);
	fill(err, kind, errnum, text);
	return -errnum;
}

static int fail_call(struct sbx_error *err, enum sbx_kind kind, int errnum, const char *what)
{
	char reason[128];
	cleanup_free char *text =
		sbx_printf("%s: %s", what, strerror_r(errnum, reason, sizeof(reason)));
	fill(err, kind, errnum, text);
	return -errnum;
}

int sbx_fail_errno(struct sbx_error *err, int errnum, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	cleanup_free char *what = vformat(format, args);
	va_end(args);
	return fail_call(err, kind_of(errnum), errnum, what);
}

int sbx_fail_host(struct sbx_error *err, int errnum, const char *format, ...)
{
	static const int misnamed[] = { ENOENT, ENOTDIR, EISDIR, EEXIST, ELOOP, ENAMETOOLONG,
		EINVAL };
	enum sbx_kind kind = SBX_KIND_HOST;
	for (size_t i = 0; i < sizeof(misnamed) / sizeof(misnamed[0]); i++)
		kind = misnamed[i] == errnum ? SBX_KIND_USAGE : kind;
	va_list args;
	va_start(args, format);
	cleanup_free char *what = vformat(format, args);
	va_end(args);
	return fail_call(err, kind, errnum, what);
}

int sbx_wrap(struct sbx_error *err, const char *format, ...)
{
	if (!err)
		return -EIO;
	va_list args;
	va_start(args, format);
	cleanup_free char *context = vformat(format, args);
	va_end(args);
	cleanup_free char *text = sbx_printf("%s: %s", context, err->message);
	store(err->message, sizeof(err->message), text);
	return -err->errnum;
}

void sbx_error_clear(struct sbx_error *err)
{
	if (err)
		*err = (struct sbx_error)SBX_ERROR_INIT;
}

const char *sbx_kind_name(enum sbx_kind kind)
{
	static const char *const names[] = { "none", "confined", "absent", "not-directory",
		"not-regular", "too-big", "unsupported", "deadline", "over-budget", "policy",
		"usage", "engine", "gone", "changed", "conflict", "cancelled", "partial",
		"output-missing", "host" };
	return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

int sbx_kind_exit_code(enum sbx_kind kind)
{
	switch (kind) {
	case SBX_KIND_NONE:
		return 0;
	case SBX_KIND_USAGE:
		return 2;
	case SBX_KIND_ABSENT:
	case SBX_KIND_GONE:
	case SBX_KIND_OUTPUT_MISSING:
		return 3;
	case SBX_KIND_CONFINED:
		return 4;
	case SBX_KIND_NOT_DIRECTORY:
		return 5;
	case SBX_KIND_NOT_REGULAR:
		return 6;
	case SBX_KIND_TOO_BIG:
		return 7;
	case SBX_KIND_UNSUPPORTED:
		return 8;
	case SBX_KIND_DEADLINE:
		return 9;
	case SBX_KIND_OVER_BUDGET:
		return 10;
	case SBX_KIND_POLICY:
		return 12;
	case SBX_KIND_PARTIAL:
		return 13;
	case SBX_KIND_HOST:
		return 14;
	case SBX_KIND_CANCELLED:
		return 130;
	default:
		return 11;
	}
}
