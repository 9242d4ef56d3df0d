/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_fixture.h"

#include "core/base/limits.h"

/* Streams: the body is passed on while it comes, whatever way it ends. */

#define LIST                                                                   \
	"{\"kind\":\"NodeList\",\"items\":[{\"metadata\":{\"name\":\"a\"}}],"  \
	"\"metadata\":{\"resourceVersion\":\"10\"}}"
#define BIG (10u << 20)

/* --- scripts -------------------------------------------------------------- */

static bool
odd_cuts(struct scripted_peer *p, void *ctx)
{
	char text[512];
	size_t n, cut = 1;

	(void)ctx;
	n = (size_t)snprintf(text, sizeof(text),
			     "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
			     strlen(LIST), LIST);
	for (size_t at = 0; at < n; at += cut, cut = cut % 5 + 1)
		if (!scripted_send(p, text + at, n - at < cut ? n - at : cut) ||
		    (at % 16 == 0 && usleep(500) != 0))
			return false;
	return true;
}

static bool
chunked(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_puts(p, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
				"\r\n\r\n3\r\nabc\r\n") &&
	       scripted_puts(p, "2;x=y\r\nde\r\n0\r\nDate: x\r\n\r\n");
}

static bool
early_hints(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_puts(p, "HTTP/1.1 103 Early Hints\r\n"
				"Retry-After: 9\r\n\r\n") &&
	       scripted_reply(p, "200 OK", "", "abc");
}

static bool
said(struct scripted_peer *p, void *ctx)
{
	(void)scripted_puts(p, ctx);
	return false;
}

static bool
big_line(struct scripted_peer *p, void *ctx)
{
	static char block[1u << 20];
	char head[128];

	(void)snprintf(head, sizeof(head),
		       "HTTP/1.1 %s\r\nContent-Length: "
		       "%u\r\n\r\n",
		       (const char *)ctx, BIG);
	memset(block, 'x', sizeof(block));
	if (!scripted_puts(p, head))
		return false;
	for (size_t n = 0; n < BIG; n += sizeof(block))
		if (!scripted_send(p, block, sizeof(block)))
			return false;
	return true;
}

static bool
endless_head(struct scripted_peer *p, void *ctx)
{
	char line[1024];

	(void)ctx;
	memset(line, 'x', sizeof(line));
	memcpy(line, "X-Y: ", 5);
	memcpy(line + sizeof(line) - 2, "\r\n", 2);
	if (!scripted_puts(p, "HTTP/1.1 200 OK\r\n"))
		return false;
	for (int i = 0; i < 200; i++)
		if (!scripted_send(p, line, sizeof(line)))
			return false;
	return scripted_hang(p);
}

static bool
redirect(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_reply(p, "302 Found", "Location: /elsewhere\r\n",
			      "moved");
}

static bool
html(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_reply(p, "500 Internal Server Error",
			      "Content-Type: text/html\r\n", "<h1>no</h1>");
}

static bool
hang(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_hang(p);
}

static bool
hang_after_line(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_puts(p, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
				"\r\n\r\n3\r\n{}\n\r\n") &&
	       scripted_hang(p);
}

/* --- the ends a call can have --------------------------------------------- */

