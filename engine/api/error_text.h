/* error_text.h: what an engine says in the body of an error, as one line fit for a sentence. */
#ifndef SBX_API_ERROR_TEXT_H
#define SBX_API_ERROR_TEXT_H

#include <stddef.h>

/* The text of an error body: Docker's "message", Podman's "message" with its "cause", or plain
 * text. Without the engine host's storage paths. "" when there is none. malloc'd. */
char *sbx_error_text(const char *body, size_t size);

/* Cuts `<root>/overlay2/<id>/merged` and the like out of the text, in place: where an engine keeps
 * its layers says nothing to the reader of a sandbox, and is the host's own business. */
void sbx_error_text_cut_storage(char *text);

#endif
