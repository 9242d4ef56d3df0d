/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_fixture.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>


/* What the client sends: the head of the request, and the connection that it
 * takes. */

#define DATE_MS INT64_C(1730882977000)	/* of the answer below */

struct asked {
	char line[256], accept[128], agent[64], type[64], auth[64], host[64];
	char encoding[32], expect[32], body[256];
};

static bool
ask(struct scripted_peer *p, void *ctx)
{
	struct asked *a = ctx;

	(void)snprintf(a->line, sizeof(a->line), "%.*s",
		       (int)strcspn(p->request, "\r"), p->request);
	scripted_header(p, "Accept", a->accept, sizeof(a->accept));
	scripted_header(p, "User-Agent", a->agent, sizeof(a->agent));
	scripted_header(p, "Content-Type", a->type, sizeof(a->type));
	scripted_header(p, "Authorization", a->auth, sizeof(a->auth));
	scripted_header(p, "Host", a->host, sizeof(a->host));
	scripted_header(p, "Accept-Encoding", a->encoding, 32);
	scripted_header(p, "Expect", a->expect, sizeof(a->expect));
	(void)snprintf(a->body, sizeof(a->body), "%s", p->body);
	return scripted_reply(p, "200 OK",
			      "Date: Wed, 06 Nov 2024 08:49:37 GMT\r\n", "{}");
}

START_TEST(test_request)
{
	struct kube_request q = {
		.method = "PATCH",
		.path = "/api/v1/nodes/a?fieldManager=x",
		.accept = "application/json;as=PartialObjectMetadata",
		.content_type = "application/merge-patch+json",
		.body = "{\"a\":1}",
		.body_bytes = 7,
		.timeout_ms = PATIENT_MS,
	};
	struct asked a = {.line = ""};
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};
	char host[32];

	fixture_server(&f, NULL, ask, &a);
	f.options.access.token = strdup("secret");
	fixture_kube(&f);
	ck_assert_int_eq(
		kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e), 0);
	(void)snprintf(host, sizeof(host), "127.0.0.1:%u", f.server.port);
	ck_assert_str_eq(a.line, "PATCH /api/v1/nodes/a?fieldManager=x "
				 "HTTP/1.1");
	ck_assert_str_eq(a.accept, q.accept);
	ck_assert_str_eq(a.agent, AGENT);
	ck_assert_str_eq(a.type, q.content_type);
	ck_assert_str_eq(a.auth, "Bearer secret");
	ck_assert_str_eq(a.host, host);
	ck_assert_str_eq(a.encoding, "");
	ck_assert_str_eq(a.expect, "");
	ck_assert_str_eq(a.body, "{\"a\":1}");
	ck_assert_str_eq(reply.body, "{}");
	ck_assert_int_eq(reply.retry_after_ms, -1);
	ck_assert_uint_eq(f.counters.rest[REST_PATCH][200], 1);
	/* The Date of the answer has become our clock's time. */
	ck_assert_int_ge(clock_now(f.clock).server_ms, DATE_MS);
	ck_assert_int_lt(clock_now(f.clock).server_ms, DATE_MS + PATIENT_MS);
	fixture_done(&f);
}
END_TEST

/* Successive calls share the connection. */
START_TEST(test_keep_alive)
{
	struct kube_request q = get(PATIENT_MS);
	struct asked a = {.line = ""};
	struct kube_reply reply;
	struct fixture f;
	struct err e;

	fixture_server(&f, NULL, ask, &a);
	fixture_kube(&f);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(kube_stream_run(f.stream, &q, NULL, NULL, NULL,
						 &reply, &e),
				 0);
	ck_assert_uint_eq(f.server.requests, 5);
	ck_assert_uint_eq(f.server.accepted, 1);
	fixture_done(&f);
}
END_TEST

/* HTTP_PROXY and the like never count for loopback. */
START_TEST(test_no_proxy)
{
	struct kube_request q = get(PATIENT_MS);
	struct asked a = {.line = ""};
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	ck_assert_int_eq(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
	fixture_server(&f, NULL, ask, &a);
	fixture_kube(&f);
	ck_assert_msg(kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply,
				      &e) == 0,
		      "%s", e.text);
	ck_assert_int_eq(unsetenv("http_proxy"), 0);
	fixture_done(&f);
}
END_TEST

static int
option(int fd, int level, int name)
{
	socklen_t n = sizeof(int);
	int value = -1;

	(void)getsockopt(fd, level, name, &value, &n);
	return value;
}

/* Returns our end of a connection to this port, or -1. */
static int
socket_to(uint16_t port)
{
	for (int fd = 0; fd < 256; fd++) {
		struct sockaddr_in a = {0};
		socklen_t n = sizeof(a);

		if (getpeername(fd, (struct sockaddr *)&a, &n) == 0 &&
		    ntohs(a.sin_port) == port)
			return fd;
	}
	return -1;
}

/* A dead peer is found within 30 s, which is too long for a test.  So the test
 * reads the options of the socket. */
START_TEST(test_socket)
{
	struct kube_request q = get(PATIENT_MS);
	struct asked a = {.line = ""};
	struct kube_reply reply;
	struct fixture f;
	struct err e;
	int fd;

	fixture_server(&f, NULL, ask, &a);
	fixture_kube(&f);
	ck_assert_int_eq(
		kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e), 0);
	fd = socket_to(f.server.port);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 15);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
	ck_assert_int_eq(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	fixture_done(&f);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/kube_request");
	TCase *t = tcase_create("request");

	tcase_add_test(t, test_request);
	tcase_add_test(t, test_keep_alive);
	tcase_add_test(t, test_no_proxy);
	tcase_add_test(t, test_socket);
	suite_add_tcase(s, t);
	return suite_run(s);
}
