/* audit.c: see audit.h. */
#include "audit.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/log.h"

#include <stdlib.h>
#include <time.h>

void sbx_audit_init(struct sbx_audit *audit)
{
	pthread_mutex_init(&audit->lines_lock, NULL);
	audit->lines = sbx_alloc_array(SBX_AUDIT_LINES, sizeof(*audit->lines));
	audit->count = audit->next = 0;
}

void sbx_audit_finish(struct sbx_audit *audit)
{
	for (size_t i = 0; i < audit->count; i++)
		free(audit->lines[i]);
	free(audit->lines);
	pthread_mutex_destroy(&audit->lines_lock);
}

static char *line(const char *op, const char *path, const char *component, const char *what)
{
	char stamp[64];
	struct timespec now;
	struct tm utc;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	size_t length = strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
	cleanup_free char *time_text =
		sbx_printf("%.*s.%03ldZ", (int)length, stamp, now.tv_nsec / 1000000);
	cleanup_json cJSON *json = cJSON_CreateObject();
	sbx_json_add_text(json, "time", time_text);
	sbx_json_add_text(json, "op", op);
	sbx_json_add_text(json, "path", path);
	sbx_json_add_text(json, "component", component);
	sbx_json_add_text(json, "what", what);
	return sbx_json_print(json);
}

void sbx_audit_add(struct sbx_audit *audit, const char *sandbox, const char *op, const char *path,
	const char *component, const char *what)
{
	char *text = line(op, path, component, what);
	sbx_log(SBX_LOG_WARNING, "%s: refused %s of %s: %s is %s", sandbox, op, path, component,
		what);
	pthread_mutex_lock(&audit->lines_lock);
	free(audit->lines[audit->next]);
	audit->lines[audit->next] = text;
	audit->next = (audit->next + 1) % SBX_AUDIT_LINES;
	if (audit->count < SBX_AUDIT_LINES)
		audit->count++;
	pthread_mutex_unlock(&audit->lines_lock);
}

char *sbx_audit_text(struct sbx_audit *audit, size_t *size)
{
	struct sbx_buffer text = { 0 };
	pthread_mutex_lock(&audit->lines_lock);
	size_t first = audit->count < SBX_AUDIT_LINES ? 0 : audit->next;
	for (size_t i = 0; i < audit->count; i++) {
		/* No limit is set: appending cannot fail. */
		(void)sbx_buffer_append_text(&text, audit->lines[(first + i) % SBX_AUDIT_LINES]);
		(void)sbx_buffer_append(&text, "\n", 1);
	}
	pthread_mutex_unlock(&audit->lines_lock);
	*size = text.size;
	return text.data ? text.data : sbx_strdup("");
}
