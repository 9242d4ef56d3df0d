/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_fixture.h"

#include "core/base/limits.h"

/* Lanes: many calls on few connections, of which none spoils another. */

#define WIDE 8
#define CALLS 64

static struct kube_lanes *
pool(struct fixture *f, unsigned n)
{
	struct err e = {0};
	struct kube_lanes *p = kube_lanes_new(f->kube, n, &e);

	ck_assert_msg(p != NULL, "%s", e.text);
	return p;
}

/* --- 64 calls over 8 connections ------------------------------------------ */

static bool
echo_slowly(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	(void)usleep(3000);
	return scripted_reply(p, "200 OK", "", p->body);
}

START_TEST(test_many)
{
	struct kube_request q = {
		.method = "PATCH", .path = "/x", .timeout_ms = PATIENT_MS};
	unsigned started = 0, done = 0;
	bool seen[CALLS] = {false};
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	struct err e = {0};
	uint64_t tag;
	char body[32];

	fixture_server(&f, NULL, echo_slowly, NULL);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	while (done < CALLS) {
		for (; started < CALLS && kube_lanes_room(p) > 0; started++) {
			(void)snprintf(body, sizeof(body), "{\"n\":%u}",
				       started);
			q.body = body;
			q.body_bytes = strlen(body);
			ck_assert_int_eq(kube_lanes_start(p, &q, started, &e),
					 0);
		}
		kube_lanes_wait(p, 1000);
		while (kube_lanes_finished(p, &tag, &reply, &e)) {
			ck_assert_int_eq(e.code, ERR_NONE);
			(void)snprintf(body, sizeof(body), "{\"n\":%u}",
				       (unsigned)tag);
			ck_assert_str_eq(reply.body, body);
			ck_assert(!seen[tag]);
			seen[tag] = true;
			done++;
		}
	}
	ck_assert_uint_eq(kube_lanes_room(p), WIDE);
	ck_assert_uint_eq(f.server.requests, CALLS);
	ck_assert_uint_le(f.server.accepted, WIDE);
	ck_assert_uint_eq(f.counters.rest[REST_PATCH][200], CALLS);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

START_TEST(test_room)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_lanes *p;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, NULL, echo_slowly, NULL);
	fixture_kube(&f);
	p = pool(&f, 1);
	ck_assert_int_eq(kube_lanes_start(p, &q, 1, &e), 0);
	ck_assert_uint_eq(kube_lanes_room(p), 0);
	ck_assert_int_eq(kube_lanes_start(p, &q, 2, &e), -1);
	ck_assert_int_eq(e.code, ERR_LIMIT);
	/* The calls are cut in flight. */
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* --- how many calls fly ----------------------------------------------------- */

/* Takes all answers that are there. */
static unsigned
take(struct kube_lanes *p)
{
	struct kube_reply reply;
	unsigned n = 0;
	struct err e;
	uint64_t tag;

	while (kube_lanes_finished(p, &tag, &reply, &e)) {
		ck_assert_msg(e.code == ERR_NONE, "%s", e.text);
		n++;
	}
	return n;
}

/* Some call is always under way, and before all connections are open, more than
 * LANES_PATIENCE_MS have passed. */
static bool
echo_late(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	(void)usleep((p->server->requests % 2 > 0 ? 450 : 650) *
		     LANES_PATIENCE_MS);
	return scripted_reply(p, "200 OK", "", p->body);
}

/* One connection first, and one more with each answer, until the lanes close
 * them. */
