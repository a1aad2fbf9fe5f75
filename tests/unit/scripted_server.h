/* scripted_server.h: a unix socket in the test's directory that answers each connection by a
 * script: what an engine's side of HTTP can do wrong, byte by byte. */
#ifndef SBX_TESTS_SCRIPTED_SERVER_H
#define SBX_TESTS_SCRIPTED_SERVER_H

#include "directory.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

struct scripted_server {
	int listener;
	pthread_t thread;
	const char *const *answers; /* one for each request, in order; "" closes unanswered */
	size_t count;
	bool one_each; /* close the connection after each answer */
	bool unread;   /* answer without reading more than the head's first bytes */
	bool hold;     /* keep connections open until stopped */
	atomic_int requests;
	atomic_bool stopped;
	char first_line[256]; /* of the last request */
};

/* Reads up to the blank line. false: the peer closed. */
static bool scripted_read_head(struct scripted_server *server, int fd)
{
	char head[8192];
	size_t size = 0;
	while (size < sizeof(head) - 1) {
		ssize_t got =
			recv(fd, head + size, server->unread ? 1 : sizeof(head) - 1 - size, 0);
		if (got <= 0)
			return false;
		size += (size_t)got;
		head[size] = '\0';
		if (strstr(head, "\r\n\r\n"))
			break;
	}
	(void)snprintf(server->first_line, sizeof(server->first_line), "%.*s",
		(int)strcspn(head, "\r"), head);
	return true;
}

/* One request on a readable connection. false: the connection is to be closed. */
static bool scripted_serve(struct scripted_server *server, int fd, size_t *next)
{
	if (!scripted_read_head(server, fd))
		return false;
	if (*next == server->count)
		return server->hold;
	server->requests++;
	const char *answer = server->answers[(*next)++];
	(void)send(fd, answer, strlen(answer), MSG_NOSIGNAL); /* the peer may be gone */
	return *answer && !server->one_each;
}

static void *scripted_run(void *data)
{
	struct scripted_server *server = data;
	struct pollfd fds[9] = { { .fd = server->listener, .events = POLLIN } };
	size_t next = 0;
	for (size_t i = 1; i < 9; i++)
		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	while (!server->stopped && (server->hold || next < server->count)) {
		if (poll(fds, 9, 10) <= 0)
			continue;
		for (size_t i = 1; i < 9; i++) {
			if (fds[i].fd < 0 && fds[0].revents) {
				fds[i].fd = accept(server->listener, NULL, NULL);
				fds[0].revents = fds[i].revents = 0;
			} else if (fds[i].fd >= 0 && fds[i].revents &&
				   !scripted_serve(server, fds[i].fd, &next)) {
				(void)close(fds[i].fd);
				fds[i].fd = -1;
			}
		}
	}
	for (size_t i = 1; i < 9; i++) {
		if (fds[i].fd >= 0)
			(void)close(fds[i].fd);
	}
	return NULL;
}

static inline void scripted_start(
	struct scripted_server *server, const char *const *answers, size_t count)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "engine.sock" };
	server->answers = answers;
	server->count = count;
	server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(server->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(server->listener, 8), 0);
	ck_assert_int_eq(pthread_create(&server->thread, NULL, scripted_run, server), 0);
}

/* The same on an address of this machine; false where there is no such family. */
static inline bool scripted_start_tcp(struct scripted_server *server, int family,
	const char *const *answers, size_t count, unsigned *port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *address =
		family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t size = family == AF_INET ? sizeof(four) : sizeof(six);
	server->answers = answers;
	server->count = count;
	server->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server->listener < 0 || bind(server->listener, address, size) < 0)
		return false;
	ck_assert_int_eq(getsockname(server->listener, address, &size), 0);
	*port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
	ck_assert_int_eq(listen(server->listener, 8), 0);
	ck_assert_int_eq(pthread_create(&server->thread, NULL, scripted_run, server), 0);
	return true;
}

static inline void scripted_stop(struct scripted_server *server)
{
	server->stopped = true;
	(void)shutdown(server->listener, SHUT_RDWR);
	ck_assert_int_eq(pthread_join(server->thread, NULL), 0);
	(void)close(server->listener);
	(void)unlink("engine.sock");
}

#endif
