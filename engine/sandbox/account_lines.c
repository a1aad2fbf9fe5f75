/* account_lines.c: numbers and lines of passwd and group files (account_files.h). Text a guest may
 * have written: a field counts only if all of it is a number. */
#include "account_files.h"

#include <string.h>

bool sbx_account_number(const char *text, size_t size, unsigned *out)
{
	unsigned long long value = 0;
	if (size == 0 || size > 10)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (value >= 4294967295ULL) /* (uid_t)-1 means "leave as it is" */
		return false;
	*out = (unsigned)value;
	return true;
}

/* One line cut at its colons; fields that are not there are empty. */
#define FIELDS 4
struct line {
	const char *field[FIELDS];
	size_t size[FIELDS];
};

/* Fills line and returns where the next one begins, or NULL after the last. */
static const char *next_line(const char *text, struct line *line)
{
	*line = (struct line){ 0 };
	const char *end = text + strcspn(text, "\n");
	for (int i = 0; i < FIELDS; i++) {
		size_t size = 0;
		while (text + size < end && text[size] != ':')
			size++;
		line->field[i] = text;
		line->size[i] = size;
		text += size;
		if (text < end)
			text++;
	}
	return *end ? end + 1 : NULL;
}

static bool is_name(const struct line *line, const char *name)
{
	return line->size[0] == strlen(name) && memcmp(line->field[0], name, line->size[0]) == 0;
}

bool sbx_passwd_by_name(const char *passwd, const char *name, unsigned *uid, unsigned *gid)
{
	struct line line;
	for (const char *at = passwd; at;) {
		at = next_line(at, &line);
		if (is_name(&line, name) && sbx_account_number(line.field[2], line.size[2], uid) &&
			sbx_account_number(line.field[3], line.size[3], gid))
			return true;
	}
	return false;
}

bool sbx_passwd_by_uid(const char *passwd, unsigned uid, unsigned *gid)
{
	struct line line;
	unsigned found;
	for (const char *at = passwd; at;) {
		at = next_line(at, &line);
		if (sbx_account_number(line.field[2], line.size[2], &found) && found == uid &&
			sbx_account_number(line.field[3], line.size[3], gid))
			return true;
	}
	return false;
}

bool sbx_group_by_name(const char *group, const char *name, unsigned *gid)
{
	struct line line;
	for (const char *at = group; at;) {
		at = next_line(at, &line);
		if (is_name(&line, name) && sbx_account_number(line.field[2], line.size[2], gid))
			return true;
	}
	return false;
}
