/* log_sink.c: see log_sink.h. Lines come escaped from the logger. */
#include "log_sink.h"

#include "base/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

static int priority(enum sbx_log_level level)
{
	static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
	return priorities[level];
}

static void to_journal(enum sbx_log_level level, const char *line)
{
	/* Nowhere else to say that stderr is gone. */
	(void)fprintf(stderr, "<%d>%s\n", priority(level), line);
}

static void to_stderr(enum sbx_log_level level, const char *line)
{
	char stamp[32];
	time_t now = time(NULL);
	struct tm local;
	(void)level; /* the sentence says it */
	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &local);
	(void)fprintf(stderr, "%s sbxfs: %s\n", stamp, line);
}

static void to_syslog(enum sbx_log_level level, const char *line)
{
	syslog(priority(level), "%s", line);
}

/* The journal's stream is inherited by a terminal's shell too: it is ours only where standard error
 * is that very file, as systemd.exec(5) asks. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device = 0, inode = 0;
	struct stat status;
	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

void sbx_log_sink_front(void)
{
	tzset(); /* reads the time zone's file, which a confined daemon may not */
	sbx_log_set_sink(stderr_is_journal() ? to_journal : to_stderr);
}

void sbx_log_sink_behind(void)
{
	tzset();
	openlog("sbxfs", LOG_PID | LOG_NDELAY, LOG_DAEMON);
	sbx_log_set_sink(to_syslog);
}
