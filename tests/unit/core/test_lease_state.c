/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "lease_script.h"

/* The state that a leader leaves for the next one in the Lease, and a replica
 * without election, which keeps nothing else there. */

/* --- the state ------------------------------------------------------------ */

START_TEST(state_is_read_before_it_is_written)
{
	ck_assert_ptr_null(lease_state(&l));
	ck_assert_int_eq(lease_state_set(&l, "early"), -1);
	record_of("", 15);
	(void)str_copy(answer.state, sizeof(answer.state), "theirs");
	(void)step(LEASE_GET, "state");
	done(LEASE_OK);
	ck_assert_ptr_null(lease_state(&l));
	(void)step(LEASE_UPDATE, "state");
	ck_assert(!todo.with_state);
	done_write();
	ck_assert_str_eq(lease_state(&l), "theirs");
	ck_assert_int_eq(lease_state_set(&l, "ours"), 0);
	ck_assert_str_eq(lease_state(&l), "ours");
	ck_assert_int_eq(step(LEASE_UPDATE, "state"), RETRY);
	ck_assert(todo.with_state && todo.with_spec);
	ck_assert_str_eq(todo.record->state, "ours");
	done_write();
	(void)step(LEASE_UPDATE, "state");
	ck_assert(!todo.with_state);	/* it has not changed */
	done(LEASE_FAILED);
	record_of("me", 15);	/* someone else took it away */
	(void)step(LEASE_GET, "state");
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "state");
	ck_assert(todo.with_state);
}
END_TEST

/* The state of the other mode goes with the first write that can take it
 * along, even if ours is the same. */
START_TEST(state_of_the_other_mode)
{
	record_of("", 15);
	answer.state_other = true;
	(void)step(LEASE_GET, "other");
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "other");
	done_write();
	ck_assert_int_eq(step(LEASE_UPDATE, "other"), RETRY);
	ck_assert(todo.with_state && todo.record->state_other);
	ck_assert_str_eq(todo.record->state, "");
	answer = *todo.record;
	answer.present = true;
	answer.state_other = false;
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "other");
	ck_assert(!todo.with_state);
}
END_TEST

/* A state that is set while a write is under way goes with the next one. */
START_TEST(state_set_under_way)
{
	script("G404 Cok", "under way");
	ck_assert_int_eq(lease_state_set(&l, "one"), 0);
	(void)step(LEASE_UPDATE, "under way");
	answer = *todo.record;
	answer.present = true;
	ck_assert_int_eq(lease_state_set(&l, "two"), 0);
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "under way");
	ck_assert(todo.with_state);
	ck_assert_str_eq(todo.record->state, "two");
}
END_TEST

/* A replica that loses the Lease loses the state, which may be another one's
 * by now. */
START_TEST(state_goes_with_the_lead)
{
	script("G404 Cok", "lost");
	ck_assert_int_eq(lease_state_set(&l, "mine"), 0);
	script("U409 Gyou", "lost");
	ck_assert_ptr_null(lease_state(&l));
	ck_assert_int_eq(lease_state_set(&l, "mine"), -1);
	t += 16000;
	script("Gnone", "lost");
	(void)step(LEASE_UPDATE, "lost");
	ck_assert(!todo.with_state);
	done(LEASE_FAILED);
	script("G404", "lost");
	(void)step(LEASE_CREATE, "lost");
	ck_assert_str_eq(todo.record->state, "");
}
END_TEST

START_TEST(state_of_a_lease_made_anew)
{
	script("G404 Cok", "anew");
	ck_assert_int_eq(lease_state_set(&l, "mine"), 0);
	script("U404 G404", "anew");
	(void)step(LEASE_CREATE, "anew");
	ck_assert_str_eq(todo.record->state, "mine");
}
END_TEST

