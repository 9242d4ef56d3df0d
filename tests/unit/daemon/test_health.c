/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/health.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

/*
 * What /livez, /readyz and /healthz answer.  The linker puts the functions
 * below in place of the server's: server_new keeps the routes, and the tests
 * call their handlers.
 */
struct server *__wrap_server_new(const struct server_options *o, struct err *e);
void __wrap_server_free(struct server *s);
int64_t __wrap_server_heartbeat_age_ms(const struct server *s);

int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_lock(pthread_mutex_t *m);

static struct server_options options;
static int64_t webhook_age_ms;
static unsigned locks, locks_taken;	/* by anybody, and by handlers */

int
__wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	locks++;
	return __real_pthread_mutex_lock(m);
}

struct server *
__wrap_server_new(const struct server_options *o, struct err *e)
{
	(void)e;
	options = *o;
	return (struct server *)&options;
}

void
__wrap_server_free(struct server *s)
{
	(void)s;
}

int64_t
__wrap_server_heartbeat_age_ms(const struct server *s)
{
	(void)s;
	return webhook_age_ms;
}

/* --- a process in which all is well ----------------------------------------- */

enum {
	WATCHER_1,
	WATCHER_2,
	SWEEPER,
	ELECTOR,
	RECORDER,
	RENEWER,
	WORKERS,
};

static const struct worker_kind kinds[WORKERS] = {
	{.name = "watchers"}, {.name = "watchers"}, {.name = "sweeper"},
	{.name = "elector"},  {.name = "event-recorder"},   {.name = "cert-renewer"},
};
static struct worker workers[WORKERS];
static struct state shared;
static struct hook hook;
static struct serving_cert pair;
static struct health health;

static void
setup(void)
{
	struct err e = {0};

	memset(&shared, 0, sizeof(shared));
	memset(workers, 0, sizeof(workers));
	shared.clock = clock_new();
	pair = (struct serving_cert){.clock = shared.clock,
				     .not_after_ms = INT64_MAX};
	hook = (struct hook){.server = (struct server *)&options};
	webhook_age_ms = 0;
	for (int i = 0; i < WORKERS; i++) {
		worker_init(&workers[i], &kinds[i], NULL, NULL);
		atomic_store(&workers[i].state, WORKER_RUNNING);
		worker_beat(&workers[i]);
	}
	health = (struct health){.status = {.shared = &shared},
				 .shared = &shared,
				 .hook = &hook,
				 .pair = &pair,
				 .workers = workers,
				 .workers_n = WORKERS,
				 .timing = &timing_default};
	ck_assert_int_eq(health_start(&health, ":0", &e), 0);
}

static void
teardown(void)
{
	health_stop(&health);
	clock_free(shared.clock);
}

/* Returns the status; the body is copied into `body`. */
static char body[4096];

static const struct server_route *
route_of(const char *path)
{
	for (size_t i = 0; i < options.routes_n; i++) {
		const char *pattern = options.routes[i].path;
		size_t n = strcspn(pattern, "*");

		if (strncmp(pattern, path, n) == 0 &&
		    (pattern[n] == '*' || path[n] == '\0'))
			return &options.routes[i];
	}
	ck_abort_msg("no route for %s", path);
}

static int
ask(server_handler *handler, const char *path, const char *query)
{
	struct server_request q = {
		.method = "GET", .path = path, .query = query};
	struct server_reply a = {0};

	locks = 0;
	handler(options.ctx, &q, &a);
	locks_taken += locks;
	ck_assert_uint_lt(a.body_bytes, sizeof(body));
	if (a.body_bytes > 0)
		memcpy(body, a.body, a.body_bytes);
	body[a.body_bytes] = '\0';
	if (a.body_free != NULL)
		a.body_free((void *)(uintptr_t)a.body);
	return a.status;
}

static int
get(const char *path, const char *query)
{
	return ask(route_of(path)->handler, path, query);
}

static void
expect(const char *path, const char *query, int status, const char *want)
{
	ck_assert_int_eq(get(path, query), status);
	ck_assert_str_eq(body, want);
}

/* --- a fault fails its check and no other ------------------------------------ */

static void
silent(int worker)
{
	atomic_fetch_sub(&workers[worker].beat_ms, HEART_MS);
}

static void
no_certificate(void)
{
	pair.not_after_ms = 0;
}

static void
expired_certificate(void)
{
	pair.not_after_ms = clock_now(shared.clock).server_ms;
}

