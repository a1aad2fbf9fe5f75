/* fuzz_mount_options.c: a whole -o argument, as mount(8), fstab and people hand it over. */
#include "fs.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_fs_options options;
	cleanup_free char *text = sbx_strndup((const char *)data, size);
	sbx_fs_options_init(&options);
	int rc = sbx_fs_option_list(&options, text, &err);
	promise(rc == 0 || (err.errnum == -rc && err.message[0]));
	promise(options.max_file_bytes >= 0 && options.deadline_ms >= 0);
	promise(!options.cache_dir || options.cache_dir[0] == '/');
	promise(options.umask <= 0777);
	sbx_fs_options_finish(&options);
	return 0;
}