static const struct end {
	const char *name;
	scripted_answer *answer;
	const char *say;
	int64_t timeout_ms, silent_ms;
	bool refuse;
	int status;
	enum err_code code;
	const char *text; /* expected in the error, or as the whole body */
	size_t bytes;	  /* bytes of the body, where text is NULL */
} ends[] = {
	{"a list in odd cuts", odd_cuts, .status = 200, .text = LIST},
	{"chunks and a trailer", chunked, .status = 200, .text = "abcde"},
	{"an early hint", early_hints, .status = 200, .text = "abc"},
	{"until the connection ends", said, "HTTP/1.1 200 OK\r\n\r\nabc",
	 .status = 200, .text = "abc"},
	{"a length too short", said,
	 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", .status = 200,
	 .text = "ab"},
	{"a length too long", said,
	 "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", .status = 200,
	 .code = ERR_CUT, .text = "was cut"},
	{"a length that is none", said,
	 "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc", .status = 0,
	 .code = ERR_SYSTEM, .text = "no API server"},
	{"cut inside a chunk", said,
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab",
	 .status = 200, .code = ERR_CUT, .text = "was cut"},
	{"a chunk that is none", said,
	 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	 .status = 200, .code = ERR_CUT, .text = "was cut"},
	{"cut inside the head", said, "HTTP/1.1 200 OK\r\nContent-Le",
	 .code = ERR_CUT, .text = "was cut"},
	{"no answer at all", said, "", .code = ERR_CUT, .text = "was cut"},
	{"no HTTP", said, "SSH-2.0-OpenSSH_9.2\r\n", .code = ERR_SYSTEM,
	 .text = "no API server"},
	{"500 with HTML", html, .status = 500, .text = "<h1>no</h1>"},
	{"a redirect", redirect, .status = 302, .text = "moved"},
	{"10 MB for the sink", big_line, "200 OK", .status = 200, .bytes = BIG},
	{"10 MB of error", big_line, "500 No", .status = 500, .code = ERR_LIMIT,
	 .text = "(HTTP 500) has more than 65536"},
	{"an endless head", endless_head, .code = ERR_LIMIT,
	 .text = "the head of the answer"},
	{"a sink that refuses", odd_cuts, .refuse = true, .status = 200,
	 .code = ERR_INPUT, .text = "not to my taste"},
	{"never an answer", hang, .timeout_ms = 150, .code = ERR_TIMEOUT,
	 .text = "no whole answer within 150 ms"},
	{"half an answer", hang_after_line, .timeout_ms = 1500, .status = 200,
	 .code = ERR_TIMEOUT, .text = "no whole answer within 1500 ms"},
	{"a watch gone silent", hang_after_line, .silent_ms = 1500,
	 .status = 200, .code = ERR_TIMEOUT, .text = "silent for 1500 ms"},
	{"never a byte", hang, .silent_ms = 150, .code = ERR_TIMEOUT,
	 .text = "silent for 150 ms"},
};

static void
check_body(const struct end *t, const struct seen *seen,
	   const struct kube_reply *reply)
{
	const char *body = t->status / 100 == 2 ? seen->bytes : reply->body;
	size_t n = t->status / 100 == 2 ? seen->n : reply->body_bytes;

	if (t->text == NULL) {
		ck_assert_uint_eq(n, t->bytes);
		return;
	}
	ck_assert_uint_eq(n, strlen(t->text));
	ck_assert_str_eq(body, t->text);
}

START_TEST(test_ends)
{
	const struct end *t = &ends[_i];
	struct kube_request q = get(t->timeout_ms);
	struct seen seen = {.refuse = t->refuse};
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};
	int rc;

	q.silent_ms = t->silent_ms;
	fixture_server(&f, NULL, t->answer, (void *)(uintptr_t)t->say);
	fixture_kube(&f);
	rc = kube_stream_run(f.stream, &q, seen_sink, seen_opened, &seen,
			     &reply, &e);
	ck_assert_msg(rc == (t->code == ERR_NONE ? 0 : -1), "%s: %s", t->name,
		      e.text);
	ck_assert_msg(e.code == t->code, "%s: code %d: %s", t->name, e.code,
		      e.text);
	ck_assert_msg(reply.status == t->status, "%s: %d", t->name,
		      reply.status);
	ck_assert_msg(seen.opened == (t->status == 200), "%s", t->name);
	if (rc == 0)
		check_body(t, &seen, &reply);
	else
		ck_assert_msg(strstr(e.text, t->text) != NULL, "%s: %s",
			      t->name, e.text);
	await_requests(&f, 1);
	ck_assert_uint_eq(f.server.requests, 1);
	ck_assert_uint_eq(f.counters.rest[REST_GET][t->status], 1);
	free(seen.bytes);
	fixture_done(&f);
}
END_TEST