static void
webhook_silent(void)
{
	webhook_age_ms = HEART_MS;
}

static void
webhook_not_started(void)
{
	hook.server = NULL;
}

static void
another_hold(void)
{
	atomic_store(&shared.hold_is_other, true);
}

static void
stopping(void)
{
	atomic_store(&shared.stopping, true);
}

static void
main_silent(void)
{
	atomic_fetch_sub(&health.main_beat_ms, HEART_MS);
}

static void
first_watcher_silent(void)
{
	silent(WATCHER_1);
}

static void
last_watcher_silent(void)
{
	silent(WATCHER_2);
}

static void
sweeper_silent(void)
{
	silent(SWEEPER);
}

static void
elector_silent(void)
{
	silent(ELECTOR);
}

static void
recorder_silent(void)
{
	silent(RECORDER);
}

static void
renewer_silent(void)
{
	silent(RENEWER);
}

#define READY "certificate webhook hold-annotation shutdown"
#define LIVE "main webhook watchers sweeper elector event-recorder cert-renewer"

static const struct {
	const char *name;
	void (*happens)(void);
	const char *ready, *live;	/* the check that fails; NULL: none */
} faults[] = {
	{"no certificate", no_certificate, "certificate", NULL},
	{"expired certificate", expired_certificate, "certificate", NULL},
	{"webhook silent", webhook_silent, "webhook", "webhook"},
	{"webhook not started", webhook_not_started, "webhook", "webhook"},
	{"the Lease has another hold", another_hold, "hold-annotation", NULL},
	{"stopping", stopping, "shutdown", NULL},
	{"main silent", main_silent, NULL, "main"},
	{"first watcher silent", first_watcher_silent, NULL, "watchers"},
	{"last watcher silent", last_watcher_silent, NULL, "watchers"},
	{"sweeper silent", sweeper_silent, NULL, "sweeper"},
	{"elector silent", elector_silent, NULL, "elector"},
	{"event recorder silent", recorder_silent, NULL, "event-recorder"},
	{"renewer silent", renewer_silent, NULL, "cert-renewer"},
};
#define FAULTS (sizeof(faults) / sizeof(faults[0]))

/* The answer that names all checks, of which one failed (NULL: none). */
static void
expect_checks(const char *path, const char *checks, const char *failed)
{
	char want[1024];
	struct buf b;

	buf_init(&b, want, sizeof(want));
	for (size_t n; *checks != '\0'; checks += n + (checks[n] == ' ')) {
		bool ok;

		n = strcspn(checks, " ");
		ok = failed == NULL || strlen(failed) != n ||
		     strncmp(checks, failed, n) != 0;
		buf_printf(&b, "[%c]%.*s %s\n", ok ? '+' : '-', (int)n, checks,
			   ok ? "ok" : "failed");
	}
	buf_printf(&b, "%s check %s\n", path + 1,
		   failed == NULL ? "passed" : "failed");
	expect(path, failed == NULL ? "verbose" : "",
	       failed == NULL ? 200 : 500, want);
	if (failed == NULL)
		expect(path, "", 200, "ok");
}

START_TEST(test_a_fault_fails_its_check_and_no_other)
{
	faults[_i].happens();
	expect_checks("/readyz", READY, faults[_i].ready);
	expect_checks("/livez", LIVE, faults[_i].live);
	expect_checks("/healthz", LIVE, faults[_i].live);
}
END_TEST

START_TEST(test_all_is_well)
{
	expect_checks("/readyz", READY, NULL);
	expect_checks("/livez", LIVE, NULL);
	expect_checks("/healthz", LIVE, NULL);
}
END_TEST

START_TEST(test_a_beat_makes_main_well_again)
{
	main_silent();
	expect_checks("/livez", LIVE, "main");
	health_beat(&health);
	expect_checks("/livez", LIVE, NULL);
}
END_TEST

/* Main also keeps the count of the last minute's reviews going. */
START_TEST(test_a_beat_looks_at_the_reviews)
{
	struct recent *r = &health.status.recent;

	recent_init(r, clock_boot_ms() - RECENT_MS);
	health_beat(&health);
	ck_assert_uint_eq(atomic_load(&r->next), 2);
}
END_TEST

/* Workers end one after another while the process stops; the elector has to
 * give the Lease up before. */
