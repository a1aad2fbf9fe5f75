/*
 * fs.h: the mount, as the command starts it: its options and one call that serves it.
 *
 * The command fills a struct sbx_fs_options from the config file, the environment and the command
 * line, in this order, each through sbx_fs_option, so that all three know the same names and the
 * last one wins.
 */
#ifndef SBX_FS_FS_H
#define SBX_FS_FS_H

#include <sbx/error.h>
#include <sbx/plane.h>
#include <sbx/sandbox.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Strings are owned: set them with sbx_fs_option or as malloc'd memory. */
struct sbx_fs_options {
	char *mountpoint;	 /* a directory, or /dev/fd/N as mount.fuse3 hands one over */
	char *engine_choice;	 /* as --engine; NULL: as the docker client finds it */
	char *config_path;	 /* where the rules came from, shown in stats.json; may be NULL */
	struct sbx_rules *rules; /* owned; may be NULL */
	bool foreground;
	enum sbx_freeze freeze;
	bool state_set; /* show only sandboxes in `state` */
	enum sbx_state state;
	uid_t uid; /* of everything shown; default: the caller */
	gid_t gid;
	mode_t umask; /* bits taken from every mode shown */
	bool allow_other;
	int64_t attr_timeout_ms;  /* of content known to the nanosecond; default 1 h */
	int64_t entry_timeout_ms; /* of names, and how long a check holds; default 1 s */
	char *cache_dir;	/* spools; NULL: $XDG_CACHE_HOME/sbxfs, ~/.cache/sbxfs, /var/tmp */
	int64_t cache_budget;	/* bytes of finished spools kept; default 1 GiB */
	int64_t max_file_bytes; /* default 1 GiB */
	int64_t max_in_bytes;	/* default 1 GiB */
	int64_t max_frozen_bytes;		       /* 0: no limit */
	unsigned linger_ms, max_hold_ms, duty_percent; /* see struct sbx_plane_limits */
	bool insecure;				       /* as struct sbx_endpoint's */
	bool async; /* close() does not wait for the upload; failures are in .sbxfs/pending */
	char *staging_dir; /* NULL: $XDG_STATE_HOME/sbxfs/staging, ~/.local/state/sbxfs/staging */
	char *temporary_names; /* patterns separated by ':' of names under in/ that stay local until
				  renamed (fs/in_names.c); NULL: the known savers' */
	int64_t deadline_ms;   /* longest wait of one request for the engine; default 60 s */
	int log_level;	       /* enum sbx_log_level */
};

void sbx_fs_options_init(struct sbx_fs_options *options);
void sbx_fs_options_finish(struct sbx_fs_options *options);

/* One option by name: of -o, of the config file's section [mount], or of a flag. value may be NULL
 * for a switch ("allow_other", "async"). Generic mount options that ask for what we do anyway, and
 * those that speak to other programs (x-*, comment=, _netdev, nofail, noauto, user, …) are accepted
 * and have no effect. Errors: EINVAL kind USAGE, the sentence names option and value. */
int sbx_fs_option(
	struct sbx_fs_options *options, const char *key, const char *value, struct sbx_error *err);
/* A whole -o argument: "key=value,key,…"; "\," is a comma inside a value. */
int sbx_fs_option_list(struct sbx_fs_options *options, const char *text, struct sbx_error *err);

/* "always", "reads" or "never". Static storage. */
const char *sbx_fs_freeze_name(enum sbx_freeze freeze);
/* One sentence: what these options leave open to a guest that swaps what is checked, for info.json
 * and doctor; docs/security.md says it in full. Static storage. */
const char *sbx_fs_residual(const struct sbx_fs_options *options);

/*
 * Mounts and serves. In front it returns after the unmount; behind it returns 0 in the parent when
 * the mount serves, and the child leaves with exit. May only be called while the process has one
 * thread.
 * Errors: EHOSTDOWN and the others of sbx_engine_open and sbx_endpoint_find; ENODEV (no /dev/fuse),
 * EACCES/EPERM (may not mount), ENOTDIR, ENOENT, ENOTEMPTY, EBUSY (something else is mounted
 * there), EINVAL.
 */
int sbx_fs_run(const struct sbx_fs_options *options, struct sbx_error *err);

#endif
