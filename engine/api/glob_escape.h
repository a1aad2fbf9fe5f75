/* glob_escape.h: a literal path for an engine that reads paths as patterns. */
#ifndef SBX_API_GLOB_ESCAPE_H
#define SBX_API_GLOB_ESCAPE_H

/* Podman takes the path of HEAD and GET as a glob, so that `[x]` reads another file, `x`. Escapes
 * the pattern bytes; '*' cannot be escaped there and becomes a class of everything else's
 * complement. Never for a PUT, which takes paths literally. malloc'd. */
char *sbx_glob_escape(const char *path);

#endif
