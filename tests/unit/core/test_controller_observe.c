/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "scene.h"

/* Mode observe decides everything and writes nothing:
 * docs/rules.md#mode-observe. */

static void
setup(void)
{
	rules = rules_default();
	rules.mode = MODE_OBSERVE;
	w = world_new(&rules, THINGS, 1);
}

static struct controller_report
report(void)
{
	struct controller_report r;

	controller_report(w->s, &r);
	return r;
}

/* How many Nodes would be held, and that nobody has written to any object. */
static unsigned
would(void)
{
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		ck_assert_uint_eq(t->writes, 0);
	return report().would[KIND_NODE];
}

static void
put_hold(struct thing *t, enum hold hold)
{
	t->o.hold = hold;
	thing_changed(w, t);
}

START_TEST(tells_and_writes_nothing)
{
	int64_t quiet;

	open_old(3);
	quiet = machine_now(3, "web");
	world_run(w, MINUTE);
	ck_assert_uint_eq(would(), 4);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(report().held[KIND_NODE], 0);
	world_run_until(w, quiet - 1000);
	ck_assert_uint_eq(would(), 4);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(would(), 0);
	/* Four Nodes, and the new claim while its Node was not listed yet. */
	ck_assert_uint_eq(w->acts[ACT_HOLD], 5);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 5);
	/* It makes the reads of a release. */
	ck_assert_uint_ge(w->acts[ACT_LIST_CLAIMS], 1);
	ck_assert_uint_ge(w->acts[ACT_LIST_NODEPOOLS], 1);
}
END_TEST

/* A line about the object changes nothing, and is no reason to tell again. */
START_TEST(tells_once)
{
	open_old(3);
	(void)machine_now(3, "web");
	world_run(w, MINUTE);
	for (int n = 0; n < 4; n++)
		thing_changed(w, node_at(w, n));
	world_run(w, MINUTE);
	ck_assert_uint_eq(would(), 4);
	ck_assert_uint_eq(w->acts[ACT_HOLD], 5);
}
END_TEST

/* No line will show what was not written, so nothing waits for one. */
START_TEST(waits_for_no_line)
{
	struct nodepool p;

	open_old(3);
	(void)machine_now(3, "web");
	world_run(w, 1000);
	ck_assert_uint_eq(would(), 4);
	nodepool_init(&p);
	(void)snprintf(p.name, sizeof(p.name), "web");
	(void)snprintf(p.uid, sizeof(p.uid), "u-web");
	p.disabled = true;
	world_pool(w, &p);
	world_run(w, 2000);
	ck_assert_uint_eq(would(), 0);
}
END_TEST

/* From its claim to its Node. */
START_TEST(a_boot)
{
	struct thing *c;

	open_old(2);
	c = claim_boot(5);
	world_run(w, MINUTE);
	ck_assert_uint_eq(report().would[KIND_NODECLAIM], 1);
	ck_assert_uint_eq(would(), 2);
	(void)become_ready(c);
	world_run(w, 25 * MINUTE);
	ck_assert_uint_eq(report().would[KIND_NODECLAIM], 0);
	ck_assert_uint_eq(would(), 0);
}
END_TEST

/* --- the same decisions as with mode enforce ------------------------------- */

static char turns[2][16384];

static void
take_turns(struct buf *b)
{
	struct note n;

	while (controller_note(w->s, &n))
		if (n.type <= NOTE_SCOPE_CAPPED)
			buf_printf(b, "%lld %d %s %s %lld\n",
				   (long long)(w->boot_ms / 1000),
				   (int)n.type, n.name,
				   n.type < NOTE_SCOPE_QUIET
					   ? n.as.held.machine : "",
				   n.type < NOTE_SCOPE_QUIET
					   ? (long long)n.as.held.until_ms / 1000
					   : 0);
}

static void
pass(struct buf *b, int minutes)
{
	for (int s = 0; s < 60 * minutes; s++) {
		world_run(w, 1000);
		take_turns(b);
	}
}

static void
busy_day(struct buf *b)
{
	struct nodepool p;
	struct thing *c;

	machine_add(w, 0, "web", server_ms(w) - DAY);
	machine_add(w, 1, "api", server_ms(w) - DAY);
	world_open(w);
	for (int i = 0; i < 16; i++) {	/* beyond the cap */
		(void)machine_now(10 + i, i % 3 == 0 ? "api" : "web");
		pass(b, 5);
	}
	pass(b, 15);
	c = claim_boot(40);
	pass(b, 2);
	become_ready(c);
	pass(b, 3);
	/* A replacement, whose class is told and not written. */
	claim_at(w, 0)->o.disrupted_ms = stamp_now();
	thing_changed(w, claim_at(w, 0));
	pass(b, 1);
	controller_disruption_event(w->s, claim_boot(41)->o.uid, "drifted",
				    world_now(w));
	pass(b, 2);
	thing_changed(w, claim_at(w, 41));	/* its class is told once */
	pass(b, 6);
	nodepool_init(&p);
	(void)snprintf(p.name, sizeof(p.name), "web");
	(void)snprintf(p.uid, sizeof(p.uid), "u-web");
	p.released_at_ms = stamp_now();
	world_pool(w, &p);
	pass(b, 30);
	machine_delete(w, 10);
	(void)machine_now(50, "web");
	pass(b, 20);
}

