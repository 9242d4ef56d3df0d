/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static int
tcp_open(uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port)};
	struct timeval wait = {.tv_sec = 30};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

void
peer_close(struct peer *p)
{
	if (p->ssl != NULL)
		SSL_free(p->ssl);
	if (p->fd >= 0)
		close(p->fd);
	*p = (struct peer){.fd = -1};
}

static int
open_tls(struct peer *p, uint16_t port, int version, const char *ciphers,
	 const char *signatures, SSL_SESSION *session)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	int ok;

	*p = (struct peer){.fd = tcp_open(port)};
	SSL_CTX_set_cipher_list(ctx, ciphers);
	if (signatures != NULL)
		SSL_CTX_set1_sigalgs_list(ctx, signatures);
	SSL_CTX_set_min_proto_version(ctx, version);
	SSL_CTX_set_max_proto_version(ctx, version);
	p->ssl = SSL_new(ctx);
	SSL_CTX_free(ctx);
	SSL_set_fd(p->ssl, p->fd);
	if (session != NULL) {
		session = SSL_SESSION_dup(session);
		SSL_set_session(p->ssl, session);
		SSL_SESSION_free(session);
	}
	ok = p->fd >= 0 && SSL_connect(p->ssl) == 1;
	if (!ok)
		peer_close(p);
	return ok ? 0 : -1;
}

SSL_SESSION *
peer_session(const struct peer *p)
{
	return SSL_SESSION_dup(SSL_get_session(p->ssl));
}

int
peer_open_tls(struct peer *p, uint16_t port, int version)
{
	return peer_resume_tls(p, port, version, NULL);
}

int
peer_resume_tls(struct peer *p, uint16_t port, int version,
		SSL_SESSION *session)
{
	/* OpenSSL itself would not offer the old versions. */
	return open_tls(p, port, version, "DEFAULT@SECLEVEL=0", NULL, session);
}

int
peer_open_ciphers(struct peer *p, uint16_t port, const char *ciphers,
		  const char *signatures)
{
	return open_tls(p, port, TLS1_2_VERSION, ciphers, signatures, NULL);
}

int
peer_open(struct peer *p, uint16_t port)
{
	*p = (struct peer){.fd = tcp_open(port)};
	return p->fd < 0 ? -1 : 0;
}

int
peer_send(struct peer *p, const char *bytes, size_t n)
{
	while (n > 0) {
		size_t part = n > 1u << 20 ? 1u << 20 : n;
		ssize_t did = p->ssl ? SSL_write(p->ssl, bytes, (int)part)
				     : send(p->fd, bytes, part, MSG_NOSIGNAL);

		if (did <= 0)
			return -1;
		bytes += did;
		n -= (size_t)did;
	}
	return 0;
}

int
peer_puts(struct peer *p, const char *text)
{
	return peer_send(p, text, strlen(text));
}

ssize_t
peer_fill(struct peer *p)
{
	size_t room = sizeof(p->in) - 1 - p->in_n;
	ssize_t n = p->ssl ? SSL_read(p->ssl, p->in + p->in_n, (int)room)
			   : recv(p->fd, p->in + p->in_n, room, 0);

	if (n > 0)
		p->in_n += (size_t)n;
	p->in[p->in_n] = '\0';
	return n < 0 ? -1 : n;
}

bool
peer_at_end(struct peer *p)
{
	struct pollfd in = {.fd = p->fd, .events = POLLIN};

	return p->in_n == 0 && poll(&in, 1, 10000) > 0 && peer_fill(p) <= 0;
}

bool
peer_ended(struct peer *p)
{
	int flags = fcntl(p->fd, F_GETFL);
	ssize_t n;
	bool wait;

	fcntl(p->fd, F_SETFL, flags | O_NONBLOCK);
	ERR_clear_error();
	n = peer_fill(p);
	wait = p->ssl ? SSL_get_error(p->ssl, (int)n) == SSL_ERROR_WANT_READ
		      : errno == EAGAIN;
	fcntl(p->fd, F_SETFL, flags);
	return n <= 0 && !wait;
}

const char *
answer_field(const struct answer *a, const char *name, char out[128])
{
	size_t n = strlen(name);

	for (const char *at = strstr(a->head, "\r\n"); at != NULL;
	     at = strstr(at + 2, "\r\n")) {
		if (strncasecmp(at + 2, name, n) == 0 && at[2 + n] == ':') {
			(void)snprintf(out, 128, "%.*s",
				       (int)strcspn(at + 4 + n, "\r"),
				       at + 4 + n);
			return out;
		}
	}
	return NULL;
}

void
peer_eat(struct peer *p, size_t n)
{
	memmove(p->in, p->in + n, p->in_n - n + 1);
	p->in_n -= n;
}

static int
peer_read_body(struct peer *p, struct answer *a, size_t left)
{
	a->body_bytes = left;
	for (size_t kept = 0; left > 0;) {
		size_t n, copy;

		if (p->in_n == 0 && peer_fill(p) <= 0)
			return -1;
		n = p->in_n < left ? p->in_n : left;
		copy = sizeof(a->body) - 1 - kept;
		copy = n < copy ? n : copy;
		memcpy(a->body + kept, p->in, copy);
		kept += copy;
		left -= n;
		peer_eat(p, n);
	}
	return 0;
}

int
peer_read(struct peer *p, struct answer *a)
{
	char length[128];
	char *end;
	size_t n;

	memset(a, 0, sizeof(*a));
	while ((end = strstr(p->in, "\r\n\r\n")) == NULL)
		if (peer_fill(p) <= 0)
			return -1;
	n = (size_t)(end - p->in) + 4;
	memcpy(a->head, p->in, n < sizeof(a->head) ? n : sizeof(a->head) - 1);
	if (sscanf(a->head, "HTTP/1.1 %d", &a->status) != 1)
		return -1;
	peer_eat(p, n);
	if (a->status == 100 ||
	    answer_field(a, "Content-Length", length) == NULL)
		return 0;
	return peer_read_body(p, a, strtoul(length, NULL, 10));
}

int
peer_post(struct peer *p, const char *path, const char *body, size_t n,
	  struct answer *a)
{
	char head[512];

	(void)snprintf(head, sizeof(head),
		       "POST %s HTTP/1.1\r\nHost: localhost\r\n"
		       "Content-Type: application/json\r\n"
		       "Content-Length: %zu\r\n\r\n",
		       path, n);
	if (peer_puts(p, head) || peer_send(p, body, n))
		return -1;
	return peer_read(p, a);
}
