/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/protocol/reflect.h"
#include "run.h"

#define NONE (-1)	/* no Retry-After */

static struct reflect r;

static void
setup(void)
{
	reflect_init(&r, 1);
}

static struct now
at(int64_t boot_ms)
{
	return (struct now){.server_ms = STAMP_NONE, .boot_ms = boot_ms};
}

static struct reflect_todo
next(int64_t now_ms)
{
	return reflect_next(&r, at(now_ms));
}

static void
listed(enum reflect_code code, const char *rv, const char *cont, int64_t now_ms)
{
	struct reflect_outcome o = {code, rv, cont, NONE};

	reflect_done(&r, &o, at(now_ms));
}

static void
complete(const char *rv, int64_t now_ms)
{
	listed(REFLECT_COMPLETE, rv, NULL, now_ms);
}

static void
ended(enum reflect_code code, int64_t now_ms)
{
	listed(code, NULL, NULL, now_ms);
}

/* The next step, sleeping as it says.  Returns when it is taken. */
static int64_t
step(int64_t now_ms, struct reflect_todo *t)
{
	*t = next(now_ms);
	for (int i = 0; t->step == REFLECT_WAIT; i++) {
		ck_assert_int_gt(t->wait_ms, 0);
		ck_assert_int_lt(i, 3);
		now_ms += t->wait_ms;
		*t = next(now_ms);
	}
	return now_ms;
}

/* --- what comes next ------------------------------------------------------ */

enum phase {
	LISTING,	/* the first page */
	PAGING,		/* a later one */
	WATCHING,
};

static const struct {
	const char *name;
	enum phase phase;
	enum reflect_code code;
	enum reflect_step next;
	const char *rv, *cont;	/* of the next step */
	int64_t wait_min, wait_max;
} rows[] = {
	{"first page, more", LISTING, REFLECT_PAGE, REFLECT_LIST, "9", "c9", 0,
	 0},
	{"first page is all", LISTING, REFLECT_COMPLETE, REFLECT_WATCH, "9",
	 "", 0, 0},
	{"list expired", LISTING, REFLECT_EXPIRED, REFLECT_LIST, "", "", 800,
	 1600},
	{"list failed", LISTING, REFLECT_FAILED, REFLECT_LIST, "", "", 800,
	 1600},
	{"not served", LISTING, REFLECT_UNSERVED, REFLECT_LIST, "", "", 5000,
	 10000},
	{"a further page", PAGING, REFLECT_PAGE, REFLECT_LIST, "9", "c9", 0,
	 0},
	{"the last page", PAGING, REFLECT_COMPLETE, REFLECT_WATCH, "9", "", 0,
	 0},
	{"410 on continue: all anew", PAGING, REFLECT_EXPIRED, REFLECT_LIST,
	 "", "", 800, 1600},
	{"broken in the middle: all anew", PAGING, REFLECT_FAILED,
	 REFLECT_LIST, "", "", 800, 1600},
	{"CRD gone in the middle", PAGING, REFLECT_UNSERVED, REFLECT_LIST, "",
	 "", 5000, 10000},
	{"watch ended as agreed", WATCHING, REFLECT_ENDED, REFLECT_WATCH, "5",
	 "", 0, 0},
	{"410 in the watch", WATCHING, REFLECT_EXPIRED, REFLECT_LIST, "", "",
	 0, 1600},
	{"watch failed: from where it was", WATCHING, REFLECT_FAILED,
	 REFLECT_WATCH, "5", "", 800, 1600},
	{"CRD gone while watching", WATCHING, REFLECT_UNSERVED, REFLECT_LIST,
	 "", "", 5000, 10000},
};

static int64_t
enter(enum phase p, int64_t now_ms)
{
	struct reflect_todo t;

	now_ms = step(now_ms, &t);
	ck_assert_int_eq(t.step, REFLECT_LIST);
	ck_assert_str_eq(t.cont, "");
	if (p == PAGING) {
		listed(REFLECT_PAGE, "5", "c5", now_ms);
		now_ms = step(now_ms, &t);
		ck_assert_int_eq(t.step, REFLECT_LIST);
		ck_assert_str_eq(t.cont, "c5");
	} else if (p == WATCHING) {
		complete("5", now_ms);
		now_ms = step(now_ms, &t);
		ck_assert_int_eq(t.step, REFLECT_WATCH);
		ck_assert_str_eq(t.rv, "5");
		ck_assert_int_ge(t.timeout_s, WATCH_MIN_S);
		ck_assert_int_lt(t.timeout_s, 2 * WATCH_MIN_S);
	}
	return now_ms;
}

