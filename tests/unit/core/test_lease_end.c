/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "lease_script.h"

/* How a lead ends: by its deadline, by an answer that is late, and by our own
 * stop. */

/* --- the leader's end ----------------------------------------------------- */

/* No answer comes any more.  The lead ends by itself, and lease_next reports
 * it. */
START_TEST(a_hanging_renewal)
{
	int64_t sent, since_us;
	struct lease_note n;

	script("G404 Cok Uok", "hang");
	sent = t;	/* answered in no time */
	(void)lease_notes();
	(void)step(LEASE_UPDATE, "hang");
	ck_assert_int_eq(lease_fence_ms(&l),
			 sent + DURATION - LEASE_MARGIN_MS);
	ck_assert(lease_leads(&l, sent + RENEW - 1));
	ck_assert(!lease_leads(&l, sent + RENEW));
	/* The Lease names this process for longer, but nobody leads. */
	ck_assert_str_eq(lease_holder(&l, sent + RENEW - 1, &since_us), "me");
	ck_assert_str_eq(lease_holder(&l, sent + RENEW, &since_us), "");
	todo = lease_next(&l, at(sent + 9000));
	ck_assert_int_eq(todo.step, LEASE_WAIT);
	ck_assert_int_eq(todo.wait_ms, 1000);
	todo = lease_next(&l, at(sent + RENEW));
	ck_assert_int_eq(todo.step, LEASE_WAIT);
	ck_assert_int_eq(todo.wait_ms, INT64_MAX);
	ck_assert(lease_note(&l, &n));
	ck_assert_int_eq(n.type, LEASE_NOTE_LATE);
	ck_assert_ptr_null(lease_state(&l));
	t = sent + RENEW + 100;
	done(LEASE_FAILED);
	ck_assert(!lease_leads(&l, t));
	ck_assert_int_ge(step(LEASE_GET, "hang"), RETRY);
}
END_TEST

/* A lead counts from when its renewal was sent, so an answer after the
 * deadline is of no use. */
START_TEST(a_late_answer)
{
	script("G404", "late");
	(void)step(LEASE_CREATE, "late");
	t += RENEW;
	done_write();
	ck_assert(!lease_leads(&l, t));
	ck_assert_str_eq(lease_notes(), "");
	script("Gme Uok", "late");
	ck_assert(lease_leads(&l, t));
	(void)step(LEASE_UPDATE, "late");
	t += RENEW - 1000;
	done_write();
	ck_assert(lease_leads(&l, t + 999));
	ck_assert(!lease_leads(&l, t + 1000));
}
END_TEST

/* The answer is in time for its own renewal, but the lead before it had ended.
 * The gap is reported. */
START_TEST(a_gap_is_told)
{
	int64_t sent;

	script("G404 Cok", "gap");
	sent = t;
	(void)step(LEASE_UPDATE, "gap");
	t = sent + RENEW + 1000;
	ck_assert(!lease_leads(&l, t));
	done_write();
	ck_assert(lease_leads(&l, t));
	ck_assert_str_eq(lease_notes(), "LXL");
}
END_TEST

START_TEST(a_call_ends_with_the_lead)
{
	int64_t sent;

	script("G404 Cok", "timeout");
	sent = t;
	script("Ufail", "timeout");
	t = sent + RENEW - 300;
	(void)step(LEASE_GET, "timeout");
	ck_assert_int_eq(todo.timeout_ms, 300);
}
END_TEST

/* A renew deadline that is too near to the Lease's duration is cut by the
 * margin. */
START_TEST(the_margin_is_kept)
{
	struct lease_config c = lease_config_of("me");
	int64_t sent;

	c.renew_deadline_ms = DURATION - 1;
	lease_init(&l, &c, 1);
	ck_assert_int_eq(lease_fence_ms(&l), LEASE_NEVER);
	(void)step(LEASE_GET, "margin");
	done(LEASE_NOT_FOUND);
	(void)step(LEASE_CREATE, "margin");
	sent = t;
	done_write();
	ck_assert(lease_leads(&l, sent + DURATION - LEASE_MARGIN_MS - 1));
	ck_assert(!lease_leads(&l, sent + DURATION - LEASE_MARGIN_MS));
}
END_TEST

/* --- the end -------------------------------------------------------------- */

