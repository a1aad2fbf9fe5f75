/* main.c: the sbxfs command: finds the subcommand, runs it, and notices when its output went
 * nowhere. */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct sbx_tool_command *sbx_tool_find(const char *name)
{
	for (size_t i = 0; sbx_tool_commands[i]; i++) {
		if (strcmp(sbx_tool_commands[i]->name, name) == 0)
			return sbx_tool_commands[i];
	}
	return NULL;
}

/* Who started us may have made the output non-blocking, for itself too: full is not the end then.
 */
static ssize_t write_waiting(void *cookie, const char *bytes, size_t size)
{
	size_t done = 0;
	(void)cookie;
	while (done < size) {
		ssize_t written = write(STDOUT_FILENO, bytes + done, size - done);
		if (written >= 0) {
			done += (size_t)written;
		} else if (errno == EAGAIN) {
			struct pollfd room = { .fd = STDOUT_FILENO, .events = POLLOUT };
			if (poll(&room, 1, -1) < 0 && errno != EINTR)
				return 0; /* stdio's word for an error */
		} else if (errno != EINTR) {
			return 0;
		}
	}
	return (ssize_t)size;
}

static void make_output_wait(void)
{
	FILE *out = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_waiting });
	if (!out)
		return; /* as it was: only a full non-blocking pipe needs more */
	(void)setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	stdout = out;
}

static int finish(int code)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		(void)fprintf(stderr, "sbxfs: standard output: %s\n",
			strerror(errno)); /* the last word */
		return code ? code : 11;
	}
	return code;
}

/* A standard descriptor that we were started without (`>&-`) would be the first socket's or lock's
 * number, and what is meant for the reader would go there. */
static bool fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* open gives the lowest free number, which is this one. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return false;
	}
	return true;
}

/* mount.fuse3 calls `sbxfs SOURCE DIR -o …`: the source is the engine, or the word sbxfs. A word
 * that is neither, with no -o after it, is a mistyped command. */
static bool mount_helper_form(int argc, char **argv)
{
	if (argc < 3 || argv[2][0] != '/')
		return false;
	if (strcmp(argv[1], "sbxfs") == 0 || strstr(argv[1], "://"))
		return true;
	for (int i = 3; i < argc; i++) {
		if (strncmp(argv[i], "-o", 2) == 0)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	if (!fill_standard_descriptors())
		return SBX_EXIT_OURS; /* nowhere to say it */
	make_output_wait();
	if (argc < 2) {
		(void)fprintf(stderr,
			"sbxfs: no command; see `sbxfs help`\n"); /* nowhere else to say it */
		return SBX_EXIT_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		sbx_tool_print("sbxfs %s\n", SBX_VERSION);
		return finish(0);
	}
	const struct sbx_tool_command *command = sbx_tool_find(name);
	if (!command && mount_helper_form(argc, argv))
		command = sbx_tool_find("mount");
	if (!command && *name == '-') {
		(void)fprintf(stderr,
			"sbxfs: '%s' stands where the command is expected: options come after it; "
			"see `sbxfs help`\n",
			name); /* as above */
		return SBX_EXIT_USAGE;
	}
	if (!command) {
		(void)fprintf(stderr, "sbxfs: unknown command '%s'; see `sbxfs help`\n",
			name); /* as above */
		return SBX_EXIT_USAGE;
	}
	struct sbx_tool tool = { .command = command, .isolation_floor = SBX_ISOLATION_CONTAINER };
	bool fstab_form = strcmp(command->name, name) != 0 && strcmp(command->name, "mount") == 0;
	int code = command->run(
		&tool, fstab_form ? argc - 1 : argc - 2, fstab_form ? argv + 1 : argv + 2);
	sbx_tool_close(&tool);
	return finish(code);
}
