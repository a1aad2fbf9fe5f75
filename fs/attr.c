/*
 * attr.c: see attr.h.
 *
 * What the guest denies is denied here, and nothing more is allowed: outputs are at most 0555,
 * without set-id and sticky bits. Who may open them is the kernel's decision, by
 * default_permissions.
 */
#include "attr.h"

#include <sys/stat.h>

static uint64_t hash(uint64_t state, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;
	for (size_t i = 0; i < size; i++)
		state = (state ^ byte[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	return state;
}

static uint64_t hash_number(uint64_t state, int64_t number)
{
	unsigned char bytes[8];
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)((uint64_t)number >> (8 * i));
	return hash(state, bytes, sizeof(bytes));
}

static uint64_t hash_path(const char *sandbox_id, const char *path)
{
	uint64_t state = hash(UINT64_C(0xcbf29ce484222325), sandbox_id, strlen(sandbox_id) + 1);
	return hash(state, path, strlen(path) + 1);
}

/* 0 is "none" in a directory entry, 1 is the root's, 0xffffffff is an error to old programs. */
static uint64_t finish(uint64_t state)
{
	state ^= state >> 32;
	return state < 2 || state == 0xffffffff ? state + 2 : state;
}

/* The second that a tar of this engine would give. */
static int64_t tar_second(const struct sbx_stat *st, bool podman)
{
	return podman && st->mtime_ns >= 500000000 ? st->mtime_s + 1 : st->mtime_s;
}

uint64_t sbx_ino(const char *sandbox_id, const char *path, const struct sbx_stat *st, bool podman)
{
	uint64_t state = hash_path(sandbox_id, path);
	if (!*sandbox_id && !*path)
		return 1;
	if (st) {
		state = hash_number(state, st->size);
		state = hash_number(state, tar_second(st, podman));
	}
	return finish(state);
}

uint64_t sbx_ino_exact(const char *sandbox_id, const char *path, const struct sbx_stat *st)
{
	uint64_t state = hash_number(hash_path(sandbox_id, path), st->size);
	return finish(hash_number(hash_number(state, st->mtime_s), st->mtime_ns));
}

bool sbx_same_version(const struct sbx_stat *a, const struct sbx_stat *b, bool podman)
{
	if (a->type != b->type || a->size != b->size)
		return false;
	if (a->mtime_ns >= 0 && b->mtime_ns >= 0)
		return a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
	return tar_second(a, podman) == tar_second(b, podman);
}

static mode_t mode_of(const struct sbx_node *node)
{
	switch (node->kind) {
	case SBX_NODE_OUTPUT_FILE:
		return S_IFREG | (node->st.mode & 0555);
	case SBX_NODE_OUTPUT_DIR:
		return S_IFDIR | (node->st.mode & 0555);
	case SBX_NODE_REFUSED:
		return S_IFREG;
	case SBX_NODE_CONTROL_FILE:
		return S_IFREG | 0444;
	case SBX_NODE_IN_ROOT:
	case SBX_NODE_IN_DIR:
		return S_IFDIR | (node->st.mode & 0777);
	case SBX_NODE_IN_FILE:
		return S_IFREG | (node->st.mode & 0777);
	default:
		return S_IFDIR | 0555;
	}
}

void sbx_attr_fill(struct sbx_fs *fs, const struct sbx_node *node, struct stat *out)
{
	mode_t mode = mode_of(node);
	bool directory = S_ISDIR(mode);
	int64_t seconds = node->st.mtime_s;
	if (node->kind == SBX_NODE_ROOT)
		seconds = fs->views.changed_s;
	*out = (struct stat){
		.st_ino = node->ino,
		.st_mode = mode & ~fs->options->umask,
		.st_nlink = directory ? 2 : 1,
		.st_uid = fs->options->uid,
		.st_gid = fs->options->gid,
		.st_size = directory ? 0 : (off_t)node->st.size,
		/* Programs copy holes where blocks are missing: every block is there. */
		.st_blocks = directory ? 0 : (blkcnt_t)((node->st.size + 511) / 512),
		.st_blksize = 131072,
	};
	out->st_mtim.tv_sec = seconds;
	out->st_mtim.tv_nsec = node->st.mtime_ns > 0 ? node->st.mtime_ns : 0;
	out->st_atim = out->st_ctim = out->st_mtim;
	/* tar takes a file for changed whose ctime becomes more exact while it reads. */
	if (node->view && !sbx_node_is_in(node)) {
		out->st_ctim.tv_sec = tar_second(&node->st, fs->podman);
		out->st_ctim.tv_nsec = 0;
	}
}

double sbx_attr_timeout_s(struct sbx_fs *fs, const struct sbx_node *node)
{
	if (node->kind == SBX_NODE_CONTROL_FILE)
		return 0;
	if (node->kind == SBX_NODE_OUTPUT_FILE && node->st.mtime_ns >= 0)
		return (double)fs->options->attr_timeout_ms / 1000;
	return sbx_entry_timeout_s(fs, node);
}

double sbx_entry_timeout_s(struct sbx_fs *fs, const struct sbx_node *node)
{
	(void)node; /* one rule for all kinds */
	return (double)fs->options->entry_timeout_ms / 1000;
}

void sbx_entry_fill(struct sbx_fs *fs, const struct sbx_node *node, struct fuse_entry_param *entry)
{
	*entry = (struct fuse_entry_param){
		.ino = node->id,
		.generation = 1,
		.attr_timeout = sbx_attr_timeout_s(fs, node),
		.entry_timeout = sbx_entry_timeout_s(fs, node),
	};
	sbx_attr_fill(fs, node, &entry->attr);
}
