/* reap.h: who is reaped, as a pure function of labels and time. */
#ifndef SBX_SANDBOX_REAP_H
#define SBX_SANDBOX_REAP_H

#include <sbx/dispose.h>

/* Ours to reap by label alone: the version and the four identity labels; or ephemeral; or a probe.
 * Never by a name, and no other vocabulary's. scope_label: digested, or NULL. */
bool sbx_reap_owned(const struct sbx_pair *labels, size_t count, const char *scope_label);
/* Strictly older: at exactly that age it stays. An unknown time (0) and one in the future stay. */
bool sbx_reap_expired(int64_t created_ns, int64_t now_ns, int64_t older_than_s);

#endif
