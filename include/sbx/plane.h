/*
 * plane.h: the seam between the file system and what moves bytes: operations on one sandbox's guest
 * paths.
 *
 * A plane belongs to one sandbox. Every operation takes a path relative to the work dir, applies
 * the lexical rule before any engine call, walks every component from "/" down, refuses links,
 * mounts and non-directories on the way, and does all of it inside a freeze window where the
 * sandbox runs. Safe from many threads; operations of one plane that move bytes are serialised,
 * cheap ones first. Nothing here knows FUSE.
 */
#ifndef SBX_PLANE_H
#define SBX_PLANE_H

#include <sbx/archive.h>
#include <sbx/container.h>
#include <sbx/guest_path.h>

enum sbx_freeze { SBX_FREEZE_ALWAYS, SBX_FREEZE_READS, SBX_FREEZE_NEVER };

struct sbx_plane_limits {
	enum sbx_freeze freeze;
	int64_t max_file_bytes;	  /* default 1 GiB: EFBIG from the stat, no body moved */
	int64_t max_in_bytes;	  /* default 1 GiB */
	int64_t max_frozen_bytes; /* larger files are moved unfrozen and verified before a byte is
				     given; 0 = no limit */
	unsigned max_entries;	  /* of one listing, default 100000: EFBIG */
	unsigned linger_ms;	  /* a window stays open for the next request, default 20 */
	unsigned max_hold_ms; /* … at the latest this long while small requests keep coming, default
				 500 */
	unsigned max_duty_percent; /* share of the guest's time that windows may take, default 50 */
};
/* Sets every field to the default said above. */
void sbx_plane_limits_default(struct sbx_plane_limits *limits);

struct sbx_listing;
/* One entry of a listing. The name is raw guest bytes without '/' or NUL. */
struct sbx_entry {
	char *name;
	struct sbx_stat st;
	char *content; /* the whole content of a small file where the listing brought it, else NULL
			*/
	struct sbx_listing *children; /* a directory's own complete listing where it came with this
					 one, else NULL */
};
struct sbx_listing {
	struct sbx_entry *rows;
	size_t count;
}; /* sorted by name in byte order */
void sbx_listing_finish(struct sbx_listing *listing);

/* Receives a file. begin (may be NULL): once, with the stat that holds for all bytes; then bytes in
 * order; nothing after a failure. A non-zero return ends the transfer and is returned (ECANCELED by
 * convention). Called on the calling thread. */
struct sbx_reader {
	int (*begin)(void *data, const struct sbx_stat *st);
	int (*bytes)(void *data, const void *bytes, size_t size);
	void *data;
};

/* Receives the files of a tree, in the archive's order. A pass may be begun again: then nothing
 * that was given before counts. A file is whole once end was called for it. */
struct sbx_tree_reader {
	void (*again)(void *data);
	/* path: relative to the work dir. 0: its bytes follow; 1: not wanted. A negative value
	 * here, or a non-zero one of the next two, ends the transfer and is returned. */
	int (*begin)(void *data, const char *path, const struct sbx_stat *st);
	int (*bytes)(void *data, const void *bytes, size_t size);
	int (*end)(void *data);
	void *data;
};

/* What an upload creates. Directories that exist are kept as they are. */
struct sbx_put_item {
	const char *path;   /* relative to the work dir; parents are made as needed */
	enum sbx_type type; /* FILE or DIR */
	uint32_t mode;	    /* permission bits */
	int64_t mtime_s;
	int32_t mtime_ns;
	int64_t size; /* of a file */
	int fd; /* a finished staging file, read from offset with pread; -1 for a directory or an
		   empty file */
	int64_t offset;	 /* where the file's bytes begin: many small ones may share one fd */
	bool attributes; /* an existing directory gets this mode and mtime too, and the guest as
			    owner; else it is kept as it is */
	bool only_new;	 /* a file of that name is not replaced: EEXIST */
	/* Both on the calling thread, maybe inside a window, and NULL where nobody wants to know:
	 * just before anything of it can get into the guest, and so many bytes more were read to be
	 * sent (again, where it has to be sent again). */
	void (*begins)(void *data);
	void (*moved)(void *data, int64_t bytes);
	void *data;
	bool touched;	      /* out, of a failure: the guest may hold some of it under its name */
	bool kept;	      /* out, of a directory: it was there already */
	int result;	      /* out: 0 or -errno */
	struct sbx_error err; /* out */
};