START_TEST(state_bounds)
{
	static char text[LEASE_STATE_BYTES + 1];

	script("G404 Cok", "bounds");
	memset(text, 'x', LEASE_STATE_BYTES);
	ck_assert_int_eq(lease_state_set(&l, text), -1);
	ck_assert_str_eq(lease_state(&l), "");
	text[LEASE_STATE_BYTES - 1] = '\0';
	ck_assert_int_eq(lease_state_set(&l, text), 0);
	ck_assert_str_eq(lease_state(&l), text);
}
END_TEST

START_TEST(state_that_cannot_be_read)
{
	record_of("me", 15);
	answer.state_bad = true;
	(void)step(LEASE_GET, "bad");
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "bad");
	answer = *todo.record;
	answer.present = answer.state_bad = true;
	done(LEASE_OK);
	ck_assert_str_eq(lease_state(&l), "");
	ck_assert_str_eq(lease_notes(), "LB");
}
END_TEST

/* --- the hold -------------------------------------------------------------- */

static const struct hold_key first = {"example.com/hold", "yes"};
static const struct hold_key second = {"example.com/hold", "no"};

static void
starts_with(const struct hold_key *k, bool elects)
{
	struct lease_config c = l.config;

	c.enabled = elects;
	if (k != NULL)
		c.hold = *k;
	lease_init(&l, &c, 1);
}

/* A leader writes its hold into a Lease that has none, with the write that makes
 * it the leader, and restores it when somebody changes it. */
START_TEST(the_first_leader_chooses_the_hold)
{
	starts_with(&first, true);
	script(_i == 0 ? "Gnone" : "G404", "hold");
	ck_assert_str_eq(lease_hold(&l)->value, first.value);
	(void)step(_i == 0 ? LEASE_UPDATE : LEASE_CREATE, "hold");
	ck_assert(!todo.with_state);
	ck_assert_str_eq(todo.record->hold.key, first.key);
	ck_assert_str_eq(todo.record->hold.value, first.value);
	done_write();
	(void)step(LEASE_UPDATE, "hold");
	answer = *todo.record;
	answer.hold = second;
	done(LEASE_OK);
	ck_assert_str_eq(lease_hold(&l)->value, first.value);
	(void)step(LEASE_UPDATE, "hold");
	ck_assert_str_eq(todo.record->hold.key, first.key);
	ck_assert_str_eq(lease_notes(), "L");
}
END_TEST

/* The Lease's hold counts for a replica with another, which may lead all the
 * same.  It is told once. */
START_TEST(the_hold_of_the_lease_counts)
{
	starts_with(&first, true);
	record_of("another", 15);
	answer.hold = second;
	(void)step(LEASE_GET, "hold");
	done(LEASE_OK);
	ck_assert_str_eq(lease_hold(&l)->value, second.value);
	ck_assert_str_eq(lease_notes(), "HO");
	record_of("", 15);	/* without a hold: what was seen counts */
	(void)step(LEASE_GET, "hold");
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "hold");
	ck_assert_str_eq(todo.record->hold.value, second.value);
	done_write();
	ck_assert(lease_leads(&l, t));
	ck_assert_str_eq(lease_hold(&l)->value, second.value);
	ck_assert_str_eq(lease_notes(), "L");
}
END_TEST

/* A command has no hold.  It keeps that of the Lease, and removes it when all is
 * clear. */
START_TEST(a_command_removes_the_hold)
{
	starts_with(NULL, true);
	record_of("", 15);
	answer.hold = first;
	(void)step(LEASE_GET, "hold");
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "hold");
	ck_assert_str_eq(todo.record->hold.key, first.key);
	done_write();
	ck_assert_str_eq(lease_notes(), "L");
	lease_clear(&l);
	lease_stop(&l);
	(void)step(LEASE_UPDATE, "hold");
	ck_assert_str_eq(todo.record->hold.key, "");
	done(LEASE_CONFLICT);
	record_of("me", 15);
	answer.hold = first;
	(void)step(LEASE_GET, "hold");
	done(LEASE_OK);
	(void)step(LEASE_UPDATE, "hold");
	ck_assert_str_eq(todo.record->hold.key, "");
}
END_TEST

/* Without election, the first answer comes before the lead, and says which hold
 * counts. */