/* --- gathered --------------------------------------------------------------- */

struct gathering {
	struct kube_stream *stream;	/* to cancel with the first line */
	unsigned pieces;
	size_t bytes;
	unsigned pause_us;	/* for each piece */
	int64_t taken_ms;	/* when the last piece had been taken */
	int64_t longest_ms;	/* without a piece, after the first one */
	_Atomic bool begun, taken;	/* the first piece */
	_Atomic int64_t late_ms;	/* when the late line was sent */
};

/* The first line alone, and six others one after the other as soon as it has
 * been read. */
static bool
seven_lines(struct scripted_peer *p, void *ctx)
{
	struct gathering *g = ctx;

	if (!scripted_puts(p, "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n"
			      "{}\n"))
		return false;
	for (int i = 0; i < PATIENT_MS && !g->begun; i++)
		(void)usleep(1000);
	for (int i = 0; i < 6; i++)
		if (!scripted_puts(p, "{}\n") || usleep(10000) != 0)
			return false;
	return true;
}

static int
gather(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct gathering *g = ctx;
	int64_t ms = clock_boot_ms() - g->taken_ms;

	(void)bytes, (void)e;
	if (g->pieces++ > 0 && ms > g->longest_ms)
		g->longest_ms = ms;
	g->bytes += n;
	g->begun = true;
	(void)usleep(g->pause_us);
	g->taken_ms = clock_boot_ms();
	g->taken = true;
	if (g->stream != NULL)
		kube_stream_cancel(g->stream);
	return 0;
}

START_TEST(test_gathered)
{
	struct kube_request q = get(0);
	struct gathering g = {0};
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	q.gather_ms = 1000;
	fixture_server(&f, NULL, seven_lines, &g);
	fixture_kube(&f);
	ck_assert_int_eq(kube_stream_run(f.stream, &q, gather, NULL, &g, &reply,
					 &e),
			 0);
	ck_assert_uint_eq(g.bytes, 21);
	ck_assert_uint_ge(g.pieces, 2);
	ck_assert_uint_le(g.pieces, 4);
	fixture_done(&f);
}
END_TEST

/* The second line comes 600 ms after the first one. */
static bool
a_late_line(struct scripted_peer *p, void *ctx)
{
	struct gathering *g = ctx;

	if (!scripted_puts(p, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
			      "{}\n"))
		return false;
	for (int i = 0; i < PATIENT_MS && !g->begun; i++)
		(void)usleep(1000);
	(void)usleep(600000);
	g->late_ms = clock_boot_ms();
	return scripted_puts(p, "{}\n");
}

/* After the pause the next line is taken at once.  A single round in which it
 * was shows that no other pause was under way, nor a longer one: they would end
 * 200 and 400 ms after it. */
START_TEST(test_gathered_then_quiet)
{
	int64_t least = INT64_MAX, ms;

	for (int i = 0; i < 4 && least >= 150; i++) {
		struct kube_request q = get(0);
		struct gathering g = {0};
		struct kube_reply reply;
		struct fixture f;
		struct err e = {0};

		q.gather_ms = 400;
		fixture_server(&f, NULL, a_late_line, &g);
		fixture_kube(&f);
		ck_assert_int_eq(kube_stream_run(f.stream, &q, gather, NULL, &g,
						 &reply, &e),
				 0);
		ck_assert_uint_eq(g.pieces, 2);
		ms = clock_boot_ms() - g.late_ms;
		least = ms < least ? ms : least;
		fixture_done(&f);
	}
	ck_assert_int_lt(least, 150);
}
END_TEST

