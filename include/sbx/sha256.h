/* sha256.h: SHA-256 (FIPS 180-4), for names derived from identities and for digests of what was
 * copied. */
#ifndef SBX_SHA256_H
#define SBX_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sbx_sha256 {
	uint32_t h[8];
	uint64_t length;
	unsigned char block[64];
	size_t fill;
};
/* One digest at a time in a state of the caller's, of any number of bytes in any number of pieces.
 * Nothing fails and nothing is allocated; a state is one thread's at a time. */
void sbx_sha256_init(struct sbx_sha256 *state);
void sbx_sha256_update(struct sbx_sha256 *state, const void *bytes, size_t size);
/* 64 lower-case hex digits and a NUL. The state must be initialised again before another use. */
void sbx_sha256_final(struct sbx_sha256 *state, char hex[65]);

#endif
