/* names.c: see names.h. */
#include "names.h"

#include <errno.h>
#include <sbx/sandbox.h>
#include <string.h>

#define ALNUM "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

int sbx_sandbox_name_check(const char *name, struct sbx_error *err)
{
	size_t length = strnlen(name, 256);
	if (length < 2 || length > 255 || !strchr(ALNUM, name[0]) ||
		name[strspn(name, ALNUM "_.-")])
		return sbx_fail(err, EINVAL,
			"name '%.255s' is not 2 to 255 of letters, digits, '_', '.' and '-', "
			"beginning with a letter or digit",
			name);
	return 0;
}

bool sbx_id_typed(const char *typed)
{
	size_t length = strnlen(typed, 65);
	return length >= 12 && length <= 64 && length == strspn(typed, "0123456789abcdef");
}

bool sbx_name_is(const char *typed, const char *name, const char *id)
{
	return strcmp(typed, name) == 0 ||
	       (sbx_id_typed(typed) && strncmp(id, typed, strlen(typed)) == 0);
}
