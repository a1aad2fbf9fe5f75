/* fuse_kernel.h: a test in the kernel's place: requests and answers of a session, over a socket. */
#ifndef SBX_TESTS_FUSE_KERNEL_H
#define SBX_TESTS_FUSE_KERNEL_H

#include <fuse_lowlevel.h>

#include <check.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int kernel;
static uint64_t last_unique;

static inline ssize_t io_writev(int fd, struct iovec *iov, int count, void *data)
{
	(void)data;
	return writev(fd, iov, count);
}

static inline ssize_t io_read(int fd, void *buffer, size_t size, void *data)
{
	(void)data;
	return read(fd, buffer, size);
}

static inline uint64_t tell(uint32_t opcode, uint64_t node, const void *body, size_t size)
{
	struct fuse_in_header header = {
		.len = (uint32_t)(sizeof(header) + size),
		.opcode = opcode,
		.unique = last_unique += 2,
		.nodeid = node,
	};
	struct iovec parts[] = { { &header, sizeof(header) }, { (void *)body, size } };
	ck_assert_int_eq(writev(kernel, parts, 2), header.len);
	return header.unique;
}

/* The next message, which is a notice of that kind; its body goes to out. */
static inline void notice(int32_t kind, void *out, size_t size)
{
	struct fuse_out_header header;
	struct iovec parts[] = { { &header, sizeof(header) }, { out, size } };
	ck_assert_int_ge(readv(kernel, parts, 2), (ssize_t)sizeof(header));
	ck_assert_uint_eq(header.unique, 0);
	ck_assert_int_eq(header.error, kind);
}

/* The next answer, notices left out. Returns its error; the body goes to out. */
static inline int answer(uint64_t unique, void *out, size_t size, size_t *got)
{
	static char buffer[1 << 17];
	struct fuse_out_header header;
	do {
		ssize_t count = recv(kernel, buffer, sizeof(buffer), 0);
		ck_assert_int_ge(count, (ssize_t)sizeof(header));
		memcpy(&header, buffer, sizeof(header));
	} while (!header.unique);
	ck_assert_uint_eq(header.unique, unique);
	size_t body = header.len - sizeof(header);
	if (out)
		memcpy(out, buffer + sizeof(header), body < size ? body : size);
	if (got)
		*got = body;
	return -header.error;
}

/* No answer is under way. */
static inline void assert_silent(int for_ms)
{
	struct timeval wait = { .tv_usec = for_ms * 1000L };
	struct fuse_out_header header = { 0 };
	setsockopt(kernel, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	ssize_t count;
	do {
		header.unique = 0;
		count = recv(kernel, &header, sizeof(header), 0);
	} while (count > 0 && !header.unique);
	ck_assert_int_lt(count, 0);
	wait = (struct timeval){ .tv_sec = 20 };
	setsockopt(kernel, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
}

static inline int lookup(uint64_t parent, const char *name, struct fuse_entry_out *out)
{
	return answer(tell(FUSE_LOOKUP, parent, name, strlen(name) + 1), out, sizeof(*out), NULL);
}

static inline uint64_t node_of(uint64_t parent, const char *name)
{
	struct fuse_entry_out entry = { 0 };
	ck_assert_int_eq(lookup(parent, name, &entry), 0);
	return entry.nodeid;
}

static inline void say_hello(void)
{
	struct fuse_init_in in = {
		.major = 7, .minor = 36, .max_readahead = 131072, .flags = FUSE_DO_READDIRPLUS
	};
	ck_assert_int_eq(answer(tell(FUSE_INIT, 0, &in, sizeof(in)), NULL, 0, NULL), 0);
}

static inline void kernel_attach(struct fuse_session *session)
{
	static const struct fuse_custom_io io = { .writev = io_writev, .read = io_read };
	int ends[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	kernel = ends[0];
	ck_assert_int_eq(fuse_session_custom_io(session, &io, ends[1]), 0);
}

#endif
