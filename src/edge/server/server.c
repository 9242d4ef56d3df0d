/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file makes all calls to libmicrohttpd but one, which is in server_tls.c.
 * A request passes through these callbacks, all on the thread that owns the
 * connection:
 *
 *   on_uri        Called with the request line.  Makes a struct request.
 *   on_request    Called first with the head, then with each piece of the
 *                 body.  The last call comes when the request is complete.  It
 *                 runs the handler and queues the reply.
 *   on_completed  Called when the reply is sent or the request is given up.
 *
 * A response that is queued in the first call ends the connection, so most
 * refusals wait for the last call.  server_request, server_route and
 * server_body decide what is accepted or refused.  server_conn has the
 * deadlines and the thread that enforces them.  server_tls has the
 * certificates.
 *
 * If a request is for the worker (server_work), the last call suspends its
 * connection.  When the worker has resumed the connection, libmicrohttpd makes
 * the last call again.
 */
#include "edge/server/server.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/limits.h"
#include "edge/clock.h"
#include "edge/log.h"
#include "server_conn.h"
#include "server_listen.h"
#include "server_request.h"
#include "server_tls.h"
#include "server_work.h"

struct server {
	struct server_options o;
	struct MHD_Daemon *daemon;
	struct conns conns;
	struct budget budget;
	struct work work;
	uint16_t port;
	_Atomic bool draining;
};

