/*
 * tree.h: what is known of a sandbox's guest paths, for how long, and which nodes stand for them.
 *
 * A fact is the engine's answer about one path, a snapshot its listing of one directory. Both hold
 * for the entry timeout; then they are asked for again, once for all who wait.
 */
#ifndef SBX_FS_TREE_H
#define SBX_FS_TREE_H

#include "context.h"

struct sbx_fact {
	char *path;
	int result; /* 0, or -ENOENT, -ELOOP, -ENOTDIR, -EOPNOTSUPP: what the engine stated */
	struct sbx_stat st;
	int64_t when_ms; /* 0: not known yet */
	int64_t asked_s; /* the engine's clock then, never ahead of it */
	struct sbx_job *job;
	struct sbx_waiters waiters;
	UT_hash_handle hh;
};

/* Of a time that is known to the second only, a change within that second would look the same. It
 * is excluded where the second was over when the engine was asked, whichever way it rounds. */
static inline bool sbx_settled(const struct sbx_stat *st, int64_t asked_s)
{
	return st->mtime_s <= asked_s - 2;
}

/* NULL when nothing is known that still holds. */
const struct sbx_fact *sbx_fact_fresh(struct sbx_view *view, const char *path);
/* Adopts st's link_target. Failures that say nothing about the path are not kept. why: the
 * failure's sentence, or NULL. */
void sbx_fact_set(struct sbx_view *view, const char *path, int result, const char *why,
	struct sbx_stat *st, int64_t when_ms, int64_t asked_s);
/* Parks until the path has been asked for; resume's result is 0 when a fact came of it. */
void sbx_fact_wait(
	struct sbx_request *request, struct sbx_view *view, const char *path, sbx_resume_fn resume);
/* A name is asked for in the directory. What the kernel checks one by one on its way there, each by
 * a window of its own, is asked for at once when the first of it is asked for again. */
void sbx_trail_note(struct sbx_view *view, const char *directory);
void sbx_facts_drop(struct sbx_view *view, const char *path);
/* It was moved or removed with all that was in it. */
void sbx_facts_drop_below(struct sbx_view *view, const char *directory);
void sbx_facts_free(struct sbx_view *view);

/* How long a listing says what is not there to those who ask for it again and again. */
enum { SBX_LISTING_KEPT_MS = 10000 };
/* The entries of a directory at one time. */
struct sbx_snapshot {
	unsigned refs;
	struct sbx_listing listing;
	bool guest;	  /* from the engine, with stats; else names that we know by ourselves */
	int64_t when_ms;  /* monotonic */
	int64_t listed_s; /* the engine's clock then, never ahead of it */
};
struct sbx_snapshot *sbx_snapshot_create(bool guest);
void sbx_snapshot_add(struct sbx_snapshot *snapshot, const char *name);
void sbx_snapshot_ref(struct sbx_snapshot *snapshot);
void sbx_snapshot_unref(struct sbx_snapshot *snapshot); /* NULL is fine */
const struct sbx_entry *sbx_snapshot_find(const struct sbx_snapshot *snapshot, const char *name);

/* The newest listing of a guest directory at most max_age_ms old, or NULL; not referenced. */
struct sbx_snapshot *sbx_directory_known(
	struct sbx_view *view, const char *path, int64_t max_age_ms);
void sbx_directory_wait(
	struct sbx_request *request, struct sbx_view *view, const char *path, sbx_resume_fn resume);
/* Where enough single questions came about what is in the directory: parks until it has been listed
 * as far as one archive tells, and resumes with 0 whatever came of that. false: not worth it. */
bool sbx_directory_glance(
	struct sbx_request *request, struct sbx_view *view, const char *path, sbx_resume_fn resume);
/* The same for the directory that the request's node is in. */
bool sbx_directory_glance_above(struct sbx_request *request, sbx_resume_fn resume);
/* The node that the newest listing of that directory has for the node's path, if it still holds;
 * the request's own if it is the same version. NULL: nothing is known. */
struct sbx_node *sbx_directory_node_now(const struct sbx_request *request);
/* What is known of the directory and of those below it holds no more. */
void sbx_directories_drop(struct sbx_view *view, const char *path);
/* Listings that serve nobody any more are let go. The loop calls it when it wakes; returns when it
 * wants to be called again, INT64_MAX for never. */
int64_t sbx_directories_sweep(struct sbx_fs *fs, int64_t now_ms);
void sbx_directories_free(struct sbx_view *view);

/* What a path of a sandbox is by declaration alone. */
enum sbx_place {
	SBX_PLACE_NOTHING, /* not declared: not there */
	SBX_PLACE_PARENT,  /* above something declared */
	SBX_PLACE_OUTPUT,  /* declared */
	SBX_PLACE_INSIDE,  /* below a declared directory */
	SBX_PLACE_IN,	   /* the in dir, or below it */
};
enum sbx_place sbx_place_of(
	const struct sbx_sandbox *sandbox, const char *path, const struct sbx_output **output);
/* Names directly in the sandbox's directory or a made-up parent, each once, sorted; those of
 * outputs that are not there are left out. Facts of all outputs must be fresh. */
struct sbx_snapshot *sbx_outputs_snapshot(struct sbx_view *view, const char *path);
/* Whether anything declared below a made-up parent is there. */
bool sbx_outputs_parent_exists(struct sbx_view *view, const char *path);
bool sbx_outputs_fresh(struct sbx_view *view);
/* Parks until every output has been asked for, in one go. */
void sbx_outputs_wait(struct sbx_request *request, struct sbx_view *view, sbx_resume_fn resume);

/* The node that stands for a path with this stat: the current one if it is the same version, else a
 * new one. when_ms: when the stat was true. asked_s: the engine's clock then, never ahead of it. */
struct sbx_node *sbx_tree_node(struct sbx_view *view, const char *path, const struct sbx_stat *st,
	int64_t when_ms, int64_t asked_s);
/* Whether what the node showed is certain to be of the version that st names, which looks the same.
 */
bool sbx_tree_certain(const struct sbx_node *node, const struct sbx_stat *st, int64_t asked_s);
/* errno of opening a refused node: ELOOP, ENXIO, EISDIR, ENOTDIR. */
int sbx_tree_refusal(const struct sbx_node *node);

char *sbx_path_join(const char *directory, const char *name);
/* The time that a fact or listing holds. */
bool sbx_tree_fresh(const struct sbx_fs *fs, int64_t when_ms);

/* What is shown as mode 0, for .sbxfs/refused. */
struct sbx_refused {
	char *path, *target; /* target NULL: no link, or not known */
	char *reason;	     /* why it cannot be served at all; NULL: it is of this type */
	enum sbx_type type;
	UT_hash_handle hh;
};
void sbx_refused_note(
	struct sbx_view *view, const char *path, enum sbx_type type, const char *target);
/* What cannot be served, whatever it is: why, in a sentence. NULL: nothing stands in its way any
 * more. A directory's listing goes by its path with a slash at the end. */
void sbx_refused_reason(struct sbx_view *view, const char *path, const char *reason);
void sbx_refused_forget(struct sbx_view *view, const char *path);
void sbx_refused_free(struct sbx_view *view);

#endif
