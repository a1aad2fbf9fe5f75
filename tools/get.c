/* get.c: `sbxfs get NAME PATH… [--to DEST]`: declared outputs out of a sandbox, whole or not at
 * all. */
#include "pass_on.h"
#include "transfer_progress.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/temporary.h"
#include "../engine/base/text.h"

#include <sbx/transfer.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE (256 << 10)

static void print_rows(const struct sbx_tool *tool, const struct sbx_fetches *fetches)
{
	cJSON *json = tool->json ? cJSON_CreateArray() : NULL;
	for (size_t i = 0; i < fetches->count; i++) {
		const struct sbx_fetched *row = &fetches->rows[i];
		if (json) {
			cJSON *item = cJSON_CreateObject();
			sbx_json_add_bytes(item, "path", row->path, strlen(row->path));
			sbx_json_add_int(item, "size", row->size);
			cJSON_AddStringToObject(item, "sha256", row->sha256);
			if (row->reason)
				sbx_json_add_text(item, "refused", row->reason);
			cJSON_AddItemToArray(json, item);
		} else if (row->reason) {
			cleanup_free char *path = sbx_text_escape(row->path);
			cleanup_free char *reason = sbx_text_escape(row->reason);
			(void)fprintf(stderr, "refused %s: %s\n", path,
				reason); /* nowhere else to say it */
		}
	}
	if (json)
		sbx_tool_print_json(json);
}

/* What arrived under its name. */
static void sum_up(const struct sbx_tool *tool, const struct sbx_fetches *fetches, int64_t began_ms)
{
	int64_t files = 0, bytes = 0;
	for (size_t i = 0; i < fetches->count; i++) {
		files += !fetches->rows[i].result;
		bytes += fetches->rows[i].result ? 0 : fetches->rows[i].size;
	}
	sbx_transfer_progress_sum(tool, files, bytes, began_ms);
}

static int to_directory(struct sbx_tool *tool, struct sbx_plane *plane,
	const struct sbx_sandbox *sandbox, const char *dest,
	const struct sbx_fetch_options *options)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_fetches fetches = { 0 };
	struct sbx_call call = sbx_tool_call(tool, 0);
	struct sbx_transfer_progress progress = { sbx_transfer_progress_tick, tool };
	int64_t began_ms = sbx_clock_ms();
	int rc = sbx_fetch(plane, sandbox, tool->operands.items + 1, tool->operands.count - 1, dest,
		options, &call, &progress, &fetches, &err);
	sbx_transfer_progress_end(tool);
	struct sbx_tool plain = *tool;
	if (rc == 0 || err.kind == SBX_KIND_PARTIAL) {
		print_rows(tool, &fetches);
		sum_up(tool, &fetches, began_ms);
		plain.json = false; /* the document is printed already */
	}
	sbx_fetches_finish(&fetches);
	return rc < 0 ? sbx_tool_fail(&plain, &err) : 0;
}

/* Hands on what was spooled. What was written to stdout cannot be taken back, so this comes last.
 */
static int pass_on(int fd, const struct sbx_call *call, int64_t *bytes, struct sbx_error *err)
{
	cleanup_free char *piece = sbx_alloc(PIECE);
	struct sbx_pass_on streams = { .bounds = *call };
	for (;;) {
		ssize_t got = pread(fd, piece, PIECE, *bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return sbx_fail_host(err, errno, "a spool file on this host");
		if (got == 0)
			return 0;
		int rc = sbx_tool_show(&streams, 1, piece, (size_t)got);
		if (rc < 0)
			return sbx_fail_errno(err, -rc, "standard output");
		*bytes += got;
	}
}

/* One file to standard output: whole, or no byte of it. */
static int to_stdout(struct sbx_tool *tool, struct sbx_plane *plane,
	const struct sbx_sandbox *sandbox, const struct sbx_fetch_options *options)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_call call = sbx_tool_call(tool, 0);
	struct sbx_transfer_progress progress = { sbx_transfer_progress_tick, tool };
	int64_t began_ms = sbx_clock_ms(), bytes = 0;
	cleanup_close int fd = sbx_temporary_open(&err);
	int rc = fd < 0 ? fd
			: sbx_fetch_file(plane, sandbox, tool->operands.items[1], fd,
				  &options->ceilings, &call, &progress, &err);
	sbx_transfer_progress_end(tool);
	if (rc == 0)
		rc = pass_on(fd, &call, &bytes, &err);
	if (rc == -EPIPE)
		return 128 + SIGPIPE; /* quietly, as any program at the head of a pipeline */
	if (rc < 0)
		return sbx_tool_fail(tool, &err);
	sbx_transfer_progress_sum(tool, 1, bytes, began_ms);
	return 0;
}

