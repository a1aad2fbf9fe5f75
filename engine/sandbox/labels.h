/*
 * labels.h: what a container's labels say about it, before any rule: whose vocabulary they are in,
 * the role, the declaration's raw texts. One place knows both vocabularies.
 */
#ifndef SBX_SANDBOX_LABELS_H
#define SBX_SANDBOX_LABELS_H

#include <sbx/sandbox.h>

enum sbx_vocabulary { SBX_VOCABULARY_NONE, SBX_VOCABULARY_SBXFS, SBX_VOCABULARY_MAF };

const char *sbx_labels_get(const struct sbx_pair *labels, size_t count, const char *key);
/* NONE: no label of either vocabulary. sbxfs.* wins where both are there. */
enum sbx_vocabulary sbx_labels_vocabulary(const struct sbx_pair *labels, size_t count);
/* Has a role of its own (an egress proxy, a probe): never shown, never taken for a sandbox. */
bool sbx_labels_hidden(const struct sbx_pair *labels, size_t count);
/* The four identity labels and the version are there: made by sbxfs create or run. */
bool sbx_labels_owned(const struct sbx_pair *labels, size_t count);

/* The declaration as labelled, borrowed from the labels; NULL where a label is missing. */
struct sbx_labelled {
	const char *workdir, *outputs, *in_dir;
};
struct sbx_labelled sbx_labels_declaration(const struct sbx_pair *labels, size_t count);

/* An outputs label: a JSON array of strings, at most 64 KiB and 1024 of them. texts is an array of
 * malloc'd strings. EINVAL. */
int sbx_labels_outputs(const char *label, char ***texts, size_t *count, struct sbx_error *err);
/* The same array back, as create writes it. malloc'd. */
char *sbx_labels_outputs_print(const struct sbx_output *outputs, size_t count);
void sbx_texts_free(char **texts, size_t count);

#endif