static struct conn *
conn_of(struct MHD_Connection *con)
{
	return MHD_get_connection_info(con, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

int
server_rotate(struct server *s, const char *cert_pem, size_t cert_bytes,
	      const char *key_pem, size_t key_bytes, struct err *e)
{
	struct tls_credentials *p =
		tls_pair_new(cert_pem, cert_bytes, key_pem, key_bytes, e);

	if (p == NULL)
		return -1;
	conns_rotate(&s->conns, p);
	return 0;
}

/* --- replies -------------------------------------------------------------- */

static void
event(const struct server *s, enum server_event what)
{
	if (s->o.on_event != NULL)
		s->o.on_event(s->o.ctx, what);
}

static struct MHD_Response *
response_new(const struct server_reply *a)
{
	struct MHD_Response *m;

	if (a->body_free == NULL)
		return MHD_create_response_from_buffer(
			a->body_bytes, (void *)a->body, MHD_RESPMEM_MUST_COPY);
	m = MHD_create_response_from_buffer_with_free_callback(
		a->body_bytes, (void *)a->body, a->body_free);
	if (m == NULL)
		a->body_free((void *)a->body);
	return m;
}

static enum MHD_Result
answer(struct server *s, struct MHD_Connection *con,
       const struct server_reply *a, const char *allow)
{
	struct MHD_Response *m = response_new(a);
	enum MHD_Result ok = MHD_YES;

	if (m == NULL)
		return MHD_NO;
	if (a->content_type != NULL)
		ok &= MHD_add_response_header(m, "Content-Type",
					      a->content_type);
	for (const struct server_field *f = a->fields;
	     f != NULL && f->name != NULL; f++)
		ok &= MHD_add_response_header(m, f->name, f->value);
	if (allow != NULL)
		ok &= MHD_add_response_header(m, "Allow", allow);
	if (a->close || atomic_load(&s->draining))
		ok &= MHD_add_response_header(m, "Connection", "close");
	conn_expect(conn_of(con), CONN_REPLY);
	ok &= MHD_queue_response(con, (unsigned)a->status, m);
	MHD_destroy_response(m);
	return ok;
}

static enum MHD_Result
refuse_request(struct server *s, struct MHD_Connection *con,
	       const struct request *r, const char *path)
{
	char text[REFUSAL_BYTES], allow[ALLOW_BYTES];
	int status = r->refusal;
	struct server_reply a = {
		.status = status,
		.content_type = "text/plain; charset=utf-8",
		.body = text,
		/* We send no Retry-After with a 503: the API server would wait
		 * for that time, and the wait would count against the 2 s that
		 * it gives our webhook. */
		.close = status == 503 || status == 400,
	};

	route_refusal(status, r->route, status == 400 ? r->why : NULL, text);
	a.body_bytes = strlen(text);
	/* `holderctl check` sends a GET to see the certificate. */
	if (status == 405)
		route_allow(s->o.routes, s->o.routes_n, path, allow);
	else if (status != 500)
		event(s, status == 503 ? SERVER_SHED : SERVER_REFUSED);
	return answer(s, con, &a, status == 405 ? allow : NULL);
}

/* --- the worker ----------------------------------------------------------- */

/* Runs on the worker.  It copies the reply now, because the handler may
 * overwrite its buffer for the next request. */
static void
on_work(void *ctx, struct request *r)
{
	struct server *s = ctx;
	struct server_reply *a = &r->reply;
	char *copy;

	request_handle(r, &s->o);
	if (a->body_bytes == 0 || a->body_free != NULL)
		return;
	copy = malloc(a->body_bytes);
	if (copy == NULL) {
		r->refusal = 500;
		*a = (struct server_reply){0};
		return;
	}
	memcpy(copy, a->body, a->body_bytes);
	a->body = copy;
	a->body_free = free;
}

static void
on_ready(void *ctx, struct request *r)
{
	(void)ctx;
	r->handled = true;
	MHD_resume_connection(r->connection);
}

/* Gives the request to the worker.  Returns false if the worker has no room. */
static bool
hand_over(struct server *s, struct MHD_Connection *con, struct request *r)
{
	if (!work_has_room(&s->work, r->route))
		return false;
	r->connection = con;
	MHD_suspend_connection(con);
	work_put(&s->work, r);
	return true;
}

/* --- requests ------------------------------------------------------------- */

/* Frees the request of c, if there is one. */
static void
forget(struct server *s, struct conn *c)
{
	if (c->request == NULL)
		return;
	work_forget(&s->work, c, c->request);
	request_free(c->request);
	c->request = NULL;
}

static void *
on_uri(void *cls, const char *uri, struct MHD_Connection *con)
{
	struct server *s = cls;
	struct conn *c = conn_of(con);

	if (c == NULL)
		return NULL; /* No place was free.  The socket is shut down. */
	conn_head_begun(c);
	/* libmicrohttpd does not call on_completed if a head has two faults. */
	forget(s, c);
	return c->request = request_new(uri, &s->budget);
}

static enum MHD_Result
on_field(void *cls, enum MHD_ValueKind kind, const char *name,
	 const char *value)
{
	(void)kind;
	if (value != NULL)
		route_head_field(cls, name, value);
	return MHD_YES;
}

static enum MHD_Result
take_head(struct server *s, struct MHD_Connection *con, struct request *r,
	  struct head h)
{
	(void)MHD_get_connection_values(con, MHD_HEADER_KIND, on_field, &h);
	conn_expect(conn_of(con), CONN_BODY);
	return request_begin(r, &s->o, &h) ? refuse_request(s, con, r, h.path)
					   : MHD_YES;
}

static enum MHD_Result
take_piece(struct server *s, struct conn *c, struct request *r,
	   const char *bytes, size_t n)
{
	if (request_piece(r, bytes, n)) {
		event(s, SERVER_REFUSED);
		return MHD_NO;
	}
	conn_body(c, r->body.cap, body_needs_room(&r->body, &s->budget));
	return MHD_YES;
}

static const char *
field(struct MHD_Connection *con, const char *name)
{
	return MHD_lookup_connection_value(con, MHD_HEADER_KIND, name);
}

static enum MHD_Result
take_end(struct server *s, struct MHD_Connection *con, struct request *r,
	 const char *path)
{
	struct server_reply a;
	enum MHD_Result ok;

	if (!r->handled) {
		conn_expect(conn_of(con), CONN_HANDLER);
		r->path = path;
		r->content_type = field(con, "Content-Type");
		r->accept = field(con, "Accept");
		if (r->refusal != 0 || r->route->busy == NULL)
			request_handle(r, &s->o);
		else if (hand_over(s, con, r))
			return MHD_YES;
		else
			request_busy(r, &s->o);
	}
	a = r->reply;
	r->reply = (struct server_reply){0};
	if (r->refusal != 0)
		ok = refuse_request(s, con, r, path);
	else
		ok = answer(s, con, &a, NULL);
	work_sends(&s->work, conn_of(con), r);
	body_drop(&r->body, &s->budget);
	return ok;
}

static enum MHD_Result
on_request(void *cls, struct MHD_Connection *con, const char *path,
	   const char *method, const char *version, const char *bytes,
	   size_t *n, void **con_cls)
{
	struct request *r = *con_cls;
	size_t came = *n;

	if (r == NULL || conn_of(con) == NULL)
		return MHD_NO; /* there was no free place, or no memory */
	if (!r->begun)
		return take_head(
			cls, con, r,
			(struct head){.path = path,
				      .method = method,
				      .http10 = strcmp(version, "HTTP/1.0") ==
						0});
	*n = 0;
	if (came > 0)
		return take_piece(cls, conn_of(con), r, bytes, came);
	return take_end(cls, con, r, path);
}

static void
on_completed(void *cls, struct MHD_Connection *con, void **con_cls,
	     enum MHD_RequestTerminationCode why)
{
	if (*con_cls == NULL)
		return;
	forget(cls, conn_of(con));
	*con_cls = NULL;
	if (why == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		conn_expect(conn_of(con), CONN_IDLE);
}

/* --- the daemon ----------------------------------------------------------- */

static void
on_connection(void *cls, struct MHD_Connection *con, void **context,
	      enum MHD_ConnectionNotificationCode what)
{
	static const int on = 1;
	struct server *s = cls;
	struct conn *c = *context;
	int fd;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (c != NULL) {
			forget(s, c);
			conn_drop(c);
		}
		return;
	}
	fd = MHD_get_connection_info(con, MHD_CONNECTION_INFO_CONNECTION_FD)
		     ->connect_fd;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*context = conns_add(&s->conns, fd);
	if (*context == NULL)
		(void)shutdown(fd, SHUT_RDWR);
	else if (s->o.tls)
		tls_begin(MHD_get_connection_info(
				  con, MHD_CONNECTION_INFO_GNUTLS_SESSION)
				  ->tls_session,
			  *context);
}

static void
on_reaped(void *ctx, unsigned n)
{
	for (; n > 0; n--)
		event(ctx, SERVER_REAPED);
}

static void
on_log(void *cls, const char *fmt, va_list args)
{
	char text[256];

	(void)cls;
	if (!log_enabled(LOG_DEBUG) || !log_ratelimit("http library says", 20))
		return;
	(void)vsnprintf(text, sizeof(text), fmt, args);
	text[strcspn(text, "\r\n")] = '\0';
	LOG(LOG_DEBUG, "http library says", LS("text", text));
}

static struct MHD_Daemon *
start(struct server *s, int fd)
{
	static const int deferred_s = 10;
	unsigned flags =
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem more[4] = {{MHD_OPTION_END, 0, NULL}}, *m = more;

	if (s->o.deferred) /* A failure is harmless. */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &deferred_s,
				 sizeof(deferred_s));
	if (s->work.runs)
		flags |= MHD_ALLOW_SUSPEND_RESUME;
	if (s->o.threads > 1)
		*m++ = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE,
					       (intptr_t)s->o.threads, NULL};
	if (s->o.tls) {
		flags |= MHD_USE_TLS;
		*m++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK2,
					       0, tls_certificate_callback()};
		*m++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
					       (void *)TLS_PRIORITIES};
	}

	*m = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
	return MHD_start_daemon(
		flags, 0, NULL, NULL, on_request, s,
		/* The logger comes first, so that the other options can log. */
		MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		/* libmicrohttpd gives each thread an equal part of this limit,
		 * but one thread may have to serve all connections.  The thread
		 * may even get one connection more, because conns_add closes an
		 * old connection only after the new one is accepted. */
		MHD_OPTION_CONNECTION_LIMIT,
		s->o.connections_max * (s->o.threads + 1),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)SERVER_CONNECTION_BYTES, MHD_OPTION_URI_LOG_CALLBACK,
		on_uri, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

