/*
 * hold.c: the only program of the image without a shell. Without arguments it waits to be killed;
 * with "write PATH TEXT" it writes a file first, so that such a sandbox can have an output.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "write") == 0) {
		int fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
		size_t size = strlen(argv[3]);
		if (fd < 0 || write(fd, argv[3], size) != (ssize_t)size || close(fd) != 0)
			return 1;
	}
	for (;;)
		pause();
}