static int check_words(const struct sbx_tool *tool, const char *dest,
	const struct sbx_fetch_options *options, struct sbx_error *err)
{
	if (strcmp(dest, "-") != 0)
		return 0;
	if (tool->operands.count == 2 && !tool->json && !options->force && !options->match_count)
		return 0;
	return sbx_fail(err, EINVAL,
		"--to - brings the bytes of one PATH, and goes with no other, nor with --json, "
		"--force or --match; the directory of that name is ./-");
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_plane_limits limits;
	struct sbx_ceilings asked = { 0 };
	struct sbx_fetch_options options = { 0 };
	struct sbx_list match = { 0 };
	const char *dest = ".";
	int code;
	sbx_plane_limits_default(&limits);
	const struct sbx_option table[] = {
		{ "to", 0, SBX_OPTION_TEXT, &dest },
		{ "force", 0, SBX_OPTION_FLAG, &options.force },
		{ "match", 0, SBX_OPTION_LIST, &match },
		{ "max-file", 0, SBX_OPTION_BYTES, &asked.max_file_bytes },
		{ "max-total", 0, SBX_OPTION_BYTES, &asked.max_total_bytes },
		{ "max-files", 0, SBX_OPTION_COUNT, &asked.max_files },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ "idle-timeout", 0, SBX_OPTION_MS, &tool->idle_ms },
		{ 0 },
	};
	if (!sbx_tool_words(tool, argc, argv, table, 2, SIZE_MAX, &code)) {
		sbx_list_finish(&match);
		return code;
	}
	options.match = match.items;
	options.match_count = match.count;
	if (check_words(tool, dest, &options, &err) < 0 ||
		sbx_ceilings_ask("out", &asked, &tool->limits.out, &options.ceilings, &err) < 0) {
		code = sbx_tool_fail(tool, &err);
	} else if (sbx_tool_enter(tool, true, &sandbox, &code)) {
		if (options.ceilings.max_file_bytes)
			limits.max_file_bytes = options.ceilings.max_file_bytes;
		struct sbx_plane *plane = sbx_transfer_plane(tool->engine, &sandbox, &limits);
		code = strcmp(dest, "-") == 0 ? to_stdout(tool, plane, &sandbox, &options)
					      : to_directory(tool, plane, &sandbox, dest, &options);
		sbx_plane_destroy(plane);
		sbx_sandbox_finish(&sandbox);
	}
	sbx_list_finish(&match);
	return code;
}

const struct sbx_tool_command sbx_tool_get = {
	"get",
	"NAME PATH… [--to DIR] [--match PATTERN]… [--force] | NAME PATH --to -",
	"Copies declared outputs to the host: each PATH lands in DIR (default: here) under its "
	"last name.",
	"\n  --to -                 the bytes of one file to standard output, whole or none of "
	"them\n"
	"  --match PATTERN        of what is below a directory only files of such a name: "
	"--match '*.csv'\n"
	"  --force                replace what exists there\n"
	"  --max-file SIZE  --max-total SIZE  --max-files N\n"
	"                         ceilings, in all of this call; more is refused and nothing "
	"lands. "
	"Default: those of\n"
	"                         [limits] in the config file, else 1g a file and no other\n"
	"  --timeout SECONDS      default: no bound\n"
	"  --idle-timeout SECONDS without a byte from the engine or to it, default 60\n"
	"  --json                 size and sha256 of each; path_base64 beside a path that is not "
	"UTF-8\n\n"
	"A file has its final name only when it is whole. Links, fifos, sockets and devices are "
	"refused and named; exit 13 when\n"
	"the rest was copied, 14 when this host cannot take them.\n",
	run,
};
