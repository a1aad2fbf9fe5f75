/*
 * node.h: what the kernel holds numbers of: nodes (names it looked up) and handles (files it
 * opened).
 *
 * Node ids come from a counter and are never reused. An output file has one node per content
 * version, so that size, pages and mmap of an open file never change under a reader (fuse-guide
 * §2); directories and files under in/ have one node per path.
 */
#ifndef SBX_FS_NODE_H
#define SBX_FS_NODE_H

#include "base/table.h"

#include <sbx/archive.h>
#include <stdbool.h>
#include <stdint.h>

struct sbx_fs;
struct sbx_view;
struct sbx_spool;
struct sbx_snapshot;

enum sbx_node_kind {
	SBX_NODE_ROOT,
	SBX_NODE_SANDBOX,
	SBX_NODE_PARENT,      /* a directory above declared outputs, made up by us */
	SBX_NODE_OUTPUT_DIR,  /* a declared directory, or one below it */
	SBX_NODE_OUTPUT_FILE, /* one content version */
	SBX_NODE_REFUSED,     /* a link, fifo, socket, device, or not what was declared */
	SBX_NODE_CONTROL_DIR, /* .sbxfs */
	SBX_NODE_CONTROL_FILE,
	SBX_NODE_IN_ROOT, /* the next three belong to fs/in_*.c */
	SBX_NODE_IN_DIR,
	SBX_NODE_IN_FILE,
};

struct sbx_node {
	uint64_t id;
	enum sbx_node_kind kind;
	struct sbx_view *view; /* referenced; NULL for the root and its .sbxfs */
	char *path;	    /* relative to the work dir, "" for the sandbox itself; ".sbxfs/NAME" */
	struct sbx_stat st; /* link_target is NULL */
	uint64_t ino;
	int64_t verified_ms; /* when the engine last confirmed this version; 0: never */
	int64_t passed_ms;   /* a directory under in/: when an upload last went through it */
	int64_t asked_s;     /* the engine's clock when it was asked for what gave its time */
	bool served;	     /* bytes of it were handed out: its pages may be in the cache */
	uint64_t lookups;    /* what the kernel holds */
	unsigned pins;	     /* handles and requests of ours */
	unsigned spools;     /* handles that read one */
	unsigned passing; /* and those of them that the kernel reads itself (passthrough.h) … */
	int backing;	  /* … by this number; 0: none */
	struct sbx_spool *passed; /* … from this spool, which they hold */
	bool overwritten;	  /* since those were opened: what they would read is of the past */
	bool current;		  /* the one that its path finds */
	void *in;		  /* of the in kinds; freed by sbx_in_node_free */
	UT_hash_handle hh;
	UT_hash_handle hh_path;
};

struct sbx_nodes {
	struct sbx_node *by_id;
	struct sbx_node *root_paths; /* by path, of nodes without a view */
	struct sbx_node *root;
	uint64_t next_id;
};

static inline bool sbx_node_is_in(const struct sbx_node *node)
{
	return node->kind >= SBX_NODE_IN_ROOT;
}

void sbx_nodes_init(struct sbx_fs *fs);
void sbx_nodes_finish(struct sbx_fs *fs); /* frees all: an unmount sends no FORGETs */

/* Its sandbox was removed from the engine. Never of what belongs to no sandbox (view NULL). */
bool sbx_node_gone(const struct sbx_node *node);

struct sbx_node *sbx_node_get(struct sbx_fs *fs, uint64_t id); /* NULL: the kernel made it up */
/* The current node of a path, or NULL. view may be NULL. */
struct sbx_node *sbx_node_find(struct sbx_fs *fs, struct sbx_view *view, const char *path);
/* A new current node of its path; one that was current before is found no more. st may be NULL. It
 * lives while the kernel or a pin holds it: give it away or call sbx_node_release. */
struct sbx_node *sbx_node_create(struct sbx_fs *fs, struct sbx_view *view, enum sbx_node_kind kind,
	const char *path, const struct sbx_stat *st);
/* Its path leads elsewhere, or nowhere, from now on. */
void sbx_node_detach(struct sbx_fs *fs, struct sbx_node *node);
/* It is the current node of another path: renamed. */
void sbx_node_move(struct sbx_fs *fs, struct sbx_node *node, const char *path);

void sbx_node_pin(struct sbx_node *node);
void sbx_node_unpin(struct sbx_fs *fs, struct sbx_node *node);
void sbx_node_forget(struct sbx_fs *fs, uint64_t id, uint64_t lookups);
void sbx_node_release(struct sbx_fs *fs, struct sbx_node *node); /* frees it if nobody holds it */

/* One open file or directory. */
struct sbx_handle {
	uint64_t id;		       /* fi->fh */
	struct sbx_node *node;	       /* pinned */
	struct sbx_spool *spool;       /* of an output file; referenced */
	struct sbx_snapshot *snapshot; /* of a directory; referenced */
	char *text;		       /* of a control file, made at open */
	size_t text_size;
	bool passing;  /* the kernel reads the spool itself */
	void *in;      /* of the in kinds; freed by sbx_in_handle_free */
	unsigned pins; /* requests in progress; release waits for them */
	bool released;
	UT_hash_handle hh;
};

struct sbx_handles {
	struct sbx_handle *by_id;
	uint64_t next_id;
};

struct sbx_handle *sbx_handle_create(struct sbx_fs *fs, struct sbx_node *node);
struct sbx_handle *sbx_handle_get(struct sbx_fs *fs, uint64_t id); /* NULL: not one of ours */
void sbx_handle_pin(struct sbx_handle *handle);
void sbx_handle_unpin(struct sbx_fs *fs, struct sbx_handle *handle);
void sbx_handle_release(struct sbx_fs *fs, struct sbx_handle *handle);
void sbx_handles_finish(struct sbx_fs *fs);

#endif
