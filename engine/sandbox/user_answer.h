/* user_answer.h: the shapes of Config.User, apart from any engine (MAF-121). */
#ifndef SBX_SANDBOX_USER_ANSWER_H
#define SBX_SANDBOX_USER_ANSWER_H

#include "account_files.h"

/* What is known so far, and what would answer the rest. */
struct sbx_user_answer {
	bool uid_known, gid_known;
	unsigned uid, gid;
	char *name;  /* a user name still to be found in passwd, or NULL */
	char *group; /* a group name still to be found in the group file, or NULL */
};
void sbx_user_answer_finish(struct sbx_user_answer *answer);

/* "" and "0:0" are 0:0; "u:g" as they are; ":g" is 0:g; a bare uid still lacks its gid, also 0. */
void sbx_user_answer_begin(const char *config_user, struct sbx_user_answer *out);
/* Fills what the account files answer. A named group is never replaced by passwd's gid. */
void sbx_user_answer_look_up(struct sbx_user_answer *answer, const struct sbx_account_files *files);

#endif
