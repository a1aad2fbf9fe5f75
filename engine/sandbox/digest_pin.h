/* digest_pin.h: name@sha256:… as the one form of a pinned image (AIR-14). */
#ifndef SBX_SANDBOX_DIGEST_PIN_H
#define SBX_SANDBOX_DIGEST_PIN_H

#include <sbx/error.h>
#include <sbx/image.h>
#include <stdbool.h>

/* Exactly a name of letters, digits and . _ / - : then "@sha256:" and 64 lower-case hex digits,
 * nothing after (no newline either). */
bool sbx_digest_pinned(const char *image);
/* EPERM kind POLICY for anything else; the sentence says how to find a digest. */
int sbx_digest_pin_check(const char *image, struct sbx_error *err);
/* The image the engine has under that reference carries the very digest: EPERM kind POLICY if not.
 */
int sbx_digest_pin_holds(const char *pin, const struct sbx_image *image, struct sbx_error *err);

#endif
