/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The parts of "scheme://host:port/prefix".  They point into the string, except
 * for the port if it is a default. */
struct pieces {
	const char *host, *port, *prefix;
	int host_len, port_len, prefix_len;
	/* Whether the host is an IPv6 address.  `host` lacks the brackets. */
	bool bracketed;
};

static int
bad(struct err *e, const char *server, const char *why)
{
	/* The text before the '@' is not shown, because it may have a
	 * password. */
	const char *at = strrchr(server, '@');

	return err_set(e, ERR_INPUT, "server \"%s%.100s\": %s",
		       at != NULL ? "…" : "", at != NULL ? at : server, why);
}

static int
split_port(const char *s, struct pieces *p, bool tls)
{
	long port;
	char *end;

	if (*s != ':') {
		p->port = tls ? "443" : "80";
		p->port_len = (int)strlen(p->port);
		p->prefix = s;
		return *s == '\0' || *s == '/' ? 0 : -1;
	}
	s++;
	p->port = s;
	p->port_len = (int)strspn(s, "0123456789");
	p->prefix = s + p->port_len;
	if (p->port_len == 0 || p->port_len > 5 ||
	    (*p->prefix != '\0' && *p->prefix != '/'))
		return -1;
	port = strtol(s, &end, 10);
	return port > 0 && port < 65536 ? 0 : -1;
}

static int
split_host(const char *s, struct pieces *p, bool tls)
{
	p->bracketed = *s == '[';
	if (p->bracketed)
		s++;
	p->host = s;
	p->host_len = (int)strcspn(s, p->bracketed ? "]/" : ":/");
	if (p->host_len == 0)
		return -1;
	s += p->host_len;
	if (p->bracketed && *s++ != ']')
		return -1;
	if (split_port(s, p, tls))
		return -1;
	p->prefix_len = (int)strlen(p->prefix);
	while (p->prefix_len > 0 && p->prefix[p->prefix_len - 1] == '/')
		p->prefix_len--;
	return 0;
}

static int
check_bytes(const char *server, struct err *e)
{
	for (const char *s = server; *s != '\0'; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return bad(e, server, "has a blank or control byte");
	if (strpbrk(server, "?#@") != NULL)
		return bad(e, server,
			   "a user, query or fragment cannot be in it");
	return 0;
}

static bool
is_loopback(const struct pieces *p)
{
	const char *h = p->host;
	int n = p->host_len;

	if (p->bracketed)
		return n == 3 && strncmp(h, "::1", 3) == 0;
	return (n == 9 && strncasecmp(h, "localhost", 9) == 0) ||
	       (strncmp(h, "127.", 4) == 0 &&
		(int)strspn(h, "0123456789.") >= n);
}

/* Returns HOST:PORT, with an IPv6 address in brackets. */
static char *
authority(const char *host, int host_len, bool bracketed,
	  const struct pieces *p)
{
	char *s = NULL;

	if (asprintf(&s, "%s%.*s%s:%.*s", bracketed ? "[" : "", host_len, host,
		     bracketed ? "]" : "", p->port_len, p->port) < 0)
		return NULL;
	return s;
}

static int
compose(struct kube_url *u, const struct pieces *p, const char *name)
{
	char *front, *s = NULL;

	u->peer = authority(p->host, p->host_len, p->bracketed, p);
	front = name == NULL ? authority(p->host, p->host_len, p->bracketed, p)
			     : authority(name, (int)strlen(name),
					 strchr(name, ':') != NULL, p);
	if (u->peer == NULL || front == NULL) {
		free(front);
		return -1;
	}
	if (asprintf(&s, "http%s://%s%.*s", u->tls ? "s" : "", front,
		     p->prefix_len, p->prefix) < 0)
		s = NULL;
	u->base = s;
	if (name != NULL &&
	    asprintf(&u->connect_to, "%s:%s", front, u->peer) < 0)
		u->connect_to = NULL;
	free(front);
	if (u->base == NULL)
		return -1;
	return name == NULL || u->connect_to != NULL ? 0 : -1;
}

/* Checks tls-server-name.  Without TLS the name is ignored, as in kubectl,
 * because there is nothing to verify. */
static int
check_name(const char **name, bool tls, struct err *e)
{
	if (*name == NULL || **name == '\0' || !tls) {
		*name = NULL;
		return 0;
	}
	for (const char *s = *name; *s != '\0'; s++)
		if ((unsigned char)*s <= ' ' || strchr("/?#@[]%", *s) != NULL)
			return err_set(e, ERR_INPUT,
				       "tls-server-name \"%.100s\": expected a "
				       "host name",
				       *name);
	return 0;
}

int
kube_url_init(struct kube_url *u, const char *server,
	      const char *tls_server_name, struct err *e)
{
	struct kube_url out = {0};
	struct pieces p;
	const char *s;

	if (server == NULL || *server == '\0')
		return err_set(e, ERR_INPUT, "the cluster has no server");
	if (strncasecmp(server, "https://", 8) == 0)
		out.tls = true;
	else if (strncasecmp(server, "http://", 7) != 0)
		return bad(e, server, "expected https://HOST[:PORT]");
	s = server + (out.tls ? 8 : 7);
	if (check_bytes(server, e))
		return -1;
	if (split_host(s, &p, out.tls))
		return bad(e, server, "expected https://HOST[:PORT]");
	out.loopback = is_loopback(&p);
	if (check_name(&tls_server_name, out.tls, e))
		return -1;
	if (compose(&out, &p, tls_server_name)) {
		kube_url_done(&out);
		return err_set(e, ERR_SYSTEM, "out of memory");
	}
	*u = out;
	return 0;
}

void
kube_url_done(struct kube_url *u)
{
	free(u->base);
	free(u->peer);
	free(u->connect_to);
	*u = (struct kube_url){0};
}
