/*
 * in_names.c: names that savers write to and rename when they are done (fuse-guide §5), and what
 * file managers drop wherever they look. Such files stay local until they get a name of their own.
 *
 * Patterns are those of fnmatch; six question marks at the end stand for what mkstemp makes up, or
 * ".app.config" would never be uploaded.
 */
#include "in_file.h"

#include "base/text.h"

#include <ctype.h>
#include <fnmatch.h>

/* rsync, sed -i, browsers, GLib, LibreOffice and its locks, vim's swap files and probe, git;
 * Finder, Dolphin, Explorer. */
const char sbx_in_temporary_names[] =
	".*.??????:sed??????:*.part:*.crdownload:.goutputstream-*:lu*"
	".tmp:.~lock.*#:.*.sw[a-p]:4913:"
	"index.lock:HEAD.lock:ORIG_HEAD.lock:config.lock:packed-refs.lock:"
	"shallow.lock:tmp_obj_*:"
	".DS_Store:._.DS_Store:.directory:Thumbs.db:desktop.ini";

/* Letters and digits, not all of them small letters: a word is not made up. The few made-up ones
 * that look like a word are uploaded under both names, which costs time only. */
static bool ends_made_up(const char *name)
{
	const char *tail = name + strlen(name) - 6;
	bool word = true;
	for (; *tail; tail++) {
		if (!isalnum((unsigned char)*tail))
			return false;
		word = word && islower((unsigned char)*tail);
	}
	return !word;
}

static bool matches(const char *pattern, const char *name)
{
	if (!*pattern || fnmatch(pattern, name, 0) != 0)
		return false;
	return !sbx_text_has_suffix(pattern, "??????") || ends_made_up(name);
}

bool sbx_in_name_temporary(const char *patterns, const char *name)
{
	cleanup_free char *copy = sbx_strdup(patterns ? patterns : sbx_in_temporary_names);
	char *rest = copy;
	for (char *pattern; (pattern = strsep(&rest, ":"));)
		if (matches(pattern, name))
			return true;
	return false;
}
