/* SPDX-License-Identifier: Apache-2.0 */
/* What edge/server does with too much: one large body, many bodies, several big
 * ones. */
#include "rig.h"

#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/limits.h"
#include "suite.h"

static struct rig rig;
static struct peer peer;

static void
setup_with(struct server_options o)
{
	rig_start(&rig, &o);
	ck_assert_int_eq(peer_open(&peer, rig.port), 0);
}

static void
setup(void)
{
	setup_with(rig_options());
}

static void
teardown(void)
{
	peer_close(&peer);
	server_free(rig.server);
}

static void
expect(const char *name, int status, const char *body)
{
	struct answer a;

	ck_assert_msg(peer_read(&peer, &a) == 0, "%s: no answer", name);
	ck_assert_msg(a.status == status, "%s: %d %s", name, a.status, a.body);
	ck_assert_msg(body == NULL || strcmp(a.body, body) == 0, "%s: '%s'",
		      name, a.body);
}

#define POST(path, fields, body)                                               \
	"POST " path " HTTP/1.1\r\nHost: x\r\n" fields "\r\n" body
#define TYPE "Content-Type: application/json\r\n"

/* The client writes the whole body before it reads.  An earlier answer would be
 * lost in a reset. */
START_TEST(overlong_body)
{
	size_t n = 8u << 20;
	char *body = calloc(1, n);
	struct answer a;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(peer_post(&peer, "/echo", body, n, &a), 0);
		ck_assert_int_eq(a.status, 413);
		ck_assert_str_eq(a.body, "body over 7340032 bytes\n");
	}
	ck_assert_int_eq(peer_post(&peer, "/echo", body, REVIEW_MAX, &a), 0);
	ck_assert_int_eq(a.status, 200);
	ck_assert_uint_eq(a.body_bytes, REVIEW_MAX);
	ck_assert_uint_eq(rig.events[SERVER_REFUSED], 3);
	free(body);
}
END_TEST

/* The server's end of the peer's connection.  Both are in this process. */
static int
other_end(void)
{
	struct sockaddr_in mine, at;
	socklen_t n = sizeof(mine);

	ck_assert_int_eq(getsockname(peer.fd, (struct sockaddr *)&mine, &n), 0);
	for (int fd = 0; fd < 1024; fd++) {
		n = sizeof(at);
		if (getpeername(fd, (struct sockaddr *)&at, &n) == 0 &&
		    at.sin_port == mine.sin_port)
			return fd;
	}
	ck_abort_msg("no such connection");
}

/* The kernel keeps what a client sends and does not take.  It takes twice what
 * one asks for, and would otherwise take megabytes. */
START_TEST(kernel_buffers)
{
	static const struct {
		int name, bytes;
	} buffers[] = {
		{SO_RCVBUF, 2 * SERVER_RECEIVE_BYTES},
		{SO_SNDBUF, 2 * SERVER_SEND_BYTES},
	};
	struct answer a;
	int bytes;

	ck_assert_int_eq(peer_post(&peer, "/echo", "{}", 2, &a), 0);
	for (int i = 0; i < 2; i++) {
		socklen_t n = sizeof(bytes);

		ck_assert_int_eq(getsockopt(other_end(), SOL_SOCKET,
					    buffers[i].name, &bytes, &n),
				 0);
		ck_assert_int_eq(bytes, buffers[i].bytes);
	}
}
END_TEST

/* If a refused body is longer than the bound and its length is known, the
 * server answers at once (`heads` in test_server.c).  If the length is not
 * known, it closes the connection. */
START_TEST(read_away_bound)
{
	size_t n = SERVER_DISCARD_MAX;
	char *body = calloc(1, n), head[256];
	struct answer a;

	ck_assert_int_eq(peer_post(&peer, "/nothing", body, n, &a), 0);
	ck_assert_int_eq(a.status, 404);
	for (int past = 0; past <= 1; past++) {
		(void)snprintf(head, sizeof(head),
			       POST("/nothing",
				    "Transfer-Encoding: chunked\r\n",
				    "%zx\r\n"),
			       n);
		peer_puts(&peer, head);
		peer_send(&peer, body, n);
		peer_puts(&peer, past ? "\r\n1\r\na\r\n" : "\r\n0\r\n\r\n");
		if (!past)
			expect("at the bound", 404, "not found\n");
	}
	ck_assert(peer_at_end(&peer));
	free(body);
}
END_TEST

