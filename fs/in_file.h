/*
 * in_file.h: a file under in/ whose newest bytes are ours: staged here, on their way, or just
 * landed. Shared by the files fs/in_*.c; all on the loop's thread.
 *
 * Content and attributes have a version that counts every change. A version has landed when an
 * upload that began with it succeeded. While an upload reads the staged bytes nothing changes them:
 * writers wait. A file is known by its path from the first write until its bytes have landed and
 * nobody has it open; then it is an ordinary file of the guest again.
 */
#ifndef SBX_FS_IN_FILE_H
#define SBX_FS_IN_FILE_H

#include "in.h"
#include "staging.h"
#include "tree.h"

#include "base/table.h"

enum {
	SBX_IN_RETRY_FIRST_MS = 1000, /* backoff of a failed upload, doubled … */
	SBX_IN_RETRY_MAX_MS = 60000,  /* … up to this */
	SBX_IN_BATCH_FILES = 4096,    /* of one upload */
	SBX_IN_QUIET_MS = 500,	      /* -o async: closes that come so soon after another … */
	SBX_IN_GATHER_MS = 3000,      /* … share its upload, for so long */
	SBX_IN_UPLOAD_MS = 300000,    /* longest upload from its turn (fuse-guide §10) … */
	SBX_IN_SLOWEST = 64, /* … and so many bytes more a millisecond; silence ends it sooner */
};
#define SBX_IN_BATCH_BYTES (64LL << 20)
/* A larger file that the guest has is not sent again for its mode and time alone: a command there
 * takes about 0.1 s, as moving some such megabytes out and in does. */
#define SBX_IN_RESEND_BYTES (1LL << 20)

struct sbx_in_view;

/* What the guest may hold at the file's path. */
enum sbx_landed {
	SBX_LANDED_NO,	  /* nothing of ours: the engine said so, or nothing was sent */
	SBX_LANDED_MAYBE, /* something was sent and failed, or an earlier daemon left it */
	SBX_LANDED_YES,
};

struct sbx_in_file {
	struct sbx_in_view *home;
	char *path;	       /* relative to the work dir */
	struct sbx_node *node; /* its current node, not pinned; NULL: nobody looked it up */
	unsigned refs;	       /* the path's, each handle's, each job's and the node's */
	unsigned handles;      /* open */
	unsigned writers;      /* of these, for writing */
	bool linked;	       /* found by its path */
	bool adopted;	       /* from an earlier mount, or from when its sandbox went: there may
				* still be handles of that time on its bytes */
	bool temporary;	       /* its name is one that savers rename: kept local */
	enum sbx_landed landed;

	uint64_t sequence; /* its data file and record */
	int fd;		   /* -1: not open, see sbx_in_file_open */
	int64_t size;
	uint32_t mode;
	int64_t mtime_s;
	int32_t mtime_ns;
	bool loading;  /* the guest's bytes are being fetched into it */
	bool keeping;  /* it is being made durable here */
	bool moving;   /* the guest renames, removes or changes it */
	bool unsure;   /* made while the engine could not say whether the guest has that name: never
			  replaces what the guest turns out to have */
	bool lost;     /* the guest changed or removed it while it was open: its flush is ESTALE */
	int spoiled;   /* errno of a write that failed: what is here is a part, and is never sent */
	bool blank;    /* empty since it was made or cut to nothing: FLUSH leaves it to RELEASE */
	bool recorded; /* there is a record on disk … */
	bool marked;   /* … that says it is being written */

	uint64_t version;	 /* counts changes */
	uint64_t landed_version; /* the last one that landed */
	uint64_t noted_version;	 /* the last one that outlives this process: it is on record */
	uint64_t kept_version;	 /* the last one that outlives the host: it is synced */
	uint64_t sending;	 /* the one under way, 0 if none */
	bool queued;
	struct sbx_in_file *next_queued;
	unsigned attempts;	  /* that failed, since the last success */
	int64_t retry_at_ms;	  /* 0: not waiting for a retry */
	struct sbx_error failure; /* the last one; errnum 0 if none */
	int64_t idle_since_ms;	  /* when it was last used or landed */

