/* put.c: `sbxfs put NAME SRC… [--to DEST]`: host files and trees, or standard input, into a
 * sandbox's in dir. */
#include "transfer_progress.h"

#include "../engine/base/alloc.h"
#include "../engine/base/json.h"
#include "../engine/base/temporary.h"

#include <sbx/transfer.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (256 << 10)

struct put {
	const char *dest, *name; /* --to and --as */
	struct sbx_ceilings ceilings;
	int64_t most_bytes; /* of one file */
	int input;	    /* what standard input held; -1: it is no source */
};

static int await_input(const struct sbx_call *call, struct sbx_error *err)
{
	int cancel_fd = sbx_cancel_fd(call->cancel);
	/* A token without an eventfd (a full descriptor table) is looked at this often. */
	int64_t longest_ms = call->cancel && cancel_fd < 0 ? 100 : INT_MAX;
	for (;;) {
		struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = cancel_fd, .events = POLLIN } };
		if (sbx_cancel_fired(call->cancel))
			return sbx_fail(err, ECANCELED, "interrupted; nothing was sent");
		int64_t left_ms = sbx_call_left_ms(call);
		if (!left_ms)
			return sbx_fail(err, ETIMEDOUT,
				"standard input did not end within the --timeout; nothing was "
				"sent");
		int ready = poll(fds, 2, (int)(left_ms < longest_ms ? left_ms : longest_ms));
		if (ready < 0 && errno != EINTR)
			return sbx_fail_host(err, errno, "standard input");
		if (ready > 0 && fds[0].revents)
			return 0;
	}
}

/* All of standard input into a file of ours: how much it is is known at its end only, and nothing
 * is sent before. */
static int take_input(struct put *put, const struct sbx_call *call, struct sbx_error *err)
{
	cleanup_free char *piece = sbx_alloc(PIECE);
	cleanup_close int fd = sbx_temporary_open(err);
	mode_t mask = umask(0);
	(void)umask(mask); /* only to read it */
	int rc = fd < 0 ? fd : 0;
	if (rc == 0 && fchmod(fd, 0666 & ~mask) < 0)
		rc = sbx_fail_host(err, errno, "a spool file on this host");
	for (int64_t total = 0; rc == 0;) {
		rc = await_input(call, err);
		ssize_t got = rc == 0 ? read(STDIN_FILENO, piece, PIECE) : 0;
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			rc = sbx_fail_host(err, errno, "standard input");
		if (got <= 0)
			break;
		total += got;
		rc = total > put->most_bytes
			     ? sbx_fail(err, EFBIG,
				       "standard input has more than %" PRId64
				       " bytes, the ceiling of one file (--max-file)",
				       put->most_bytes)
			     : sbx_temporary_write(fd, piece, (size_t)got, err);
	}
	if (rc == 0)
		put->input = steal_fd(&fd);
	return rc;
}

static int check_words(const struct sbx_tool *tool, const struct put *put, struct sbx_error *err)
{
	const struct sbx_list *words = &tool->operands;
	bool input = false;
	for (size_t i = 1; i < words->count; i++)
		input |= strcmp(words->items[i], "-") == 0;
	if (put->name && words->count > 2)
		return sbx_fail(
			err, EINVAL, "--as names one source, and there are %zu", words->count - 1);
	if (input && !put->name)
		return sbx_fail(err, EINVAL,
			"-, which is standard input, needs --as NAME to land under (a file of that "
			"name is ./-)");
	return 0;
}

static int send_all(struct sbx_tool *tool, const struct sbx_sandbox *sandbox,
	struct sbx_plane *plane, struct put *put, struct sbx_transfer_totals *totals,
	struct sbx_error *err)
{
	struct sbx_transfer_progress progress = { sbx_transfer_progress_tick, tool };
	struct sbx_call call = sbx_tool_call(tool, 0);
	const char *const *sources = tool->operands.items + 1;
	const char *dest = put->dest ? put->dest : sandbox->in_dir;
	bool input = strcmp(sources[0], "-") == 0;
	int rc = input ? take_input(put, &call, err) : 0;
	if (rc == 0)
		rc = put->name ? sbx_upload_as(plane, sandbox, input ? "standard input" : *sources,
					 put->input, put->name, dest, &put->ceilings, &call,
					 &progress, totals, err)
			       : sbx_upload(plane, sandbox, sources, tool->operands.count - 1, dest,
					 &put->ceilings, &call, &progress, totals, err);
	sbx_transfer_progress_end(tool);
	return rc;
}