START_TEST(alone_the_hold_is_known_first)
{
	starts_with(&first, false);
	record_of("", 0);
	if (_i == 0)
		answer.hold = second;
	(void)step(LEASE_GET, "hold");
	ck_assert(!lease_leads(&l, t));
	if (_i < 2) {
		done(LEASE_OK);
	} else {
		done(LEASE_FAILED);
		ck_assert(!lease_leads(&l, t));
		(void)step(LEASE_GET, "hold");
		lease_done(&l, &(struct lease_outcome){.code = LEASE_FAILED,
						       .refused = true}, at(t));
	}
	ck_assert(lease_leads(&l, t));
	ck_assert_str_eq(lease_hold(&l)->value,
			 _i == 0 ? second.value : first.value);
	if (_i != 1)
		return;
	ck_assert_int_eq(step(LEASE_UPDATE, "hold"), 0);
	ck_assert(!todo.with_spec);
	ck_assert_str_eq(todo.record->hold.key, first.key);
}
END_TEST

/* --- without election ----------------------------------------------------- */

/* Asserts that it asks for nothing now, and waits for ever. */
static void
idle(const char *name)
{
	todo = look();
	ck_assert_msg(todo.step == LEASE_WAIT && todo.wait_ms == INT64_MAX,
		      "%s: step %d", name, todo.step);
}

START_TEST(alone_makes_the_object)
{
	ck_assert(!lease_leads(&l, t));
	ck_assert_ptr_null(lease_state(&l));
	ck_assert_int_eq(lease_state_set(&l, "early"), -1);
	script("G404", "alone");
	ck_assert(lease_leads(&l, t));
	ck_assert_int_eq(step(LEASE_CREATE, "alone"), 0);
	ck_assert(!todo.with_spec);
	ck_assert_str_eq(todo.record->holder, "");
	ck_assert_int_eq(todo.record->duration_s, 0);
	ck_assert_int_eq(todo.record->renew_us, STAMP_NONE);
	ck_assert_int_eq(todo.record->acquire_us, STAMP_NONE);
	done_write();
	ck_assert_str_eq(lease_state(&l), "");
	idle("alone");
	ck_assert(lease_leads(&l, t + 1000 * HOUR));
	ck_assert_int_eq(lease_fence_ms(&l), INT64_MAX);
}
END_TEST

START_TEST(alone_writes_changes_only)
{
	int64_t waited;

	record_of("someone", 15);
	(void)str_copy(answer.state, sizeof(answer.state), "old");
	(void)step(LEASE_GET, "alone");
	done(LEASE_OK);
	ck_assert(lease_leads(&l, t));
	ck_assert_str_eq(lease_state(&l), "old");
	idle("as read");
	t += 60000;
	ck_assert_int_eq(lease_state_set(&l, "old"), 0);
	idle("the same");
	ck_assert_int_eq(lease_state_set(&l, "new"), 0);
	ck_assert_int_eq(step(LEASE_UPDATE, "new"), 0);
	ck_assert(todo.with_state && !todo.with_spec);
	done_write();
	ck_assert_int_eq(lease_state_set(&l, "newer"), 0);
	waited = step(LEASE_UPDATE, "newer");
	ck_assert_int_eq(waited, RETRY);	/* at most once per retry_ms */
	done_write();
	idle("written");
	ck_assert_str_eq(lease_notes(), "");
}
END_TEST

