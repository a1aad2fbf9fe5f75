/*
 * container.h: the engine's container resource. Source: Engine API v1.41, /containers/…
 *
 * Ids are the full 64 hex digits wherever one is passed on: a typed name can hit another
 * container's id prefix. ABSENT from any of these means that the engine said so of that very
 * container. Thread-safe.
 */
#ifndef SBX_CONTAINER_H
#define SBX_CONTAINER_H

#include <sbx/engine.h>
#include <stddef.h>

struct cJSON;

enum sbx_state {
	SBX_STATE_UNKNOWN,
	SBX_STATE_CREATED,
	SBX_STATE_RUNNING,
	SBX_STATE_PAUSED,
	SBX_STATE_EXITED
};
/* "unknown", "created", "running", "paused", "exited". */
const char *sbx_state_name(enum sbx_state state);

struct sbx_pair {
	char *key, *value;
};

struct sbx_mount {
	char *type, *destination;
}; /* "volume", "bind", "tmpfs" and the absolute guest path */

/* What inspect said, as far as sbxfs uses it. Every string is owned and not NULL. */
struct sbx_container {
	char *id;	/* 64 hex */
	char *name;	/* without the leading slash */
	char *image_id; /* "sha256:…" */
	char *image;	/* Config.Image, as the engine spells it */
	enum sbx_state state;
	int exit_code;
	int pid;	      /* on the engine's host, 0 if not running */
	char *user, *workdir; /* Config.User, Config.WorkingDir */
	int64_t created_ns;   /* since 1970; 0 if unreadable or without a zone */
	char *created;	      /* as printed */
	struct sbx_pair *labels;
	size_t label_count;
	struct sbx_mount *mounts; /* Mounts ∪ HostConfig.Tmpfs ∪ HostConfig.Mounts of type tmpfs */
	size_t mount_count;
	struct cJSON *json; /* the whole answer, for drift checks; owned */
};
void sbx_container_finish(struct sbx_container *container);
/* Everything but json, which stays NULL; out is finished by the caller. Cannot fail. */
void sbx_container_copy(struct sbx_container *out, const struct sbx_container *in);
/* The label's value, NULL if unset; the container's own. */
const char *sbx_container_label(const struct sbx_container *container, const char *key);

struct sbx_container_summary { /* one row of the list */
	char *id, *name, *image;
	enum sbx_state state;
	int64_t created_s;
	struct sbx_pair *labels;
	size_t label_count;
};
struct sbx_container_list {
	struct sbx_container_summary *rows;
	size_t count;
};
void sbx_container_list_finish(struct sbx_container_list *list);

/* GET /containers/json: all states. label: "key" or "key=value" or NULL. */
int sbx_container_list(struct sbx_engine *engine, const char *label, const struct sbx_call *call,
	struct sbx_container_list *out, struct sbx_error *err);
/* The same of those whose id begins with id_prefix (hex digits; NULL: any). Podman only: there one
 * container whose lock is held holds up every list that it is in. */
int sbx_container_list_part(struct sbx_engine *engine, const char *label, const char *id_prefix,
	const struct sbx_call *call, struct sbx_container_list *out, struct sbx_error *err);
/* GET …/json. Engines also take the beginning of an id: see whose name and id came. Errors: ENOENT
 * kind ABSENT when the engine says no such container; EINVAL kind USAGE when it says that several
 * ids begin so. */
int sbx_container_inspect(struct sbx_engine *engine, const char *id_or_name,
	const struct sbx_call *call, struct sbx_container *out, struct sbx_error *err);
/* POST /containers/create. name as sbx_sandbox_name_check has it; body: the create JSON (borrowed).
 * id_out: malloc'd, for free(). Unanswered, it may have been made, or be made later. Errors: EEXIST
 * kind CONFLICT (name in use), ENOENT kind ABSENT (no such image), EINVAL (400), EIO. */
int sbx_container_create(struct sbx_engine *engine, const char *name, const struct cJSON *body,
	const struct sbx_call *call, char **id_out, struct sbx_error *err);
/* POST …/start. Already started is success. Errors: ABSENT, EBUSY kind CONFLICT (paused). */
int sbx_container_start(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err);
/* POST …/pause and …/unpause. pause: EBUSY kind CONFLICT when it is paused already (not ours),
 * ESRCH kind CONFLICT when it does not run, EOPNOTSUPP when the engine cannot pause, EIO when it
 * began to and gave up: it may be frozen. unpause: EBUSY kind CONFLICT when it was not paused.
 * ETIMEDOUT and transport errors leave open whether the engine did, or will later do, what was
 * asked. */
int sbx_container_pause(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err);
int sbx_container_unpause(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err);
/* POST …/kill. signal: a name ("KILL") or number. Errors: ABSENT, ESRCH kind CONFLICT (it does not
 * run). */
int sbx_container_kill(struct sbx_engine *engine, const char *id, const char *signal,
	const struct sbx_call *call, struct sbx_error *err);
/* DELETE. Force-removes with its anonymous volumes, never stops. ABSENT when it was not there.
 * Removal already in progress (409) is waited for within the call. Unanswered, it may still go. */
int sbx_container_remove(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err);
/* POST …/wait. Waits until it does not run, however long it is silent; exit_code may be NULL.
 * Errors: ABSENT. */
int sbx_container_wait(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	int *exit_code, struct sbx_error *err);

/* Output, demultiplexed. stream: 1 stdout, 2 stderr; bytes are valid during the call only. Return
 * non-zero to stop; the call then returns that. */
typedef int (*sbx_output_fn)(void *data, int stream, const char *bytes, size_t size);
/* GET …/logs, the container's own log. tail: lines from the end, <0 all. follow: until it ends.
 * Errors: ABSENT; what output returned. */
int sbx_container_logs(struct sbx_engine *engine, const char *id, int tail, bool follow,
	const struct sbx_call *call, sbx_output_fn output, void *data, struct sbx_error *err);

#endif
