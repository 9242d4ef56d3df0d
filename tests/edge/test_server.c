/* SPDX-License-Identifier: Apache-2.0 */
/* edge/server over plain TCP: what it takes, what it refuses, and how. */
#include "rig.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "edge/clock.h"
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
#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define TYPE "Content-Type: application/json\r\n"

START_TEST(keep_alive)
{
	struct answer a;

	for (int i = 0; i < 5; i++) {
		char body[32], field[128];
		int n = snprintf(body, sizeof(body), "{\"i\":%d}", i);

		ck_assert_int_eq(peer_post(&peer, "/echo", body, (size_t)n, &a),
				 0);
		ck_assert_int_eq(a.status, 200);
		ck_assert_str_eq(a.body, body);
		ck_assert_str_eq(answer_field(&a, "Content-Type", field), JSON);
		ck_assert_ptr_null(answer_field(&a, "Connection", field));
	}
	ck_assert_uint_eq(server_connections(rig.server), 1);
	ck_assert_int_lt(server_heartbeat_age_ms(rig.server), 3000);
}
END_TEST

START_TEST(pipelined)
{
	peer_puts(&peer,
		  POST("/echo", TYPE "Content-Length: 3\r\n",
		       "one") GET("/query?a=%20b&c")
			  POST("/echo", TYPE "Content-Length: 3\r\n", "two"));
	expect("first", 200, "one");
	expect("second", 200, "GET /query?a=%20b&c");
	expect("third", 200, "two");
}
END_TEST

START_TEST(chunked)
{
	peer_puts(&peer, POST("/echo", TYPE "Transfer-Encoding: chunked\r\n",
			      "3\r\none\r\n4\r\n two\r\n0\r\n\r\n"));
	expect("chunked", 200, "one two");
	peer_puts(&peer, POST("/both", TYPE "Transfer-Encoding: chunked\r\n",
			      "10\r\n0123456789abcdef\r\n0\r\n\r\n"));
	expect("chunked, at the bound", 200, "0123456789abcdef");
	peer_puts(&peer, POST("/both", TYPE "Transfer-Encoding: chunked\r\n",
			      "10\r\n0123456789abcdef\r\n1\r\ng\r\n0\r\n\r\n"));
	expect("chunked, one past", 413, "body over 16 bytes\n");
	peer_puts(&peer, GET("/query"));
	expect("and the connection lives", 200, "GET /query?");
}
END_TEST

START_TEST(expect_continue)
{
	peer_puts(&peer, POST("/echo",
			      TYPE "Content-Length: 4\r\n"
				   "Expect: 100-continue\r\n",
			      ""));
	expect("interim", 100, NULL);
	peer_puts(&peer, "body");
	expect("final", 200, "body");
	peer_puts(&peer, POST("/both",
			      TYPE "Content-Length: 17\r\n"
				   "Expect: 100-continue\r\n",
			      ""));
	expect("refused before the body", 413, "body over 16 bytes\n");
	ck_assert(peer_at_end(&peer));
}
END_TEST

/* Each text is sent on a connection of its own.  `closes` says whether the
 * server closes it after the answer. */
