/* pace.c: see pace.h. */
#include "pace.h"

#include <time.h>

int64_t sbx_pace_now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_BOOTTIME, &now); /* cannot fail for this clock */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t duty(unsigned duty_percent)
{
	return duty_percent < 1 ? 1 : duty_percent > 100 ? 100 : duty_percent;
}

/* A record from before a reboot lies in the future of this clock: it binds nobody. */
static int64_t debt_at(const struct sbx_pace *pace, unsigned duty_percent, int64_t now_ms)
{
	int64_t share = duty(duty_percent);
	int64_t elapsed_ms = now_ms - pace->ended_ms;
	if (share == 100 || pace->debt_ms <= 0 || elapsed_ms < 0)
		return 0;
	/* Compared by division: neither an old record nor a long sleep can overflow. */
	if (elapsed_ms / (100 - share) > pace->debt_ms)
		return 0;
	int64_t paid_ms = elapsed_ms * share / (100 - share);
	return paid_ms >= pace->debt_ms ? 0 : pace->debt_ms - paid_ms;
}

int64_t sbx_pace_wait_ms(const struct sbx_pace *pace, unsigned duty_percent, int64_t now_ms)
{
	int64_t share = duty(duty_percent);
	int64_t over_ms = debt_at(pace, duty_percent, now_ms) - SBX_PACE_BURST_MS;
	if (over_ms <= 0)
		return 0;
	return (over_ms * (100 - share) + share - 1) / share;
}

void sbx_pace_add(struct sbx_pace *pace, unsigned duty_percent, int64_t now_ms, int64_t held_ms)
{
	static const int64_t most_ms = INT64_C(24) * 3600 * 1000;
	int64_t started_ms = now_ms - (held_ms > 0 ? held_ms : 0);
	int64_t debt_ms = debt_at(pace, duty_percent, started_ms) + (held_ms > 0 ? held_ms : 0);
	pace->debt_ms = debt_ms > most_ms ? most_ms : debt_ms;
	pace->ended_ms = now_ms;
}