/* What chmod and utimens change of a file. */
struct sbx_attributes {
	bool set_mode, set_mtime;
	bool now;      /* the time is the guest's own when it is set, whatever mtime says */
	uint32_t mode; /* permission bits */
	int64_t mtime_s;
	int32_t mtime_ns;
};

/* What the plane needs to know of the sandbox and asks for when it needs it. Borrowed, thread-safe.
 */
struct sbx_windows; /* the freeze windows of one sandbox */
struct sbx_plane_host {
	/* The guest's uid and gid (sbx/guest_user.h). Non-zero: unresolved, err says why. windows:
	 * the plane's own; nobody is inside, and what comes next joins the one that is opened. */
	int (*guest_user)(void *data, struct sbx_windows *windows, const struct sbx_call *call,
		unsigned *uid, unsigned *gid, struct sbx_error *err);
	/* One line for the audit: a refusal for confinement. component: the refused absolute guest
	 * path. */
	void (*audit)(void *data, const char *op, const char *path, const char *component,
		const char *what);
	void *data;
};

struct sbx_plane;
struct sbx_plane_ops {
	/* "" is the work dir itself. Errors: ELOOP, ENOTDIR, ENOENT, EXDEV/ENAMETOOLONG/EILSEQ
	 * (lexical), EOPNOTSUPP (a mount, or no pause), ESTALE kind GONE, EHOSTDOWN, ETIMEDOUT,
	 * EIO. A link at the end is described. */
	int (*stat)(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
		struct sbx_stat *out, struct sbx_error *err);
	/* true: a walk in no window ended at a name that is not there. false says nothing. No more
	 * is taken from it, and whoever swaps a directory for a link meanwhile hides what it could
	 * as well remove. May be NULL. */
	bool (*absent)(struct sbx_plane *plane, const char *path, const struct sbx_call *call);
	/* Many at once in as few windows as possible; results[i] is 0 or -errno, errors[i] (may be
	 * NULL) its error. Returns 0 unless no path could be asked for at all. */
	int (*stat_many)(struct sbx_plane *plane, const char *const *paths, size_t count,
		const struct sbx_call *call, struct sbx_stat *out, int *results,
		struct sbx_error *errors, struct sbx_error *err);
	/* Complete or refused. Links, fifos, sockets and devices are listed with their type. */
	int (*list)(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
		struct sbx_listing *out, struct sbx_error *err);
	/* As list, but only what one archive within the listing's budget tells, times to the
	 * second; else 1, and out is empty. May be NULL. */
	int (*glance)(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
		struct sbx_listing *out, struct sbx_error *err);
	/* One regular file, one version: ELOOP, ENXIO, EISDIR, EFBIG before a byte; EIO when short;
	 * ESTALE kind CHANGED. */
	int (*read)(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
		const struct sbx_reader *reader, struct sbx_error *err);
	/* The regular files below a directory, in one archive and one window; hard links to one
	 * that came before are not among them. 1: not all were seen, what was given counts, the
	 * rest is to be read by itself (more than most_bytes to move, freeze=never,
	 * max_frozen_bytes, the directory is gone). Errors as read. May be NULL. */
	int (*read_tree)(struct sbx_plane *plane, const char *path, int64_t most_bytes,
		const struct sbx_call *call, const struct sbx_tree_reader *reader,
		struct sbx_error *err);
	/* One archive for all items, one window. Each item has its own result; returns 0 when all
	 * landed, else the first failure. What was sent must be there afterwards, seen by a HEAD
	 * of an entry of each directory at the least, where one can tell. */
	int (*put)(struct sbx_plane *plane, struct sbx_put_item *items, size_t count,
		const struct sbx_call *call, struct sbx_error *err);
	/* Guest-side, as the guest user, argv form, never in a window: `rm -f --`, `rm -rf --`, `mv
	 * -f -T --`. Missing is success for remove. A directory without recursive is EISDIR, even
	 * if empty. EOPNOTSUPP where the image has no such command. remove_dir: `rmdir --`,
	 * ENOTEMPTY. */
	int (*remove)(struct sbx_plane *plane, const char *path, bool recursive,
		const struct sbx_call *call, struct sbx_error *err);
	int (*remove_dir)(struct sbx_plane *plane, const char *path, const struct sbx_call *call,
		struct sbx_error *err);
	int (*rename)(struct sbx_plane *plane, const char *from, const char *to,
		const struct sbx_call *call, struct sbx_error *err);
	/* Guest-side like those: `chmod --` and `touch -c -d @SECONDS --` of a regular file. A
	 * touch that takes no fraction (busybox) sets the whole second. before and after: what it
	 * was and is, filled on 0. ELOOP, EISDIR, ENXIO, ENOENT, EPERM (not the guest's own),
	 * EINVAL (its touch takes no such date), EIO (it is not as wanted afterwards). */
	int (*set_attributes)(struct sbx_plane *plane, const char *path,
		const struct sbx_attributes *want, const struct sbx_call *call,
		struct sbx_stat *before, struct sbx_stat *after, struct sbx_error *err);
	/* The clock that the guest's times are told by, in seconds: never ahead of it, 0 where it
	 * is not known. May be NULL in a plane that no mount shows. */
	int64_t (*now_s)(struct sbx_plane *plane);
	/* Why the engine refused the last pause that it was asked for, as one that cannot pause;
	 * NULL where none was refused so. Owned by the caller. Never waits. May be NULL. */
	char *(*freeze_refusal)(struct sbx_plane *plane);
	/* Closes this plane's window now and cancels its transfers with ECANCELED: before removing
	 * or running something. */
	void (*rest)(struct sbx_plane *plane);
	void (*destroy)(struct sbx_plane *plane);
};
struct sbx_plane {
	const struct sbx_plane_ops *ops;
};