static const struct {
	const char *name, *text;
	int status;
	const char *field, *value;
	bool closes;
} heads[] = {
	{"unknown path", GET("/nothing"), 404, "Content-Type",
	 "text/plain; charset=utf-8", false},
	{"unknown path with a body",
	 POST("/nothing", "Content-Length: 4\r\n", "body"), 404, NULL, NULL,
	 false},
	{"a route's beginning", GET("/quer"), 404, NULL, NULL, false},
	{"longer than a route", GET("/queryx"), 404, NULL, NULL, false},
	{"prefix route", GET("/query/a/b"), 200, NULL, NULL, false},
	{"head", "HEAD /query HTTP/1.1\r\nHost: x\r\n\r\n", 200, NULL, NULL,
	 true},
	{"method", GET("/echo"), 405, "Allow", "POST", false},
	{"methods of a path", "PUT /both HTTP/1.1\r\nHost: x\r\n\r\n", 405,
	 "Allow", "GET, HEAD, POST", false},
	{"no type", POST("/echo", "Content-Length: 2\r\n", "{}"), 415, NULL,
	 NULL, false},
	{"other type",
	 POST("/echo", "Content-Type: text/json\r\nContent-Length: 2\r\n",
	      "{}"),
	 415, NULL, NULL, false},
	{"longer type",
	 POST("/echo",
	      "Content-Type: application/jsonl\r\nContent-Length: 2\r\n", "{}"),
	 415, NULL, NULL, false},
	{"two types", POST("/echo", TYPE TYPE "Content-Length: 2\r\n", "{}"),
	 415, NULL, NULL, false},
	{"type with a blank after it",
	 POST("/echo",
	      "Content-Type: application/json ;charset=utf-8\r\n"
	      "Content-Length: 2\r\n",
	      "{}"),
	 200, NULL, NULL, false},
	{"type with parameter",
	 POST("/echo",
	      "Content-Type: Application/JSON; charset=utf-8\r\n"
	      "Content-Length: 2\r\n",
	      "{}"),
	 200, NULL, NULL, false},
	{"no body", POST("/echo", TYPE, ""), 200, "Content-Length", "0", false},
	{"body where none is expected",
	 "GET /query HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na", 413,
	 NULL, NULL, false},
	{"at the bound",
	 POST("/both", TYPE "Content-Length: 16\r\n", "0123456789abcdef"), 200,
	 NULL, NULL, false},
	{"one past",
	 POST("/both", TYPE "Content-Length: 17\r\n", "0123456789abcdefg"), 413,
	 NULL, NULL, false},
	{"more than we read away",
	 POST("/echo", TYPE "Content-Length: 99999999\r\n", "a"), 413, NULL,
	 NULL, true},
	{"two lengths, equal",
	 POST("/echo", TYPE "Content-Length: 2\r\nContent-Length: 2\r\n", "{}"),
	 400, "Connection", "close", true},
	{"two lengths, different",
	 POST("/echo", TYPE "Content-Length: 2\r\nContent-Length: 9\r\n", "{}"),
	 400, "Connection", "close", true},
	{"two empty lengths",
	 POST("/echo", TYPE "Content-Length: 0\r\nContent-Length: 0\r\n", ""),
	 400, "Connection", "close", true},
	{"length and coding",
	 POST("/echo",
	      TYPE "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
	      "0\r\n\r\n"),
	 400, "Connection", "close", true},
	{"coding and length",
	 POST("/echo",
	      TYPE "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
	      "0\r\n\r\n"),
	 400, "Connection", "close", true},
	{"unknown coding",
	 POST("/echo", TYPE "Transfer-Encoding: gzip\r\n", "x"), 400, NULL,
	 NULL, true},
	{"length no number", POST("/echo", TYPE "Content-Length: 2x\r\n", "{}"),
	 400, NULL, NULL, true},
	{"no host", "GET /query HTTP/1.1\r\n\r\n", 400, NULL, NULL, true},
	{"handler's fault", GET("/fault"), 500, NULL, NULL, false},
};

START_TEST(one_head)
{
	struct answer a;
	char value[128];
	const char *name = heads[_i].name;

	ck_assert_int_eq(peer_puts(&peer, heads[_i].text), 0);
	if (strcmp(name, "head") == 0) {
		/* The answer to HEAD has a length and no body, so the test
		 * looks at the bytes. */
		while (strstr(peer.in, "\r\n\r\n") == NULL)
			ck_assert_int_gt(peer_fill(&peer), 0);
		ck_assert_ptr_eq(strstr(peer.in, "HTTP/1.1 200 "), peer.in);
		ck_assert_str_eq(strstr(peer.in, "\r\n\r\n"), "\r\n\r\n");
		return;
	}
	ck_assert_msg(peer_read(&peer, &a) == 0, "%s: no answer", name);
	ck_assert_msg(a.status == heads[_i].status, "%s: %d %s", name, a.status,
		      a.body);
	if (heads[_i].field != NULL)
		ck_assert_msg(answer_field(&a, heads[_i].field, value) &&
				      strcmp(value, heads[_i].value) == 0,
			      "%s: %s", name, a.head);
	/* libmicrohttpd 0.9.75 sends the heads of its own refusals twice. */
	if (strncmp(a.body, "HTTP/1.1", 8) == 0)
		do
			peer_eat(&peer, peer.in_n);
		while (peer_fill(&peer) > 0);
	if (heads[_i].closes) {
		ck_assert_msg(peer_at_end(&peer), "%s: still open", name);
		return;
	}
	ck_assert_int_eq(peer_puts(&peer, GET("/query")), 0);
	expect(name, 200, "GET /query?");
}
END_TEST

/* Longer than any name of DNS. */
#define LONG_LABEL "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklm."
#define LONG_NAME LONG_LABEL LONG_LABEL LONG_LABEL LONG_LABEL LONG_LABEL "example"