static void
expect_shed(struct peer *p, size_t n)
{
	char *body = calloc(1, n), field[128];
	struct answer a;

	ck_assert_int_eq(peer_post(p, "/echo", body, n, &a), 0);
	ck_assert_int_eq(a.status, 503);
	ck_assert_ptr_null(answer_field(&a, "Retry-After", field));
	ck_assert_str_eq(answer_field(&a, "Connection", field), "close");
	ck_assert(peer_at_end(p));
	free(body);
}

/* The first request waits in its handler, and its body is held.  The thread
 * that serves it accepts nobody, so another thread serves the others. */
static void
hold_first(struct server_options o, const char *body, size_t n)
{
	char head[256];

	setup_with(o);
	pthread_mutex_lock(&rig.gate);
	(void)snprintf(head, sizeof(head),
		       POST("/wait", TYPE "Content-Length: %zu\r\n", ""), n);
	peer_puts(&peer, head);
	peer_send(&peer, body, n);
	while (rig.waiting == 0)
		poll(NULL, 0, 1);
}

static void
let_first_go(void)
{
	pthread_mutex_unlock(&rig.gate);
	expect("the first is served", 200, "waited");
}

static void
expect_served(struct peer *p, size_t n)
{
	char *body = calloc(1, n);
	struct answer a;

	ck_assert_int_eq(peer_post(p, "/echo", body, n, &a), 0);
	ck_assert_int_eq(a.status, 200);
	ck_assert_uint_eq(a.body_bytes, n);
	free(body);
}

START_TEST(bytes_held_at_once)
{
	static const char body[60000];
	struct server_options o = rig_options();
	struct peer other;

	o.bytes_max = 80000;
	hold_first(o, body, sizeof(body));
	ck_assert_int_eq(peer_open(&other, rig.port), 0);
	expect_served(&other, 20000);
	expect_shed(&other, 20001);
	let_first_go();
	expect_served(&peer, 80000);
	expect_shed(&peer, 80001);
	ck_assert_uint_eq(rig.events[SERVER_SHED], 2);
	peer_close(&other);
	teardown();
}
END_TEST

/* Big bodies take half of the bytes; small ones find room beside them. */
START_TEST(big_ones_leave_half)
{
	static const char body[30000];
	struct server_options o = rig_options();
	struct peer other;

	o.bytes_max = 80000;
	o.big_bytes = 10000;
	o.big_max = 9;
	hold_first(o, body, sizeof(body));
	ck_assert_int_eq(peer_open(&other, rig.port), 0);
	expect_shed(&other, 10001);	/* 40,001 of them */
	ck_assert_int_eq(peer_open(&other, rig.port), 0);
	expect_served(&other, 10000);
	let_first_go();
	expect_served(&peer, 40000);
	expect_shed(&peer, 40001);
	peer_close(&other);
	teardown();
}
END_TEST

/* Without a promised length a body's room doubles, but not past the half. */
START_TEST(chunks_fill_the_half)
{
	static char body[40000];
	struct server_options o = rig_options();

	o.bytes_max = 2 * sizeof(body);
	o.big_bytes = 10000;
	o.big_max = 9;
	setup_with(o);
	peer_puts(&peer, POST("/echo", TYPE "Transfer-Encoding: chunked\r\n",
			      "9c40\r\n"));
	peer_send(&peer, body, sizeof(body));
	peer_puts(&peer, "\r\n0\r\n\r\n");
	expect("half of the bytes", 200, NULL);
	teardown();
}
END_TEST

/* All but the last byte of a body. */
static void
begin_body(struct peer *p, size_t n)
{
	char *body = calloc(1, n), head[256];

	ck_assert_int_eq(peer_open(p, rig.port), 0);
	(void)snprintf(head, sizeof(head),
		       POST("/echo", TYPE "Content-Length: %zu\r\n", ""), n);
	peer_puts(p, head);
	peer_send(p, body, n - 1);
	free(body);
}

/* Returns how many of them are served when the last byte comes. */
static unsigned
end_bodies(struct peer *p, unsigned n)
{
	unsigned served = 0;
	struct answer a;

	for (unsigned i = 0; i < n; i++) {
		(void)peer_send(&p[i], "", 1);
		served += peer_read(&p[i], &a) == 0 && a.status == 200;
		peer_close(&p[i]);
	}
	return served;
}

/* Waits until the server has closed one of them. */
static void
await_shed(const struct peer *p, unsigned n)
{
	struct pollfd fds[8];

	ck_assert_uint_le(n, 8);
	for (unsigned i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = p[i].fd, .events = POLLIN};
	ck_assert_int_gt(poll(fds, n, 10000), 0);
}

