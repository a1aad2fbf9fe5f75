/* user_answer.c: see user_answer.h. */
#include "user_answer.h"

#include "../base/alloc.h"

#include <string.h>

void sbx_user_answer_finish(struct sbx_user_answer *answer)
{
	free(answer->name);
	free(answer->group);
	*answer = (struct sbx_user_answer){ 0 };
}

void sbx_user_answer_begin(const char *config_user, struct sbx_user_answer *out)
{
	*out = (struct sbx_user_answer){ 0 };
	size_t length = strcspn(config_user, ":");
	const char *group = config_user[length] == ':' ? config_user + length + 1 : "";
	if (length == 0) {
		out->uid_known = true;	  /* no user is root … */
		out->gid_known = !*group; /* … and root's group, unless one is named */
	} else {
		out->uid_known = sbx_account_number(config_user, length, &out->uid);
		if (!out->uid_known)
			out->name = sbx_strndup(config_user, length);
	}
	if (!*group)
		return;
	out->gid_known = sbx_account_number(group, strlen(group), &out->gid);
	if (!out->gid_known)
		out->group = sbx_strdup(group);
}

void sbx_user_answer_look_up(struct sbx_user_answer *answer, const struct sbx_account_files *files)
{
	unsigned uid;
	unsigned gid;
	if (!answer->uid_known && sbx_passwd_by_name(files->passwd, answer->name, &uid, &gid)) {
		answer->uid_known = true;
		answer->uid = uid;
		if (!answer->gid_known && !answer->group) {
			answer->gid_known = true;
			answer->gid = gid;
		}
	}
	if (answer->gid_known)
		return;
	if (answer->group)
		answer->gid_known = sbx_group_by_name(files->group, answer->group, &answer->gid);
	else if (answer->uid_known)
		answer->gid_known = sbx_passwd_by_uid(files->passwd, answer->uid, &answer->gid);
}
