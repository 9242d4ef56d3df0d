/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

/* What is reported: which machine holds a scope until when, and what is
 * refused. */

static void
setup(void)
{
	rules = rules_default();
	rules.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	w = world_new(&rules, THINGS, 1);
	add_old(5);
}

/* --- the quiet time ------------------------------------------------------- */

START_TEST(held_by_one_that_boots)
{
	struct thing *c;
	struct note n;
	int64_t seen, quiet;

	world_open(w);
	seen = server_ms(w);
	c = claim_boot(9);
	world_run(w, COUNTS_AGE_MS + SLACK);
	ck_assert_uint_eq(notes(NOTE_SCOPE_HELD, &n), 1);
	ck_assert(n.as.held.earliest);
	ck_assert_str_eq(n.as.held.machine, "c9");
	ck_assert_str_eq(n.name, "");
	seen += COUNTS_AGE_MS;
	ck_assert_int_ge(n.as.held.until_ms, seen + rules.hold_ms - 1000);
	ck_assert_int_le(n.as.held.until_ms, seen + rules.hold_ms + 1000);
	/* While it boots there is nothing new to report. */
	world_run(w, 5 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_SCOPE_MOVED, &n), 0);
	/* It is ready.  The end of the hold is now known, and is reported at
	 * once because a minute has passed since the last report. */
	quiet = become_ready(c);
	world_run(w, 500);
	ck_assert_uint_eq(notes(NOTE_SCOPE_MOVED, &n), 1);
	ck_assert(!n.as.held.earliest);
	ck_assert_int_eq(n.as.held.until_ms, quiet);
	ck_assert_str_eq(n.as.held.machine, "c9");
	world_run(w, 8 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_SCOPE_MOVED, &n), 0);
}
END_TEST

START_TEST(held_by_one_that_is_ready)
{
	struct note n;
	int64_t quiet;

	world_open(w);
	quiet = machine_now(9, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(notes(NOTE_SCOPE_HELD, &n), 1);
	ck_assert(!n.as.held.earliest);
	ck_assert_int_eq(n.as.held.until_ms, quiet);
	ck_assert_str_eq(n.as.held.machine, "c9");
}
END_TEST

/* There is at most one report a minute, and the last one is right. */
START_TEST(moved_once_a_minute)
{
	struct note n;
	int64_t first = 0, quiet = 0;
	unsigned told = 0;

	world_open(w);
	machine_now(10, "web");
	world_run(w, 500);
	ck_assert_uint_eq(notes(NOTE_SCOPE_HELD, &n), 1);
	first = w->boot_ms;
	for (int i = 0; i < 60; i++) {	/* a machine every 3 s, for 3 min */
		quiet = machine_now(11 + i, "web");
		world_run(w, 3000);
		if (notes(NOTE_SCOPE_MOVED, &n) == 0)
			continue;
		told++;
		ck_assert_int_ge(w->boot_ms - first, told * MINUTE - 500);
		ck_assert_int_eq(n.as.held.until_ms, quiet);
		ck_assert_str_eq(n.as.held.machine, claim_at(w, 11 + i)->o.name);
	}
	ck_assert_uint_ge(told, 2);
	ck_assert_uint_le(told, 3);
	/* The last change is reported when its minute is over, although
	 * nothing else happens. */
	world_run(w, MINUTE + 500);
	told += notes(NOTE_SCOPE_MOVED, &n);
	ck_assert_int_eq(n.as.held.until_ms, quiet);
	ck_assert_str_eq(n.as.held.machine, "c70");
	ck_assert_uint_le(told, 4);
	world_run(w, 4 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_SCOPE_MOVED, &n), 0);
}
END_TEST

/* The machine whose activity was the last is deleted, so the hold ends
 * earlier. */
START_TEST(moved_by_a_deletion)
{
	struct note n;
	int64_t quiet;

	world_open(w);
	quiet = machine_now(10, "web");
	world_run(w, 2 * MINUTE);
	machine_now(11, "web");
	world_run(w, 2 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_SCOPE_MOVED, &n), 1);
	ck_assert_str_eq(n.as.held.machine, "c11");
	machine_delete(w, 11);
	world_run(w, 1000);
	ck_assert_uint_eq(notes(NOTE_SCOPE_MOVED, &n), 1);
	ck_assert_str_eq(n.as.held.machine, "c10");
	ck_assert_int_eq(n.as.held.until_ms, quiet);
}
END_TEST

