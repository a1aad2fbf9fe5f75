/* directory.h: a directory of a test's own, gone at its end. */
#ifndef SBX_TESTS_DIRECTORY_H
#define SBX_TESTS_DIRECTORY_H

#include "tree.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

/* Enters it: tests then use relative paths. */
static inline void directory_enter(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/sbxfs-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory), 0);
}

static inline void directory_leave(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	tree_remove(directory);
}

static inline void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(close(fd), 0);
}

/* The file's text; empty where there is none. Static storage. */
static inline const char *read_file(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		ck_assert_int_eq(close(fd), 0);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

#endif
