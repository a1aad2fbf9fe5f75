/* test_user_answer.c: every shape of a container's user, and account files a guest wrote. */
#include "sandbox/user_answer.h"
#include "unit.h"

#include <sbx/guest_user.h>
#include <cjson/cJSON.h>
#include <string.h>

static char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
		       "broken\n"
		       ":x:5:5::\n"
		       "alice:x:1000:1001:Alice:/home/alice:/bin/sh\n"
		       "alice:x:7:7::\n"
		       "neg:x:-1:0::\n"
		       "big:x:4294967295:1::\n"
		       "nogid:x:42::/:\n"
		       "last:x:77:78";
static char group[] = "root:x:0:\nstaff:x:50:alice\nbad:x:5x:\nempty:x::\n";

struct expected {
	const char *user;
	bool uid_known;
	unsigned uid;
	bool gid_known;
	unsigned gid;
};

static void check(const struct expected *row, bool with_files)
{
	struct sbx_user_answer answer;
	struct sbx_account_files files = { 0 };
	if (with_files) {
		files.passwd = passwd;
		files.group = group;
	}
	sbx_user_answer_begin(row->user, &answer);
	sbx_user_answer_look_up(&answer, &files);
	ck_assert_msg(answer.uid_known == row->uid_known && answer.gid_known == row->gid_known,
		"%s: uid %d gid %d", row->user, answer.uid_known, answer.gid_known);
	if (row->uid_known)
		ck_assert_msg(answer.uid == row->uid, "%s: uid %u", row->user, answer.uid);
	if (row->gid_known)
		ck_assert_msg(answer.gid == row->gid, "%s: gid %u", row->user, answer.gid);
	sbx_user_answer_finish(&answer);
}

START_TEST(every_shape_with_account_files)
{
	static const struct expected rows[] = {
		{ "", true, 0, true, 0 },
		{ "0:0", true, 0, true, 0 },
		{ "1000:1000", true, 1000, true, 1000 },
		{ ":50", true, 0, true, 50 },
		{ ":staff", true, 0, true, 50 },
		{ "1000", true, 1000, true, 1001 },
		{ "0", true, 0, true, 0 },
		{ "4242", true, 4242, false, 0 },
		{ "alice", true, 1000, true, 1001 },
		{ "alice:staff", true, 1000, true, 50 },
		{ "alice:9", true, 1000, true, 9 },
		/* Never passwd's gid where a group was named. */
		{ "alice:nosuch", true, 1000, false, 0 },
		{ "alice:bad", true, 1000, false, 0 },
		{ "alice:empty", true, 1000, false, 0 },
		{ "nobody", false, 0, false, 0 },
		{ "nobody:9", false, 0, true, 9 },
		{ "broken", false, 0, false, 0 },
		{ "neg", false, 0, false, 0 },
		{ "big", false, 0, false, 0 },
		{ "nogid", false, 0, false, 0 },
		{ "last", true, 77, true, 78 },
		{ "4294967295", false, 0, false, 0 },
		{ "99999999999999999999", false, 0, false, 0 },
		{ "ali", false, 0, false, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], true);
}
END_TEST

START_TEST(without_account_files_only_numbers_answer)
{
	static const struct expected rows[] = {
		{ "", true, 0, true, 0 },
		{ "1:2", true, 1, true, 2 },
		/* Nothing says that root's group is 0. */
		{ "0", true, 0, false, 0 },
		{ "alice", false, 0, false, 0 },
		{ ":staff", true, 0, false, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], false);
}
END_TEST

START_TEST(numbers_are_nothing_but_digits)
{
	unsigned value;
	ck_assert(sbx_account_number("4294967294", 10, &value) && value == 4294967294U);
	ck_assert(!sbx_account_number("", 0, &value));
	ck_assert(!sbx_account_number("+1", 2, &value));
	ck_assert(!sbx_account_number(" 1", 2, &value));
	ck_assert(!sbx_account_number("0x1", 3, &value));
}
END_TEST

/* Both engines' ways to say which capabilities are left. */
START_TEST(root_without_the_power_of_root)
{
	static const struct {
		const char *user, *host;
		bool caveat;
	} rows[] = {
		{ "", "{\"CapDrop\":[\"ALL\"]}", true },
		{ "root", "{\"CapDrop\":[\"CAP_CHOWN\",\"CAP_DAC_OVERRIDE\"],\"CapAdd\":[]}",
			true },
		{ "0:50", "{\"CapDrop\":[\"all\"],\"CapAdd\":[\"CHOWN\"]}", true },
		{ ":50", "{\"CapDrop\":[\"ALL\"],\"CapAdd\":null}", true },
		{ "root", "{\"CapDrop\":[\"ALL\"],\"CapAdd\":[\"CAP_DAC_OVERRIDE\"]}", false },
		{ "root", "{\"CapDrop\":[\"CAP_CHOWN\"]}", false },
		{ "root", "{\"CapDrop\":null}", false },
		{ "root", "{}", false },
		{ "1000", "{\"CapDrop\":[\"ALL\"]}", false },
		{ "rooted", "{\"CapDrop\":[\"ALL\"]}", false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_container container = { .user = (char *)rows[i].user,
			.json = cJSON_CreateObject() };
		cJSON_AddItemToObject(container.json, "HostConfig", cJSON_Parse(rows[i].host));
		ck_assert_msg(!sbx_guest_root_caveat(&container) != rows[i].caveat, "row %zu", i);
		cJSON_Delete(container.json);
	}
}
END_TEST

UNIT_MAIN("user_answer", every_shape_with_account_files, without_account_files_only_numbers_answer,
	numbers_are_nothing_but_digits, root_without_the_power_of_root)
