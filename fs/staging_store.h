/* staging_store.h: what staging.c and staging_files.c share: the open store and its file names. */
#ifndef SBX_FS_STAGING_STORE_H
#define SBX_FS_STAGING_STORE_H

#include "staging.h"

#include "base/buffer.h"

#include <stdatomic.h>

#define SBX_STAGING_NAME_SIZE 40
#define SBX_STAGING_SPARES 1024
#define SBX_STAGING_RECORD_MAX                                                                     \
	(256 << 10) /* a path of 4095 bytes as hex and a reason, with room                         \
		     */

struct sbx_staging {
	int root;      /* the staging root, to remove the store from */
	int directory; /* the store; the lock is on it */
	char *name;
	char *mount_dir, *engine_key, *engine_url;
	atomic_uint_fast64_t next; /* sequence */
	/* Empty data files without a record: making a file where many were just removed is slow on
	 * ext4 (docs/performance.md). One thread's. */
	uint64_t spares[SBX_STAGING_SPARES];
	size_t spare_count;
};

void sbx_staging_data_name(uint64_t sequence, char out[SBX_STAGING_NAME_SIZE]);
void sbx_staging_record_name(uint64_t sequence, char out[SBX_STAGING_NAME_SIZE]);
/* The sequence of a name with this suffix; false for any other name. */
bool sbx_staging_name_sequence(const char *name, const char *suffix, uint64_t *sequence);

/* Writes name whole or not at all; durable: synced with its directory. */
int sbx_staging_write_file(
	int directory, const char *name, const char *text, bool durable, struct sbx_error *err);
int sbx_staging_read_file(
	int directory, const char *name, struct sbx_buffer *out, struct sbx_error *err);
/* The record that is an attribute of a data file. ENODATA: it has none. */
int sbx_staging_read_attribute(
	int directory, const char *data_name, struct sbx_buffer *out, struct sbx_error *err);
/* For the end. */
void sbx_staging_drop_spares(struct sbx_staging *staging);
/* Whether that entry of the store is a record, or a data file that has its own. */
bool sbx_staging_is_record(struct sbx_staging *staging, const char *name);

#endif
