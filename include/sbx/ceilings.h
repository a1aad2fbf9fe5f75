/* ceilings.h: how much may go into a sandbox, or come out, in one transfer (MAF-07, MAF-106,
 * OUT-06). */
#ifndef SBX_CEILINGS_H
#define SBX_CEILINGS_H

#include <sbx/error.h>
#include <stdint.h>

/* Of one file, of all files of one transfer, and how many they are. 0: none. */
struct sbx_ceilings {
	int64_t max_file_bytes, max_total_bytes, max_files;
};
/* Of the two directions: the host's files into a sandbox, its outputs to the host. */
struct sbx_limits {
	struct sbx_ceilings in, out;
};

/* limits with each 0 in it replaced by what a run is held to where nothing is set: 64 MiB, 256 MiB,
 * 256 files. Cannot fail. */
struct sbx_limits sbx_limits_fill(const struct sbx_limits *limits);

/* What a caller asks against what is set for that direction ("in", "out", for the sentence): what
 * is asked, or where that is 0 the ceiling. Asked above a ceiling is refused, not cut down to it:
 * the caller would lose files. EPERM kind POLICY; EINVAL below zero. Equality is allowed. */
int sbx_ceilings_ask(const char *direction, const struct sbx_ceilings *asked,
	const struct sbx_ceilings *ceilings, struct sbx_ceilings *out, struct sbx_error *err);

#endif