/* A pause ends when the stream is cancelled or its deadline has come. */
START_TEST(test_gathering_ends)
{
	struct kube_request q = get(0);
	struct gathering g = {0};
	int64_t before = clock_boot_ms();
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	q.gather_ms = PATIENT_MS;
	q.silent_ms = 1000;
	fixture_server(&f, NULL, hang_after_line, NULL);
	fixture_kube(&f);
	(void)kube_stream_run(f.stream, &q, gather, NULL, &g, &reply, &e);
	ck_assert_int_eq(e.code, ERR_TIMEOUT);
	ck_assert_int_lt(clock_boot_ms() - before, PATIENT_MS);
	q.silent_ms = 0;
	g.stream = f.stream;
	(void)kube_stream_run(f.stream, &q, gather, NULL, &g, &reply, &e);
	ck_assert_int_eq(e.code, ERR_CANCELLED);
	ck_assert_uint_eq(g.pieces, 2);
	fixture_done(&f);
}
END_TEST

/* A pause, as a wait, ends after a second.  A single round that was shorter
 * shows that there was none, so a busy machine may delay the others. */
#define LOOKS_MS 900
#define TIMES 5

/* What is there to be read is read without a pause.  The server is faster than
 * the sink. */
START_TEST(test_gathering_keeps_up)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < TIMES && least >= LOOKS_MS; i++) {
		struct kube_request q = get(PATIENT_MS);
		struct gathering g = {.pause_us = 1000};
		struct kube_reply reply;
		struct fixture f;
		struct err e = {0};

		q.gather_ms = PATIENT_MS;
		fixture_server(&f, NULL, big_line,
			       (void *)(uintptr_t) "200 OK");
		fixture_kube(&f);
		ck_assert_int_eq(kube_stream_run(f.stream, &q, gather, NULL, &g,
						 &reply, &e),
				 0);
		ck_assert_uint_eq(g.bytes, BIG);
		least = g.longest_ms < least ? g.longest_ms : least;
		fixture_done(&f);
	}
	ck_assert_int_lt(least, LOOKS_MS);
}
END_TEST

/* --- the heart ------------------------------------------------------------ */

/* The second line comes when the sink is done with the first one. */
static bool
two_lines(struct scripted_peer *p, void *ctx)
{
	struct gathering *g = ctx;

	if (!scripted_puts(p, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
			      "{}\n"))
		return false;
	for (int i = 0; i < PATIENT_MS && !g->taken; i++)
		(void)usleep(1000);
	(void)usleep(20000);	/* the stream looks for more */
	return scripted_puts(p, "{}\n");
}

/* Time that the sink takes, or that has passed before the last bytes, is no
 * silence of the peer's. */
START_TEST(test_a_slow_sink_is_no_silence)
{
	struct kube_request q = get(0);
	struct gathering g = {.pause_us = 600000};
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	q.silent_ms = 500;
	fixture_server(&f, NULL, two_lines, &g);
	fixture_kube(&f);
	(void)kube_stream_run(f.stream, &q, gather, NULL, &g, &reply, &e);
	ck_assert_msg(e.code == ERR_NONE, "%s", e.text);
	ck_assert_uint_eq(g.bytes, 6);
	fixture_done(&f);
}
END_TEST

static void *
run_in_vain(void *stream)
{
	struct kube_request q = get(0);
	struct kube_reply reply;
	struct err e;

	(void)kube_stream_run(stream, &q, NULL, NULL, NULL, &reply, &e);
	return NULL;
}

/* A call for which nothing comes beats once a second. */
START_TEST(test_heart)
{
	int64_t by_ms = clock_boot_ms() + PATIENT_MS;
	struct fixture f;
	pthread_t t;

	fixture_server(&f, NULL, hang, NULL);
	fixture_kube(&f);
	ck_assert_int_eq(pthread_create(&t, NULL, run_in_vain, f.stream), 0);
	await_requests(&f, 1);
	for (int old = 1; old >= 0; old--)
		while ((kube_stream_heartbeat_age_ms(f.stream) > 500) != old &&
		       clock_boot_ms() < by_ms)
			(void)usleep(5000);
	ck_assert_int_lt(clock_boot_ms(), by_ms);
	kube_stream_cancel(f.stream);
	(void)pthread_join(t, NULL);
	fixture_done(&f);
}
END_TEST

/* --- stopped from another thread ------------------------------------------ */

