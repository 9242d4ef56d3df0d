/* SPDX-License-Identifier: Apache-2.0 */
#include "scripted.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static ssize_t
scripted_read(struct scripted_peer *p, void *to, size_t n)
{
	return p->ssl != NULL ? SSL_read(p->ssl, to, (int)n)
			      : recv(p->fd, to, n, 0);
}

bool
scripted_send(struct scripted_peer *p, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t sent = p->ssl != NULL
				       ? SSL_write(p->ssl, bytes, (int)n)
				       : send(p->fd, bytes, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		bytes += sent;
		n -= (size_t)sent;
	}
	return true;
}

bool
scripted_puts(struct scripted_peer *p, const char *s)
{
	return scripted_send(p, s, strlen(s));
}

bool
scripted_reply(struct scripted_peer *p, const char *status, const char *headers,
	       const char *body)
{
	char head[1024];

	(void)snprintf(head, sizeof(head),
		       "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status,
		       headers, strlen(body));
	return scripted_puts(p, head) && scripted_puts(p, body);
}

bool
scripted_hang(struct scripted_peer *p)
{
	char c;

	while (scripted_read(p, &c, 1) > 0)
		;
	return false;
}

const char *
scripted_header(const struct scripted_peer *p, const char *name, char *out,
		size_t cap)
{
	size_t len = strlen(name);

	out[0] = '\0';
	for (const char *s = strstr(p->request, "\r\n");
	     s != NULL && s + 2 < p->body; s = strstr(s + 2, "\r\n")) {
		if (strncasecmp(s + 2, name, len) != 0 || s[2 + len] != ':')
			continue;
		s += len + 3;
		s += strspn(s, " ");
		(void)snprintf(out, cap, "%.*s", (int)strcspn(s, "\r"), s);
		break;
	}
	return out;
}

/* Reads one request; false when the client has gone. */
static bool
scripted_request(struct scripted_peer *p)
{
	size_t want = SIZE_MAX;
	char length[32];

	p->have = 0;
	p->body = NULL;
	while (p->have < want) {
		ssize_t got = scripted_read(p, p->request + p->have,
					    SCRIPTED_BYTES - 1 - p->have);

		if (got <= 0)
			return false;
		p->have += (size_t)got;
		p->request[p->have] = '\0';
		if (p->body != NULL ||
		    (p->body = strstr(p->request, "\r\n\r\n")) == NULL)
			continue;
		p->body += 4;
		(void)scripted_header(p, "Content-Length", length,
				      sizeof(length));
		want = (size_t)(p->body - p->request) +
		       strtoul(length, NULL, 10);
	}
	return true;
}

static void *
scripted_serve(void *arg)
{
	struct scripted_peer *p = arg;
	struct scripted *s = p->server;
	bool on = true;

	if (s->tls != NULL) {
		p->ssl = SSL_new(s->tls);
		(void)SSL_set_fd(p->ssl, p->fd);
		on = SSL_accept(p->ssl) == 1;
	}
	atomic_fetch_add(&s->open, 1);
	while (on && scripted_request(p)) {
		atomic_fetch_add(&s->requests, 1);
		on = s->answer(p, s->ctx);
		p->nth++;
	}
	atomic_fetch_sub(&s->open, 1);
	pthread_mutex_lock(&s->lock);
	/* The TLS session ends properly, so that only HTTP can tell that an
	 * answer was cut. */
	if (p->ssl != NULL)
		(void)SSL_shutdown(p->ssl);
	(void)shutdown(p->fd, SHUT_WR);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void *
scripted_accept(void *arg)
{
	struct scripted *s = arg;

	while (!atomic_load(&s->stop) && s->peers_n < SCRIPTED_PEERS) {
		int fd = accept(s->fd, NULL, NULL);
		struct scripted_peer *p;
		int one = 1;

		if (fd < 0)
			break;
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
				 sizeof(one));
		p = calloc(1, sizeof(*p));
		p->server = s;
		p->fd = fd;
		atomic_fetch_add(&s->accepted, 1);
		pthread_mutex_lock(&s->lock);
		s->peers[s->peers_n++] = p;
		pthread_mutex_unlock(&s->lock);
		(void)pthread_create(&p->thread, NULL, scripted_serve, p);
	}
	return NULL;
}

void
scripted_start(struct scripted *s, SSL_CTX *tls, scripted_answer *answer,
	       void *ctx)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof(a);

	*s = (struct scripted){.tls = tls, .answer = answer, .ctx = ctx};
	(void)pthread_mutex_init(&s->lock, NULL);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(s->fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(s->fd, 128) != 0 ||
	    getsockname(s->fd, (struct sockaddr *)&a, &n) != 0)
		abort();
	s->port = ntohs(a.sin_port);
	(void)pthread_create(&s->acceptor, NULL, scripted_accept, s);
}

void
scripted_stop(struct scripted *s)
{
	atomic_store(&s->stop, true);
	(void)shutdown(s->fd, SHUT_RDWR);
	(void)pthread_join(s->acceptor, NULL);
	(void)close(s->fd);
	for (unsigned i = 0; i < s->peers_n; i++) {
		struct scripted_peer *p = s->peers[i];

		pthread_mutex_lock(&s->lock);
		(void)shutdown(p->fd, SHUT_RDWR);
		pthread_mutex_unlock(&s->lock);
		(void)pthread_join(p->thread, NULL);
		SSL_free(p->ssl);
		(void)close(p->fd);
		free(p);
	}
	(void)pthread_mutex_destroy(&s->lock);
}