static void
await_connections(unsigned n)
{
	for (int i = 0; i < 1000 && server_connections(rig.server) != n; i++)
		(void)poll(NULL, 0, 10);
	ck_assert_uint_eq(server_connections(rig.server), n);
}

/* When three quarters of everything, or half of the big ones' share, are taken,
 * one body that waits for its client goes. */
START_TEST(slow_bodies_make_room)
{
	struct server_options o = rig_options();
	struct peer slow[7];

	o.bytes_max = 80000;
	o.big_bytes = 10000;
	o.big_max = 9;
	setup_with(o);
	for (int i = 0; i < 7; i++)
		begin_body(&slow[i], 10000);
	await_shed(slow, 7);
	ck_assert_uint_eq(end_bodies(slow, 7), 6);
	await_connections(1);
	for (int i = 0; i < 2; i++)
		begin_body(&slow[i], 15001);
	await_shed(slow, 2);
	ck_assert_uint_eq(end_bodies(slow, 2), 1);
	teardown();
}
END_TEST

/* Returns the answer to one more such body, on a connection of its own; 0 if it
 * was closed instead, as the body was too long to be read away. */
static int
status_of(size_t n)
{
	char *body = calloc(1, n);
	struct answer a = {0};
	struct peer p;

	ck_assert_int_eq(peer_open(&p, rig.port), 0);
	if (peer_post(&p, "/echo", body, n, &a))
		a.status = 0;
	peer_close(&p);
	free(body);
	return a.status;
}

/* A big body for which all has no room takes nothing of the big ones' half. */
START_TEST(a_refused_big_one_leaves_nothing)
{
	static const char body[5000];
	struct server_options o = rig_options();
	struct peer other;
	int status = 200;

	o.bytes_max = 16000;
	o.big_bytes = sizeof(body);
	o.big_max = 9;
	hold_first(o, body, sizeof(body));
	begin_body(&other, sizeof(body));
	for (int i = 0; i < 1000 && status == 200; i++)
		status = status_of(7000);
	ck_assert_int_eq(status, 503);
	let_first_go();
	ck_assert_uint_eq(end_bodies(&other, 1), 1);
	expect_served(&peer, 7000);
	teardown();
}
END_TEST

static void
leave_answer_unread(struct peer *p, const char *body, size_t n)
{
	char head[256];

	(void)snprintf(head, sizeof(head),
		       POST("/echo", TYPE "Content-Length: %zu\r\n", ""), n);
	peer_puts(p, head);
	peer_send(p, body, n);
	ck_assert_int_gt(peer_fill(p), 0);	/* it has been handled */
}

/* A body's room is free as soon as it has been handled, although nobody reads
 * the answer, and that client does not have to go for another. */
START_TEST(an_unread_answer_holds_no_body)
{
	size_t n = 4 << 20;
	char *body = calloc(1, n);
	struct server_options o = rig_options();
	struct peer other;
	struct answer a;

	o.bytes_max = 2 * n;
	setup_with(o);
	ck_assert_int_eq(peer_open(&other, rig.port), 0);
	leave_answer_unread(&peer, body, n);
	leave_answer_unread(&other, body, n);
	ck_assert_int_eq(status_of(n), 200);
	ck_assert_int_eq(peer_read(&peer, &a), 0);
	ck_assert_uint_eq(a.body_bytes, n);
	peer_close(&other);
	free(body);
	teardown();
}
END_TEST

START_TEST(big_ones_at_once)
{
	struct server_options o = rig_options();
	struct peer other;

	o.big_bytes = 10;
	o.big_max = 1;
	hold_first(o, "0123456789a", 11);
	ck_assert_int_eq(peer_open(&other, rig.port), 0);
	expect_served(&other, 10);
	expect_shed(&other, 11);
	let_first_go();
	expect_served(&peer, 11);
	peer_close(&other);
	teardown();
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/server_bounds");
	TCase *t = tcase_create("one body"), *own = tcase_create("together");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, kernel_buffers);
	tcase_add_test(t, overlong_body);
	tcase_add_test(t, read_away_bound);
	suite_add_tcase(s, t);
	tcase_set_timeout(own, 30);
	tcase_add_test(own, bytes_held_at_once);
	tcase_add_test(own, big_ones_leave_half);
	tcase_add_test(own, chunks_fill_the_half);
	tcase_add_test(own, slow_bodies_make_room);
	tcase_add_test(own, a_refused_big_one_leaves_nothing);
	tcase_add_test(own, an_unread_answer_holds_no_body);
	tcase_add_test(own, big_ones_at_once);
	suite_add_tcase(s, own);
	return suite_run(s);
}