static int upload(struct sbx_tool *tool, const struct sbx_sandbox *sandbox, struct put *put)
{
	struct sbx_error err = SBX_ERROR_INIT;
	struct sbx_plane_limits limits;
	struct sbx_transfer_totals totals = { 0 };
	int64_t began_ms = sbx_clock_ms();
	if (!put->dest && !sandbox->in_dir) {
		sbx_fail(&err, EOPNOTSUPP, "sandbox %s has no in dir", sandbox->container.name);
		return sbx_tool_fail(tool, &err);
	}
	sbx_plane_limits_default(&limits);
	if (put->ceilings.max_file_bytes)
		limits.max_in_bytes = put->ceilings.max_file_bytes;
	put->most_bytes = limits.max_in_bytes;
	struct sbx_plane *plane = sbx_transfer_plane(tool->engine, sandbox, &limits);
	int rc = send_all(tool, sandbox, plane, put, &totals, &err);
	sbx_plane_destroy(plane);
	if (rc < 0)
		return sbx_tool_fail(tool, &err);
	if (tool->json) {
		cJSON *json = cJSON_CreateObject();
		sbx_json_add_int(json, "files", totals.files);
		sbx_json_add_int(json, "directories", totals.directories);
		sbx_json_add_int(json, "bytes", totals.bytes);
		sbx_tool_print_json(json);
	} else {
		sbx_transfer_progress_sum(tool, totals.files, totals.bytes, began_ms);
	}
	return 0;
}

static int run(struct sbx_tool *tool, int argc, char **argv)
{
	struct sbx_sandbox sandbox = { 0 };
	struct sbx_ceilings asked = { 0 };
	struct sbx_error err = SBX_ERROR_INIT;
	struct put put = { .input = -1 };
	int code;
	const struct sbx_option table[] = {
		{ "to", 0, SBX_OPTION_TEXT, &put.dest },
		{ "as", 0, SBX_OPTION_TEXT, &put.name },
		{ "max-file", 0, SBX_OPTION_BYTES, &asked.max_file_bytes },
		{ "max-total", 0, SBX_OPTION_BYTES, &asked.max_total_bytes },
		{ "max-files", 0, SBX_OPTION_COUNT, &asked.max_files },
		{ "timeout", 0, SBX_OPTION_MS, &tool->timeout_ms },
		{ "idle-timeout", 0, SBX_OPTION_MS, &tool->idle_ms },
		{ 0 },
	};
	if (!sbx_tool_words(tool, argc, argv, table, 2, SIZE_MAX, &code))
		return code;
	if (check_words(tool, &put, &err) < 0 ||
		sbx_ceilings_ask("in", &asked, &tool->limits.in, &put.ceilings, &err) < 0)
		return sbx_tool_fail(tool, &err);
	if (!sbx_tool_enter(tool, true, &sandbox, &code))
		return code;
	code = upload(tool, &sandbox, &put);
	if (put.input >= 0)
		(void)close(put.input); /* without a name, and sent */
	sbx_sandbox_finish(&sandbox);
	return code;
}

const struct sbx_tool_command sbx_tool_put = {
	"put",
	"NAME SRC… [--to DEST] | NAME SRC|- --as FILE [--to DEST]",
	"Copies host files and directories, or standard input, into a sandbox, owned by its guest.",
	"\n  --to DEST              the in dir (the default) or a directory below it, as a path "
	"relative to the work dir\n"
	"  --as FILE              the name that the one source lands under; - is standard input, "
	"sent when it has ended\n"
	"  --max-file SIZE  --max-total SIZE  --max-files N\n"
	"                         ceilings, in all of this call; more is refused before anything "
	"is "
	"sent. Default: those of\n"
	"                         [limits] in the config file, else 1g a file and no other\n"
	"  --timeout SECONDS      default: no bound\n"
	"  --idle-timeout SECONDS without a byte from the engine or to it, default 60\n\n"
	"Links and special files in a source are refused before anything is sent. A colon or a "
	"trailing slash in a name has\n"
	"no meaning. Exit 14 where this host cannot read a source. From sandbox to sandbox:\n"
	"sbxfs get A out/f --to - | sbxfs put B - --as f\n",
	run,
};
