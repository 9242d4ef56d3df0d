/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handshakes PORT SECONDS THREADS new|resumed: opens TLS connections one after
 * the other in each thread.  A connection is a handshake, one small request (so
 * that the server, too, has taken the handshake for done), and the end.
 * "resumed" takes a session from the first connection and offers it in all
 * others.  It prints one line of JSON.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static SSL_CTX *context;
static uint16_t port;
static double end_s;
static bool resume;
static _Atomic unsigned long made, reused, failed;
static _Atomic(SSL_SESSION *) session;

static double
now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
on_session(SSL *ssl, SSL_SESSION *s)
{
	SSL_SESSION *none = NULL;

	(void)ssl;
	return atomic_compare_exchange_strong(&session, &none, s) ? 1 : 0;
}

/* Sources of their own, so that ports do not run out. */
static int
dial(unsigned from)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	at.sin_addr.s_addr = htonl(0x7f000002 + from % 60000);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on,
			 sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		goto bad;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.sin_port = htons(port);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
bad:
	(void)close(fd);
	return -1;
}

static bool
ask(SSL *ssl)
{
	static const char text[] = "GET /none HTTP/1.1\r\nHost: bench\r\n"
				   "Connection: close\r\n\r\n";
	char answer[4096];
	int n = 0;

	if (SSL_connect(ssl) != 1 || SSL_write(ssl, text, sizeof(text) - 1) < 1)
		return false;
	n = SSL_read(ssl, answer, sizeof(answer));
	return n > 12 && memcmp(answer, "HTTP/1.1 ", 9) == 0;
}

static void
one(unsigned from)
{
	/* OpenSSL offers each session of TLS 1.3 once. */
	SSL_SESSION *s = atomic_load(&session);
	SSL_SESSION *copy = s == NULL ? NULL : SSL_SESSION_dup(s);
	SSL *ssl = SSL_new(context);
	int fd = dial(from);

	if (fd >= 0 && ssl != NULL) {
		(void)SSL_set_fd(ssl, fd);
		if (copy != NULL)
			(void)SSL_set_session(ssl, copy);
		if (ask(ssl)) {
			made++;
			reused += SSL_session_reused(ssl) ? 1 : 0;
		} else {
			failed++;
		}
		(void)SSL_shutdown(ssl);
	} else {
		failed++;
	}
	SSL_free(ssl);
	SSL_SESSION_free(copy);
	if (fd >= 0)
		(void)close(fd);
}

static void *
run(void *arg)
{
	unsigned from = (unsigned)(size_t)arg * 4000;

	while (now_s() < end_s)
		one(from++);
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t thread[64];
	unsigned threads;
	double begun_s;

	if (argc != 5 || (threads = (unsigned)atoi(argv[3])) < 1 ||
	    threads > 64) {
		(void)fprintf(stderr, "usage: handshakes PORT SECONDS THREADS "
				      "new|resumed\n");
		return 2;
	}
	port = (uint16_t)atoi(argv[1]);
	resume = strcmp(argv[4], "resumed") == 0;
	context = SSL_CTX_new(TLS_client_method());
	if (resume) {
		(void)SSL_CTX_set_session_cache_mode(
			context, SSL_SESS_CACHE_CLIENT |
					 SSL_SESS_CACHE_NO_INTERNAL);
		SSL_CTX_sess_set_new_cb(context, on_session);
		one(0);
		made = reused = failed = 0;
	}
	begun_s = now_s();
	end_s = begun_s + atof(argv[2]);
	for (size_t i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)i))
			return 1;
	for (unsigned i = 0; i < threads; i++)
		(void)pthread_join(thread[i], NULL);
	(void)printf("{\"made\": %lu, \"reused\": %lu, \"failed\": %lu, "
		     "\"seconds\": %.3f}\n",
		     made, reused, failed, now_s() - begun_s);
	return 0;
}
