/* endpoint_files.c: see endpoint_files.h. */
#include "endpoint_files.h"

#include <string.h>

void sbx_endpoint_files(
	const struct sbx_endpoint *endpoint, struct sbx_confine_path out[SBX_ENDPOINT_FILES])
{
	const bool network = !endpoint->socket_path;
	const struct sbx_confine_path files[SBX_ENDPOINT_FILES] = {
		{ endpoint->socket_path, 1, 0 },
		{ endpoint->ca_path, 0, 0 },
		{ endpoint->cert_path, 0, 0 },
		{ endpoint->key_path, 0, 0 },
		/* What a name's address and a server's certificate are found with. */
		{ network ? "/etc/resolv.conf" : NULL, 0, 0 },
		{ network ? "/etc/hosts" : NULL, 0, 0 },
		{ network ? "/etc/nsswitch.conf" : NULL, 0, 0 },
		{ network ? "/etc/gai.conf" : NULL, 0, 0 },
		{ network ? "/etc/ssl" : NULL, 0, 0 },
		{ network ? "/usr/share/ca-certificates" : NULL, 0, 0 },
		{ network ? "/usr/lib" : NULL, 0, 0 },
		{ network ? "/lib" : NULL, 0, 0 },
	};
	memcpy(out, files, sizeof(files));
}
