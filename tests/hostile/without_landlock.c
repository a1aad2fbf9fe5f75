/* without_landlock.c: runs a command as a kernel without Landlock would: its system calls do not
 * exist. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	for (int call = 444; filter && call <= 446; call++)
		if (seccomp_rule_add_exact(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0) < 0)
			return 125;
	if (argc < 2 || !filter || seccomp_load(filter) < 0)
		return 125;
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 126;
}
