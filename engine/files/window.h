/*
 * window.h: freeze windows: while one is open, a sandbox's processes are paused by us.
 *
 * One file per container, named KEY-ID, KEY being sbx_engine_key, in a directory that all who may
 * use the engine share where its socket names a group that can reach it (/run/lock/sbxfs-group-GID,
 * 02770), else in the user's own (/run/sbxfs for root, $XDG_RUNTIME_DIR/sbxfs, /tmp/sbxfs-UID,
 * always 0700). It does five jobs at once:
 *  - its flock is held exclusively for as long as a window is open, so that two processes never
 * pause one container at once, and shared by every command of ours while it starts
 * (sbx_window_block), so that no pause meets a starting exec: Docker 20.10 deadlocks for good on
 * that, and a guest-side command never runs in a window;
 *  - before pause is sent it says "owed" with the endpoint, and after unpause "clear": whoever
 * takes the lock and reads "owed" found a window whose owner died, and undoes it before anything
 * else (unless the engine says it does not run paused);
 *  - it says by when its owner writes again. Who does not is suspended: its lock is taken over by
 * replacing the file, the window undone, and the owner, when it goes on, finds its own file
 * unlinked and gives out nothing more of what it saw in there;
 *  - it says when the last window ended and how long it took, so that the duty cycle holds across
 * processes;
 *  - the guardian needs no list of its own: when the owner's pipe closes it walks the directory.
 * Lock order: a window lock is the innermost lock; no engine request of ours on the same container
 * waits for it except pause, exec start and unpause.
 */
#ifndef SBX_FILES_WINDOW_H
#define SBX_FILES_WINDOW_H

#include <sbx/container.h>
#include <sbx/plane.h>

struct sbx_windows; /* the windows of one sandbox, shared by its plane's requests */

struct sbx_windows *sbx_windows_create(
	struct sbx_engine *engine, const char *id, const struct sbx_plane_limits *limits);
void sbx_windows_destroy(struct sbx_windows *windows); /* closes */

enum sbx_window_kind { SBX_WINDOW_READ, SBX_WINDOW_WRITE };
struct sbx_window_ticket {
	bool frozen;	 /* we paused it, or joined such a window */
	bool foreign;	 /* somebody else's pause: read as it is */
	bool still;	 /* created or exited: nothing runs */
	uint64_t serial; /* of the window */
	int64_t usage;	 /* of a foreign pause: the processor time its guest had had (freezer.h) */
};
/* Joins the open window or opens one: takes the lock, waits for the duty cycle, re-reads the state
 * where it must, pauses. With freeze=never (or reads, for a write) it enters without a pause.
 * Errors: EOPNOTSUPP (this engine cannot pause; says freeze=never), ESTALE kind GONE, ETIMEDOUT,
 * EHOSTDOWN, EIO, ECANCELED. */
int sbx_window_enter(struct sbx_windows *windows, enum sbx_window_kind kind,
	const struct sbx_call *call, struct sbx_window_ticket *ticket, struct sbx_error *err);
/* Leaves; the last to leave closes after the linger. With confirm the window is checked to have
 * held from enter until now: ESTALE kind CHANGED when somebody unpaused it meanwhile, the caller
 * then throws away what it read. */
int sbx_window_leave(struct sbx_windows *windows, const struct sbx_window_ticket *ticket,
	bool confirm, const struct sbx_call *call, struct sbx_error *err);
/* Inside: does nothing that is known already say that the window does not hold? Costs nothing: for
 * before each piece of a transfer is handed on. */
bool sbx_window_holds(struct sbx_windows *windows, const struct sbx_window_ticket *ticket);
/* Inside: as leave confirms, for before something is done that cannot be taken back. */
int sbx_window_check(struct sbx_windows *windows, const struct sbx_window_ticket *ticket,
	const struct sbx_call *call, struct sbx_error *err);
/* Whether who enters now finds one open. */
bool sbx_windows_joinable(struct sbx_windows *windows);
/* Closes now if nobody is inside; refuses to open until resumed by the next enter. Cancels nothing
 * by itself. */
void sbx_windows_rest(struct sbx_windows *windows);

/* The sentence of the last pause that this engine refused since it cannot pause, until one
 * succeeds; NULL: there is none. Owned by the caller. */
char *sbx_windows_refusal(struct sbx_windows *windows);

/* Holds off every window on a container, ours and other processes', while an exec is started;
 * bounded by call. Resumes first what a dead owner owes. Returns a descriptor to pass to
 * sbx_window_unblock, or -errno. */
int sbx_window_block(struct sbx_engine *engine, const char *id, const struct sbx_call *call,
	struct sbx_error *err);
void sbx_window_unblock(int descriptor);

/* The state directory of this user, made on first use. -errno when it cannot be ours and private.
 */
int sbx_window_directory(char *path, size_t size, struct sbx_error *err);
/* The directory of the lock files: one that all users of that engine share, where its socket says
 * who they are, else this user's own. note (may be NULL) says why it is not shared although it
 * should be. */
int sbx_window_directory_of(const struct sbx_endpoint *endpoint, char *path, size_t size,
	struct sbx_error *note, struct sbx_error *err);
/* The group that this endpoint's users have in common: the socket's, if its members can reach the
 * socket and we are one. */
bool sbx_window_group(const struct sbx_endpoint *endpoint, unsigned *group);
/* The shared one of a group in a directory that everybody may write. EPERM when somebody else has
 * taken the name. */
int sbx_window_meeting(
	const char *place, unsigned group, char *path, size_t size, struct sbx_error *err);

#endif