/* The archive plane: works on any engine, local or remote. container and limits: copied; workdir:
 * copied, absolute. engine and host: borrowed for the plane's life. Cannot fail: asks nothing yet.
 * For sbx_plane_destroy. */
struct sbx_plane *sbx_plane_archive_create(struct sbx_engine *engine,
	const struct sbx_container *container, const char *workdir,
	const struct sbx_plane_limits *limits, const struct sbx_plane_host *host);
/* Closes its window and frees it; no operation may be running. NULL is fine. */
void sbx_plane_destroy(struct sbx_plane *plane);

/* Counters of the windows of all planes of this process. */
struct sbx_window_counters {
	uint64_t windows, frozen_ms, longest_ms, joined, refused;
};
/* A snapshot. */
void sbx_window_counters(struct sbx_window_counters *out);

/* Starts the process's guardian: a child that outlives us only to resume what we left paused
 * (engine/files/guardian.h). Must be called before threads are made; planes freeze only after it.
 * Also undoes what a dead process recorded on any engine it can reach. Returns the guardian's pid
 * or -errno: EOPNOTSUPP where it runs for another engine, for which nothing would be undone. */
int sbx_guardian_start(
	struct sbx_engine *engine, const struct sbx_call *call, struct sbx_error *err);
/* Ends it; for when all windows are closed: with a resume still owed it works on without us.
 * Nothing happens where none was started. One thread alone, as for the start. */
void sbx_guardian_stop(void);

#endif
