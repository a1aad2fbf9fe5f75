/*
 * image_names.h: which names the image itself put into a directory.
 *
 * The engine's change list names what differs from the image; a listing made from it needs the
 * rest. They are read from a container of the same image that is created, never started, and
 * removed, and kept for the plane's life: an image does not change. Thread-safe.
 */
#ifndef SBX_FILES_IMAGE_NAMES_H
#define SBX_FILES_IMAGE_NAMES_H

#include <sbx/container.h>

struct sbx_names {
	char **rows; /* raw bytes */
	size_t count;
};
void sbx_names_finish(struct sbx_names *names);

struct sbx_image_names;
struct sbx_image_names *sbx_image_names_create(void);
void sbx_image_names_destroy(struct sbx_image_names *known);

/* What is known of directory (absolute); NULL when it has not been read yet. Borrowed. */
const struct sbx_names *sbx_image_names_find(struct sbx_image_names *known, const char *directory);

/* Reads them. Call it outside a freeze window: it makes and removes a container. Errors: EOPNOTSUPP
 * when the directory holds more than 64 MiB or the probe cannot be made, as sbx_container_create;
 * EFBIG over max_entries. */
int sbx_image_names_read(struct sbx_image_names *known, struct sbx_engine *engine,
	const struct sbx_container *container, const char *directory, unsigned max_entries,
	const struct sbx_call *call, struct sbx_error *err);

#endif
