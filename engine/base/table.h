/*
 * table.h: hash tables: uthash, under the house's rules. Include this, never <uthash.h>.
 *
 * Out of memory ends the process as everywhere (alloc.h); uthash by itself would leave it with
 * exit and no message, past every cleanup.
 */
#ifndef SBX_BASE_TABLE_H
#define SBX_BASE_TABLE_H

#include "alloc.h"

#include <stddef.h>
#include <stdint.h>

/* Another in each process: keys are names that a guest chooses. Thread-safe. */
uint32_t sbx_table_hash(const void *key, size_t size);

#define HASH_FUNCTION(key, size, value) ((value) = sbx_table_hash((key), (size_t)(size)))
#define uthash_malloc(size) sbx_alloc(size)
#define uthash_fatal(message) abort() /* sbx_alloc does not fail */
#include <uthash.h>

#ifdef __clang_analyzer__
/* The analyzer does not see that a row which was taken out is never the head afterwards, and takes
 * every loop that frees a table for a use after free. Declared for it alone. */
void *sbx_table_head_without(const void *removed);
#undef HASH_DELETE_HH
#define HASH_DELETE_HH(hh, head, removed) ((head) = sbx_table_head_without(removed))
#endif

#endif
