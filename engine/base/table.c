/*
 * table.c: see table.h. SipHash-1-3 (Aumasson and Bernstein), keyed anew in each process: keys are
 * names that a guest chooses, and with a hash that is known it could choose ones that all fall into
 * one chain, and keep the one thread that owns the mount's state walking it.
 */
#include "table.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

static uint64_t secret[2]; /* written once, by choose */

static void choose(void)
{
	/* Cannot fail nor be short for so few bytes, once the kernel has its first randomness. */
	if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
		abort();
}

static uint64_t rotate(uint64_t value, int by)
{
	return value << by | value >> (64 - by);
}

static void mix(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

uint32_t sbx_table_hash(const void *key, size_t size)
{
	static pthread_once_t chosen = PTHREAD_ONCE_INIT;
	(void)pthread_once(&chosen, choose); /* cannot fail with a valid control */
	uint64_t v[4] = { secret[0] ^ 0x736f6d6570736575, secret[1] ^ 0x646f72616e646f6d,
		secret[0] ^ 0x6c7967656e657261, secret[1] ^ 0x7465646279746573 };
	const char *bytes = key;
	uint64_t word;
	for (size_t at = 0; at <= size; at += sizeof(word)) {
		size_t left = size - at;
		word = 0;
		memcpy(&word, bytes + at, left < sizeof(word) ? left : sizeof(word));
		if (left < sizeof(word))
			word |= (uint64_t)size << 56;
		v[3] ^= word;
		mix(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	mix(v);
	mix(v);
	mix(v);
	uint64_t whole = v[0] ^ v[1] ^ v[2] ^ v[3];
	return (uint32_t)(whole ^ whole >> 32);
}