static const struct {
	const char *name, *script;
	enum lease_step next;
	int64_t wait_min, wait_max;
	bool known;	/* the state */
} alones[] = {
	{"GET fails", "Gfail", LEASE_GET, RETRY, RETRY, false},
	{"GET fails again", "Gfail Gfail", LEASE_GET, RETRY, RETRY, false},
	{"backoff ends",
	 "G404 Cfail Gfail Gfail Gfail Gfail Gfail Gfail Gfail Gfail",
	 LEASE_GET, 8 * RETRY, 16 * RETRY, false},
	{"CREATE is refused", "G404 Cfail", LEASE_GET, RETRY, 2 * RETRY, false},
	{"made by another", "G404 C409", LEASE_GET, 0, 0, false},
	{"conflict", "Gme +x U409", LEASE_GET, 0, 0, true},
	{"conflict, written then", "Gme +x U409 Gme", LEASE_UPDATE, 0, 0, true},
	{"deleted", "Gme +x U404 G404", LEASE_CREATE, 0, 0, true},
	{"no spin", "Gme +x U409 Gme U409 Gme", LEASE_UPDATE, RETRY,
	 2 * RETRY, true},
	{"lost answer", "Gme +x Ufail", LEASE_GET, RETRY, 2 * RETRY, true},
	{"busy", "Gme +x U429", LEASE_UPDATE, RETRY, 2 * RETRY, true},
	{"backoff starts over", "Gfail Gfail Gfail Gme +x Ufail", LEASE_GET,
	 RETRY, 2 * RETRY, true},
};

START_TEST(alone_scripted)
{
	const char *name = alones[_i].name;
	char before[64];
	const char *plus = strstr(alones[_i].script, "+x ");
	int64_t waited;

	(void)snprintf(before, sizeof(before), "%s", alones[_i].script);
	if (plus != NULL)
		before[plus - alones[_i].script] = '\0';
	script(before, name);
	if (plus != NULL) {
		ck_assert_int_eq(lease_state_set(&l, "x"), 0);
		script(plus + 3, name);
	}
	ck_assert_msg(lease_leads(&l, t) == (strstr(before, "G404") != NULL ||
					     strstr(before, "Gme") != NULL),
		      "%s: leads", name);
	ck_assert_msg((lease_state(&l) != NULL) == alones[_i].known,
		      "%s: state", name);
	waited = step(alones[_i].next, name);
	ck_assert_msg(waited >= alones[_i].wait_min &&
			      waited <= alones[_i].wait_max,
		      "%s: waits %lld", name, (long long)waited);
	if (todo.step == LEASE_CREATE || todo.step == LEASE_UPDATE)
		ck_assert_str_eq(todo.record->state, "x");
}
END_TEST

START_TEST(alone_stops)
{
	script("Gme", "stop");
	ck_assert_int_eq(lease_state_set(&l, "last words"), 0);
	lease_stop(&l);
	ck_assert(!lease_leads(&l, t));
	ck_assert_int_eq(step(LEASE_UPDATE, "stop"), 0);
	ck_assert(todo.with_state && !todo.with_spec);
	ck_assert_str_eq(todo.record->state, "last words");
	done_write();
	ck_assert_int_eq(look().step, LEASE_END);
	ck_assert_str_eq(lease_notes(), "");
}
END_TEST

START_TEST(alone_stops_with_nothing_to_say)
{
	script("Gme", "stop");
	lease_stop(&l);
	ck_assert_int_eq(look().step, LEASE_END);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("lease: the state");
	TCase *c = case_of(s, "state", lease_setup);

	tcase_add_loop_test(c, the_first_leader_chooses_the_hold, 0, 2);
	tcase_add_test(c, the_hold_of_the_lease_counts);
	tcase_add_test(c, a_command_removes_the_hold);
	tcase_add_loop_test(c, alone_the_hold_is_known_first, 0, 3);
	tcase_add_test(c, state_is_read_before_it_is_written);
	tcase_add_test(c, state_set_under_way);
	tcase_add_test(c, state_of_the_other_mode);
	tcase_add_test(c, state_goes_with_the_lead);
	tcase_add_test(c, state_of_a_lease_made_anew);
	tcase_add_test(c, state_bounds);
	tcase_add_test(c, state_that_cannot_be_read);
	c = case_of(s, "alone", lease_setup_alone);
	tcase_add_test(c, alone_makes_the_object);
	tcase_add_test(c, alone_writes_changes_only);
	tcase_add_loop_test(c, alone_scripted, 0, ROWS(alones));
	tcase_add_test(c, alone_stops);
	tcase_add_test(c, alone_stops_with_nothing_to_say);
	return suite_run(s);
}