START_TEST(next_step)
{
	int64_t then = enter(rows[_i].phase, 1000000) + 60000, now;
	bool page = rows[_i].code == REFLECT_PAGE ||
		    rows[_i].code == REFLECT_COMPLETE;
	struct reflect_todo t;

	listed(rows[_i].code, page ? "9" : NULL, page ? "c9" : NULL, then);
	now = step(then, &t);
	ck_assert_msg(t.step == rows[_i].next, "%s: step %d", rows[_i].name,
		      t.step);
	ck_assert_msg(strcmp(t.rv, rows[_i].rv) == 0, "%s: rv %s",
		      rows[_i].name, t.rv);
	ck_assert_msg(strcmp(t.cont, rows[_i].cont) == 0, "%s: cont %s",
		      rows[_i].name, t.cont);
	ck_assert_msg(now - then >= rows[_i].wait_min &&
			      now - then <= rows[_i].wait_max,
		      "%s: waits %lld", rows[_i].name, (long long)(now - then));
}
END_TEST

START_TEST(lines_move_the_watch_on)
{
	struct reflect_todo t;
	int64_t now = enter(WATCHING, 1000000);

	reflect_seen(&r, "77");
	reflect_seen(&r, "");	/* nothing said */
	ended(REFLECT_ENDED, now + 60000);
	step(now + 60000, &t);
	ck_assert_int_eq(t.step, REFLECT_WATCH);
	ck_assert_str_eq(t.rv, "77");
}
END_TEST

START_TEST(restart_lists)
{
	struct reflect_todo t;
	int64_t now = enter((enum phase)_i, 1000000);

	reflect_restart(&r);
	step(now, &t);
	ck_assert_int_eq(t.step, REFLECT_LIST);
	ck_assert_str_eq(t.cont, "");
}
END_TEST

/* --- how soon ------------------------------------------------------------- */

START_TEST(backoff_grows_and_is_capped)
{
	int64_t now = 1000000, base = BACKOFF_MIN_MS;
	struct reflect_todo t;

	for (int i = 0; i < 30; i++) {
		int64_t wait;

		ended(REFLECT_FAILED, now);
		t = next(now);
		ck_assert_int_eq(t.step, REFLECT_WAIT);
		wait = t.wait_ms;
		ck_assert_msg(wait >= base && wait <= 2 * base,
			      "failure %d: %lld not in [%lld, %lld]", i + 1,
			      (long long)wait, (long long)base,
			      (long long)(2 * base));
		now = step(now, &t);
		base = 2 * base > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : 2 * base;
	}
}
END_TEST

START_TEST(backoff_starts_over_after_two_good_minutes)
{
	int64_t now = 1000000;
	struct reflect_todo t;

	for (int i = 0; i < 10; i++) {
		ended(REFLECT_FAILED, now);
		now = step(now, &t);
	}
	now += BACKOFF_RESET_MS + BACKOFF_MAX_MS;
	ended(REFLECT_FAILED, now);
	t = next(now);
	ck_assert_int_le(t.wait_ms, 2 * BACKOFF_MIN_MS);
}
END_TEST

START_TEST(retry_after_is_obeyed)
{
	struct reflect_todo t;

	reflect_done(&r,
		     &(struct reflect_outcome){.code = REFLECT_FAILED,
					       .retry_after_ms = 7000},
		     at(1000000));
	t = next(1000000);
	ck_assert_int_eq(t.step, REFLECT_WAIT);
	ck_assert_int_ge(t.wait_ms, 7000);
	ck_assert_int_le(t.wait_ms, 14000);
}
END_TEST

START_TEST(jitter_differs_by_seed)
{
	int64_t first = 0;
	int same = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct reflect_todo t;

		reflect_init(&r, seed);
		ended(REFLECT_FAILED, 1000000);
		t = next(1000000);
		same += seed > 0 && t.wait_ms == first;
		first = seed == 0 ? t.wait_ms : first;
	}
	ck_assert_int_lt(same, 3);
}
END_TEST