	struct sbx_waiters
		settled; /* flush, fsync, …: until an upload, a sync to disk or a fetch ends */
	struct sbx_waiters free; /* writers and others that must not touch it meanwhile */
	UT_hash_handle hh;	 /* by path in its view */
};

/* The names in a directory, as it was listed or made (in_absent.c). */
struct sbx_in_names;

/* A directory that this mount made, so that the guest is known to own it. */
struct sbx_in_made {
	char *path;
	UT_hash_handle hh;
};

/* view->in */
struct sbx_in_view {
	struct sbx_view *view;
	struct sbx_in_made *made;  /* by path */
	struct sbx_in_file *files; /* by path */
	struct sbx_in_file *first_queued, *last_queued;
	unsigned uploads; /* jobs under way: one at most */
	unsigned moves; /* under way: what is sent meanwhile could get a name that is on its way */
	int64_t gather_since_ms, gather_until_ms; /* closes are gathered for one upload; 0: not */
	struct sbx_in_names *names;		  /* of directories, by path */
	bool admitted;				  /* guest user known and root writable */
	char *refusal;				  /* why in/ takes no writes, or NULL */
};

/* fs->in */
struct sbx_in {
	char *root; /* the staging root */
	struct sbx_staging *staging;
	struct sbx_staged_list orphans; /* of sandboxes that are not here, and damaged ones */
	unsigned jobs;			/* of ours under way */
	struct sbx_queue disk;		/* of syncs to the local disk, which wait for no engine */
	struct sbx_waiters barrier;	/* sbxfs sync */
	int lost; /* errno of files that can never land, until a barrier has told */
	uint64_t uploads, uploaded_files, uploaded_bytes, failures;
};

/* handle->in */
struct sbx_in_handle {
	struct sbx_in_file *file; /* referenced; NULL: reads what the guest has */
	bool writes;
};

static inline struct sbx_in_view *sbx_in_home(const struct sbx_view *view)
{
	return view->in;
}

/* in_file.c */
/* The file of a path, or NULL. */
struct sbx_in_file *sbx_in_file_find(struct sbx_view *view, const char *path);
/* A new one, empty and blank, in the store, found by its path. Errors: as sbx_staging_create. */
int sbx_in_file_create(struct sbx_view *view, const char *path, uint32_t mode,
	struct sbx_in_file **out, struct sbx_error *err);
/* One that a record describes; the record's strings stay the caller's. */
struct sbx_in_file *sbx_in_file_adopt(struct sbx_view *view, const struct sbx_staged *staged);
void sbx_in_file_ref(struct sbx_in_file *file);
void sbx_in_file_unref(struct sbx_in_file *file);
/* Binds node and file to each other, the node showing what the file is. */
void sbx_in_file_bind(struct sbx_in_file *file, struct sbx_node *node);
/* Ends that: the node, which the kernel may remember for long, keeps no bytes open. */
void sbx_in_file_unbind(struct sbx_in_file *file);
void sbx_in_file_show(struct sbx_in_file *file);
struct sbx_stat sbx_in_file_stat(const struct sbx_in_file *file);
/* Its node, made if nobody looked it up yet. */
struct sbx_node *sbx_in_file_node(struct sbx_in_file *file);
/* Opens its data file if it is not open. */
int sbx_in_file_open(struct sbx_in_file *file, struct sbx_error *err);
/* Closes it where nobody uses it: thousands may wait for an engine. */
void sbx_in_file_close(struct sbx_in_file *file);
/* No path leads to it any more and its record and data are removed; those who have it open still
 * read it. */
void sbx_in_file_unlink(struct sbx_in_file *file);
/* No path leads to it any more; record and data stay on disk. */
void sbx_in_file_abandon(struct sbx_in_file *file);
/* Clean and unused: what the guest has is all there is from now on. keep_node: the node stays for
 * it; else there will be another, and nobody reads through this one what was there before. */
void sbx_in_file_retire(struct sbx_in_file *file, bool keep_node);
/* It has another path; what was staged there must be unlinked before. */
void sbx_in_file_move(struct sbx_in_file *file, const char *path);
/* Its content or attributes change now: marks the record first, so that a crash cannot pass off
 * half of a change as what was acknowledged. touch: mtime becomes now. */
