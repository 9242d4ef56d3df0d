/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge/server over TLS against slow clients.  Each is closed at its deadline,
 * whatever bytes it sends, while a client that is not slow is served.
 */
#include "rig.h"

#include <check.h>
#include <poll.h>

#include "edge/clock.h"
#include "suite.h"

/* This is long enough for a handshake, and between two answers, on a busy
 * machine. */
#ifdef __SANITIZE_THREAD__
#define DEADLINE_MS 2000
#else
#define DEADLINE_MS 1000
#endif
/* All together stay below SERVER_RECORDS_MAX. */
#define DRIP_MS (DEADLINE_MS / 8)
/* A client that is open for longer is a failure. */
#define LATE_MS 20000

static struct rig rig;
static struct peer good;

static void
setup_idle(int64_t idle_ms)
{
	struct server_options o = rig_options();
	struct pems pems;

	o.tls = true;
	o.head_ms = o.body_ms = o.reply_ms = DEADLINE_MS;
	o.idle_ms = idle_ms;
	rig_start(&rig, &o);
	pems_mint(&pems, 1);
	ck_assert_int_eq(rotate(rig.server, &pems, NULL), 0);
	ck_assert_int_eq(peer_open_tls(&good, rig.port, 0), 0);
}

static void
setup(void)
{
	setup_idle(DEADLINE_MS);
}

static void
teardown(void)
{
	peer_close(&good);
	server_free(rig.server);
}

static void
serve_good(void)
{
	struct answer a;

	ck_assert_int_eq(peer_post(&good, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
}

#define HEAD "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON "\r\n"
#define CHUNK "1\r\na\r\n"
#define CHUNKS CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK CHUNK

static const struct slow {
	const char *name;
	const char *at_once; /* sent when the wait begins */
	const char *dripped;
	size_t dripped_n;
	char fill; /* then sent byte by byte for ever; 0: silence */
} slow[] = {
	{"nothing", "", NULL, 0, 0},
	{"a dripped request line", "POST /", NULL, 0, 'a'},
	{"a dripped field", HEAD "X-A: ", NULL, 0, 'a'},
	{"a head without its end", HEAD "\r", NULL, 0, 0},
	{"a silent body", HEAD "Content-Length: 999\r\n\r\n", NULL, 0, 0},
	{"a dripped body", HEAD "Content-Length: 999\r\n\r\n", NULL, 0, 'a'},
	{"dripped chunks", HEAD "Transfer-Encoding: chunked\r\n\r\n", CHUNKS,
	 sizeof(CHUNKS) - 1, '1'},
	{"a dripped refused body",
	 "POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n", NULL,
	 0, 'a'},
};
#define SLOW (sizeof(slow) / sizeof(slow[0]))

struct dawdler {
	struct peer p;
	const struct slow *how;
	size_t dripped;
	int64_t t0, took; /* took is 0 while it is open */
};

/* Sends one more byte.  Has the server closed the connection? */
static bool
dawdle(struct dawdler *d)
{
	if (d->took != 0)
		return true;
	if (peer_ended(&d->p)) {
		d->took = clock_boot_ms() - d->t0;
		return true;
	}
	if (d->dripped < d->how->dripped_n)
		(void)peer_send(&d->p, &d->how->dripped[d->dripped++], 1);
	else if (d->how->fill != 0)
		(void)peer_send(&d->p, &d->how->fill, 1);
	return false;
}

/* Waits until all are closed, and has the good client served all the while. */
static void
expect_closed(struct dawdler *d, size_t n)
{
	int64_t late = clock_boot_ms() + DEADLINE_MS + LATE_MS;

	for (size_t open = n; open > 0 && clock_boot_ms() < late;) {
		open = server_connections(rig.server) - 1;
		for (size_t i = 0; i < n; i++)
			open += !dawdle(&d[i]);
		serve_good();
		poll(NULL, 0, DRIP_MS);
	}
	for (size_t i = 0; i < n; i++) {
		ck_assert_msg(d[i].took >= DEADLINE_MS - 5, "%s: %lld ms",
			      d[i].how->name, (long long)d[i].took);
		peer_close(&d[i].p);
	}
	serve_good();
	ck_assert_uint_eq(rig.events[SERVER_REAPED], n);
	ck_assert_uint_eq(server_connections(rig.server), 1);
}

static void
begin(struct dawdler *d, const struct slow *how)
{
	serve_good();
	*d = (struct dawdler){.how = how, .t0 = clock_boot_ms()};
	ck_assert_int_eq(peer_open_tls(&d->p, rig.port, 0), 0);
	ck_assert_int_eq(peer_puts(&d->p, how->at_once), 0);
}

START_TEST(slow_first)
{
	static struct dawdler d[SLOW];

	for (size_t i = 0; i < SLOW; i++)
		begin(&d[i], &slow[i]);
	expect_closed(d, SLOW);
}
END_TEST

START_TEST(slow_second)
{
	static const struct slow prompt = {.at_once = ""};
	static struct dawdler d[SLOW];
	struct answer a;

	for (size_t i = 0; i < SLOW; i++) {
		begin(&d[i], &prompt);
		ck_assert_int_eq(peer_post(&d[i].p, "/echo", "{}", 2, &a), 0);
		ck_assert_int_eq(a.status, 200);
		d[i].how = &slow[i];
		d[i].t0 = clock_boot_ms();
		ck_assert_int_eq(peer_puts(&d[i].p, slow[i].at_once), 0);
	}
	expect_closed(d, SLOW);
}
END_TEST

/* A head that has begun is subject to the deadline of a head, not to that of an
 * idle connection. */
START_TEST(slow_second_after_idle)
{
	static const struct slow prompt = {.at_once = ""};
	static struct dawdler d[1];
	struct answer a;

	setup_idle(60000);
	serve_good();
	begin(&d[0], &prompt);
	ck_assert_int_eq(peer_post(&d[0].p, "/echo", "{}", 2, &a), 0);
	poll(NULL, 0, DEADLINE_MS + DEADLINE_MS / 4);
	ck_assert_int_eq(peer_post(&d[0].p, "/echo", "{}", 2, &a), 0);
	d[0].how = &slow[2];
	d[0].t0 = clock_boot_ms();
	ck_assert_int_eq(peer_puts(&d[0].p, slow[2].at_once), 0);
	expect_closed(d, 1);
	teardown();
}
END_TEST

/* An API server opens more connections than it needs and uses the spare ones
 * later, up to its own idle time.  The server must not close them. */
START_TEST(spare)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	SSL_SESSION *session;
	struct peer p, resumed;
	struct answer a;

	setup_idle(60000);
	ck_assert_int_eq(peer_open_tls(&p, rig.port, versions[_i]), 0);
	ck_assert_int_eq(peer_post(&p, "/echo", "{}", 2, &a), 0);
	session = peer_session(&p);
	peer_close(&p);
	ck_assert_int_eq(peer_open_tls(&p, rig.port, versions[_i]), 0);
	ck_assert_int_eq(peer_resume_tls(&resumed, rig.port, versions[_i],
					 session), 0);
	ck_assert(SSL_session_reused(resumed.ssl));
	SSL_SESSION_free(session);
	poll(NULL, 0, DEADLINE_MS + DEADLINE_MS / 2);
	ck_assert_int_eq(peer_post(&p, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
	ck_assert_int_eq(peer_post(&resumed, "/echo", "{}", 2, &a), 0);
	ck_assert_int_eq(a.status, 200);
	ck_assert_uint_eq(rig.events[SERVER_REAPED], 0);
	peer_close(&p);
	peer_close(&resumed);
	teardown();
}
END_TEST

static size_t
client_hello(char *out, int cap)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(ctx);
	BIO *b = BIO_new(BIO_s_mem());
	int n;

	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), b);
	ck_assert_int_eq(SSL_connect(ssl), -1);
	n = BIO_read(b, out, cap);
	ck_assert_int_gt(n, 100);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	return (size_t)n;
}

