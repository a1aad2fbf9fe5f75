/*
 * spec.h: what a sandbox is asked to be: identity, image, declaration, hardening, and its checks.
 */
#ifndef SBX_SPEC_H
#define SBX_SPEC_H

#include <sbx/ceilings.h>
#include <sbx/sandbox.h>
#include <sbx/sha256.h>

enum sbx_isolation { /* MAF-05's ladder */
	SBX_ISOLATION_NONE,
	SBX_ISOLATION_RUNTIME,
	SBX_ISOLATION_OS_PROCESS,
	SBX_ISOLATION_CONTAINER,
	SBX_ISOLATION_HARDENED_CONTAINER,
	SBX_ISOLATION_MICROVM,
	SBX_ISOLATION_VM,
};
/* A rung by its word: "none", "runtime", "os_process", "container", "hardened_container",
 * "microvm", "vm". EINVAL for any other. */
int sbx_isolation_parse(const char *word, enum sbx_isolation *out, struct sbx_error *err);

/* Begin with sbx_spec_init, which sets the strong defaults. All strings and arrays are borrowed for
 * as long as the spec is used: it needs no finish. */
struct sbx_spec {
	const char *name;			   /* NULL: derived from the identity */
	const char *scope, *thread, *agent, *kind; /* NULL is the empty string */
	const char *call_id; /* call scope (MAF-39): in name and labels; NULL: none */
	const char *image;   /* a reference or name@sha256:… */
	const char *workdir; /* NULL: the image's WORKDIR if below "/", else /work */
	const char *in_dir;  /* NULL: "in" */
	const char *const *outputs;
	size_t output_count;
	const char *user;	/* NULL: the image's */
	const char *const *env; /* "K=V" */
	size_t env_count;
	/* What runs as pid 1. NULL: a keep-alive of the image's `sh` and `sleep` that also waits
	 * for what commands leave running, or of its `sleep` alone, which does not. */
	const char *const *argv;
	const struct sbx_pair *labels;
	size_t label_count; /* the caller's own */
	const char *const *cap_add;
	size_t cap_add_count;
	const char *const *security_opts;
	size_t security_opt_count;
	int64_t memory_bytes; /* default 512 MiB; 0 is refused */
	int64_t nano_cpus;    /* default 1e9 */
	int64_t pids_limit;   /* default 512 */
	bool read_only;
	bool require_rootless, require_userns, require_digest_pin;
	const char *require_os;		/* NULL, or "posix" */
	const char *const *allow_hosts; /* refused: sandboxes have no network */
	size_t allow_host_count;
	enum sbx_isolation min_isolation; /* what is asked; default CONTAINER */
	/* What this host asks of every sandbox, default CONTAINER: min_isolation can raise it and
	 * never lower it (MAF-16). */
	enum sbx_isolation isolation_floor;
	int64_t pull_timeout_ms;   /* default 600 s, of its own */
	bool ephemeral;		   /* labelled so; made by run */
	struct sbx_ceilings asked; /* of a run's inputs, and of its outputs; 0: the limits */
	struct sbx_limits limits;  /* more than these may not be asked: EPERM kind POLICY */
};
/* Zeroes it and sets the defaults said above. */
void sbx_spec_init(struct sbx_spec *spec);

/* All that can be refused without an engine: first isolation, what is not offered, OS family,
 * ceilings and egress, in this order (MAF-15), then names, outputs, pins, options, security opts,
 * seccomp file readable and JSON. EINVAL (usage), EXDEV, EPERM kind POLICY, EOPNOTSUPP; the
 * sentence names the option and the rule. */
int sbx_spec_check(const struct sbx_spec *spec, struct sbx_error *err);

/* The derived name: "sbxfs-" + 12 hex of SHA-256 over length-prefixed scope, thread, agent, kind[,
 * call id]. malloc'd. */
char *sbx_identity_name(const char *scope, const char *thread, const char *agent, const char *kind,
	const char *call_id);
/* A label value of a field (NULL is the empty one): as given when 1–63 of [A-Za-z0-9._-] and not
 * shaped like a digest, else "sha256-"
 * + 48 hex. malloc'd. */
char *sbx_identity_label(const char *value);
/* What to show of a label, which is not NULL: "" for one that stands for an empty field, else the
 * value. Borrowed. */
const char *sbx_identity_label_shown(const char *value);

#endif