int sbx_in_file_change(struct sbx_in_file *file, bool touch, struct sbx_error *err);
/* A write failed, and its writer will close what it could not finish: the guest must not get a
 * part. Until it is begun anew nothing of it is sent; those who wait for that hear why. */
void sbx_in_file_spoil(struct sbx_in_file *file, const struct sbx_error *err);
static inline bool sbx_in_file_dirty(const struct sbx_in_file *file)
{
	return file->version != file->landed_version;
}
/* Nothing may change it now: it is read by an upload or filled by a fetch. */
static inline bool sbx_in_file_busy(const struct sbx_in_file *file)
{
	return file->sending || file->loading || file->keeping || file->moving;
}
/* Lets those go on who wait for it to be busy no more, uploads too. */
void sbx_in_file_freed(struct sbx_in_file *file);
/* The record as it is to be written; strings are the caller's to finish. */
void sbx_in_file_describe(const struct sbx_in_file *file, struct sbx_staged *out);

/* in_names.c */
extern const char sbx_in_temporary_names[]; /* the default patterns, separated by ':' */
bool sbx_in_name_temporary(const char *patterns, const char *name);

/* in_keep.c */
/* Makes the version of now durable here, then resumes `settled`. */
void sbx_in_keep(struct sbx_in_file *file);
/* Puts the version of now on record at once, without syncing it. */
int sbx_in_note(struct sbx_in_file *file, struct sbx_error *err);
/* Its record, if it has one, names that path; whether it is being written stays as it is. */
int sbx_in_note_path(struct sbx_in_file *file, const char *path, struct sbx_error *err);

/* in_upload.c */
/* Sends the newest version as soon as the sandbox's worker is free; then resumes `settled`. */
void sbx_in_upload(struct sbx_in_file *file);
/* The same when no more closes come for a moment: nobody waits for it. */
void sbx_in_upload_soon(struct sbx_in_file *file);
/* Starts the next upload of the sandbox if there is one and none runs. */
void sbx_in_pump(struct sbx_in_view *home);
/* Waits until the version of now has landed, or why not, then answers plainly. */
void sbx_in_answer_when_landed(struct sbx_request *request, struct sbx_in_file *file);
/* What became of one upload of the file: on the loop, by whoever sent it. */
void sbx_in_sent(
	struct sbx_in_file *file, uint64_t version, int result, const struct sbx_error *err);
/* After an upload or a removal: resumes the barrier if nothing is on its way any more. */
void sbx_in_check_barrier(struct sbx_fs *fs);
/* As put items; the file's fd is borrowed. */
void sbx_in_put_item(const struct sbx_in_file *file, struct sbx_put_item *out);

/* How long moving so many bytes may take. */
static inline int64_t sbx_in_upload_ms(int64_t bytes)
{
	return SBX_IN_UPLOAD_MS + bytes / SBX_IN_SLOWEST;
}
/* The request's deadline becomes that of all that has to move before: in its sandbox, or in all. */
void sbx_in_wait_long(struct sbx_request *request);

/* in_job.c: a job of a request's, with the request parked until it is done. */
struct sbx_in_job {
	struct sbx_job job; /* first */
	struct sbx_waiters waiters;
	/* On the loop's thread, before the request goes on; may be NULL. */
	void (*finish)(struct sbx_in_job *job);
	struct sbx_in_file *file; /* referenced while the job lives; may be NULL */
	char *path, *other;	  /* owned; may be NULL */
	struct sbx_put_item item;
	struct sbx_attributes attributes;
	struct sbx_stat before, after; /* of the attributes' change */
	bool recursive;
};
struct sbx_in_job *sbx_in_job_create(struct sbx_fs *fs, struct sbx_view *view,
	int (*run)(struct sbx_job *job, struct sbx_error *err), int64_t timeout_ms);
void sbx_in_job_start(struct sbx_in_job *job);
/* Starts it and parks the request on it. cancel: it ends when the request is given up. */
void sbx_in_job_wait(
	struct sbx_in_job *job, struct sbx_request *request, bool cancel, sbx_resume_fn resume);