START_TEST(test_ready)
{
	struct kube_request q = get(PATIENT_MS);
	unsigned most = 0, done = 0;
	int64_t answer_ms = clock_boot_ms();
	bool slow = false;	/* this machine */
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	struct err e;

	fixture_server(&f, NULL, echo_late, NULL);
	f.options.rest_ms = 50;
	fixture_kube(&f);
	p = pool(&f, WIDE);
	for (unsigned flying = 0, answers; done < 3 * WIDE;) {
		unsigned ready = kube_lanes_ready(p);

		ck_assert_uint_le(flying + ready, WIDE);
		for (; ready > 0; ready--, flying++)
			ck_assert_int_eq(kube_lanes_start(p, &q, 0, &e), 0);
		slow |= clock_boot_ms() >= answer_ms + LANES_PATIENCE_MS;
		if (!slow)
			ck_assert_uint_le(flying, done + 1);
		most = flying > most ? flying : most;
		kube_lanes_wait(p, 50);
		answers = take(p);
		if (answers > 0)
			answer_ms = clock_boot_ms();
		flying -= answers;
		done += answers;
	}
	ck_assert_uint_eq(most, WIDE);
	while (kube_lanes_room(p) < WIDE) {
		kube_lanes_wait(p, 50);
		(void)take(p);
	}
	kube_lanes_wait(p, 150);
	ck_assert_uint_eq(kube_lanes_ready(p), 1);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	ck_assert_uint_eq(kube_lanes_ready(p), 2);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

static bool
never(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	return scripted_hang(p);
}

/* A connection that hangs does not keep the others from being opened. */
START_TEST(test_ready_though_one_hangs)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_lanes *p;
	struct fixture f;
	struct err e = {0};

	fixture_server(&f, NULL, never, NULL);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	ck_assert_int_eq(kube_lanes_start(p, &q, 0, &e), 0);
	ck_assert_uint_eq(kube_lanes_ready(p), 0);
	kube_lanes_wait(p, LANES_PATIENCE_MS);
	ck_assert_uint_eq(kube_lanes_ready(p), WIDE - 1);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* --- a connection that hangs, or is closed while idle --------------------- */

/* The first connection answers once and then never again. */
static bool
hang_once(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	if (p->server->accepted == 1 && p->nth > 0)
		return scripted_hang(p);
	return scripted_reply(p, "200 OK", "", "{}");
}

START_TEST(test_hung)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	struct err e;
	int64_t before;

	fixture_server(&f, NULL, hang_once, NULL);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	before = clock_boot_ms();
	q.timeout_ms = 300;
	e = lanes_call(p, &q, &reply);
	ck_assert_int_eq(e.code, ERR_TIMEOUT);
	ck_assert_int_eq(reply.status, 0);
	ck_assert_int_ge(clock_boot_ms() - before, 300);
	ck_assert_int_lt(clock_boot_ms() - before, PATIENT_MS / 2);
	q.timeout_ms = PATIENT_MS;
	e = lanes_call(p, &q, &reply);
	ck_assert_msg(e.code == ERR_NONE, "%s", e.text);
	ck_assert_int_eq(reply.status, 200);
	ck_assert_uint_eq(f.server.accepted, 2);
	ck_assert_uint_eq(f.counters.rest[REST_GET][0], 1);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* The call is like one of a process that was stopped between making and sending
 * it. */
START_TEST(test_slept_past_the_fence)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	struct err e;
	uint64_t tag;

	fixture_server(&f, NULL, echo_slowly, NULL);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	q.fence_ms = clock_boot_ms() + 20;
	for (unsigned i = 0; i < 2; i++)	/* one of the two needs a new
						   connection */
		ck_assert_int_eq(kube_lanes_start(p, &q, i, &e), 0);
	(void)usleep(40000);
	kube_lanes_wait(p, 200);
	for (unsigned i = 0; i < 2;) {
		while (kube_lanes_finished(p, &tag, &reply, &e)) {
			ck_assert_int_eq(e.code, ERR_TIMEOUT);
			ck_assert_ptr_nonnull(strstr(e.text, "given up"));
			ck_assert_int_eq(reply.status, 0);
			i++;
		}
		kube_lanes_wait(p, 200);
	}
	ck_assert_uint_eq(f.server.requests, 1);
	q.fence_ms = clock_boot_ms() + PATIENT_MS;
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	ck_assert_uint_eq(f.server.requests, 2);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

static bool
answer_and_close(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	(void)scripted_reply(p, "200 OK", "", "{}");
	return false;
}

START_TEST(test_closed_while_idle)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;

	fixture_server(&f, NULL, answer_and_close, NULL);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
		(void)usleep(10000);
	}
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* The first connection takes its second request and closes without an
 * answer. */
