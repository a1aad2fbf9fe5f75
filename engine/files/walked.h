/*
 * walked.h: what one window has already shown: what files and directories are, and that the account
 * files are safe.
 *
 * While nothing in the guest runs, what was seen stays true. Everything is forgotten when another
 * window comes. Thread-safe.
 */
#ifndef SBX_FILES_WALKED_H
#define SBX_FILES_WALKED_H

#include <sbx/archive.h>
#include <stdbool.h>
#include <stdint.h>

struct sbx_walked;
struct sbx_walked *sbx_walked_create(void);
void sbx_walked_destroy(struct sbx_walked *walked);

/* A key that no window has: for a walk that cannot share what it sees. */
uint64_t sbx_walked_key(struct sbx_walked *walked);

/* Is the path known to be a directory? */
bool sbx_walked_has(struct sbx_walked *walked, uint64_t key, const char *path);
void sbx_walked_add(struct sbx_walked *walked, uint64_t key, const char *path);
/* The whole stat of a file or a directory; others are not remembered. false: not known.
 *
 * Reading and writing do not wait for each other: an answer may be older than a write that ended
 * before it was remembered. So the generation is taken before the engine is asked, and what was
 * forgotten meanwhile is not brought back. */
uint64_t sbx_walked_generation(struct sbx_walked *walked);
bool sbx_walked_stat(
	struct sbx_walked *walked, uint64_t key, const char *path, struct sbx_stat *out);
void sbx_walked_add_stat(struct sbx_walked *walked, uint64_t key, uint64_t generation,
	const char *path, const struct sbx_stat *st);
/* The window of this key did not hold. */
void sbx_walked_forget(struct sbx_walked *walked, uint64_t key);
/* Something was written, in whatever window or in none: no stat holds any more. What the window of
 * this key has shown to be a directory still is one: an upload turns none into anything else. */
void sbx_walked_forget_stats(struct sbx_walked *walked, uint64_t key);

#endif
