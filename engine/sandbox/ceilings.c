/* ceilings.c: see sbx/ceilings.h. What is held to them: a run's inputs and its collection, `put`
 * and `get`; each from what it has listed, before a byte moves, and again as bytes arrive. */
#include <sbx/ceilings.h>

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

static struct sbx_ceilings fill(const struct sbx_ceilings *set)
{
	struct sbx_ceilings out = { INT64_C(64) << 20, INT64_C(256) << 20, 256 };
	if (set->max_file_bytes)
		out.max_file_bytes = set->max_file_bytes;
	if (set->max_total_bytes)
		out.max_total_bytes = set->max_total_bytes;
	if (set->max_files)
		out.max_files = set->max_files;
	return out;
}

struct sbx_limits sbx_limits_fill(const struct sbx_limits *limits)
{
	return (struct sbx_limits){ fill(&limits->in), fill(&limits->out) };
}

int sbx_ceilings_ask(const char *direction, const struct sbx_ceilings *asked,
	const struct sbx_ceilings *ceilings, struct sbx_ceilings *out, struct sbx_error *err)
{
	const struct {
		const char *option;
		int64_t asked, ceiling;
		int64_t *out;
	} rows[] = {
		{ "--max-file", asked->max_file_bytes, ceilings->max_file_bytes,
			&out->max_file_bytes },
		{ "--max-total", asked->max_total_bytes, ceilings->max_total_bytes,
			&out->max_total_bytes },
		{ "--max-files", asked->max_files, ceilings->max_files, &out->max_files },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].asked < 0)
			return sbx_fail(err, EINVAL, "%s is below zero", rows[i].option);
		if (rows[i].ceiling && rows[i].asked > rows[i].ceiling)
			return sbx_fail(err, EPERM,
				"%s %" PRId64 " is above the ceiling of %" PRId64
				" on what goes %s, which [limits] of the config file sets",
				rows[i].option, rows[i].asked, rows[i].ceiling, direction);
		*rows[i].out = rows[i].asked ? rows[i].asked : rows[i].ceiling;
	}
	return 0;
}
