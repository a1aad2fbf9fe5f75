/* test_fs_options.c: every spelling of an option, and that a misspelt one never passes. */
#include "base/log.h"
#include "fs.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

START_TEST(takes_what_it_knows)
{
	struct sbx_fs_options options;
	struct sbx_error err = SBX_ERROR_INIT;
	sbx_fs_options_init(&options);
	ck_assert_int_eq(
		sbx_fs_option_list(&options,
			"allow_other,uid=7,gid=8,umask=027,state=running,attr_timeout=0.25,"
			"cache_dir=/a\\,b,cache_budget=2g,max_file_bytes=10m,freeze=reads,"
			"deadline=5m,log_level=debug,engine=unix:///x,async,insecure",
			&err),
		0);
	ck_assert(options.allow_other && options.async && options.insecure && options.state_set);
	ck_assert_uint_eq(options.uid, 7);
	ck_assert_uint_eq(options.gid, 8);
	ck_assert_uint_eq(options.umask, 027);
	ck_assert_int_eq(options.state, SBX_STATE_RUNNING);
	ck_assert_int_eq(options.attr_timeout_ms, 250);
	ck_assert_str_eq(options.cache_dir, "/a,b");
	ck_assert_int_eq(options.cache_budget, INT64_C(2) << 30);
	ck_assert_int_eq(options.max_file_bytes, 10 << 20);
	ck_assert_int_eq(options.freeze, SBX_FREEZE_READS);
	ck_assert_int_eq(options.deadline_ms, 300000);
	ck_assert_int_eq(options.log_level, SBX_LOG_DEBUG);
	ck_assert_str_eq(options.engine_choice, "unix:///x");
	sbx_fs_options_finish(&options);
}
END_TEST

START_TEST(drops_what_is_said_to_others)
{
	struct sbx_fs_options options;
	struct sbx_error err = SBX_ERROR_INIT;
	sbx_fs_options_init(&options);
	ck_assert_int_eq(sbx_fs_option_list(&options,
				 "rw,noauto,user,_netdev,nofail,x-gvfs-notrash,x-systemd.automount,"
				 "comment=a b",
				 &err),
		0);
	sbx_fs_options_finish(&options);
}
END_TEST

START_TEST(refuses_what_it_does_not_know)
{
	static const char *const rows[] = { "max_file_byte=1", "uid=-1", "uid=", "umask=9",
		"freeze=sometimes", "cache_dir=relative", "attr_timeout=x", "attr_timeout=1.2345",
		"cache_budget=1q", "state=dead", "ro", "uid=99999999999999999999", "duty=101",
		"max_in_bytes=0" };
	struct sbx_fs_options options;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = SBX_ERROR_INIT;
		sbx_fs_options_init(&options);
		ck_assert_msg(sbx_fs_option_list(&options, rows[i], &err) == -EINVAL, "%s passed",
			rows[i]);
		ck_assert_int_eq(err.kind, SBX_KIND_USAGE);
		sbx_fs_options_finish(&options);
	}
}
END_TEST

UNIT_MAIN("fs_options", takes_what_it_knows, drops_what_is_said_to_others,
	refuses_what_it_does_not_know)