/* How often we ask, in ten minutes, a server that answers at once and always
 * gives this answer.  No answer may make us spin. */
static int
asked(enum reflect_code list, enum reflect_code watch, int64_t retry_after)
{
	int64_t now = 1000000, end = now + 600000;
	int n = 0;

	while (now < end && n < 5000) {
		struct reflect_todo t;
		struct reflect_outcome o = {.retry_after_ms = retry_after};

		now = step(now, &t);
		n++;
		o.code = t.step == REFLECT_LIST ? list : watch;
		o.rv = o.code == REFLECT_COMPLETE ? "5" : NULL;
		reflect_done(&r, &o, at(now));
	}
	return n;
}

static const struct {
	const char *name;
	enum reflect_code list, watch;
	int64_t retry_after;
} spins[] = {
	{"lists fail", REFLECT_FAILED, REFLECT_FAILED, NONE},
	{"lists expire", REFLECT_EXPIRED, REFLECT_FAILED, NONE},
	{"watches fail", REFLECT_COMPLETE, REFLECT_FAILED, NONE},
	{"very short watches", REFLECT_COMPLETE, REFLECT_ENDED, NONE},
	/* The first 410 may be answered by a list at once; a watch that is
	 * expired right after each list must not be. */
	{"each watch is 410 at once", REFLECT_COMPLETE, REFLECT_EXPIRED, NONE},
	{"not served", REFLECT_UNSERVED, REFLECT_FAILED, NONE},
	{"CRD comes and goes", REFLECT_COMPLETE, REFLECT_UNSERVED, NONE},
	/* A server that says 0 does not ask for a loop. */
	{"Retry-After: 0", REFLECT_FAILED, REFLECT_FAILED, 0},
};

START_TEST(no_spin)
{
	int n = asked(spins[_i].list, spins[_i].watch, spins[_i].retry_after);

	ck_assert_msg(n < 1000, "%s: asked %d times in ten minutes",
		      spins[_i].name, n);
}
END_TEST

START_TEST(unserved_is_asked_again_for_ever)
{
	int n = asked(REFLECT_UNSERVED, REFLECT_FAILED, NONE);

	ck_assert_int_ge(n, 600000 / (2 * UNSERVED_MS));
	ck_assert_int_le(n, 600000 / UNSERVED_MS + 1);
}
END_TEST

/* Hearing a 410 took many tries, as after an outage: the server is back. */
START_TEST(expired_after_an_outage)
{
	struct reflect_todo t;
	int64_t now = enter(WATCHING, 1000000) + 60000, then;

	for (int i = 0; i < 5; i++) {
		ended(REFLECT_FAILED, now);
		now = step(now, &t);
		ck_assert_int_eq(t.step, REFLECT_WATCH);
	}
	then = now;
	ended(REFLECT_EXPIRED, now);
	now = step(now, &t);
	ck_assert_int_eq(t.step, REFLECT_LIST);
	ck_assert_int_eq(now, then);
	complete("9", now);
	(void)step(now, &t);
	ended(REFLECT_EXPIRED, now);
	ck_assert_int_gt(step(now, &t), then);	/* the second is not */
}
END_TEST

/* A continue token beyond our bound: the list cannot be completed, and is not
 * to be taken for complete. */
START_TEST(token_too_long)
{
	static char token[CONTINUE_BYTES + 1];
	struct reflect_todo t;

	memset(token, 'a', CONTINUE_BYTES);
	listed(REFLECT_PAGE, "5", token, 1000000);
	step(1000000, &t);
	ck_assert_int_eq(t.step, REFLECT_LIST);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("reflect");
	TCase *c = run_case(s, "reflect");

	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_loop_test(c, next_step, 0, sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(c, lines_move_the_watch_on);
	tcase_add_loop_test(c, restart_lists, 0, 3);
	tcase_add_test(c, backoff_grows_and_is_capped);
	tcase_add_test(c, backoff_starts_over_after_two_good_minutes);
	tcase_add_test(c, retry_after_is_obeyed);
	tcase_add_test(c, jitter_differs_by_seed);
	tcase_add_loop_test(c, no_spin, 0, sizeof(spins) / sizeof(spins[0]));
	tcase_add_test(c, unserved_is_asked_again_for_ever);
	tcase_add_test(c, expired_after_an_outage);
	tcase_add_test(c, token_too_long);
	return suite_run(s);
}