/* A further machine whose own time ends sooner moves nothing. */
START_TEST(not_moved)
{
	struct note n;

	world_open(w);
	machine_now(10, "web");
	world_run(w, 2 * MINUTE);
	machine_add(w, 11, "web", stamp_now() - 5 * MINUTE);
	world_run(w, 2 * MINUTE);
	/* A shift of the clock is no change either. */
	w->offset_ms += 60 * MINUTE;
	world_run(w, 2 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_SCOPE_MOVED, &n), 0);
}
END_TEST

START_TEST(capped)
{
	struct note n;

	world_open(w);
	for (int i = 0; i < 12; i++) {
		machine_now(10 + i, "web");
		world_run(w, 5 * MINUTE);
	}
	world_run(w, 1000);
	ck_assert_uint_eq(notes(NOTE_SCOPE_CAPPED, &n), 1);
	ck_assert_int_eq(n.as.capped.max_ms, 60 * MINUTE);
	ck_assert_int_le(llabs(n.as.capped.until_ms - server_ms(w) - 10 * MINUTE), 1500);
	world_run(w, 5 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_SCOPE_CAPPED, &n), 0);
}
END_TEST

/* No hold is capped when it begins.  A wave whose debt has been paid off is
 * followed by another. */
START_TEST(not_capped_at_birth)
{
	struct note n;

	world_open(w);
	for (int i = 0; i < 4; i++) {	/* held for 10 min of every 17 */
		machine_now(10 + i, "web");
		world_run(w, 17 * MINUTE);
	}
	for (int i = 0; i < 20; i++) {
		machine_now(20 + i, "web");
		world_run(w, 17 * MINUTE);
	}
	ck_assert_uint_eq(notes(NOTE_SCOPE_CAPPED, &n), 0);
}
END_TEST

/* --- what is refused ------------------------------------------------------ */

/* A refused write is tried after 1 s, and the wait doubles up to 10 min, each
 * with jitter.  That makes 13 to 21 tries in an hour.  The refusal is reported
 * once. */
static const enum reply_fault refusals[] = {REPLY_REFUSED, REPLY_INVALID};

START_TEST(a_clear_that_is_refused)
{
	struct note n;
	int64_t last = 0;
	unsigned before;

	object_hold(&node_at(w, 0)->o, server_ms(w) - DAY);
	object_hold(&node_at(w, 1)->o, server_ms(w) - DAY);
	go_wrong("n0", ACT_CLEAR, refusals[_i], -1);
	world_open(w);
	ck_assert(thing_clear(node_at(w, 1)));
	ck_assert_uint_eq(notes(NOTE_REFUSED, &n), 1);
	ck_assert_str_eq(n.name, "n0");
	ck_assert_int_eq(n.as.refused.kind, KIND_NODE);
	ck_assert_int_eq(n.as.refused.act, ACT_CLEAR);
	world_run(w, 60 * MINUTE - 5000);
	ck_assert_uint_ge(w->acts[ACT_CLEAR], 1 + 13);
	ck_assert_uint_le(w->acts[ACT_CLEAR], 1 + 21);
	for (int i = 0; i < 6; i++) {	/* and no wait is over 10 min */
		before = w->acts[ACT_CLEAR];
		last = w->boot_ms;
		while (w->acts[ACT_CLEAR] == before)
			world_run(w, 1000);
		ck_assert_int_le(w->boot_ms - last, 10 * MINUTE + 2000);
		ck_assert_int_ge(w->boot_ms - last, i == 0 ? 0 : 5 * MINUTE -
								     2000);
	}
	ck_assert_uint_eq(notes(NOTE_REFUSED, &n), 0);
	w->fault = NULL;
	world_run(w, 10 * MINUTE + 2000);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(a_hold_that_is_refused)
{
	struct note n;

	go_wrong("n0", ACT_HOLD, refusals[_i], -1);
	world_open(w);
	machine_add(w, 9, "web", server_ms(w));
	world_run(w, 9 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_REFUSED, &n), 1);
	ck_assert_str_eq(n.name, "n0");
	ck_assert_int_eq(n.as.refused.act, ACT_HOLD);
	/* There are four others and the new machine; n0 is tried after waits
	 * of 1, 2, 4 … s. */
	ck_assert_uint_ge(w->acts[ACT_HOLD], 5 + 8);
	ck_assert_uint_le(w->acts[ACT_HOLD], 5 + 10);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	ck_assert_uint_ge(w->counters.at[COUNTER_HOLDS_ERROR] +
				  w->counters.at[COUNTER_HOLDS_CONFLICT],
			  8);
}
END_TEST

