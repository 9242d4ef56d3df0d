/* SPDX-License-Identifier: Apache-2.0 */
#include "kube_fixture.h"

#include <sys/mman.h>

#include "daemon/event_recorder.h"
#include "edge/log.h"

/*
 * The product's event recorder speaks to a scripted API server.  The linker
 * puts __wrap_clock_now in the place of clock_now.  Where the product waits for
 * 10 s or 6 min, the test calls leap().
 */

#define SERVER_MS INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */
#define BOOT_MS 5000000
#define AGAIN_MS 13000	/* over 1.25 EVENT_SERIES_RETRY_MS */
#define EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"
#define CREATE "POST " EVENTS " HTTP/1.1"
#define NAME "general.6475ef64cf340"	/* SERVER_MS in us, in hex */
#define SERIES "PATCH " EVENTS "/" NAME " HTTP/1.1"

struct now __wrap_clock_now(const struct clock *c);

static _Atomic int64_t leapt;

struct now
__wrap_clock_now(const struct clock *c)
{
	int64_t ms = atomic_load(&leapt);

	(void)c;
	return (struct now){.server_ms = SERVER_MS + ms,
			    .boot_ms = BOOT_MS + ms};
}

static void
leap(int64_t ms)
{
	atomic_fetch_add(&leapt, ms);
}

/* --- the API server ------------------------------------------------------ */

struct answer {
	const char *status;	/* NULL: no answer, the connection is closed */
	const char *headers, *body;
};

#define OK_ANSWER {"201 Created", "", "{}"}
#define STATUS(code, reason, message)                                          \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","   \
	"\"message\":\"" message "\",\"reason\":\"" reason                     \
	"\",\"code\":" #code "}"
#define FORBIDDEN                                                              \
	{"403 Forbidden", "", STATUS(403, "Forbidden", "events is forbidden")}

#define ASKED_MAX 128
#define SETTLE "settle-"

struct api {
	pthread_mutex_t lock;
	struct asked {
		char line[512], type[64], body[4096];
	} asked[ASKED_MAX];
	unsigned n;
	unsigned settled;		/* requests that settle() caused; n
					   leaves them out */
	const struct answer *script;	/* the answer to the n-th request; after
					   the last one 201 */
	unsigned script_n;
	bool hang;			/* no answer until this is false; then
					   the connection is cut */
};

static struct api api;
static struct fixture f;
static struct event_recorder *t;
static struct worker worker;

