/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "lease_script.h"

/* One candidate with scripted answers: what it asks for, what it writes, when
 * it comes to lead, and for how long another one's Lease is good. */

static const struct {
	const char *name, *script;
	bool leads;
	const char *notes;
	int64_t wait_min, wait_max;	/* then */
	enum lease_step next;
} rows[] = {
	{"absent: created", "G404 Cok", true, "L", RETRY, RETRY, LEASE_UPDATE},
	{"lost the race", "G404 C409", false, "", RETRY, RETRY_MAX, LEASE_GET},
	{"held by another", "Gyou", false, "O", LOOK, LOOK_MAX, LEASE_GET},
	{"given up: taken at once", "Gnone Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"ours from before a restart", "Gme Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"taken by another meanwhile", "Gnone U409", false, "", RETRY,
	 RETRY_MAX, LEASE_GET},
	{"first GET fails", "Gfail", false, "", RETRY, RETRY_MAX, LEASE_GET},
	{"answer to CREATE lost", "G404 Cfail Gme Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"answer to taking lost", "Gnone Ufail Gme Uok", true, "L", RETRY,
	 RETRY, LEASE_UPDATE},
	{"renewed without GET", "G404 Cok Uok Uok Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"renewal fails: looked at once", "G404 Cok Ufail", true, "L", 0, 0,
	 LEASE_GET},
	{"and again", "G404 Cok Ufail Gme", true, "L", 0, 0, LEASE_UPDATE},
	{"and well", "G404 Cok Ufail Gme Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"renewal conflicts", "G404 Cok U409 Gme Uok", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"the look fails too", "G404 Cok Ufail Gfail", true, "L", RETRY, RETRY,
	 LEASE_GET},
	{"no spin", "G404 Cok U409 Gme U409 Gme", true, "L", RETRY, RETRY,
	 LEASE_UPDATE},
	{"another has it: lost", "G404 Cok U409 Gyou", false, "LOT", LOOK,
	 LOOK_MAX, LEASE_GET},
	{"emptied: lost, and taken", "G404 Cok U409 Gnone Uok", true, "LTL",
	 RETRY, RETRY, LEASE_UPDATE},
	{"deleted: made anew", "G404 Cok U404 G404 Cok", true, "L", RETRY,
	 RETRY, LEASE_UPDATE},
	{"deleted, another was faster", "G404 Cok U404 G404 C409 Gyou", false,
	 "LOT", LOOK, LOOK_MAX, LEASE_GET},
	{"deleted, never seen renewed: made at once", "Gyou G404 Cok", true,
	 "OL", RETRY, RETRY, LEASE_UPDATE},
	{"deleted under one that renews: its time first", "Gyou Gyou+ G404",
	 false, "OW", RETRY, RETRY_MAX, LEASE_GET},
	{"and made again by it", "Gyou Gyou+ G404 Gyou+", false, "OW", LOOK,
	 LOOK_MAX, LEASE_GET},
	{"and made by a third, deleted again", "Gyou Gyou+ G404 Gthird G404 Cok",
	 true, "OWOL", RETRY, RETRY, LEASE_UPDATE},
	{"busy at renewal: the same again", "G404 Cok U429", true, "L", RETRY,
	 RETRY, LEASE_UPDATE},
	{"busy at first", "G429", false, "", RETRY, RETRY_MAX, LEASE_GET},
	{"no namespace", "G404 C404", false, "", RETRY, RETRY_MAX, LEASE_GET},
};

START_TEST(scripted)
{
	const char *name = rows[_i].name, *told;
	int64_t waited;

	script(rows[_i].script, name);
	ck_assert_msg(lease_leads(&l, t) == rows[_i].leads, "%s: leads", name);
	ck_assert_msg((lease_state(&l) != NULL) == rows[_i].leads, "%s: state",
		      name);
	told = lease_notes();
	ck_assert_msg(strcmp(told, rows[_i].notes) == 0, "%s: notes %s", name,
		      told);
	waited = step(rows[_i].next, name);
	ck_assert_msg(waited >= rows[_i].wait_min &&
			      waited <= rows[_i].wait_max,
		      "%s: waits %lld", name, (long long)waited);
}
END_TEST

