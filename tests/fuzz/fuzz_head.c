/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/fuzz.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "edge/server/server.h"

/* The bytes of a client, on a connection to the running server.  The server
 * answers or closes, and serves the next client. */

#define GOOD                                                                   \
	"POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Type: "                   \
	"application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

static _Atomic unsigned handled;
static uint16_t port;

static void
handle(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx;
	handled++;
	PROMISE(q->path[0] == '/' && strchr(q->path, '?') == NULL);
	PROMISE((q->body == NULL) == (q->body_bytes == 0));
	PROMISE(q->body_bytes <= 4096);
	PROMISE(strcmp(q->path, "/mutate") != 0 ||
		(strcmp(q->method, "POST") == 0 && q->content_type != NULL));
	a->status = 200;
	a->content_type = "application/json";
	a->body = q->body;
	a->body_bytes = q->body_bytes;
}

static void
start(void)
{
	static const struct server_route routes[] = {
		{"/mutate", "POST", "application/json", 4096, handle, NULL},
		{"/readyz", "GET", NULL, 0, handle, NULL},
		{"/debug/*", "GET", NULL, 0, handle, handle},
	};
	const struct server_options o = {
		.address = "127.0.0.1:0",
		.routes = routes,
		.routes_n = sizeof(routes) / sizeof(routes[0]),
		.threads = 1,
		.connections_max = 64,
		.bytes_max = 1u << 20,
		.head_ms = 30000,
		.body_ms = 30000,
		.reply_ms = 30000,
		.idle_ms = 30000,
	};
	struct err e = {0};
	struct server *s = server_new(&o, &e);

	/* The server may close while we still write. */
	(void)signal(SIGPIPE, SIG_IGN);
	PROMISE(s != NULL);
	port = server_port(s);
}

static int
reach(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	PROMISE(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience)) == 0);
	PROMISE(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	return fd;
}

/* Reads until the end, or with MSG_DONTWAIT what is there. */
static size_t
hear(int fd, int flags, char *answer, size_t cap)
{
	size_t have = 0;
	ssize_t got;

	while (have < cap - 1 &&
	       (got = recv(fd, answer + have, cap - 1 - have, flags)) > 0)
		have += (size_t)got;
	answer[have] = '\0';
	return have;
}

/* Closes by a reset: otherwise the thousands of connections that have ended
 * would keep their ports for a minute. */
static void
leave(int fd)
{
	static const struct linger reset = {.l_onoff = 1};

	PROMISE(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ==
		0);
	(void)close(fd);
}

/* A client with a good request is answered and sees the end. */
static void
check_good(void)
{
	char answer[1024];
	int fd = reach();
	size_t have;

	PROMISE(send(fd, GOOD, strlen(GOOD), MSG_NOSIGNAL) ==
		(ssize_t)strlen(GOOD));
	have = hear(fd, 0, answer, sizeof(answer));
	PROMISE(strncmp(answer, "HTTP/1.1 200", 12) == 0);
	PROMISE(have > 2 && strcmp(answer + have - 2, "{}") == 0);
	leave(fd);
}

static unsigned
count(const char *text, size_t n, const char *what)
{
	unsigned times = 0;

	for (size_t i = 0; i + strlen(what) <= n; i++)
		times += memcmp(text + i, what, strlen(what)) == 0;
	return times;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char answer[1 << 17];
	unsigned before, echoed;
	size_t have;
	int fd;

	if (port == 0)
		start();
	before = handled;
	fd = reach();
	(void)send(fd, data, n, MSG_NOSIGNAL);
	/* One thread serves both, so by then it has seen to the other. */
	check_good();
	have = hear(fd, MSG_DONTWAIT, answer, sizeof(answer));
	PROMISE(have == 0 || strncmp(answer, "HTTP/1.", 7) == 0);
	/* Each good answer is that of a handler, but a body is an echo. */
	echoed = count((const char *)data, n, "HTTP/1.1 200");
	PROMISE(count(answer, have, "HTTP/1.1 200") <=
		handled - before + echoed);
	leave(fd);
	return 0;
}