static int
start_worker(struct server *s, struct err *e)
{
	const struct work_calls calls = {
		.run = on_work, .ready = on_ready, .ctx = s};
	bool any = false;

	for (size_t i = 0; i < s->o.routes_n; i++)
		any |= s->o.routes[i].busy != NULL;
	return any ? work_init(&s->work, &s->conns, s->o.unread_max, &calls, e)
		   : 0;
}

struct server *
server_new(const struct server_options *o, struct err *e)
{
	struct server *s = calloc(1, sizeof(*s));
	int fd;

	if (s == NULL) {
		(void)err_set(e, ERR_SYSTEM, "out of memory");
		return NULL;
	}

	s->o = *o;
	atomic_store(&s->budget.max, o->bytes_max);
	s->budget.big_bytes = o->big_bytes;
	s->budget.big_max = o->big_max;
	if (listen_open(o->address, &fd, &s->port, e)) {
		free(s);
		return NULL;
	}

	if (conns_init(&s->conns, o, on_reaped, s, e)) {
		(void)close(fd);
		free(s);
		return NULL;
	}

	if (start_worker(s, e)) {
		(void)close(fd);
		conns_done(&s->conns);
		free(s);
		return NULL;
	}

	s->daemon = start(s, fd);
	if (s->daemon == NULL) {
		/* We cannot tell whether libmicrohttpd has closed fd, so fd is
		 * not closed here. */
		(void)err_set(e, ERR_SYSTEM, "start the HTTP server on \"%s\"",
			      o->address);
		work_stop(&s->work);
		work_done(&s->work);
		conns_done(&s->conns);
		free(s);
		return NULL;
	}
	return s;
}

void
server_free(struct server *s)
{
	if (s == NULL)
		return;
	/* libmicrohttpd must not stop while a connection is suspended. */
	work_stop(&s->work);
	MHD_stop_daemon(s->daemon);
	work_done(&s->work);
	conns_done(&s->conns);
	free(s);
}

uint16_t
server_port(const struct server *s)
{
	return s->port;
}

void
server_bound(struct server *s, unsigned connections_max, size_t bytes_max)
{
	atomic_store(&s->conns.max, connections_max);
	atomic_store(&s->budget.max, bytes_max);
}

void
server_drain(struct server *s)
{
	atomic_store(&s->draining, true);
}

unsigned
server_connections(const struct server *s)
{
	return atomic_load(&s->conns.open);
}

int64_t
server_unused_ms(const struct server *s)
{
	/* conn_drop writes closed_ms before `open`, so closed_ms is up to date
	 * if `open` is 0. */
	if (atomic_load(&s->conns.open) > 0)
		return 0;
	return clock_boot_ms() - atomic_load(&s->conns.closed_ms);
}

int64_t
server_heartbeat_age_ms(const struct server *s)
{
	int64_t beat_ms = atomic_load(&s->conns.beat_ms);
	int64_t owed_ms = atomic_load(&s->conns.owed_ms);

	return clock_boot_ms() - (owed_ms < beat_ms ? owed_ms : beat_ms);
}