static bool
close_on_second(struct scripted_peer *p, void *ctx)
{
	(void)ctx;
	if (p->server->accepted == 1 && p->nth > 0)
		return false;
	return scripted_reply(p, "200 OK", "", "{}");
}

START_TEST(test_closed_on_request)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	struct err e;

	fixture_server(&f, NULL, close_on_second, NULL);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	e = lanes_call(p, &q, &reply);
	ck_assert_msg(e.code == ERR_NONE, "%s", e.text);
	/* The request has arrived twice. */
	ck_assert_uint_eq(f.server.requests, 3);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* Lanes that were idle for rest_ms close their connections, and open new ones
 * later. */
START_TEST(test_rest)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;

	fixture_server(&f, NULL, echo_slowly, NULL);
	f.options.rest_ms = 50;
	fixture_kube(&f);
	p = pool(&f, WIDE);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	ck_assert_uint_eq(f.server.open, 1);
	kube_lanes_wait(p, 150);
	for (int i = 0; i < PATIENT_MS && f.server.open > 0; i++)
		(void)usleep(1000);
	ck_assert_uint_eq(f.server.open, 0);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	ck_assert_uint_eq(f.server.accepted, 2);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* Ends the wait once all connections are closed. */
static void *
wake_when_closed(void *ctx)
{
	void **both = ctx;
	const struct fixture *f = both[0];

	for (int i = 0; i < PATIENT_MS && f->server.open > 0; i++)
		(void)usleep(1000);
	kube_lanes_wake(both[1]);
	return NULL;
}

/* They do so in the middle of a wait, which may be for hours. */
START_TEST(test_rest_within_a_wait)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	void *both[2];
	pthread_t t;

	fixture_server(&f, NULL, echo_slowly, NULL);
	f.options.rest_ms = 50;
	fixture_kube(&f);
	p = pool(&f, WIDE);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	ck_assert_uint_eq(f.server.open, 1);
	both[0] = &f;
	both[1] = p;
	(void)pthread_create(&t, NULL, wake_when_closed, both);
	kube_lanes_wait(p, 2 * PATIENT_MS);
	ck_assert_uint_eq(f.server.open, 0);
	(void)pthread_join(t, NULL);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* --- woken ---------------------------------------------------------------- */

static void *
wake_soon(void *pool_)
{
	(void)usleep(50000);
	kube_lanes_wake(pool_);
	return NULL;
}

