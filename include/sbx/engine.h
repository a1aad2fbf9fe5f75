/*
 * engine.h: one engine, reached and versioned. Safe to use from many threads at once.
 */
#ifndef SBX_ENGINE_H
#define SBX_ENGINE_H

#include <sbx/call.h>
#include <sbx/endpoint.h>
#include <sbx/error.h>
#include <stdint.h>

struct sbx_engine;

/* Counts since sbx_engine_open, for stats.json and the bench. */
struct sbx_engine_counters {
	uint64_t requests;
	uint64_t failures; /* no answer, or a status of 500 and above */
	uint64_t bytes_in; /* bodies */
	uint64_t bytes_out;
	uint64_t pauses; /* POST pause sent */
	uint64_t archive_heads, archive_gets, archive_puts;
};

/* Opens and pings (GET /_ping without a version). The API version used is the lower of 1.41 and the
 * engine's. Errors: EHOSTDOWN (nobody answers; the sentence names the socket and tells missing,
 * refused and permission apart), EOPNOTSUPP (too old: below 1.40, or the engine's minimum is
 * above 1.41), EPERM kind POLICY (it is exposed, and insecure is not set), EINVAL
 * (DOCKER_API_VERSION is none), ETIMEDOUT, EIO (what answers is no engine). endpoint: copied. *out:
 * for sbx_engine_close; NULL after a failure. */
int sbx_engine_open(const struct sbx_endpoint *endpoint, const struct sbx_call *call,
	struct sbx_engine **out, struct sbx_error *err);
void sbx_engine_close(struct sbx_engine *engine); /* no call may be running; NULL is fine */

/* Asks again; what changed is adopted. As sbx_engine_open's errors. */
int sbx_engine_ping(struct sbx_engine *engine, const struct sbx_call *call, struct sbx_error *err);

/* Whether something accepts a connection there now; bounded by a second. Nothing is sent. */
bool sbx_engine_reachable(struct sbx_engine *engine);
/* For what a user is told: a request whose connection broke (EIO, nothing answered) becomes
 * EHOSTDOWN where the engine cannot be reached any more. It may have been carried out, unlike what
 * failed with EHOSTDOWN at once. Returns -err->errnum; result >= 0 stays. */
int sbx_engine_explain_break(struct sbx_engine *engine, int result, struct sbx_error *err);

/* The wall clock that the engine's times are told by, in seconds: its own, not this host's. Late by
 * up to a second and more, never early; 0 where the engine's answers have no Date. Thread-safe. */
int64_t sbx_engine_now_s(const struct sbx_engine *engine);
/* Of all these what is returned is the engine's own, valid until it is closed; none asks anything.
 */
bool sbx_engine_is_podman(const struct sbx_engine *engine);
const char *sbx_engine_api_version(const struct sbx_engine *engine); /* in use, e.g. "1.41" */
const char *sbx_engine_server(const struct sbx_engine *engine); /* the Server header, "" if none */
const struct sbx_endpoint *sbx_engine_endpoint(const struct sbx_engine *engine);
/* 16 hex digits that name the endpoint, the same in every process: names lock files. */
const char *sbx_engine_key(const struct sbx_engine *engine);
/* A snapshot; the counts are not of one moment. */
void sbx_engine_counters(const struct sbx_engine *engine, struct sbx_engine_counters *out);

/* GET /version and /info: slow on Podman (0.9–1.6 s), for doctor and admission only. */
struct sbx_engine_info {
	char *name; /* "Docker Engine", "Podman Engine" */
	char *version;
	char *api_version, *min_api_version;
	char *os_type; /* "linux" or what the engine says; "" if silent */
	char *architecture;
	char *storage_driver;
	char *cgroup_version; /* "1", "2" or "" */
	char *default_runtime;
	char **security_options; /* as listed, NULL-terminated */
	bool rootless; /* an option that is exactly "rootless" or "name=rootless", or Podman's own
			  field */
	bool userns;   /* exactly "userns" or "name=userns" */
	bool keeps_limits;    /* of memory, CPU and processes: not where it says that it cannot,
				 nor without root on cgroup version 1, where it only pretends */
	bool seccomp_default; /* an option "name=seccomp" with a profile other than unconfined */
};
/* Errors: those that hold for all; a part that the engine leaves out is "" or false. */
int sbx_engine_info(struct sbx_engine *engine, const struct sbx_call *call,
	struct sbx_engine_info *out, struct sbx_error *err);
void sbx_engine_info_finish(struct sbx_engine_info *info);

#endif