/* in_setattr.c, in_dir.c */
struct sbx_in_op;
/* The mtime that a setattr asks for. */
struct timespec sbx_in_wanted_time(const struct sbx_in_op *op);
void sbx_in_setattr_directory(struct sbx_request *request);
/* Whether files of ours are below it, which the guest may not have yet. */
bool sbx_in_any_below(const struct sbx_view *view, const char *path);
bool sbx_in_was_made(const struct sbx_view *view, const char *path);
/* to NULL: they are gone. */
void sbx_in_made_move(struct sbx_in_view *home, const char *from, const char *to);

/* in_attributes.c */
/* Whether what the setattr wants is left to the guest's own commands. */
bool sbx_in_sets_in_guest(const struct sbx_request *request, const struct sbx_in_op *op);
/* Does it; resume comes when they have ended, or the request is answered with why not. After a
 * failure nothing is known to have changed; after a success the node may not be current any more.
 */
void sbx_in_set_in_guest(struct sbx_request *request, sbx_resume_fn resume);
/* Such a failure is no last word: the bytes can be sent with the new attributes. */
bool sbx_in_guest_cannot(int result);

/* in_admit.c: whether this sandbox takes writes. Answers with EROFS when not; go is called (perhaps
 * later) when it does, or when the engine cannot say. request may be NULL: only finds out. */
typedef void (*sbx_in_go_fn)(struct sbx_request *request);
void sbx_in_admit(struct sbx_view *view, struct sbx_request *request, sbx_in_go_fn go);

/* in_absent.c: which names a directory is known not to have, so that making many files in it asks
 * the engine once and not for each. What is known holds as long as a name does. */
/* snapshot NULL: it was made just now and is empty; else it is referenced. */
void sbx_in_names_note(struct sbx_view *view, const char *directory, struct sbx_snapshot *snapshot);
/* The engine need not be asked: nobody has a file of that path. */
bool sbx_in_absent(struct sbx_view *view, const char *path);
/* What the directory's listing says of it, while that holds and we have not made it anew; or NULL.
 */
const struct sbx_entry *sbx_in_names_row(
	struct sbx_view *view, const char *path, int64_t *when_ms, int64_t *asked_s);
/* A file of ours is made there. true: the name was certainly not there a moment ago. */
bool sbx_in_names_created(struct sbx_view *view, const char *path);
/* The guest's file of that name was removed: the engine is asked whether there is one now. */
void sbx_in_names_removed(struct sbx_view *view, const char *path);
/* Counts a name of the directory that the engine must be asked for; true: it is worth a listing. */
bool sbx_in_names_wanted(struct sbx_view *view, const char *directory);
/* A name that was asked for there by itself is there. */
void sbx_in_names_there(struct sbx_view *view, const char *directory);
/* Something at or below the path was moved, made or removed otherwise than by writing. */
void sbx_in_names_drop(struct sbx_view *view, const char *path);
void sbx_in_names_free(struct sbx_in_view *home);

/* in_node.c */
/* A new current node of its path. A file's inode number is its own: a name that was moved away and
 * made anew must not look like the same file. */
struct sbx_node *sbx_in_node_create(struct sbx_view *view, enum sbx_node_kind kind,
	const char *path, const struct sbx_stat *st);

/* in_life.c: what became of an upload that was under way when its sandbox was removed. */
void sbx_in_settle_lost(struct sbx_in_file *file, int result);

/* in_fetch.c: fills a new file with what the guest has at its path, then resumes `settled` and
 * `free`. */
void sbx_in_fetch(struct sbx_in_file *file);

/* What an operation remembers while its request waits. */
struct sbx_in_op {
	struct sbx_fs *fs;
	struct sbx_view *view; /* borrowed from the node */
	sbx_in_go_fn go;
	uint64_t version;
	struct sbx_in_file *file;    /* referenced */
	struct sbx_node *new_parent; /* pinned */
	char *new_name;
	char *bytes; /* of a write that had to wait */
	struct stat attr;
	int to_set;
	bool resend; /* the guest could not: its bytes are sent */
	mode_t mode;
	unsigned flags; /* of a rename */
	bool asked;	/* whether the sandbox takes writes */
};
/* The request's, made on first use and freed with it. */
struct sbx_in_op *sbx_in_op(struct sbx_request *request);

/* Whether path is below directory ("" is above all). */
bool sbx_in_below(const char *path, const char *directory);

#endif
