/* test_reap.c: who is reaped: strictly older, and ours by every label. */
#include "sandbox/reap.h"
#include "unit.h"

#include <sbx/dispose.h>

#define NS 1000000000LL

START_TEST(strictly_older)
{
	const int64_t now = 1000 * NS;
	ck_assert(!sbx_reap_expired(900 * NS, now, 100)); /* exactly at the cutoff stays */
	ck_assert(sbx_reap_expired(900 * NS - 1, now, 100));
	ck_assert(!sbx_reap_expired(900 * NS + 1, now, 100));
	ck_assert(!sbx_reap_expired(0, now, 100));
	ck_assert(!sbx_reap_expired(-1, now, 100));
	ck_assert(!sbx_reap_expired(now, now, 100));
	ck_assert(!sbx_reap_expired(now + NS, now, 100));
	ck_assert(!sbx_reap_expired(1, now, INT64_MAX));
}
END_TEST

#define LABEL(k, v)                                                                                \
	{                                                                                          \
		(char *)(k), (char *)(v)                                                           \
	}

START_TEST(ours_by_every_label)
{
	struct sbx_pair all[] = { LABEL("sbxfs.version", "1"), LABEL("sbxfs.scope", "s"),
		LABEL("sbxfs.thread", "t"), LABEL("sbxfs.agent", "a"), LABEL("sbxfs.kind", "k") };
	ck_assert(sbx_reap_owned(all, 5, NULL));
	ck_assert(sbx_reap_owned(all, 5, "s"));
	ck_assert(!sbx_reap_owned(all, 5, "other"));
	ck_assert(!sbx_reap_owned(all, 4, NULL)); /* three of four identity labels */
	ck_assert(!sbx_reap_owned(all + 1, 4, NULL));
	all[4].value = (char *)"";
	ck_assert(!sbx_reap_owned(all, 5, NULL));
	all[4].value = (char *)"k";
	all[0].value = (char *)"2";
	ck_assert(!sbx_reap_owned(all, 5, NULL));
	struct sbx_pair foreign[] = { LABEL("maf-sandbox.scope", "s"),
		LABEL("maf-sandbox.thread", "t"), LABEL("maf-sandbox.agent", "a"),
		LABEL("maf-sandbox.kind", "k") };
	ck_assert(!sbx_reap_owned(foreign, 4, NULL));
}
END_TEST

START_TEST(leftovers_and_roles)
{
	struct sbx_pair ephemeral[] = { LABEL("sbxfs.version", "1"), LABEL("sbxfs.ephemeral", "1"),
		LABEL("sbxfs.scope", "s") };
	ck_assert(sbx_reap_owned(ephemeral, 2, NULL));
	ck_assert(sbx_reap_owned(ephemeral, 3, "s"));
	ck_assert(!sbx_reap_owned(ephemeral, 2, "s"));
	struct sbx_pair probe[] = { LABEL("sbxfs.version", "1"), LABEL("sbxfs.role", "probe") };
	ck_assert(sbx_reap_owned(probe, 2, NULL));
	struct sbx_pair proxy[] = { LABEL("sbxfs.version", "1"), LABEL("sbxfs.role", "proxy"),
		LABEL("sbxfs.scope", "s"), LABEL("sbxfs.thread", "t"), LABEL("sbxfs.agent", "a"),
		LABEL("sbxfs.kind", "k") };
	ck_assert(!sbx_reap_owned(proxy, 6, NULL));
	struct sbx_removals none;
	const struct sbx_reap zero = { 0 };
	ck_assert_int_lt(sbx_reap(NULL, &zero, NULL, &none, NULL), 0);
}
END_TEST

UNIT_MAIN("reap", strictly_older, ours_by_every_label, leftovers_and_roles)
