/* log_sink.h: where the daemon's log goes. */
#ifndef SBX_FS_LOG_SINK_H
#define SBX_FS_LOG_SINK_H

/* In front: stderr, with the journal's <N> prefixes if it reads there, else with times. Before
 * threads are made. */
void sbx_log_sink_front(void);
/* Behind: syslog, which the journal reads too. Connects at once, before the daemon confines itself.
 */
void sbx_log_sink_behind(void);

#endif
