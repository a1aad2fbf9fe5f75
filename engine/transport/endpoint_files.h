/*
 * endpoint_files.h: what a confined process must still be able to open to speak to an engine.
 */
#ifndef SBX_TRANSPORT_ENDPOINT_FILES_H
#define SBX_TRANSPORT_ENDPOINT_FILES_H

#include "../base/confine.h"

#include <sbx/endpoint.h>

#define SBX_ENDPOINT_FILES 12

/* Fills `out`, whose strings are the endpoint's or constant; entries without a path are skipped. */
void sbx_endpoint_files(
	const struct sbx_endpoint *endpoint, struct sbx_confine_path out[SBX_ENDPOINT_FILES]);

#endif
