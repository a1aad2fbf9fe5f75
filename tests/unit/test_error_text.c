/* test_error_text.c: recorded error bodies: what is shown of them and what is concluded. */
#include "api/archive_error.h"
#include "api/error_text.h"
#include "api/exec_run.h"
#include "base/alloc.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

START_TEST(shows_the_message_without_the_hosts_storage)
{
	static const struct {
		const char *body, *text;
	} rows[] = {
		{ "{\"message\":\"No such container: x\"}\n", "No such container: x" },
		{ "{\"cause\":\"no such container\",\"message\":\"no container with name x: no "
		  "such "
		  "container\",\"response\":404}",
			"no container with name x: no such container" },
		{ "{\"cause\":\"that name is already in use\",\"message\":\"creating\"}",
			"creating: that name is already in use" },
		{ "client version 0.1 is too old\n", "client version 0.1 is too old" },
		{ "{\"message\":\"lstat /var/lib/docker/overlay2/ab12/merged/etc/passwd/x: not a "
		  "directory\"}",
			"lstat /etc/passwd/x: not a directory" },
		{ "{\"message\":\"stat /home/u/containers/storage/overlay/ab/diff: gone\"}",
			"stat : gone" },
		{ "{\"message\":\"open \\\"/data/volumes/v1/_data/f\\\": denied\"}",
			"open \"/f\": denied" },
		{ "{\"message\":7}", "{\"message\":7}" },
		{ "", "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *text = sbx_error_text(rows[i].body, strlen(rows[i].body));
		ck_assert_str_eq(text, rows[i].text);
	}
}
END_TEST

/* The cause stands behind a path that the guest made as long as it likes. */
START_TEST(keeps_the_cause_of_a_long_text)
{
	char body[6000] = "lstat /";
	memset(body + 7, 'n', 5000);
	memcpy(body + 5007, ": file name too long", 21);
	cleanup_free char *text = sbx_error_text(body, strlen(body));
	ck_assert_uint_lt(strlen(text), 900);
	ck_assert_ptr_nonnull(strstr(text, ": file name too long"));
}
END_TEST

static struct sbx_error error_of(int status, const char *body)
{
	struct sbx_error err = SBX_ERROR_INIT;
	cleanup_free char *copy = sbx_strdup(body);
	struct sbx_http_response response = {
		.status = status, .body = copy, .body_size = strlen(copy)
	};
	ck_assert_int_lt(sbx_api_status(&response, &err), 0);
	ck_assert_int_eq(err.http_status, status);
	return err;
}

START_TEST(tells_archive_errors_apart)
{
	static const struct {
		const char *body;
		int errnum;
	} rows[] = {
		{ "{\"message\":\"lstat /d/overlay2/a/merged/etc/passwd/x: not a directory\"}",
			ENOTDIR },
		{ "{\"message\":\"evalSymlinksInScope: too many links in /work/loop\"}", ELOOP },
		{ "{\"cause\":\"too many levels of symbolic links\",\"message\":\"copier: stat: "
		  "error "
		  "resolving: too many levels of symbolic links\"}",
			ELOOP },
		{ "{\"message\":\"lstat /nnn: file name too long\"}", ENAMETOOLONG },
		{ "{\"message\":\"RWLayer of container x is unexpectedly nil\"}", 0 },
		/* A name that a guest chose is not the cause. */
		{ "{\"message\":\"lstat /work/not a directory/x: input/output error\"}", 0 },
		{ "{\"message\":\"open /work/too many links: permission denied\"}", 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = error_of(500, rows[i].body);
		ck_assert_int_eq(sbx_archive_errno_of_text(&err), rows[i].errnum);
	}
}
END_TEST

START_TEST(tells_upload_errors_apart)
{
	static const struct {
		const char *body;
		int errnum;
	} rows[] = {
		{ "{\"message\":\"Error processing tar file(exit status 1): write /a: no space "
		  "left on "
		  "device\"}",
			ENOSPC },
		{ "{\"message\":\"container rootfs is marked read-only\"}", EROFS },
		{ "{\"message\":\"mounted volume is marked read-only\"}", EROFS },
		{ "{\"message\":\"mkdir /work/x: read-only file system\"}", EROFS },
		{ "{\"message\":\"Error processing tar file(exit status 1): cannot overwrite "
		  "directory "
		  "\\\"/work/out\\\" with non-directory \\\"/work\\\"\"}",
			EISDIR },
		{ "{\"message\":\"copier: put: open /work/out: file exists\"}", EISDIR },
		{ "{\"message\":\"extraction point is not a directory\"}", ENOTDIR },
		{ "{\"message\":\"copier: put: /work/f (/work/f): exists but is not a directory\"}",
			ENOTDIR },
		{ "{\"message\":\"unexpected EOF\"}", 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sbx_error err = error_of(500, rows[i].body);
		ck_assert_int_eq(sbx_archive_errno_of_put_text(&err), rows[i].errnum);
	}
}
END_TEST

START_TEST(gives_exit_codes_for_commands_that_never_started)
{
	ck_assert_int_eq(
		sbx_exec_code_of_text("OCI runtime exec failed: exec failed: exec: \"nope\": "
				      "executable file not found in $PATH: unknown"),
		127);
	ck_assert_int_eq(
		sbx_exec_code_of_text("runc: exec failed: unable to start container process: "
				      "exec: \"/nope\": stat /nope: no such file or "
				      "directory: OCI runtime attempted to invoke a command "
				      "that was not found"),
		127);
	ck_assert_int_eq(sbx_exec_code_of_text("OCI runtime exec failed: exec: \"/etc/passwd\": "
					       "permission denied: unknown"),
		126);
	ck_assert_int_eq(
		sbx_exec_code_of_text("OCI runtime exec failed: chdir to cwd (\"/x\") set in "
				      "config.json failed: no such file or directory"),
		125);
	ck_assert_int_eq(
		sbx_exec_code_of_text("unable to find user x: no matching entries in passwd file"),
		125);
	ck_assert_int_eq(sbx_exec_code_of_text("Error: my own trouble"), 0);
}
END_TEST

UNIT_MAIN("error_text", shows_the_message_without_the_hosts_storage, keeps_the_cause_of_a_long_text,
	tells_archive_errors_apart, tells_upload_errors_apart,
	gives_exit_codes_for_commands_that_never_started)
