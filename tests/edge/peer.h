/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDGE_PEER_H
#define TESTS_EDGE_PEER_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * An HTTP client for the tests of edge/server, over TCP or over TLS by OpenSSL,
 * so that two implementations of TLS meet.  Each peer belongs to one thread.
 * A function returns -1 where it fails, instead of failing the test, because
 * threads other than the test's own call it.  Reads and writes give up after
 * 30 s.
 */

struct peer {
	int fd;			/* -1: closed */
	SSL *ssl;		/* NULL: plain TCP */
	char in[16384];		/* bytes read that no answer has taken yet */
	size_t in_n;
};

/* Both connect to 127.0.0.1.  `version` is the only TLS version offered; 0
 * offers all of them. */
int peer_open(struct peer *p, uint16_t port);
int peer_open_tls(struct peer *p, uint16_t port, int version);
/* Returns the connection's session as it is now, for others to offer: OpenSSL
 * offers each one once. */
SSL_SESSION *peer_session(const struct peer *p);
/* Offers the session of an earlier connection. */
int peer_resume_tls(struct peer *p, uint16_t port, int version,
		    SSL_SESSION *session);
/* The same with these ciphers and signatures of TLS 1.2 alone, by OpenSSL's
 * names; NULL are its default signatures. */
int peer_open_ciphers(struct peer *p, uint16_t port, const char *ciphers,
		      const char *signatures);
void peer_close(struct peer *p);

int peer_send(struct peer *p, const char *bytes, size_t n);
int peer_puts(struct peer *p, const char *text);

/* Reads more bytes into p->in.  Returns how many, 0 at the end of the
 * connection, -1 on a fault. */
ssize_t peer_fill(struct peer *p);
/* Drops the first n bytes of p->in. */
void peer_eat(struct peer *p, size_t n);
/* Waits up to 10 s for the server to close, long before its own deadlines.
 * False if it sends more, or does not close. */
bool peer_at_end(struct peer *p);
/* Reads what has come, without waiting.  Has the connection ended?  (That bytes
 * have come does not mean that the answer has begun: they may be tickets of TLS
 * 1.3.) */
bool peer_ended(struct peer *p);

struct answer {
	int status;
	char head[2048];
	char body[8192];	/* the beginning of the body */
	size_t body_bytes;	/* of the whole body */
};

/* Reads one answer and the body that its Content-Length announces. */
int peer_read(struct peer *p, struct answer *a);
/* Sends a request with a JSON body, and reads the answer. */
int peer_post(struct peer *p, const char *path, const char *body, size_t n,
	      struct answer *a);

/* Writes the value of a header into `out` and returns it; NULL if the answer
 * has no such header. */
const char *answer_field(const struct answer *a, const char *name,
			 char out[128]);

#endif
