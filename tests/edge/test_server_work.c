/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker of edge/server: nobody but those who ask for the same waits for a
 * handler that takes its time, and readers who do not read keep nobody out.
 */
#include "rig.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "suite.h"

#define BIG ((size_t)1 << 20)	/* more than all buffers on the way take */
#define CROWD (SERVER_WAITING_MAX + 1)	/* one runs, and the others wait */

static struct rig rig;
static _Atomic unsigned ran;

/* The text is the same for all: the server has to copy it in time. */
static void
slow(void *ctx, const struct server_request *q, struct server_reply *a)
{
	static char text[64];
	struct rig *r = ctx;

	r->waiting++;
	pthread_mutex_lock(&r->gate);
	pthread_mutex_unlock(&r->gate);
	ran++;
	(void)snprintf(text, sizeof(text), "%s?%s %s", q->path, q->query,
		       q->accept != NULL ? q->accept : "");
	a->status = 200;
	a->content_type = "text/plain";
	a->body = text;
	a->body_bytes = strlen(text);
}

static void
big(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx;
	ran++;
	a->status = 200;
	a->body_bytes = BIG * (size_t)atoi(q->query);
	a->body = calloc(1, a->body_bytes);
	a->body_free = free;
}

static void
none(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx, (void)q;
	a->body = strdup("never sent");
	a->body_free = free;
}

static void
quick(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx, (void)q;
	a->status = 200;
	a->body = "quick";
	a->body_bytes = 5;
}

static void
busy(void *ctx, const struct server_request *q, struct server_reply *a)
{
	(void)ctx, (void)q;
	a->status = 503;
	a->body = "busy";
	a->body_bytes = 4;
}

static const struct server_route routes[] = {
	{"/slow", "GET", NULL, 0, slow, busy},
	{"/other", "GET", NULL, 0, slow, busy},
	{"/big", "GET", NULL, 0, big, busy},
	{"/none", "GET", NULL, 0, none, busy},
	{"/quick", "GET", NULL, 0, quick, NULL},
};

static void
setup(void)
{
	struct server_options o = rig_options();

	o.routes = routes;
	o.routes_n = sizeof(routes) / sizeof(routes[0]);
	o.threads = 1;
	o.unread_max = 3 * BIG;
	o.reply_ms = 600000;	/* nothing here waits for a deadline */
	ran = 0;
	rig_start(&rig, &o);
}

static void
teardown(void)
{
	server_free(rig.server);
}

static void
ask(struct peer *p, const char *path)
{
	char text[128];

	ck_assert_int_eq(peer_open(p, rig.port), 0);
	(void)snprintf(text, sizeof(text),
		       "GET %s HTTP/1.1\r\nHost: x\r\nAccept: %s\r\n\r\n", path,
		       path);
	ck_assert_int_eq(peer_puts(p, text), 0);
}

static void
expect(struct peer *p, int status, const char *body)
{
	struct answer a;

	ck_assert_int_eq(peer_read(p, &a), 0);
	ck_assert_msg(a.status == status && strcmp(a.body, body) == 0,
		      "%d %s, not %s", a.status, a.body, body);
}

static void
expect_quick(void)
{
	struct peer p;

	ask(&p, "/quick");
	expect(&p, 200, "quick");
	peer_close(&p);
}

/* One request is at work, and as many wait as have room. */
static void
fill(struct peer crowd[CROWD])
{
	char path[32];

	for (int i = 0; i < CROWD; i++) {
		(void)snprintf(path, sizeof(path), "/slow?%d", i);
		ask(&crowd[i], path);
		while (rig.waiting == 0)
			poll(NULL, 0, 1);
		/* It is behind this one. */
		expect_quick();
	}
}

static void
close_all(struct peer crowd[CROWD])
{
	for (int i = 0; i < CROWD; i++)
		peer_close(&crowd[i]);
}

START_TEST(nobody_else_waits)
{
	struct peer crowd[CROWD], over, other;
	char want[64];

	pthread_mutex_lock(&rig.gate);
	fill(crowd);
	ask(&over, "/slow");
	expect(&over, 503, "busy");
	ask(&other, "/other");	/* has room of its own */
	expect_quick();
	ck_assert_uint_eq(ran, 0);
	ck_assert_uint_eq(rig.waiting, 1);
	pthread_mutex_unlock(&rig.gate);
	for (int i = 0; i < CROWD; i++) {
		(void)snprintf(want, sizeof(want), "/slow?%d /slow?%d", i, i);
		expect(&crowd[i], 200, want);
	}
	expect(&other, 200, "/other? /other");
	ask(&crowd[0], "/slow?again");	/* there is room again */
	expect(&crowd[0], 200, "/slow?again /slow?again");
	close_all(crowd);
	peer_close(&over);
	peer_close(&other);
}
END_TEST