struct stop {
	struct fixture *f;
	void (*how)(struct kube_stream *s);
	unsigned n;	/* cancel once the server has had so many requests */
};

static void *
stop_it(void *ctx)
{
	const struct stop *s = ctx;

	await_requests(s->f, s->n);
	(void)usleep(300000);	/* libcurl's own timers are over by now */
	s->how(s->f->stream);
	return NULL;
}

/* Returns how long the call took.  It pauses if a line has come. */
static int64_t
run_and(struct fixture *f, void (*how)(struct kube_stream *), unsigned n)
{
	struct stop s = {f, how, n};
	struct kube_request q = get(0);
	struct seen seen = {0};
	struct kube_reply reply;
	int64_t before = clock_boot_ms();
	struct err e = {0};
	pthread_t t;

	q.gather_ms = PATIENT_MS;
	(void)pthread_create(&t, NULL, stop_it, &s);
	ck_assert_int_eq(kube_stream_run(f->stream, &q, seen_sink, NULL, &seen,
					 &reply, &e),
			 -1);
	ck_assert_int_eq(e.code, ERR_CANCELLED);
	(void)pthread_join(t, NULL);
	free(seen.bytes);
	return clock_boot_ms() - before;
}

START_TEST(test_cancel)
{
	int64_t least = INT64_MAX, ms;

	for (int i = 0; i < TIMES && least >= LOOKS_MS; i++) {
		struct fixture f;

		fixture_server(&f, NULL, hang_after_line, NULL);
		fixture_kube(&f);
		ms = run_and(&f, kube_stream_cancel, 1);
		least = ms < least ? ms : least;
		/* The cancel stays in force: no further request is made. */
		(void)run_and(&f, kube_stream_cancel, 1);
		ck_assert_uint_eq(f.server.requests, 1);
		ck_assert_uint_eq(f.counters.rest[REST_GET][0], 0);
		fixture_done(&f);
	}
	ck_assert_int_lt(least, LOOKS_MS);
}
END_TEST

START_TEST(test_nudge)
{
	int64_t least = INT64_MAX, ms;
	struct fixture f;

	fixture_server(&f, NULL, hang, NULL);
	fixture_kube(&f);
	/* A nudge from before the call meant an earlier call. */
	kube_stream_nudge(f.stream);
	for (unsigned i = 1; i <= 2 || (i <= TIMES && least >= LOOKS_MS); i++) {
		ms = run_and(&f, kube_stream_nudge, i);
		least = ms < least ? ms : least;
		ck_assert_uint_eq(f.server.requests, i);
	}
	ck_assert_int_lt(least, LOOKS_MS);
	fixture_done(&f);
}
END_TEST

START_TEST(test_refused)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, NULL, hang, NULL);
	fixture_kube(&f);
	scripted_stop(&f.server);
	ck_assert_int_eq(
		kube_stream_run(f.stream, &q, NULL, NULL, NULL, &reply, &e),
		-1);
	ck_assert_int_eq(e.code, ERR_SYSTEM);
	ck_assert_ptr_nonnull(strstr(e.text, "Connection refused; is the API"));
	ck_assert_int_eq(reply.status, 0);
	ck_assert_uint_eq(f.counters.rest[REST_GET][0], 1);
	scripted_start(&f.server, NULL, hang, NULL);
	fixture_done(&f);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/kube");
	TCase *t = tcase_create("stream");

	tcase_add_loop_test(t, test_ends, 0, sizeof(ends) / sizeof(ends[0]));
	tcase_add_test(t, test_gathered);
	tcase_add_test(t, test_gathered_then_quiet);
	tcase_add_test(t, test_gathering_ends);
	tcase_add_test(t, test_gathering_keeps_up);
	tcase_add_test(t, test_a_slow_sink_is_no_silence);
	tcase_add_test(t, test_heart);
	tcase_add_test(t, test_cancel);
	tcase_add_test(t, test_nudge);
	tcase_add_test(t, test_refused);
	suite_add_tcase(s, t);
	return suite_run(s);
}
