/* run_inputs.c: a fuzz target as an ordinary program: runs it over the files that are named. */
#include "fuzz.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	static unsigned char data[1 << 16];
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "re");
		if (!file)
			return 2;
		size_t size = fread(data, 1, sizeof(data), file);
		(void)fclose(file); /* only read */
		(void)LLVMFuzzerTestOneInput(data, size);
	}
	return 0;
}
