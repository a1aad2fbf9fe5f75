/*
 * alloc.h: memory that is there or the process ends. Out of memory is one message and abort, never
 * a half-handled NULL. Also the cleanup attributes that every function uses to free on every path.
 */
#ifndef SBX_BASE_ALLOC_H
#define SBX_BASE_ALLOC_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

void *sbx_alloc(size_t size); /* zeroed; size 0 gives a valid pointer */
void *sbx_alloc_array(size_t count, size_t size);
void *sbx_realloc_array(void *old, size_t count, size_t size);
char *sbx_strdup(const char *text); /* NULL stays NULL */
char *sbx_strndup(const char *text, size_t size);
char *sbx_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void sbx_cleanup_free_p(void *p)
{
	free(*(void **)p);
}

static inline void sbx_cleanup_close_p(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* nothing to be done about a failed close of something read or
				     already synced */
}

#define cleanup_free __attribute__((__cleanup__(sbx_cleanup_free_p)))
#define cleanup_close __attribute__((__cleanup__(sbx_cleanup_close_p)))
#define cleanup_with(function) __attribute__((__cleanup__(function)))

/* Hands ownership out of a cleanup variable: return steal(&p). */
#define steal(pointer)                                                                             \
	({                                                                                         \
		__typeof__(*(pointer)) stolen_ = *(pointer);                                       \
		*(pointer) = NULL;                                                                 \
		stolen_;                                                                           \
	})

static inline int steal_fd(int *fd)
{
	int stolen = *fd;
	*fd = -1;
	return stolen;
}

#endif