static const struct {
	const char *name, *before, *after, *notes;
	bool under_way;	/* the call of `after`'s first word, as we stop */
} stops[] = {
	{"never led", "Gyou", "", "", false},
	{"nothing seen", "", "", "", false},
	{"fresh: given up at once", "G404 Cok", "Uok", "R", false},
	{"not fresh: looked first", "G404 Cok Ufail Gfail", "Gme Uok", "R",
	 false},
	{"another has it", "G404 Cok Ufail Gfail", "Gyou", "O", false},
	{"conflict: once more", "G404 Cok", "U409 Gme Uok", "R", false},
	{"conflict: another has it", "G404 Cok", "U409 Gyou", "O", false},
	{"one try", "G404 Cok", "Ufail", "", false},
	{"conflict for ever", "G404 Cok", "U409 Gme U409", "", false},
	{"deleted", "G404 Cok Ufail Gfail", "G404", "", false},
	{"busy", "G404 Cok", "U429", "", false},
	{"renewal under way", "G404 Cok", "Uok Uok", "R", true},
	{"renewal under way is lost", "G404 Cok", "Ufail Gme Uok", "R", true},
	{"the taking under way", "Gnone", "Uok Uok", "R", true},
	{"the taking under way is lost", "Gnone", "Ufail Gme Uok", "R", true},
	{"the taking under way came too late", "Gnone", "U409 Gyou", "O", true},
	{"the making under way", "G404", "Cok Uok", "R", true},
	{"a look under way", "", "Gyou", "O", true},
	{"a look under way, ours", "G404 Cok Ufail", "Gme Uok", "R", true},
};

static void
stop_under_way(const char *script_text)
{
	struct lease_todo kept;
	char word[16];

	ck_assert_int_eq(sscanf(script_text, "%15s", word), 1);
	(void)step(step_of(word[0]), "under way");
	kept = todo;
	lease_stop(&l);
	ck_assert_int_eq(look().wait_ms, INT64_MAX);
	todo = kept;
	done_word(word + 1);
}

START_TEST(stopping)
{
	const char *name = stops[_i].name, *after = stops[_i].after, *told;
	int64_t then;

	script(stops[_i].before, name);
	if (!stops[_i].under_way)
		(void)lease_notes();
	then = t;
	if (stops[_i].under_way) {
		const char *space = strchr(after, ' ');

		(void)lease_notes();
		stop_under_way(after);
		then = t;
		after = space == NULL ? "" : space + 1;
	} else {
		lease_stop(&l);
	}
	lease_stop(&l);	/* again: nothing */
	ck_assert_msg(!lease_leads(&l, t), "%s", name);
	ck_assert_int_eq(lease_state_set(&l, "x"), -1);
	script(after, name);
	ck_assert_msg(look().step == LEASE_END, "%s: not done",
		      name);
	ck_assert_msg(lease_next(&l, at(t + HOUR)).step == LEASE_END,
		      "%s: not for good", name);
	ck_assert_msg(t == then, "%s: it waited", name);
	told = lease_notes();
	ck_assert_msg(strcmp(told, stops[_i].notes) == 0, "%s: notes %s", name,
		      told);
}
END_TEST

START_TEST(what_a_release_writes)
{
	int64_t now_us;

	script("Gnone Uok", "release");
	ck_assert_int_eq(lease_state_set(&l, "last words"), 0);
	t += 5;
	lease_stop(&l);
	(void)step(LEASE_UPDATE, "release");
	now_us = (EPOCH + t) * 1000;
	ck_assert_str_eq(todo.record->holder, "");
	ck_assert_int_eq(todo.record->duration_s, 1);
	ck_assert_int_eq(todo.record->transitions, 8);
	ck_assert_int_eq(todo.record->acquire_us, now_us);
	ck_assert_int_eq(todo.record->renew_us, now_us);
	ck_assert(todo.with_state && todo.with_spec);
	ck_assert_str_eq(todo.record->state, "last words");
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("lease: the end");
	TCase *c = case_of(s, "end", lease_setup);

	tcase_add_test(c, a_hanging_renewal);
	tcase_add_test(c, a_late_answer);
	tcase_add_test(c, a_gap_is_told);
	tcase_add_test(c, a_call_ends_with_the_lead);
	tcase_add_test(c, the_margin_is_kept);
	tcase_add_loop_test(c, stopping, 0, ROWS(stops));
	tcase_add_test(c, what_a_release_writes);
	return suite_run(s);
}
