/*
 * control.h: the files of .sbxfs: what the daemon knows, as JSON and text, made when they are
 * opened.
 *
 * They are read with direct_io, so that a reader gets all of the text whatever size was seen
 * before.
 */
#ifndef SBX_FS_CONTROL_H
#define SBX_FS_CONTROL_H

#include "context.h"

struct cJSON;

/* .sbxfs of a sandbox, or of the root for view NULL. */
void sbx_control_lookup(struct sbx_request *request, struct sbx_view *view);
void sbx_control_lookup_file(struct sbx_request *request); /* node: the .sbxfs directory; name */
struct sbx_snapshot *sbx_control_snapshot(const struct sbx_node *node);
/* Sets the size that stat shows. */
void sbx_control_measure(struct sbx_node *node);
void sbx_control_open(struct sbx_request *request);

/* Owned by the caller. */
struct cJSON *sbx_control_info(struct sbx_view *view);
struct cJSON *sbx_control_stats(struct sbx_fs *fs);
char *sbx_control_refused_text(struct sbx_view *view, size_t *size);

#endif