START_TEST(test_of_the_workers_only_the_elector_counts_during_the_stop)
{
	stopping();
	for (int i = 0; i < WORKERS; i++)
		if (i != ELECTOR)
			silent(i);
	expect_checks("/livez", LIVE, NULL);
	silent(ELECTOR);
	expect_checks("/livez", LIVE, "elector");
	atomic_store(&workers[ELECTOR].state, WORKER_ENDED);
	expect_checks("/livez", LIVE, NULL);
}
END_TEST

START_TEST(test_a_worker_that_is_not_needed_is_no_fault)
{
	workers[RENEWER] = (struct worker){0};
	expect_checks("/livez", LIVE, NULL);
}
END_TEST

/* --- what lies on a probe's way ------------------------------------------ */

/* No lock, and no table: there is none here.  Whatever else answers on the
 * serving thread is as quick, and the rest is for the worker. */
START_TEST(test_probes_take_no_lock)
{
	static const char *const quick[] = {"/readyz", "/livez", "/healthz",
					    "/livez/sweeper", "/status/time"};
	static const char *const slow[] = {"/metrics", "/status", "/",
					   "/status/machines",
					   "/status/machines/x"};

	ck_assert_uint_eq(options.routes_n, 9);
	locks_taken = 0;
	for (int i = 0; i < 5; i++) {
		ck_assert_ptr_null(route_of(quick[i])->busy);
		ck_assert_int_eq(get(quick[i], ""), 200);
	}
	for (int i = 0; i < 5; i++) {
		ck_assert_ptr_nonnull(route_of(slow[i])->busy);
		ck_assert_int_eq(ask(route_of(slow[i])->busy, slow[i], ""),
				 503);
	}
	ck_assert_uint_eq(locks_taken, 0);
}
END_TEST

/* --- queries and single checks ------------------------------------------------ */

START_TEST(test_an_excluded_check_counts_as_ok)
{
	stopping();
	expect("/readyz", "exclude=shutdown", 200, "ok");
	expect("/readyz", "exclude=webhook&exclude=shutdown", 200, "ok");
	expect("/readyz", "verbose&exclude=shutdown", 200,
	       "[+]certificate ok\n[+]webhook ok\n[+]hold-annotation ok\n"
	       "[+]shutdown excluded: ok\nreadyz check passed\n");
	expect("/readyz", "exclude=shutdown&verbosely", 200, "ok");
	expect("/readyz", "exclude=shutdown&verbose=1", 200,
	       "[+]certificate ok\n[+]webhook ok\n[+]hold-annotation ok\n"
	       "[+]shutdown excluded: ok\nreadyz check passed\n");
}
END_TEST

START_TEST(test_only_its_whole_name_excludes_a_check)
{
	static const char *const others[] = {
		"exclude=shut",	 "exclude=shutdowns", "xexclude=shutdown",
		"exclude",	 "exclude=",	      "excludes=shutdown",
		"shutdown",	 "exclude=webhook",
	};

	stopping();
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(get("/readyz", others[i]) == 500, "%s",
			      others[i]);
}
END_TEST

START_TEST(test_each_check_has_a_path_of_its_own)
{
	sweeper_silent();
	expect("/livez/sweeper", "", 500, "failed\n");
	expect("/livez/main", "", 200, "ok");
	expect("/readyz/certificate", "", 200, "ok");
	expect("/healthz/elector", "", 200, "ok");
	expect("/readyz/main", "", 404, "no such check\n");
	expect("/livez/", "", 404, "no such check\n");
	expect("/livez/sweepers", "", 404, "no such check\n");
	expect("/livezsweeper", "", 404, "no such check\n");
	expect("/livez-sweeper", "", 404, "no such check\n");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("daemon/health");
	TCase *tc = tcase_create("checks"), *q = tcase_create("queries");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_all_is_well);
	tcase_add_loop_test(tc, test_a_fault_fails_its_check_and_no_other, 0,
			    FAULTS);
	tcase_add_test(tc, test_a_beat_makes_main_well_again);
	tcase_add_test(tc, test_a_beat_looks_at_the_reviews);
	tcase_add_test(
		tc,
		test_of_the_workers_only_the_elector_counts_during_the_stop);
	tcase_add_test(tc, test_a_worker_that_is_not_needed_is_no_fault);
	tcase_add_test(tc, test_probes_take_no_lock);
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(q, setup, teardown);
	tcase_add_test(q, test_an_excluded_check_counts_as_ok);
	tcase_add_test(q, test_only_its_whole_name_excludes_a_check);
	tcase_add_test(q, test_each_check_has_a_path_of_its_own);
	suite_add_tcase(s, q);
	return suite_run(s);
}