static const struct {
	const char *name, *script;
	int32_t transitions;
	bool acquired_now;	/* else as it was */
} written[] = {
	{"created", "G404", 0, true},
	{"taken", "Gnone", 8, true},
	{"ours from before", "Gme", 7, false},
	{"renewed", "Gnone Uok", 8, false},
	{"made anew", "Gnone Uok U404 G404", 0, true},
};

START_TEST(what_is_written)
{
	const char *name = written[_i].name;
	const struct lease_record *r;
	int64_t now_us;

	script(written[_i].script, name);
	t += 5;
	todo = look();
	while (todo.step == LEASE_WAIT) {
		t += todo.wait_ms;
		todo = look();
	}
	r = todo.record;
	now_us = (EPOCH + t) * 1000;
	ck_assert_ptr_nonnull(r);
	ck_assert(todo.with_spec && !todo.with_state);
	ck_assert_str_eq(r->holder, "me");
	ck_assert_int_eq(r->duration_s, 15);
	ck_assert_int_eq(r->renew_us, now_us);
	ck_assert_msg(r->transitions == written[_i].transitions,
		      "%s: transitions %d", name, r->transitions);
	ck_assert_msg((r->acquire_us == now_us) == written[_i].acquired_now,
		      "%s: acquired %lld", name, (long long)r->acquire_us);
	if (todo.step == LEASE_UPDATE)
		ck_assert_str_eq(r->rv, l.seen.rv);
	if (strcmp(name, "ours from before") == 0)
		ck_assert_int_eq(r->acquire_us, 5000);
}
END_TEST

/* How far the server's time has moved since the last renewal, as our clock
 * shows it, and how renewTime moves. */
static const struct {
	int64_t moved_ms, renewed_us;
} jitters[] = {
	{1, 1000}, {0, 1}, {-1, 1}, {-2999, 1}, {-3000, -3000000},
	{-HOUR, -HOUR * 1000},
};

START_TEST(renewals_always_differ)
{
	int64_t before;

	script("G404 Cok Uok", "renewals");
	before = l.seen.renew_us;
	t += RETRY;
	todo = lease_next(&l, (struct now){
		.server_ms = before / 1000 + jitters[_i].moved_ms,
		.boot_ms = t});
	ck_assert_int_eq(todo.step, LEASE_UPDATE);
	ck_assert_int_eq(todo.record->renew_us - before,
			 jitters[_i].renewed_us);
	ck_assert_int_eq(todo.record->acquire_us, l.seen.acquire_us);
}
END_TEST

/* A part of a second counts as a whole one in the record. */
START_TEST(duration_is_rounded_up)
{
	struct lease_config c = lease_config_of("me");

	c.duration_ms = 1001;
	lease_init(&l, &c, 1);
	script("G404", "rounded");
	(void)step(LEASE_CREATE, "rounded");
	ck_assert_int_eq(todo.record->duration_s, 2);
}
END_TEST

START_TEST(a_leader_is_told_once)
{
	script("Gyou Gyou Gthird Gthird Gnone U409 Gthird", "told");
	ck_assert_str_eq(lease_notes(), "OOO");
}
END_TEST

START_TEST(retry_after_is_obeyed)
{
	struct lease_outcome o = {.code = LEASE_BUSY, .retry_after_ms = 7000};

	(void)step(LEASE_GET, "busy");
	lease_done(&l, &o, at(t));
	ck_assert_int_eq(step(LEASE_GET, "busy"), 7000);
}
END_TEST

START_TEST(jitter_is_spread)
{
	int64_t min = INT64_MAX, max = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct lease_config c = lease_config_of("me");
		int64_t waited;

		lease_init(&l, &c, seed);
		script("Gyou", "jitter");
		waited = step(LEASE_GET, "jitter");
		min = waited < min ? waited : min;
		max = waited > max ? waited : max;
	}
	ck_assert_int_ge(min, LOOK);
	ck_assert_int_lt(min, LOOK + 30);
	ck_assert_int_lt(max, LOOK_MAX);
	ck_assert_int_gt(max, LOOK_MAX - 30);
}
END_TEST

