/*
 * image.h: images on the engine. Source: Engine API v1.41, /images/…
 */
#ifndef SBX_IMAGE_H
#define SBX_IMAGE_H

#include <sbx/container.h>

struct sbx_image {
	char *id;	      /* sha256:… */
	char *user, *workdir; /* Config.User and Config.WorkingDir, "" if unset */
	char **repo_digests;  /* NULL-terminated */
	char **volumes;	      /* Config.Volumes' paths, NULL-terminated */
	char **cmd;	      /* Config.Cmd, NULL-terminated */
	char **entrypoint;    /* Config.Entrypoint, NULL-terminated */
	char *os;
};
void sbx_image_finish(struct sbx_image *image);

/* GET /images/{name}/json. reference: a name with or without tag or digest, or an id. Errors:
 * ENOENT kind ABSENT (no such image), EINVAL (not a reference), EIO. */
int sbx_image_inspect(struct sbx_engine *engine, const char *reference, const struct sbx_call *call,
	struct sbx_image *out, struct sbx_error *err);
/* POST /images/create; a reference without tag or digest is its latest. progress (may be NULL) is
 * called with one line of text at a time, as the engine gave it: escape it where it is shown. The
 * idle bound does not apply. An error inside the 200 stream is a failure. Errors: EINVAL (not a
 * reference), EIO with the engine's text. */
int sbx_image_pull(struct sbx_engine *engine, const char *reference, const struct sbx_call *call,
	void (*progress)(void *data, const char *line), void *data, struct sbx_error *err);

#endif