START_TEST(on_one_connection)
{
	struct peer p;

	ask(&p, "/slow?1");
	peer_puts(&p, "GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"
		      "GET /none HTTP/1.1\r\nHost: x\r\n\r\n"
		      "HEAD /slow HTTP/1.1\r\nHost: x\r\n\r\n");
	expect(&p, 200, "/slow?1 /slow?1");
	expect(&p, 200, "quick");
	expect(&p, 500, "internal error\n");
	peer_close(&p);
}
END_TEST

/* They are gone before their turn has come. */
START_TEST(nobody_waits_for_the_answer)
{
	struct peer crowd[CROWD], p;

	pthread_mutex_lock(&rig.gate);
	fill(crowd);
	close_all(crowd);
	expect_quick();
	pthread_mutex_unlock(&rig.gate);
	ask(&p, "/other");
	expect(&p, 200, "/other? /other");
	ck_assert_uint_eq(ran, CROWD + 1);
	peer_close(&p);
}
END_TEST

/* A running handler ends; those that wait are refused, or their connections are
 * closed. */
START_TEST(the_stop)
{
	struct peer crowd[CROWD];

	pthread_mutex_lock(&rig.gate);
	fill(crowd);
	pthread_mutex_unlock(&rig.gate);
	server_free(rig.server);
	for (int i = 0; i < CROWD; i++) {
		struct answer a;

		if (peer_read(&crowd[i], &a) == 0)
			ck_assert(a.status == 200 || a.status == 503);
	}
	close_all(crowd);
	setup();
}
END_TEST

static void
ask_big(struct peer *p, unsigned nth)
{
	ask(p, "/big?1");
	while (ran < nth)
		poll(NULL, 0, 1);
	expect_quick();
}

static void
expect_big(struct peer *p, size_t bytes)
{
	struct answer a;

	ck_assert_int_eq(peer_read(p, &a), 0);
	ck_assert_int_eq(a.status, 200);
	ck_assert_uint_eq(a.body_bytes, bytes);
}

/* The oldest ones go, and the others can still be read. */
START_TEST(unread)
{
	struct peer crowd[9];
	struct answer a;

	for (unsigned i = 0; i < 9; i++)
		ask_big(&crowd[i], i + 1);
	for (int i = 6; i < 9; i++)
		expect_big(&crowd[i], BIG);
	for (int i = 0; i < 6; i++)
		ck_assert_msg(peer_read(&crowd[i], &a) != 0, "%d", i);
	for (int i = 0; i < 9; i++)
		peer_close(&crowd[i]);
}
END_TEST

/* What is read takes no room, and neither does whoever leaves. */
START_TEST(read_or_left)
{
	struct peer kept, others;

	ask_big(&kept, 1);
	for (unsigned i = 1; i < 12; i++) {
		ask_big(&others, i + 1);
		if (i % 2)
			expect_big(&others, BIG);
		peer_close(&others);
	}
	expect_big(&kept, BIG);
	peer_close(&kept);
}
END_TEST

/* It would have no room if there were no other. */
START_TEST(larger_than_all_room)
{
	struct peer first, p;
	struct answer a;

	ask_big(&first, 1);
	ask(&p, "/big?4");
	expect_big(&p, 4 * BIG);
	ck_assert(peer_read(&first, &a) != 0);
	ask(&first, "/big?1");
	expect_big(&first, BIG);
	peer_close(&first);
	peer_close(&p);
}
END_TEST

/* One cut is not enough.  The next one waits for no deadline. */
START_TEST(as_large_as_all_others)
{
	struct peer crowd[3], p;
	struct answer a;

	for (unsigned i = 0; i < 3; i++)
		ask_big(&crowd[i], i + 1);
	ask(&p, "/big?3");
	expect_big(&p, 3 * BIG);
	for (int i = 0; i < 3; i++) {
		ck_assert_msg(peer_read(&crowd[i], &a) != 0, "%d", i);
		peer_close(&crowd[i]);
	}
	peer_close(&p);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/server_work");
	TCase *t = tcase_create("worker");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, nobody_else_waits);
	tcase_add_test(t, on_one_connection);
	tcase_add_test(t, nobody_waits_for_the_answer);
	tcase_add_test(t, the_stop);
	tcase_add_test(t, unread);
	tcase_add_test(t, read_or_left);
	tcase_add_test(t, larger_than_all_room);
	tcase_add_test(t, as_large_as_all_others);
	suite_add_tcase(s, t);
	return suite_run(s);
}