/* The oldest notes are dropped. */
START_TEST(notes_are_bounded)
{
	script("G404 Cok", "notes");
	for (int i = 0; i < LEASE_NOTES; i++)
		script("U409 Gnone Uok", "notes");
	ck_assert_str_eq(lease_notes(), "TLTLTLTL");
}
END_TEST

/* --- how long another's is good ------------------------------------------- */

static const struct {
	const char *name;
	int32_t duration_s;
	int64_t from_ms, to_ms;	/* first sight to the taking */
} terms[] = {
	{"as ours", 15, 15000, 15000 + LOOK_MAX},
	{"longer than ours", 40, 40000, 40000 + LOOK_MAX},
	{"the longest", 60, 60000, 60000 + LOOK_MAX},
	{"not one of ours", 86400, 60000, 60000 + LOOK_MAX},
	{"the greatest number", INT32_MAX, 60000, 60000 + LOOK_MAX},
	{"shorter than ours", 5, 5000, 5000 + LOOK_MAX},
	{"none", 0, 0, 0},
	{"negative", -5, 0, 0},
	{"of a release that crashed", 1, 1000, 1000 + LOOK_MAX},
};

START_TEST(the_records_own_duration)
{
	const char *name = terms[_i].name;
	int64_t then = t;

	record_of("you", terms[_i].duration_s);
	(void)step(LEASE_GET, name);
	done(LEASE_OK);
	while (look().step == LEASE_WAIT)
		t += 100;
	/* What comes is either a look, which shows the same record, or the
	 * write itself. */
	while (l.busy == LEASE_GET) {
		t += 1;
		/* A new label moves the object on, but is no sign of life. */
		(void)snprintf(answer.rv, sizeof(answer.rv), "l%lld",
			       (long long)t);
		done(LEASE_OK);
		while (look().step == LEASE_WAIT)
			t += 100;
	}
	ck_assert_int_eq(l.busy, LEASE_UPDATE);
	ck_assert_msg(t - then >= terms[_i].from_ms &&
			      t - then <= terms[_i].to_ms + 500,
		      "%s: taken after %lld", name, (long long)(t - then));
}
END_TEST

/* How long a replica waits after it noticed that the Lease of another was
 * deleted.  It has seen the last change 5 s before. */
static const struct {
	const char *name;
	bool renewed;
	int32_t duration_s;
	int64_t wait_ms;
} deleted[] = {
	{"as ours", true, 15, 15000},
	{"shorter than ours", true, 5, 15000},
	{"longer than ours", true, 40, 40000},
	{"the longest", true, 60, 60000},
	{"not one of ours", true, 61, 15000},
	{"a day", true, 86400, 15000},
	{"never seen renewed", false, 15, 0},
	{"a day, never seen renewed", false, 86400, 0},
};

START_TEST(how_long_after_a_deletion)
{
	const char *name = deleted[_i].name;
	bool waits = deleted[_i].wait_ms > 0;
	struct lease_wait wait;
	int64_t then;

	for (int i = 0; i <= deleted[_i].renewed; i++) {
		record_of("you", deleted[_i].duration_s);
		answer.renew_us += i;
		(void)step(LEASE_GET, name);
		done(LEASE_OK);
	}
	t += 4900;
	(void)step(LEASE_GET, name);
	then = t;
	done(LEASE_NOT_FOUND);
	ck_assert_msg(lease_waits(&l, t, &wait) == waits, "%s", name);
	if (waits) {
		ck_assert_str_eq(wait.holder, "you");
		ck_assert_msg(wait.end_ms == then + deleted[_i].wait_ms &&
				      !wait.deletion_helps,
			      "%s: waits %lld", name,
			      (long long)(wait.end_ms - then));
		t = wait.end_ms - 1;
		ck_assert_int_eq(look().step, LEASE_GET);
		done(LEASE_NOT_FOUND);
		(void)step(LEASE_GET, name);
		done(LEASE_NOT_FOUND);
	}
	(void)step(LEASE_CREATE, name);
	ck_assert_int_le(t - then, deleted[_i].wait_ms + RETRY_MAX);
}
END_TEST

