/*
 * list_around.h: the engine's list, also while a container in it does not answer.
 *
 * Docker lists without any container's lock. Podman takes each one's in turn, so that a single
 * container that holds its own (a stuck mount, a fifo in place of an account file) would hold up
 * every list on the engine. Its filter on ids is applied before: the list is asked for in parts,
 * until the part that does not answer is the one container.
 */
#ifndef SBX_SANDBOX_LIST_AROUND_H
#define SBX_SANDBOX_LIST_AROUND_H

#include <sbx/container.h>

#define SBX_UNANSWERED_MAX 8

/* Id prefixes whose containers were not listed. */
struct sbx_unanswered {
	char prefixes[SBX_UNANSWERED_MAX][8];
	size_t count;
};
bool sbx_unanswered_has(const struct sbx_unanswered *unanswered, const char *id);

/* As sbx_container_list. More parts without an answer than unanswered can hold are a failure of the
 * whole (ETIMEDOUT). */
int sbx_list_around(struct sbx_engine *engine, const char *label, const struct sbx_call *call,
	struct sbx_container_list *out, struct sbx_unanswered *unanswered, struct sbx_error *err);

#endif
