/*
 * fuzz_accounts.c: a guest's passwd and group: whatever is in them, a number that comes out is one
 * that a line says, and never "leave as it is". First line of the input: the name that is looked
 * up; second: the uid.
 */
#include "fuzz.h"
#include "sandbox/account_files.h"

#include <stdio.h>

/* Does a line hold this number as its whole third or fourth field? Written the other way round than
 * the parser: from the number to the text. */
static bool says(const char *file, unsigned number)
{
	char digits[16];
	(void)snprintf(digits, sizeof(digits), "%u", number);
	for (const char *at = file; (at = strstr(at, digits)); at++) {
		size_t zeros = 0;
		while (at - zeros > file && at[-1 - (long)zeros] == '0')
			zeros++;
		char before = at - zeros > file ? at[-1 - (long)zeros] : '\0';
		char after = at[strlen(digits)];
		if (before == ':' && (after == ':' || after == '\n' || after == '\0'))
			return true;
	}
	return number == 0; /* its digits may all be leading zeros */
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	cleanup_free char *name = next_text(&data, &size);
	cleanup_free char *uid_text = next_text(&data, &size);
	cleanup_free char *file = sbx_strndup((const char *)data, size);
	unsigned uid = 0, gid = 0, wanted = 0;
	if (sbx_passwd_by_name(file, name, &uid, &gid))
		promise(uid != ~0U && gid != ~0U && says(file, uid) && says(file, gid));
	if (sbx_account_number(uid_text, strlen(uid_text), &wanted) &&
		sbx_passwd_by_uid(file, wanted, &gid))
		promise(gid != ~0U && says(file, gid) && says(file, wanted));
	if (sbx_group_by_name(file, name, &gid))
		promise(gid != ~0U && says(file, gid));
	return 0;
}
