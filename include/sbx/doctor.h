/* doctor.h: what this engine can do for sandboxes, asked and, where it can be, tried. */
#ifndef SBX_DOCTOR_H
#define SBX_DOCTOR_H

#include <sbx/acquire.h>

enum sbx_finding_level {
	SBX_FINDING_OK,
	SBX_FINDING_NOTE,
	SBX_FINDING_WARNING,
	SBX_FINDING_PROBLEM
};
/* "ok", "note", "warning", "problem". */
const char *sbx_finding_level_name(enum sbx_finding_level level);

struct sbx_finding {
	const char *topic; /* a word, static: "engine", "pause", … */
	enum sbx_finding_level level;
	char *text; /* one sentence, with the remedy */
};
struct sbx_findings {
	struct sbx_finding *rows;
	size_t count;
};
/* One row more, its text by format; topic is kept as the pointer it is. Cannot fail. */
void sbx_findings_add(struct sbx_findings *findings, const char *topic,
	enum sbx_finding_level level, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void sbx_findings_finish(struct sbx_findings *findings);

/* image: for the throwaway sandbox on which pause is tried; NULL: that of a sandbox that exists,
 * else it is not tried. The sandbox is removed on every path. Adds to findings, which the
 * caller has zeroed or filled before; findings and info are finished by the caller. Fails only when
 * the engine does not describe itself: what else fails is a finding. */
int sbx_doctor(struct sbx_engine *engine, const char *image, const struct sbx_call *call,
	struct sbx_findings *findings, struct sbx_engine_info *info, struct sbx_error *err);

/* The declarations as one document (MAF-05..11): isolation, capabilities, limits, egress modes, OS
 * families. os_type: what the daemon says, never a setting; anything but "linux" declares no
 * family. limits: as set, 0 where not: runs are then held to the defaults ("in", "out"), and `put`
 * and `get` to none, which is null. Cannot fail; cJSON_Delete is the
 * caller's. */
struct cJSON;
struct cJSON *sbx_declarations(const char *os_type, const struct sbx_limits *limits);

#endif