START_TEST(slow_handshake)
{
	char hello[2048];
	const struct slow how[] = {
		{"silent TCP", "", NULL, 0, 0},
		{"a dripped ClientHello", "", hello,
		 client_hello(hello, sizeof(hello)), 0},
	};
	static struct dawdler d[2];

	for (size_t i = 0; i < 2; i++) {
		d[i] = (struct dawdler){.how = &how[i], .t0 = clock_boot_ms()};
		ck_assert_int_eq(peer_open(&d[i].p, rig.port), 0);
	}
	expect_closed(d, 2);
}
END_TEST

/* The reply is larger than what socket buffers take. */
START_TEST(never_reads)
{
	int64_t t0 = clock_boot_ms(), late = t0 + DEADLINE_MS + LATE_MS;
	struct peer p;

	ck_assert_int_eq(peer_open_tls(&p, rig.port, 0), 0);
	ck_assert_int_eq(peer_puts(&p, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n"),
			 0);
	do {
		serve_good();
		poll(NULL, 0, DRIP_MS);
	} while (server_connections(rig.server) > 1 && clock_boot_ms() < late);
	ck_assert_int_ge(clock_boot_ms() - t0, DEADLINE_MS - 5);
	ck_assert_uint_eq(server_connections(rig.server), 1);
	ck_assert_uint_eq(rig.events[SERVER_REAPED], 1);
	peer_close(&p);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/server_slow");
	TCase *t = tcase_create("deadlines"), *own = tcase_create("own rig");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, slow_handshake);
	tcase_add_test(t, slow_first);
	tcase_add_test(t, slow_second);
	tcase_add_test(t, never_reads);
	suite_add_tcase(s, t);
	tcase_set_timeout(own, 60);
	tcase_add_test(own, slow_second_after_idle);
	tcase_add_loop_test(own, spare, 0, 2);
	suite_add_tcase(s, own);
	return suite_run(s);
}
