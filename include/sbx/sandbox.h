/*
 * sandbox.h: which containers are sandboxes, and the live set of them.
 *
 * Recognised are containers with sbxfs.* labels, with maf-sandbox.* labels (work dir
 * /maf-sandbox/work unless labelled) and those that a rule of the config file matches. Proxies
 * (role=proxy, probe) are never shown.
 */
#ifndef SBX_SANDBOX_H
#define SBX_SANDBOX_H

#include <sbx/container.h>
#include <sbx/labels.h>

/* One declared output: relative to the work dir, without a trailing slash. */
struct sbx_output {
	char *path;
	bool directory;
};

struct sbx_sandbox {
	struct sbx_container container;
	char *workdir; /* absolute, normal form */
	struct sbx_output *outputs;
	size_t output_count;
	char *in_dir;  /* relative to the work dir; NULL: no in dir */
	char *refusal; /* not NULL: it is a sandbox whose declaration cannot be served, and why */
};
/* Frees what it holds, the container with it, and zeroes it. NULL and zeroed are fine; not while a
 * call or a plane that borrowed it is under way. */
void sbx_sandbox_finish(struct sbx_sandbox *sandbox);

/* Parses and checks a declaration as one: every output's rule, none equal to, inside or around
 * another, none equal to, under or over in_dir, none under /proc, /sys, /dev once joined with
 * workdir. texts as typed ("out/" is a directory); in_dir may be NULL. out: for sbx_outputs_free.
 * Asks no engine. Errors: EINVAL, EXDEV, EPERM, ENAMETOOLONG, EILSEQ, as sbx_guest_path_check
 * has them; the sentence names the output. */
int sbx_outputs_parse(const char *workdir, const char *in_dir, const char *const *texts,
	size_t count, struct sbx_output **out, size_t *out_count, struct sbx_error *err);
/* NULL is fine. */
void sbx_outputs_free(struct sbx_output *outputs, size_t count);

/* Rules of the config file: sections [rule NAME] with name=GLOB, image=GLOB, label=KEY[=GLOB] (all
 * given must match), workdir=/P, outputs=a,b/,c (repeatable), in=DIR. */
struct sbx_rules;
/* None yet. For sbx_rules_destroy, which takes NULL too. Read by any number of threads once all are
 * set; setting is one thread's. */
struct sbx_rules *sbx_rules_create(void);
void sbx_rules_destroy(struct sbx_rules *rules);
/* One key of a section "rule NAME", as inih hands them over; everything is copied. EINVAL names
 * section and key. */
int sbx_rules_set(struct sbx_rules *rules, const char *section, const char *key, const char *value,
	struct sbx_error *err);

/* 1: a sandbox, out is filled and container moved into it (zeroed). 0: not one, both stay as they
 * are. rules may be NULL. Asks no engine and does not fail: a declaration that cannot be served is
 * out's refusal. */
int sbx_sandbox_recognise(struct sbx_container *container, const struct sbx_rules *rules,
	struct sbx_sandbox *out, struct sbx_error *err);
/* From a list row alone: might it be one? Saves the inspect. rules may be NULL. */
bool sbx_sandbox_candidate(const struct sbx_container_summary *row, const struct sbx_rules *rules);

/* What can name a sandbox at all: [a-zA-Z0-9][a-zA-Z0-9_.-]+, at most 255 bytes, which is what
 * every engine takes as a name and what no URL or host path can be made of. EINVAL kind USAGE; no
 * engine is asked. Thread-safe. */
int sbx_sandbox_name_check(const char *name, struct sbx_error *err);

/* By name, or by an id of at least 12 hex digits. rules may be NULL; out: the caller finishes it
 * after 0. Errors: EINVAL kind USAGE (no name, see above, or the engine knows it only as the
 * beginning of several ids); ENOENT kind ABSENT: no such container, or with its own sentence: it is
 * a container but not a sandbox; ETIMEDOUT, ECANCELED, EHOSTDOWN, EIO. Thread-safe. */
int sbx_sandbox_find(struct sbx_engine *engine, const struct sbx_rules *rules, const char *name,
	const struct sbx_call *call, struct sbx_sandbox *out, struct sbx_error *err);

struct sbx_sandbox_list {
	struct sbx_sandbox *rows;
	size_t count;
};
/* All of them, sorted by name. label: as sbx_container_list has it, or NULL; rules may be NULL. One
 * that cannot be inspected within its bound is in `skipped` (may be NULL) as a count. */
int sbx_sandbox_list(struct sbx_engine *engine, const struct sbx_rules *rules, const char *label,
	const struct sbx_call *call, struct sbx_sandbox_list *out, size_t *skipped,
	struct sbx_error *err);
void sbx_sandbox_list_finish(struct sbx_sandbox_list *list);

/*
 * The live inventory: list+inspect, then the event stream; after a gap (the stream ended) it
 * reconnects with backoff and lists again. No polling, no wake-up while nothing happens. It owns
 * one thread; listener calls come from that thread.
 */
struct sbx_inventory;
struct sbx_inventory_listener {
	/* Added or changed (state, name, labels): sandbox is borrowed for the call. */
	void (*present)(void *data, const struct sbx_sandbox *sandbox);
	void (*gone)(void *data, const char *id);
	/* The engine answers (true) or does not (false, why in err); the set is as last seen
	 * meanwhile. */
	void (*connection)(void *data, bool up, const struct sbx_error *err);
	void *data;
};
/* Does the first listing before it returns, so that a mount starts with the truth: what is there
 * has been told by then, within the call's bounds; later ones do not bound it. rules and engine are
 * borrowed, listener copied; *out: for sbx_inventory_stop. Errors: those of
 * the first listing, EMFILE. */
int sbx_inventory_start(struct sbx_engine *engine, const struct sbx_rules *rules,
	const struct sbx_inventory_listener *listener, const struct sbx_call *call,
	struct sbx_inventory **out, struct sbx_error *err);
/* Joins its threads: no listener call comes after it, so none may make it. NULL is fine. */
void sbx_inventory_stop(struct sbx_inventory *inventory);

#endif