/* Whom it waits for shows once that one's time to renew is over, and the
 * replica says it once. */
START_TEST(who_waits_says_for_whom)
{
	struct lease_wait wait;
	int64_t since_us, seen;
	bool renews = _i;

	script(renews ? "Gyou Gyou+" : "Gyou", "waits");
	seen = t;
	ck_assert_str_eq(lease_notes(), "O");
	while (t < seen + RENEW + 2 * LOOK_MAX) {
		bool late = t >= seen + RENEW;

		ck_assert_int_eq(lease_waits(&l, t, &wait), late);
		ck_assert_str_eq(lease_holder(&l, t, &since_us),
				 late ? "" : "you");
		(void)step(LEASE_GET, "waits");
		done(LEASE_OK);
	}
	ck_assert_str_eq(wait.holder, "you");
	ck_assert_int_eq(wait.end_ms, seen + DURATION);
	ck_assert_int_eq(wait.deletion_helps, !renews);
	ck_assert_str_eq(lease_notes(), "W");
	/* While it cannot read the Lease, it does not know. */
	(void)step(LEASE_GET, "waits");
	done(LEASE_FAILED);
	ck_assert(!lease_waits(&l, t, &wait));
	t = seen + DURATION;
	ck_assert(!lease_waits(&l, t, &wait));
}
END_TEST

static void
change_renew(void)
{
	answer.renew_us++;
}

static void
change_acquire(void)
{
	answer.acquire_us++;
}

static void
change_transitions(void)
{
	answer.transitions++;
}

static void
change_holder(void)
{
	(void)str_copy(answer.holder, sizeof(answer.holder), "third");
}

static void
change_cut(void)
{
	answer.holder_cut = true;
}

static void
change_duration(void)
{
	answer.duration_s++;
}

static const struct {
	const char *name;
	void (*change)(void);
} signs[] = {
	{"renewTime", change_renew},
	{"acquireTime", change_acquire},
	{"leaseTransitions", change_transitions},
	{"holderIdentity", change_holder},
	{"a long holderIdentity", change_cut},
	{"leaseDurationSeconds", change_duration},
};

START_TEST(any_change_of_the_record_counts)
{
	script("Gyou", signs[_i].name);
	t += 14900;
	ck_assert_int_eq(look().step, LEASE_GET);
	signs[_i].change();
	done(LEASE_OK);
	t += 14900;
	ck_assert_int_eq(look().step, LEASE_GET);
	done(LEASE_OK);
	todo = look();
	ck_assert_msg(todo.step == LEASE_WAIT, "%s", signs[_i].name);
}
END_TEST

/* Another name may look like ours once it is cut to what we keep. */
START_TEST(a_cut_name_is_not_ours)
{
	record_of("me", 15);
	answer.holder_cut = true;
	(void)step(LEASE_GET, "cut");
	done(LEASE_OK);
	ck_assert_int_eq(look().step, LEASE_WAIT);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("lease");
	TCase *c = case_of(s, "steps", lease_setup);

	tcase_add_loop_test(c, scripted, 0, ROWS(rows));
	tcase_add_loop_test(c, what_is_written, 0, ROWS(written));
	tcase_add_loop_test(c, renewals_always_differ, 0, ROWS(jitters));
	tcase_add_test(c, duration_is_rounded_up);
	tcase_add_loop_test(c, the_records_own_duration, 0, ROWS(terms));
	tcase_add_loop_test(c, how_long_after_a_deletion, 0, ROWS(deleted));
	tcase_add_loop_test(c, who_waits_says_for_whom, 0, 2);
	tcase_add_loop_test(c, any_change_of_the_record_counts, 0, ROWS(signs));
	tcase_add_test(c, a_cut_name_is_not_ours);
	tcase_add_test(c, retry_after_is_obeyed);
	tcase_add_test(c, jitter_is_spread);
	tcase_add_test(c, notes_are_bounded);
	tcase_add_test(c, a_leader_is_told_once);
	return suite_run(s);
}
