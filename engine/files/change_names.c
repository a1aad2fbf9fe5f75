/* change_names.c: see change_names.h. */
#include "change_names.h"

#include "../base/alloc.h"
#include "../base/buffer.h"
#include "../base/text.h"
#include "guest_path.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

bool sbx_change_names_lossy(const char *text)
{
	return strstr(text, replacement) != NULL;
}

char *sbx_change_names_spell(const char *name)
{
	struct sbx_buffer spelled = { 0 };
	size_t left = strlen(name);
	unsigned code_point;
	while (left) {
		size_t sequence = sbx_utf8_sequence(name, left, &code_point);
		if (sequence)
			(void)sbx_buffer_append(&spelled, name, sequence); /* it has no limit */
		else
			(void)sbx_buffer_append_text(&spelled, replacement);
		name += sequence ? sequence : 1;
		left -= sequence ? sequence : 1;
	}
	return spelled.data ? spelled.data : sbx_strdup("");
}

void sbx_change_names_select(
	const struct sbx_changes *changes, const char *directory, struct sbx_change_names *out)
{
	size_t above = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
	*out = (struct sbx_change_names){
		.rows = sbx_alloc_array(changes->count, sizeof(char *)),
		.lossy = sbx_change_names_lossy(directory) ||
			 !sbx_utf8_valid(directory, strlen(directory)),
	};
	for (size_t i = 0; i < changes->count; i++) {
		const struct sbx_change *change = &changes->rows[i];
		if (change->kind == 1 && sbx_guest_path_within(directory, change->path))
			out->added = true;
		if (strncmp(change->path, directory, above) != 0 || change->path[above] != '/')
			continue;
		const char *name = change->path + above + 1;
		if (!*name || strchr(name, '/'))
			continue;
		bool lossy = sbx_change_names_lossy(name);
		out->lossy = out->lossy || lossy;
		/* Podman also says "deleted" of what was made anew, so those are asked for, too;
		 * but of one that cannot be asked for nothing follows. */
		if (!lossy || change->kind != 2)
			out->rows[out->count++] = name;
	}
}

void sbx_change_names_finish(struct sbx_change_names *names)
{
	free(names->rows);
	*names = (struct sbx_change_names){ 0 };
}