/* A write that fails without being refused is tried again after at most 10 s,
 * with a jitter of up to as much again, and is not reported. */
START_TEST(a_failure_is_no_refusal)
{
	struct note n;

	object_hold(&node_at(w, 0)->o, server_ms(w) - DAY);
	go_wrong("n0", ACT_CLEAR, REPLY_ERROR, -1);
	world_open(w);
	world_run(w, 60 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_REFUSED, &n), 0);
	ck_assert_uint_ge(w->acts[ACT_CLEAR], 170);
	w->fault = NULL;
	world_run(w, 21000);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* A claim that cannot be patched does not delay its Node once that is
 * registered.  Before that it does. */
static const enum reply_fault all_ways[] = {REPLY_REFUSED, REPLY_INVALID,
				      REPLY_ERROR, REPLY_LOST,
				      REPLY_CONFLICT};

START_TEST(the_claim_never_keeps_its_node)
{
	struct thing *n = node_at(w, 0), *c = claim_at(w, 0);

	object_hold(&c->o, server_ms(w) - DAY);
	object_hold(&n->o, server_ms(w) - DAY);
	go_wrong("c0", ACT_CLEAR, all_ways[_i], -1);
	world_open(w);
	ck_assert(thing_clear(n));
	ck_assert_uint_eq(n->writes, 1);
	world_run(w, 5 * MINUTE);
	if (all_ways[_i] != REPLY_LOST)
		ck_assert(thing_held(c));
	w->fault = NULL;
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(n->writes, 1);
}
END_TEST

START_TEST(the_claim_first_while_it_joins)
{
	struct thing *n = node_at(w, 0), *c = claim_at(w, 0);

	n->o.registered = false;
	object_hold(&c->o, server_ms(w) - DAY);
	object_hold(&n->o, server_ms(w) - DAY);
	go_wrong("c0", ACT_CLEAR, REPLY_REFUSED, -1);
	world_open(w);
	world_run(w, 5 * MINUTE);
	ck_assert(thing_held(n));
	n->o.registered = true;
	thing_changed(w, n);
	world_run(w, SLACK);
	ck_assert(thing_clear(n));
	ck_assert(thing_held(c));
}
END_TEST

/* A class that is refused is reported as well, once. */
START_TEST(a_class_that_is_refused)
{
	struct note n;
	struct thing *c = claim_at(w, 0);

	rules.replacements = REPLACEMENTS_IGNORE;
	go_wrong("c9", ACT_CLASSIFY, REPLY_REFUSED, -1);
	c->o.disrupted_ms = stamp_now();
	world_open(w);
	claim_boot(9);
	world_run(w, 1000);
	controller_disruption_event(w->s, "c9", "drifted", world_now(w));
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_REFUSED, &n), 1);
	ck_assert_str_eq(n.name, "c9");
	ck_assert_int_eq(n.as.refused.act, ACT_CLASSIFY);
	ck_assert_int_eq(n.as.refused.kind, KIND_NODECLAIM);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: notes");
	TCase *c = run_case(s, "quiet time"), *r = run_case(s, "refused");

	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_test(c, held_by_one_that_boots);
	tcase_add_test(c, held_by_one_that_is_ready);
	tcase_add_test(c, moved_once_a_minute);
	tcase_add_test(c, moved_by_a_deletion);
	tcase_add_test(c, not_moved);
	tcase_add_test(c, capped);
	tcase_add_test(c, not_capped_at_birth);
	tcase_add_checked_fixture(r, setup, scene_teardown);
	tcase_add_loop_test(r, a_clear_that_is_refused, 0, 2);
	tcase_add_loop_test(r, a_hold_that_is_refused, 0, 2);
	tcase_add_test(r, a_failure_is_no_refusal);
	tcase_add_loop_test(r, the_claim_never_keeps_its_node, 0,
			    sizeof(all_ways) / sizeof(all_ways[0]));
	tcase_add_test(r, the_claim_first_while_it_joins);
	tcase_add_test(r, a_class_that_is_refused);
	return suite_run(s);
}