START_TEST(test_wake)
{
	struct kube_lanes *p;
	struct fixture f;
	int64_t before;
	pthread_t t;

	fixture_server(&f, NULL, echo_slowly, NULL);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	for (int i = 0; i < 2; i++) {
		before = clock_boot_ms();
		(void)pthread_create(&t, NULL, wake_soon, p);
		kube_lanes_wait(p, 2 * PATIENT_MS);
		ck_assert_int_lt(clock_boot_ms() - before, PATIENT_MS);
		(void)pthread_join(t, NULL);
	}
	/* A wake-up from before the wait ends it.  After that only time
	 * does. */
	kube_lanes_wake(p);
	kube_lanes_wait(p, 2 * PATIENT_MS);
	before = clock_boot_ms();
	kube_lanes_wait(p, 100);
	ck_assert_int_ge(clock_boot_ms() - before, 100);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* --- bodies --------------------------------------------------------------- */

static bool
big(struct scripted_peer *p, void *ctx)
{
	size_t n = *(const size_t *)ctx;
	char *body = malloc(n + 1);
	bool ok;

	memset(body, 'x', n);
	body[n] = '\0';
	ok = scripted_reply(p, "200 OK", "", body);
	free(body);
	return ok;
}

static const struct {
	const char *name;
	size_t bytes;
	enum err_code code;
} bodies[] = {
	{"none", 0, ERR_NONE},
	{"at the bound", ITEM_BYTES_MAX, ERR_NONE},
	{"one past it", ITEM_BYTES_MAX + 1, ERR_LIMIT},
	{"10 MB", 10u << 20, ERR_LIMIT},
};

START_TEST(test_body)
{
	struct kube_request q = get(PATIENT_MS);
	size_t bytes = bodies[_i].bytes;
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;
	struct err e;

	fixture_server(&f, NULL, big, &bytes);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	e = lanes_call(p, &q, &reply);
	ck_assert_msg(e.code == bodies[_i].code, "%s: %s", bodies[_i].name,
		      e.text);
	if (e.code == ERR_NONE)
		ck_assert_uint_eq(strlen(reply.body), bytes);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

/* --- 429 ------------------------------------------------------------------ */

static bool
too_many(struct scripted_peer *p, void *ctx)
{
	return scripted_reply(p, "429 Too Many Requests", ctx, "later");
}

#define DATE "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

static const struct {
	const char *name, *headers;
	int64_t ms;
} waits[] = {
	{"none", DATE, -1},
	{"seconds", DATE "Retry-After: 7\r\n", 7000},
	{"no wait", DATE "retry-after:0\r\n", 0},
	{"a date", DATE "Retry-After: Sun, 06 Nov 1994 08:49:42 GMT\r\n", 5000},
	{"a date before the Date header",
	 "Retry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\n" DATE, 60000},
	{"a date that has passed",
	 DATE "Retry-After: Sun, 06 Nov 1994 08:49:00 GMT\r\n", 0},
	{"nonsense", DATE "Retry-After: soon\r\n", -1},
	{"negative", DATE "Retry-After: -5\r\n", -1},
	{"beyond the cap", DATE "Retry-After: 99999999999999999999\r\n",
	 300000},
	{"a date beyond the cap",
	 DATE "Retry-After: Sun, 06 Nov 2094 08:49:00 GMT\r\n", 300000},
};

START_TEST(test_retry_after)
{
	struct kube_request q = get(PATIENT_MS);
	struct kube_reply reply;
	struct kube_lanes *p;
	struct fixture f;

	fixture_server(&f, NULL, too_many,
		       (void *)(uintptr_t)waits[_i].headers);
	fixture_kube(&f);
	p = pool(&f, WIDE);
	ck_assert_int_eq(lanes_call(p, &q, &reply).code, ERR_NONE);
	ck_assert_int_eq(reply.status, 429);
	ck_assert_str_eq(reply.body, "later");
	ck_assert_msg(reply.retry_after_ms == waits[_i].ms, "%s: %lld",
		      waits[_i].name, (long long)reply.retry_after_ms);
	ck_assert_uint_eq(f.counters.rest[REST_GET][429], 1);
	kube_lanes_free(p);
	fixture_done(&f);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/kube_lanes");
	TCase *t = tcase_create("pool");

	tcase_add_test(t, test_many);
	tcase_add_test(t, test_room);
	tcase_add_test(t, test_ready);
	tcase_add_test(t, test_ready_though_one_hangs);
	tcase_add_test(t, test_hung);
	tcase_add_test(t, test_slept_past_the_fence);
	tcase_add_test(t, test_closed_while_idle);
	tcase_add_test(t, test_closed_on_request);
	tcase_add_test(t, test_rest);
	tcase_add_test(t, test_rest_within_a_wait);
	tcase_add_test(t, test_wake);
	tcase_add_loop_test(t, test_body, 0,
			    sizeof(bodies) / sizeof(bodies[0]));
	tcase_add_loop_test(t, test_retry_after, 0,
			    sizeof(waits) / sizeof(waits[0]));
	suite_add_tcase(s, t);
	return suite_run(s);
}
