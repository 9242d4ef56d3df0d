/* SPDX-License-Identifier: Apache-2.0 */
#include "server_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/limits.h"

#define HOST_BYTES 256

/* Splits "[::1]:9443" into "::1" and "9443". */
static int
split(const char *address, char host[HOST_BYTES], const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon == NULL ? 0 : (size_t)(colon - address);

	if (colon == NULL || colon[1] == '\0')
		return -1;
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	} else if (memchr(address, ':', n) != NULL) {
		return -1; /* an IPv6 address without its brackets */
	}
	if (n >= HOST_BYTES || colon[1 + strspn(colon + 1, "0123456789")] ||
	    strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
		return -1;
	memcpy(host, address, n);
	host[n] = '\0';
	*port = colon + 1;
	return 0;
}

static int
bound_port(int fd, uint16_t *port)
{
	struct sockaddr_storage at;
	socklen_t n = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &n))
		return -1;
	*port = ntohs(at.ss_family == AF_INET6
			      ? ((struct sockaddr_in6 *)&at)->sin6_port
			      : ((struct sockaddr_in *)&at)->sin_port);
	return 0;
}

/* Opens one address.  Returns the descriptor, or -1 with errno. */
static int
open_one(const struct addrinfo *a, uint16_t *port)
{
	static const int on = 1, off = 0, in = SERVER_RECEIVE_BYTES,
			 out = SERVER_SEND_BYTES;
	int fd, saved;

	fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    0);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (a->ai_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) ==
		     0) &&
	    bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
	    /* The connections inherit the sizes of the buffers. */
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &in, sizeof(in)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &out, sizeof(out)) == 0 &&
	    listen(fd, SOMAXCONN) == 0 && bound_port(fd, port) == 0)
		return fd;
	saved = errno;
	(void)close(fd);
	errno = saved;
	return -1;
}

/* Opens the first address of this family that works. */
static int
open_family(const struct addrinfo *a, int family, uint16_t *port)
{
	int fd = -1;

	for (; a != NULL && fd < 0; a = a->ai_next)
		if (a->ai_family == family)
			fd = open_one(a, port);
	return fd;
}

/* Opens one socket.  For ":port" this is an IPv6 socket, which takes IPv4 as
 * well, or an IPv4 socket if the kernel has no IPv6.  For a name that has
 * addresses of both families ("localhost") this is an IPv4 socket, as in Go.
 * If the port is in use, the other family is not tried. */
static int
open_any(const struct addrinfo *list, bool named, uint16_t *port)
{
	int first = named ? AF_INET : AF_INET6, fd;

	errno = EADDRNOTAVAIL;
	fd = open_family(list, first, port);
	if (fd < 0 && errno != EADDRINUSE)
		fd = open_family(list, named ? AF_INET6 : AF_INET, port);
	return fd;
}

int
listen_open(const char *address, int *fd, uint16_t *port, struct err *e)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *list;
	char host[HOST_BYTES];
	const char *service;
	int rc;

	if (split(address, host, &service))
		return err_set(e, ERR_INPUT,
			       "address \"%s\": expected HOST:PORT, :PORT or "
			       "[IPv6]:PORT",
			       address);

	rc = getaddrinfo(host[0] ? host : NULL, service, &hints, &list);
	if (rc != 0)
		return err_set(e, ERR_SYSTEM, "address \"%s\": %s", address,
			       gai_strerror(rc));

	rc = open_any(list, host[0] != '\0', port);
	freeaddrinfo(list);
	if (rc < 0)
		return err_set(e, ERR_SYSTEM, "listen on \"%s\": %s", address,
			       strerror(errno));
	*fd = rc;
	return 0;
}
