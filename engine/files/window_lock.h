/*
 * window_lock.h: the lock file of one container: who may pause it, what is owed to it, and how much
 * of its time windows have taken (window.h lists the four jobs).
 *
 * The file is locked as a whole by flock: exclusively by an open window and by whoever undoes one,
 * shared by starting commands. Before that lock everybody passes a turnstile (a byte lock), so that
 * a stream of commands cannot keep a window waiting for ever, nor the other way round.
 */
#ifndef SBX_FILES_WINDOW_LOCK_H
#define SBX_FILES_WINDOW_LOCK_H

#include "pace.h"

#include <sbx/call.h>
#include <sbx/error.h>
#include <stdbool.h>

enum sbx_owed {
	SBX_OWED_NOTHING, /* "clear" */
	SBX_OWED_ASKED,	  /* pause was or is about to be sent: it may take effect later */
	SBX_OWED_PAUSED	  /* pause was answered */
};

struct sbx_window_record {
	enum sbx_owed owed;
	int64_t owner_pid; /* who wrote it, and that process's start time, so that a reused pid is
			      told apart */
	int64_t owner_start;
	int64_t since_ms;      /* CLOCK_BOOTTIME when pause was sent */
	int64_t until_ms;      /* sbx_clock_ms by which its owner writes again: one that does not is
				  suspended, or as good as; 0: it promises nothing */
	int64_t container_pid; /* the container's first process as inspect gave it, 0 if unknown */
	struct sbx_pace pace;
	char endpoint[256]; /* where the engine was, shown in logs; the file name's key decides */
};

/* An owner has so long beyond what it promised: a crowded machine is no reason. */
#define SBX_WINDOW_LATE_MS 5000

/* How the lock is asked for while it is held: called at every try, may be NULL. */
struct sbx_window_nudge {
	void (*fn)(void *data);
	void *data;
};

/* Opens a file of the state directory, for all who share that: flags may be O_CREAT and O_EXCL. */
int sbx_window_file_open(const char *path, int flags, struct sbx_error *err);

/* directory: sbx_window_directory_of's, or a test's own. Opens (makes) KEY-ID there and locks it.
 * Returns a descriptor whose close releases it, or ETIMEDOUT/ECANCELED (bounded by call, and by 300
 * s; no time left means one try), EIO. An overdue lock is taken over; the record then says "owed",
 * and the lock is exclusive whatever was asked for. */
int sbx_window_lock_take(const char *directory, const char *key, const char *id, bool exclusive,
	const struct sbx_window_nudge *nudge, const struct sbx_call *call, struct sbx_error *err);
/* One try on an existing file by name; -EWOULDBLOCK when somebody holds it, -ENOENT when it is
 * gone. */
int sbx_window_lock_try(const char *directory, const char *name, struct sbx_error *err);

/* Its owner writes again within ms. */
void sbx_window_record_promise(struct sbx_window_record *record, int64_t ms);
/* Is what it owes overdue? */
bool sbx_window_record_overdue(const struct sbx_window_record *record);
/* Takes an overdue lock away from an owner that does not let go of it: the file is replaced by one
 * that we hold, with the same record, and the owner finds its own unlinked. Watches for a moment,
 * so that nobody is judged by the first look after this host itself was suspended. Returns the
 * descriptor, or -errno: EWOULDBLOCK when it is not overdue, or somebody else's to take. */
int sbx_window_lock_take_over(const char *directory, const char *name, struct sbx_error *err);
/* After -ETIMEDOUT: adds to err whose lock it is, as far as this machine can tell. Returns
 * -ETIMEDOUT. */
int sbx_window_lock_blame(int descriptor, struct sbx_error *err);
/* Is the file of this lock, which we hold, not in its place any more? From then on others may have
 * the lock, and the sandbox may run. */
bool sbx_window_lock_lost(int descriptor);
/* Was it taken over, and what it owed with it? Not so when the file was only removed, by whoever
 * cleans the directory: the debt is still ours then, and nobody else knows of it. */
bool sbx_window_lock_taken(int descriptor);

/* Removes files, of any engine, that are free and owe nothing: unused for ten minutes, or from
 * before the machine started. */
void sbx_window_tidy(const char *directory);

/* An empty or unreadable file is a clear record. */
void sbx_window_record_read(int descriptor, struct sbx_window_record *out);
int sbx_window_record_write(
	int descriptor, const struct sbx_window_record *record, struct sbx_error *err);

/* This process as an owner. */
void sbx_window_owner_self(struct sbx_window_record *record);
bool sbx_window_owner_alive(const struct sbx_window_record *record);

#endif