START_TEST(decides_alike)
{
	static const enum scope_kind scopes[] = {SCOPE_CLUSTER, SCOPE_NODEPOOL};

	for (int mode = MODE_ENFORCE; mode <= MODE_OBSERVE; mode++) {
		struct buf b;

		rules.mode = (enum mode)mode;
		rules.scope = scopes[_i];
		rules.cap = (struct cap_rules){40 * MINUTE, 10 * MINUTE};
		scene_again();
		buf_init(&b, turns[mode], sizeof(turns[mode]));
		busy_day(&b);
		ck_assert(!b.full && b.len > 200);
		ck_assert_uint_eq(count_marked(w), 0);
		ck_assert_uint_eq(report().would[KIND_NODE], 0);
	}
	ck_assert_str_eq(turns[MODE_OBSERVE], turns[MODE_ENFORCE]);
	ck_assert_ptr_nonnull(strstr(turns[MODE_OBSERVE], " 3 ")); /* a cap */
	ck_assert_uint_eq(
		atomic_load(&w->counters.at[COUNTER_REPLACEMENTS]), 1);
}
END_TEST

/* --- what stands on the objects -------------------------------------------- */

/* What an earlier holder left is reported, and stays. */
START_TEST(marks_stay)
{
	struct note n;

	add_due(3);
	world_open(w);
	ck_assert_uint_eq(notes(NOTE_LEFT, &n), 1);
	ck_assert_uint_eq(n.as.objects, 3);
	world_run(w, 5 * MINUTE);
	ck_assert_uint_eq(would(), 0);		/* it would release them … */
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 3);
	ck_assert_uint_eq(report().held[KIND_NODE], 3);	/* … and does not */
	ck_assert_uint_eq(count_spread(3), 3);
	for (int i = 0; i < 3; i++)
		thing_changed(w, node_at(w, i));
	(void)machine_now(7, "web");
	world_run(w, MINUTE);
	ck_assert_uint_eq(would(), 4);
	/* Somebody removes the marks. */
	for (int i = 0; i < 3; i++) {
		node_at(w, i)->o.mark = MARK_ABSENT;
		put_hold(node_at(w, i), HOLD_ABSENT);
	}
	world_run(w, MINUTE);
	ck_assert_uint_eq(report().held[KIND_NODE], 0);
	ck_assert_uint_eq(notes(NOTE_LEFT, NULL), 0);
}
END_TEST

START_TEST(a_person_has_a_say)
{
	open_old(3);
	(void)machine_now(3, "web");
	world_run(w, MINUTE);
	put_hold(node_at(w, 0), _i == 0 ? HOLD_SAME : HOLD_OTHER);
	world_run(w, MINUTE);
	ck_assert_uint_eq(would(), 3);
	world_run(w, 30 * MINUTE);
	ck_assert_uint_eq(would(), 0);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 4);
	ck_assert_uint_eq(w->acts[ACT_UNMARK], 0);
}
END_TEST

/* The object changes while the write is told. */
START_TEST(too_late)
{
	struct action a;

	add_old(1);
	(void)machine_now(3, "web");
	world_list(w, KIND_NODECLAIM);
	world_list(w, KIND_NODE);
	while (a = act_next(ACT_HOLD), strcmp(a.name, "n0") != 0)
		act_answer(&a, CONTROLLER_OK);
	put_hold(node_at(w, 0), HOLD_SAME);
	(void)thing_keep(w, node_at(w, 0));
	controller_track(w->s, &node_at(w, 0)->o, world_now(w));
	act_answer(&a, CONTROLLER_OK);
	world_run(w, MINUTE);
	ck_assert_uint_eq(would(), 1);
	ck_assert_uint_eq(
		atomic_load(&w->counters.at[COUNTER_HOLDS_CONFLICT]), 1);
}
END_TEST

/* --- the next leader ------------------------------------------------------- */

START_TEST(another_leader)
{
	char text[4096];
	struct buf b;

	rules.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	scene_again();
	open_old(3);
	for (int i = 0; i < 6; i++) {
		(void)machine_now(10 + i, "web");
		world_run(w, 5 * MINUTE);
	}
	buf_init(&b, text, sizeof(text));
	ck_assert(controller_soft(w->s, &b, true, world_now(w)));
	world_restart(w, 9);
	/* Its own key: what it held shows on no object, but the debt does.  Mode
	 * enforce does not read that, and begins without a debt. */
	controller_restore(w->s, _i == 0 ? text : "", STAMP_NONE, world_now(w));
	world_list_others(w);
	world_open(w);
	ck_assert_uint_eq(would(), 9);
	for (int i = 0; i < 7; i++) {
		(void)machine_now(20 + i, "web");
		world_run(w, 5 * MINUTE);
	}
	ck_assert_uint_eq(notes(NOTE_SCOPE_CAPPED, NULL), _i == 0 ? 1 : 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: mode observe");
	TCase *c = run_case(s, "observe");

	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_test(c, tells_and_writes_nothing);
	tcase_add_test(c, tells_once);
	tcase_add_test(c, waits_for_no_line);
	tcase_add_test(c, a_boot);
	tcase_add_loop_test(c, decides_alike, 0, 2);
	tcase_add_test(c, marks_stay);
	tcase_add_loop_test(c, a_person_has_a_say, 0, 2);
	tcase_add_test(c, too_late);
	tcase_add_loop_test(c, another_leader, 0, 2);
	return suite_run(s);
}