static void
sleep_ms(long ms)
{
	(void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static bool
hangs(void)
{
	bool hang;

	(void)pthread_mutex_lock(&api.lock);
	hang = api.hang;
	(void)pthread_mutex_unlock(&api.lock);
	return hang;
}

/* Notes the request and returns the answer to it. */
static const struct answer *
note(struct scripted_peer *p)
{
	static const struct answer created = OK_ANSWER;
	struct asked *q = &api.asked[api.n < ASKED_MAX ? api.n : ASKED_MAX - 1];

	if (strstr(p->body, SETTLE) != NULL) {
		api.settled++;
		return &created;
	}
	(void)snprintf(q->line, sizeof(q->line), "%.*s",
		       (int)strcspn(p->request, "\r"), p->request);
	scripted_header(p, "Content-Type", q->type, sizeof(q->type));
	(void)snprintf(q->body, sizeof(q->body), "%s", p->body);
	return api.n++ < api.script_n ? &api.script[api.n - 1] : &created;
}

static bool
answer(struct scripted_peer *p, void *ctx)
{
	const struct answer *a;

	(void)ctx;
	(void)pthread_mutex_lock(&api.lock);
	a = note(p);
	(void)pthread_mutex_unlock(&api.lock);
	if (hangs()) {
		while (hangs() && !atomic_load(&p->server->stop))
			sleep_ms(5);
		return false;
	}
	return a->status != NULL &&
	       scripted_reply(p, a->status, a->headers, a->body);
}

static unsigned
read_locked(const unsigned *n)
{
	unsigned value;

	(void)pthread_mutex_lock(&api.lock);
	value = *n;
	(void)pthread_mutex_unlock(&api.lock);
	return value;
}

static unsigned
asked(void)
{
	return read_locked(&api.n);
}

static void
wait_for(const unsigned *n, unsigned want)
{
	int64_t end = clock_boot_ms() + 10000;

	while (read_locked(n) < want) {
		ck_assert_msg(clock_boot_ms() < end, "%u, not %u",
			      read_locked(n), want);
		sleep_ms(5);
	}
}

static void
wait_asked(unsigned n)
{
	wait_for(&api.n, n);
}

/* --- the event recorder --------------------------------------------------- */

static void
setup_for(const struct answer *script, unsigned n, int64_t call_ms)
{
	struct timing timing = {.call_ms = call_ms};
	struct event_recorder_setup o = {.instance = "pod-1",
					 .timing = &timing};
	struct err e = {0};

	memset(&api, 0, sizeof(api));
	(void)pthread_mutex_init(&api.lock, NULL);
	api.script = script;
	api.script_n = n;
	atomic_store(&leapt, 0);
	log_open(LOG_TEXT, LOG_ERROR);
	fixture_server(&f, NULL, answer, NULL);
	fixture_kube(&f);
	o.clock = f.clock;
	o.kube = f.kube;
	t = event_recorder_new(&o, &worker, &e);
	ck_assert_msg(t != NULL, "%s", e.text);
}

static void
setup(void)
{
	setup_for(NULL, 0, PATIENT_MS);
}

static void
start(void)
{
	struct err e = {0};

	ck_assert_msg(worker_start(&worker, &e) == 0, "%s", e.text);
}

static void
join(void)
{
	worker_stop(&worker);
	worker_join(&worker);
}

static void
teardown(void)
{
	join();
	event_recorder_free(t);
	fixture_done(&f);
	(void)pthread_mutex_destroy(&api.lock);
}

static void
say(const char *pool)
{
	event_recorder_say(t, &(struct event_series_what){
				      .reason = EVENT_HOLD_STARTED,
				      .nodepool = pool,
				      .nodepool_uid = "u-1",
				      .note = "held \"for now\""});
}

/* The recorder writes one Event after the other.  When it makes the request of
 * this function, it knows what came of all those before. */
static void
settle(void)
{
	unsigned n = read_locked(&api.settled);
	char pool[32];

	(void)snprintf(pool, sizeof(pool), SETTLE "%u", n);
	say(pool);
	wait_for(&api.settled, n + 1);
}

/* --- its log ------------------------------------------------------------- */

static int log_fd, stderr_fd;

static void
capture(enum log_level level)
{
	log_open(LOG_TEXT, level);
	log_fd = memfd_create("log", MFD_CLOEXEC);
	stderr_fd = dup(STDERR_FILENO);
	ck_assert_int_ge(dup2(log_fd, STDERR_FILENO), 0);
}

static const char *
captured(void)
{
	static char text[65536];
	ssize_t n;

	ck_assert_int_ge(dup2(stderr_fd, STDERR_FILENO), 0);
	(void)close(stderr_fd);
	n = pread(log_fd, text, sizeof(text) - 1, 0);
	(void)close(log_fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static unsigned
times(const char *text, const char *part)
{
	unsigned n = 0;

	while ((text = strstr(text, part)) != NULL) {
		text += strlen(part);
		n++;
	}
	return n;
}

/* --- what is written ----------------------------------------------------- */

START_TEST(test_create)
{
	setup();
	start();
	say("general");
	wait_asked(1);
	join();
	ck_assert_uint_eq(asked(), 1);
	ck_assert_str_eq(api.asked[0].line, CREATE);
	ck_assert_str_eq(api.asked[0].type, "application/json");
	ck_assert_str_eq(
		api.asked[0].body,
		"{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\","
		"\"metadata\":{\"namespace\":\"default\",\"name\":\"" NAME
		"\"},"
		"\"eventTime\":\"2026-01-02T03:04:05.000000Z\","
		"\"reportingController\":"
		"\"karpenter-node-holder.io/karpenter-node-holder\","
		"\"reportingInstance\":\"pod-1\",\"action\":\"Hold\","
		"\"reason\":\"HoldStarted\",\"type\":\"Normal\","
		"\"note\":\"held \\\"for now\\\"\","
		"\"regarding\":{\"apiVersion\":\"karpenter.sh/v1\","
		"\"kind\":\"NodePool\",\"name\":\"general\",\"uid\":\"u-1\"}}");
	teardown();
}
END_TEST

/* The second Event within 6 min makes a series.  The third is counted, and
 * written when the series has ended. */
START_TEST(test_series)
{
	setup();
	start();
	say("general");
	wait_asked(1);
	leap(359999);
	say("general");
	wait_asked(2);
	ck_assert_str_eq(api.asked[1].line, SERIES);
	ck_assert_str_eq(api.asked[1].type, "application/merge-patch+json");
	ck_assert_str_eq(api.asked[1].body,
			 "{\"series\":{\"count\":2,\"lastObservedTime\":"
			 "\"2026-01-02T03:10:04.999000Z\"}}");
	settle();
	say("general");
	settle();
	ck_assert_uint_eq(asked(), 2);
	leap(360000);
	wait_asked(3);
	ck_assert_str_eq(api.asked[2].line, SERIES);
	ck_assert_str_eq(api.asked[2].body,
			 "{\"series\":{\"count\":3,\"lastObservedTime\":"
			 "\"2026-01-02T03:10:04.999000Z\"}}");
	teardown();
	ck_assert_uint_eq(api.n, 3);
}
END_TEST

/* --- what the server may answer ------------------------------------------ */

static const struct {
	const char *name;
	struct answer answer;
	bool trouble;	/* the log says so */
	bool again;	/* the write is tried again after ms */
	int64_t ms;
} creates[] = {
	{"written", OK_ANSWER, false, false, AGAIN_MS},
	{"written, as a proxy may say it", {"200 OK", "", ""},
	 false, false, AGAIN_MS},
	{"ours already",
	 {"409 Conflict", "", STATUS(409, "AlreadyExists", "exists")},
	 false, false, AGAIN_MS},
	{"a quota's conflict",
	 {"409 Conflict", "", STATUS(409, "Conflict", "resourcequotas")},
	 true, true, AGAIN_MS},
	{"a proxy's conflict", {"409 Conflict", "", "no"},
	 true, true, AGAIN_MS},
	{"no right", FORBIDDEN, true, false, AGAIN_MS},
	{"not valid",
	 {"422 Unprocessable Entity", "", STATUS(422, "Invalid", "note")},
	 true, false, AGAIN_MS},
	{"not readable", {"400 Bad Request", "", "no"}, true, false, AGAIN_MS},
	{"too large", {"413 Too Large", "", ""}, true, false, AGAIN_MS},
	{"no namespace",
	 {"404 Not Found", "", STATUS(404, "NotFound", "default")},
	 true, false, AGAIN_MS},
	{"not served", {"404 Not Found", "", "404 page not found\n"},
	 true, false, AGAIN_MS},
	{"a proxy's 404", {"404 Not Found", "", "<html>nothing</html>"},
	 true, true, AGAIN_MS},
	{"no token", {"401 Unauthorized", "", STATUS(401, "Unauthorized", "")},
	 true, true, AGAIN_MS},
	{"a slow proxy", {"408 Request Timeout", "", ""},
	 true, true, AGAIN_MS},
	{"a redirect", {"302 Found", "Location: /elsewhere\r\n", ""},
	 true, true, AGAIN_MS},
	{"our fault, it says", {"500 Internal Server Error", "", "{"},
	 true, true, AGAIN_MS},
	{"a moment later", {"500 Internal Server Error", "", "{"},
	 true, false, 9999},
	{"no backend", {"503 Service Unavailable", "", ""},
	 true, true, AGAIN_MS},
	{"too many", {"429 Too Many Requests", "", ""},
	 true, true, AGAIN_MS},
	{"a minute, too early",
	 {"429 Too Many Requests", "Retry-After: 60\r\n", ""},
	 true, false, 59999},
	{"a minute", {"429 Too Many Requests", "Retry-After: 60\r\n", ""},
	 true, true, 60000},
	{"cut", {NULL, NULL, NULL}, true, true, AGAIN_MS},
};

START_TEST(test_created)
{
	const char *log;

	setup_for(&creates[_i].answer, 1, PATIENT_MS);
	capture(LOG_INFO);
	start();
	say("general");
	wait_asked(1);
	settle();
	leap(creates[_i].ms);
	settle();	/* the recorder now tries what is due */
	if (creates[_i].again)
		wait_asked(2);
	join();
	log = captured();
	ck_assert_msg(asked() == 1u + creates[_i].again, "%s: %u requests",
		      creates[_i].name, asked());
	ck_assert_msg(times(log, " WARN event failed ") == creates[_i].trouble,
		      "%s: %s", creates[_i].name, log);
	if (creates[_i].again)
		ck_assert_str_eq(api.asked[1].body, api.asked[0].body);
	teardown();
}
END_TEST

static const struct {
	const char *name;
	struct answer script[2];
	bool trouble;
	const char *then;	/* NULL: no further request */
} patches[] = {
	{"written", {OK_ANSWER, {"200 OK", "", "{}"}}, false, NULL},
	{"gone: an Event lives for an hour",
	 {OK_ANSWER,
	  {"404 Not Found", "", STATUS(404, "NotFound", "gone")}},
	 false, CREATE},
	{"a proxy's 404", {OK_ANSWER, {"404 Not Found", "", "no"}}, true,
	 SERIES},
	{"conflict",
	 {OK_ANSWER, {"409 Conflict", "", STATUS(409, "Conflict", "")}},
	 true, SERIES},
	{"no right", {OK_ANSWER, FORBIDDEN}, true, NULL},
	{"cut on a kept connection: libcurl makes it again, unasked",
	 {OK_ANSWER, {NULL, NULL, NULL}}, false, SERIES},
};

START_TEST(test_patched)
{
	const char *then = patches[_i].then, *log;

	setup_for(patches[_i].script, 2, PATIENT_MS);
	capture(LOG_INFO);
	start();
	say("general");
	settle();
	say("general");
	settle();
	leap(AGAIN_MS);
	settle();
	if (then != NULL)
		wait_asked(3);
	join();
	log = captured();
	ck_assert_msg(times(log, " WARN event failed ") == patches[_i].trouble,
		      "%s: %s", patches[_i].name, log);
	ck_assert_str_eq(api.asked[1].line, SERIES);
	ck_assert_msg(asked() == 2u + (then != NULL), "%s: %u requests",
		      patches[_i].name, asked());
	if (then != NULL) {
		ck_assert_str_eq(api.asked[2].line, then);
		ck_assert_ptr_nonnull(strstr(api.asked[2].body,
					     "\"series\":{\"count\":2,"));
	}
	teardown();
}
END_TEST

/* --- the log: once when trouble begins, once when it ends ---------------- */

static const struct answer refusals[] = {FORBIDDEN, FORBIDDEN, FORBIDDEN};

START_TEST(test_log)
{
	static const char *const pools[] = {"a", "b", "c", "d", "e"};
	const char *log;

	setup_for(refusals, 3, PATIENT_MS);
	capture(LOG_INFO);
	start();
	for (unsigned i = 0; i < 5; i++)
		say(pools[i]);
	wait_asked(5);
	join();
	log = captured();
	ck_assert_msg(times(log, "\n") == 2, "%s", log);
	ck_assert_ptr_nonnull(strstr(log, " WARN event failed "
					  "event=\"HoldStarted\" "
					  "nodepool=\"a\" code=403 "
					  "err=\"events is forbidden\"\n"));
	ck_assert_ptr_nonnull(strstr(log, " INFO event written "
					  "event=\"HoldStarted\" "
					  "nodepool=\"d\" count=1\n"));
	teardown();
}
END_TEST

START_TEST(test_log_debug)
{
	const char *log;

	setup_for(refusals, 2, PATIENT_MS);
	capture(LOG_DEBUG);
	start();
	say("a");
	say("b");
	say("c");
	say("d");
	settle();
	join();
	log = captured();
	ck_assert_uint_eq(times(log, " WARN event failed "), 1);
	ck_assert_uint_eq(times(log, " DEBUG event failed "), 1);
	ck_assert_uint_eq(times(log, " INFO event written "), 1);
	ck_assert_uint_eq(times(log, " DEBUG event written "
				     "event=\"HoldStarted\" nodepool=\"d\" "),
			  1);
	teardown();
}
END_TEST

/* --- a server that hangs ------------------------------------------------- */

#define LONG_MS 30000	/* longer than any test */
#define SAYERS 4
#define SAYS 1000

static void
hang(bool on)
{
	(void)pthread_mutex_lock(&api.lock);
	api.hang = on;
	(void)pthread_mutex_unlock(&api.lock);
}

static void *
sayer(void *arg)
{
	char pool[32];

	for (int i = 0; i < SAYS; i++) {
		(void)snprintf(pool, sizeof(pool), "p%d-%d", *(int *)arg, i);
		say(pool);
		say("general");
	}
	return NULL;
}

/* A call that hangs makes nobody wait, and what is kept meanwhile is
 * bounded. */
START_TEST(test_hang)
{
	pthread_t threads[SAYERS];
	int nth[SAYERS];
	const char *log;
	char last[64];

	setup_for(NULL, 0, LONG_MS);
	hang(true);
	capture(LOG_INFO);
	start();
	say("general");
	wait_asked(1);
	for (int i = 0; i < SAYERS; i++) {
		nth[i] = i;
		(void)pthread_create(&threads[i], NULL, sayer, &nth[i]);
	}
	for (int i = 0; i < SAYERS; i++)
		(void)pthread_join(threads[i], NULL);
	/* event_recorder_say has returned for all Events, and the first call
	 * has no answer yet. */
	ck_assert_uint_eq(asked(), 1);
	ck_assert_uint_eq(atomic_load(&f.server.open), 1);
	hang(false);	/* the call is cut and will be tried again */
	wait_asked(1 + EVENT_SERIES_MAX - 1);
	leap(2000);	/* tokens for the next two writes */
	settle();
	leap(AGAIN_MS);
	join();
	log = captured();
	ck_assert_uint_eq(asked(), 1 + EVENT_SERIES_MAX - 1 + 1);
	(void)snprintf(last, sizeof(last), "\"series\":{\"count\":%d,",
		       1 + SAYERS * SAYS);
	ck_assert_str_eq(api.asked[EVENT_SERIES_MAX].line, CREATE);
	ck_assert_ptr_nonnull(strstr(api.asked[EVENT_SERIES_MAX].body, last));
	(void)snprintf(last, sizeof(last), " WARN events dropped events=%d\n",
		       SAYERS * SAYS - (EVENT_SERIES_MAX - 1));
	ck_assert_msg(strstr(log, last) != NULL, "%s", log);
	teardown();
}
END_TEST

/* A call that gets no answer ends by itself, and another follows. */
START_TEST(test_timeout)
{
	setup_for(NULL, 0, 200);
	hang(true);
	start();
	say("general");
	say("other");
	wait_asked(2);
	ck_assert_ptr_nonnull(strstr(api.asked[1].body, "other"));
	teardown();
}
END_TEST

/* --- the stop ------------------------------------------------------------ */

/* The stop comes long before the call's own deadline. */
START_TEST(test_stop_in_a_call)
{
	int64_t begin;
	const char *log;

	setup_for(NULL, 0, LONG_MS);
	hang(true);
	start();
	say("general");
	wait_asked(1);
	say("other");
	capture(LOG_DEBUG);
	begin = clock_boot_ms();
	join();
	log = captured();
	ck_assert_int_lt(clock_boot_ms() - begin, LONG_MS / 2);
	ck_assert_uint_eq(asked(), 1);
	ck_assert_str_eq(log, "");
	teardown();
}
END_TEST

/* The recorder still tries what is due, also where the stop comes right after
 * the start.  What waits for another try is not tried. */
START_TEST(test_stop_with_work)
{
	static const struct answer busy[] = {
		{"503 Service Unavailable", "", ""}};
	char pool[16];

	setup_for(busy, 1, PATIENT_MS);
	for (int i = 0; i < 4; i++) {
		(void)snprintf(pool, sizeof(pool), "p%d", i);
		say(pool);
	}
	start();
	join();
	ck_assert_uint_eq(asked(), 4);
	teardown();
}
END_TEST

START_TEST(test_stop_at_once)
{
	setup();
	start();
	join();
	ck_assert_uint_eq(asked(), 0);
	teardown();
}
END_TEST

START_TEST(test_never_started)
{
	setup();
	say("general");
	teardown();
	ck_assert_uint_eq(api.n, 0);
	event_recorder_say(NULL, NULL);
	event_recorder_free(NULL);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("edge/event_recorder");
	TCase *w = tcase_create("write"), *l = tcase_create("log"),
	      *h = tcase_create("hang"), *e = tcase_create("stop");

	tcase_set_timeout(h, 30);
	tcase_add_test(w, test_create);
	tcase_add_test(w, test_series);
	tcase_add_loop_test(w, test_created, 0,
			    sizeof(creates) / sizeof(creates[0]));
	tcase_add_loop_test(w, test_patched, 0,
			    sizeof(patches) / sizeof(patches[0]));
	tcase_add_test(l, test_log);
	tcase_add_test(l, test_log_debug);
	tcase_add_test(h, test_hang);
	tcase_add_test(h, test_timeout);
	tcase_add_test(e, test_stop_in_a_call);
	tcase_add_test(e, test_stop_with_work);
	tcase_add_test(e, test_stop_at_once);
	tcase_add_test(e, test_never_started);
	suite_add_tcase(s, w);
	suite_add_tcase(s, l);
	suite_add_tcase(s, h);
	suite_add_tcase(s, e);
	return suite_run(s);
}