/* A browser that asks by a name that may be anybody's; others may. */
START_TEST(rebound)
{
	static const struct {
		const char *host;
		int status;
	} asked[] = {
		{"127.0.0.1:8080", 200}, {"[::1]:8080", 200},
		{"localhost:8080", 200}, {"LOCALHOST", 200},
		{"a.localhost:1", 200},	 {"holder:8080", 200},
		{"holder.", 200},	 {"10.1.2.3", 200},
		{"evil.example", 421},	 {"evil.example:8080", 421},
		{"evil.example.", 421},	 {"127.0.0.1.example", 421},
		{"localhost.example", 421}, {"a.xlocalhost", 421},
		{"evil.example..", 421}, {"evil.1a:8080", 421},
		{LONG_NAME, 421},
	};
	static const char *const more[] = {"", "Accept-Language: de\r\n",
					   "ACCEPT-language:\r\n",
					   "Accept-Language: de\r\n"
					   "Sec-Fetch-Site: none\r\n"};
	char text[512];

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		for (int k = 0; k < 4; k++) {
			(void)snprintf(text, sizeof(text),
				       "GET /query HTTP/1.1\r\nHost: %s\r\n"
				       "%s\r\n",
				       asked[i].host, more[k]);
			peer_puts(&peer, text);
			expect(asked[i].host,
			       k == 1 || k == 2 ? asked[i].status : 200, NULL);
		}
	}
}
END_TEST

START_TEST(drain)
{
	struct peer fresh;
	struct answer a;
	char field[128];

	peer_puts(&peer, GET("/query"));
	expect("before", 200, NULL);
	server_drain(rig.server);
	ck_assert_int_eq(peer_open(&fresh, rig.port), 0);
	for (struct peer *p = &peer;; p = &fresh) {
		ck_assert_int_eq(peer_post(p, "/echo", "{}", 2, &a), 0);
		ck_assert_int_eq(a.status, 200);
		ck_assert_str_eq(answer_field(&a, "Connection", field),
				 "close");
		ck_assert(peer_at_end(p));
		if (p == &fresh)
			break;
	}
	peer_close(&fresh);
}
END_TEST

START_TEST(unused)
{
	int64_t t0;

	peer_puts(&peer, GET("/query"));
	expect("before", 200, NULL);
	ck_assert_int_eq(server_unused_ms(rig.server), 0);
	t0 = clock_boot_ms();
	peer_close(&peer);
	while (server_connections(rig.server) > 0)
		poll(NULL, 0, 1);
	poll(NULL, 0, 50);
	ck_assert_int_ge(server_unused_ms(rig.server), 50);
	ck_assert_int_le(server_unused_ms(rig.server), clock_boot_ms() - t0);
	ck_assert_int_eq(peer_open(&peer, rig.port), 0);
	peer_puts(&peer, GET("/query"));
	expect("after", 200, NULL);
	ck_assert_int_eq(server_unused_ms(rig.server), 0);
}
END_TEST

START_TEST(stop_with_open_connections)
{
	struct peer idle, half;
	int64_t t0;

	setup();
	ck_assert_int_eq(peer_open(&idle, rig.port), 0);
	ck_assert_int_eq(peer_open(&half, rig.port), 0);
	peer_puts(&half, POST("/echo", TYPE "Content-Length: 9\r\n", "half"));
	peer_puts(&peer, GET("/query"));
	expect("served", 200, NULL);
	t0 = clock_boot_ms();
	server_free(rig.server);
	ck_assert_int_lt(clock_boot_ms() - t0, 10000);
	ck_assert(peer_at_end(&idle) && peer_at_end(&half) &&
		  peer_at_end(&peer));
	peer_close(&idle);
	peer_close(&half);
	peer_close(&peer);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/server");
	TCase *t = tcase_create("requests"), *own = tcase_create("own rig");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, keep_alive);
	tcase_add_test(t, pipelined);
	tcase_add_test(t, chunked);
	tcase_add_test(t, expect_continue);
	tcase_add_loop_test(t, one_head, 0, sizeof(heads) / sizeof(heads[0]));
	tcase_add_test(t, rebound);
	tcase_add_test(t, drain);
	tcase_add_test(t, unused);
	suite_add_tcase(s, t);
	tcase_set_timeout(own, 30);
	tcase_add_test(own, stop_with_open_connections);
	suite_add_tcase(s, own);
	return suite_run(s);
}
