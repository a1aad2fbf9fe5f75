/*
 * log.h: the process's log. Lines go to stderr until sbx_log_set_sink names another place. Every
 * argument that a guest may have chosen is escaped by the logger itself: a line is one line.
 */
#ifndef SBX_BASE_LOG_H
#define SBX_BASE_LOG_H

#include <sbx/error.h>

enum sbx_log_level { SBX_LOG_ERROR, SBX_LOG_WARNING, SBX_LOG_INFO, SBX_LOG_DEBUG };

typedef void (*sbx_log_fn)(enum sbx_log_level level, const char *line);

/* Both before threads are started. */
void sbx_log_set_level(enum sbx_log_level level);
void sbx_log_set_sink(sbx_log_fn sink); /* NULL: stderr */

void sbx_log(enum sbx_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
