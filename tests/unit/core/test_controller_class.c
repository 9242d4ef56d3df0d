/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "scene.h"

/* A machine that Karpenter creates to replace others keeps no scope held.
 * Karpenter's Event says that it is one, whenever the Event comes:
 * docs/rules.md#consolidation-and-drift. */

static int64_t disrupted;	/* when c0 came to be */

static void
begin(enum replacement_rule replacements)
{
	rules = rules_default();
	rules.replacements = replacements;
	rules.cap = (struct cap_rules){720 * MINUTE, 10 * MINUTE};
	w = world_new(&rules, THINGS, 1);
	open_old(3);
}

static void
setup(void)
{
	begin(REPLACEMENTS_IGNORE);
}

static void
disrupt(void)
{
	struct thing *c = claim_at(w, 0);

	disrupted = stamp_now();
	c->o.disrupted_ms = disrupted;
	thing_changed(w, c);
}

/* A claim that is created a second later and launched two seconds after
 * that. */
static struct thing *
replace(int n)
{
	struct thing *c;

	world_run(w, 1000);
	c = claim_make(n, "web");
	world_run(w, 2000);
	claim_launch(c);
	world_run(w, 100);
	return c;
}

static void
event(const char *uid)
{
	controller_disruption_event(w->s, uid, "drifted", world_now(w));
}

static unsigned
ignored(void)
{
	return (unsigned)w->counters.at[COUNTER_DISRUPTION_EVENTS_IGNORED];
}

START_TEST(the_event_a_second_later)
{
	struct thing *c;

	disrupt();
	c = replace(7);
	event("c7");
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_spread(3), 0);
	ck_assert(thing_held(c));	/* its own quiet time */
	ck_assert_str_eq(c->o.replaces, "drifted");
	become_ready(c);
	world_run(w, rules.hold_ms - 1000);
	ck_assert(thing_held(c));
	ck_assert_uint_eq(count_spread(3), 0);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(c->writes, 3);
}
END_TEST

START_TEST(the_event_before_the_claim)
{
	struct thing *c;

	if (_i == 0)
		disrupt();
	event("c7");
	c = replace(7);
	world_run(w, MINUTE);
	/* An Event counts only where another claim was disrupted. */
	ck_assert_uint_eq(count_spread(3), _i == 0 ? 0 : 3);
	ck_assert_str_eq(c->o.replaces, _i == 0 ? "drifted" : "");
	ck_assert_uint_eq(ignored(), _i == 0 ? 0 : 1);
}
END_TEST

/* The first reason stands, though the disruption is seen last. */
START_TEST(the_first_reason)
{
	struct thing *c = replace(7), *old = claim_at(w, 0);

	event("c7");
	controller_disruption_event(w->s, "c7", "underutilized", world_now(w));
	old->o.disrupted_ms = c->o.created_ms;
	thing_changed(w, old);
	world_run(w, SLACK);
	ck_assert_str_eq(c->o.replaces, "drifted");
}
END_TEST

/* An Event is believed where another claim was disrupted in the 60 s
 * before. */
static const struct {
	const char *name;
	int64_t before_ms;
	bool itself, empty, believed;
} disruptions[] = {
	{"a minute before", 60000, false, false, true},
	{"longer ago", 61000, false, false, false},
	{"in the same second", 0, false, false, true},
	{"a second later: two clocks", -1000, false, false, true},
	{"later", -2000, false, false, false},
	{"the claim itself", 5000, true, false, false},
	{"an empty one: it is replaced by none", 5000, false, true, false},
};

START_TEST(where_a_sign_is_believed)
{
	struct thing *c, *old;

	c = replace(7);
	old = disruptions[_i].itself ? c : claim_at(w, 0);
	old->o.disrupted = true;
	if (!disruptions[_i].empty)
		old->o.disrupted_ms =
			c->o.created_ms - disruptions[_i].before_ms;
	thing_changed(w, old);
	world_run(w, 1000);
	event("c7");
	world_run(w, SLACK);
	ck_assert_msg((c->o.replaces[0] != '\0') == disruptions[_i].believed,
		      "%s: \"%s\"", disruptions[_i].name, c->o.replaces);
	ck_assert_msg(count_spread(3) == (disruptions[_i].believed ? 0 : 3),
		      "%s: %u held", disruptions[_i].name, count_spread(3));
	ck_assert_uint_eq(ignored(), disruptions[_i].believed ? 0 : 1);
}
END_TEST

/* Anybody who may create Events can forge one.  However often it comes, it
 * does not change a scale-up, and each one is counted. */
START_TEST(a_forged_sign)
{
	struct thing *c = replace(7);

	for (int i = 0; i < 5; i++) {
		event("c7");
		event("nobody");
		world_run(w, 1000);
	}
	ck_assert_uint_eq(ignored(), 5);
	ck_assert_uint_eq(count_spread(3), 3);
	become_ready(c);
	world_run(w, rules.hold_ms - 1000);
	ck_assert_uint_eq(count_spread(3), 3);
	ck_assert_uint_eq(w->acts[ACT_CLASSIFY], 0);
}
END_TEST

/* An Event is ignored at first, and believed once the claim that is replaced
 * is known to be disrupted. */
START_TEST(a_sign_judged_again)
{
	struct thing *c, *old = claim_at(w, 0);

	w->frozen[KIND_NODECLAIM] = true;
	disrupt();
	(void)old;
	w->frozen[KIND_NODECLAIM] = false;
	world_lose_lines(w, KIND_NODECLAIM);	/* it is lost */
	c = replace(7);
	event("c7");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_spread(3), 3);
	ck_assert_uint_eq(ignored(), 1);
	world_list(w, KIND_NODECLAIM);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_spread(3), 0);
	ck_assert_str_eq(c->o.replaces, "drifted");
}
END_TEST

/* The class on the claim stands, whatever later Events say. */
START_TEST(a_class_is_not_overridden)
{
	struct object o;
	struct thing *c;

	disrupt();
	world_run(w, 1000);
	o = claim_new("c7", stamp_now());
	o.launched = o.launch_known = true;
	strcpy(o.replaces, _i == 0 ? "underutilized" : "substitute/xyz");
	c = thing_add(w, &o);
	if (_i == 0)
		event("c7");
	world_run(w, 1000);
	event("c7");
	world_run(w, MINUTE);
	ck_assert_str_eq(c->o.replaces,
			 _i == 0 ? "underutilized" : "substitute/xyz");
	ck_assert_uint_eq(w->acts[ACT_CLASSIFY], 0);
	ck_assert_uint_eq(count_spread(3), 0);
	ck_assert_uint_eq(ignored(), 0);
}
END_TEST

/* Until the NodeClaims are listed, a claim without a class holds no other
 * machine. */
START_TEST(before_the_claims_are_listed)
{
	struct thing *c = replace(7);

	world_run(w, COUNTS_AGE_MS);
	ck_assert_uint_eq(count_spread(3), 3);
	world_restart(w, 9);
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		t->o.hold = HOLD_ABSENT, t->o.mark = MARK_ABSENT;
	world_list(w, KIND_NODE);
	event("c7");
	controller_listing(w->s, KIND_NODECLAIM);
	for (int i = 0; i < 3; i++)
		controller_track(w->s, &claim_at(w, i)->o, world_now(w));
	controller_track(w->s, &c->o, world_now(w));
	/* The list may show yet who was disrupted. */
	ck_assert_uint_eq(ignored(), 0);
	w->up[KIND_NODECLAIM] = true;
	world_run(w, 2 * MINUTE);
	ck_assert_uint_eq(count_spread(3), 0);
	ck_assert(thing_held(c));	/* its own time */
	controller_listed(w->s, KIND_NODECLAIM, true, world_now(w));
	controller_watch(w->s, KIND_NODECLAIM, true);
	world_run(w, 1000);
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

START_TEST(the_event_late)
{
	struct thing *c;

	disrupt();
	c = replace(7);
	world_run(w, COUNTS_AGE_MS - 3500);
	ck_assert_uint_eq(count_spread(3), 0);
	world_run(w, 3000);
	ck_assert_uint_eq(count_spread(3), 3);	/* taken for a scale-up */
	event("c7");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_spread(3), 0);
	ck_assert(thing_held(c));
	ck_assert_str_eq(c->o.replaces, "drifted");
}
END_TEST

START_TEST(the_event_lost)
{
	struct thing *c;
	int64_t quiet;

	disrupt();
	c = replace(7);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_spread(3), 3);
	quiet = become_ready(c);
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(count_spread(3), 3);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(c->o.replaces[0], '\0');
}
END_TEST

/* The list shows the two in the other order, so the replaced claim is looked
 * for again. */
START_TEST(the_replaced_is_seen_later)
{
	disrupted = stamp_now();
	claim_at(w, 0)->o.disrupted_ms = disrupted;
	(void)replace(7);
	world_run(w, COUNTS_AGE_MS);
	ck_assert_uint_eq(count_spread(3), 3);
	thing_changed(w, claim_at(w, 0));
	world_run(w, 1000);
	/* A hold that has begun does not end because of it, and does not last
	 * much longer either. */
	ck_assert_uint_eq(count_spread(3), 3);
	event("c7");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_spread(3), 0);
}
END_TEST

START_TEST(a_hold_does_not_end_before_it_counts)
{
	struct thing *old, *c;
	int64_t quiet;

	machine_now(5, "web");
	old = claim_at(w, 5);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_spread(3), 3);
	quiet = old->o.ready_ms + rules.hold_ms;
	world_run_until(w, quiet - 5000);
	disrupt();
	c = replace(7);
	world_run(w, 2000 + SLACK / 2);	/* past the end */
	ck_assert_int_gt(server_ms(w), quiet);
	ck_assert_uint_eq(count_spread(3), 3);
	if (_i == 0)
		event("c7");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_spread(3), _i == 0 ? 0 : 3);
	(void)c;
}
END_TEST

START_TEST(count_takes_no_notice)
{
	struct thing *c;

	scene_teardown();
	begin(REPLACEMENTS_COUNT);
	event("c7");
	disrupt();
	c = replace(7);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_spread(3), 3);
	ck_assert_uint_eq(c->o.replaces[0], '\0');
}
END_TEST

/* Another leader reads the class from the claim. */
START_TEST(the_class_outlives_the_leader)
{
	struct thing *c;

	disrupt();
	c = replace(7);
	event("c7");
	world_run(w, 1000);
	world_restart(w, 9);
	world_open(w);
	become_ready(c);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_spread(3), 0);
	ck_assert(thing_held(c));
}
END_TEST

/* The class cannot be written.  It is known all the same, and the write is
 * tried again. */
START_TEST(the_class_cannot_be_written)
{
	struct thing *c;

	go_wrong(NULL, ACT_CLASSIFY, REPLY_ERROR, -1);
	disrupt();
	c = replace(7);
	event("c7");
	world_run(w, 2 * MINUTE);
	ck_assert_uint_eq(count_spread(3), 0);
	ck_assert_uint_eq(c->o.replaces[0], '\0');
	/* It is tried after 1 s, 2 s, 4 s …, each with a jitter of up to as
	 * much again. */
	ck_assert_uint_le(w->acts[ACT_CLASSIFY], 8);
	ck_assert_uint_ge(w->acts[ACT_CLASSIFY], 6);
	w->fault = NULL;
	world_run(w, 130000);
	ck_assert_str_eq(c->o.replaces, "drifted");
}
END_TEST

/* Neither a hold nor a release waits for a class that is refused. */
START_TEST(a_refused_class_holds_nothing_up)
{
	struct thing *c;

	go_wrong(NULL, ACT_CLASSIFY, REPLY_ERROR, -1);
	disrupt();
	c = claim_boot(9);
	event("c9");
	world_run(w, MINUTE);
	ck_assert(thing_held(c));
	become_ready(c);
	world_run(w, rules.hold_ms + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	w->acts[ACT_CLASSIFY] = 0;
	world_run(w, DAY);
	ck_assert_uint_eq(w->acts[ACT_CLASSIFY], 0);
}
END_TEST

static enum reply_fault
every_second_class(struct world *world, const struct action *a)
{
	return a->act == ACT_CLASSIFY && world->acts[ACT_CLASSIFY] % 2 == 0
		       ? REPLY_ERROR
		       : REPLY_WHOLE;
}

/* The watch says nothing of the class that was written, so the next tries
 * conflict.  The claim is then read.  Errors between the tries do not keep it
 * from that. */
START_TEST(the_class_is_written_and_not_shown)
{
	if (_i == 1)
		w->fault = every_second_class;
	disrupt();
	(void)replace(7);
	w->frozen[KIND_NODECLAIM] = true;
	event("c7");
	world_run(w, 40 * 1000);
	ck_assert_uint_eq(w->acts[ACT_READ], 1);
	ck_assert_uint_le(w->acts[ACT_CLASSIFY], _i == 1 ? 6 : 3);
}
END_TEST

/* In a NodePool that is excluded nothing is written at all. */
START_TEST(no_class_in_an_excluded_pool)
{
	machine_now(8, "excluded");
	event("c8");
	world_run(w, MINUTE);
	ck_assert_uint_eq(claim_at(w, 8)->writes, 0);
}
END_TEST

/* The stamps come from two clocks, and Karpenter's may be ahead by a
 * second. */
START_TEST(karpenters_clock_ahead)
{
	struct thing *c = claim_at(w, 0);

	c->o.disrupted_ms = stamp_now() + 2000;
	thing_changed(w, c);
	(void)replace(7);	/* created a second after now */
	world_run(w, 500);
	ck_assert_uint_eq(count_spread(3), 0);
}
END_TEST

/* A moment that was seen by a clock an hour ahead has passed by now. */
START_TEST(clock_back_before_it_counts)
{
	w->offset_ms += 60 * MINUTE;
	world_run(w, 1000);
	w->offset_ms -= 60 * MINUTE;
	disrupt();
	w->offset_ms += 60 * MINUTE;
	world_run(w, 1000);
	w->offset_ms -= 60 * MINUTE;
	(void)replace(7);
	w->offset_ms += 60 * MINUTE;
	world_run(w, 1000);
	w->offset_ms -= 60 * MINUTE;
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

/* A claim counts 5 s after its creation, whatever the API server's clock does
 * meanwhile. */
START_TEST(clock_is_set_before_it_counts)
{
	static const int64_t shifts[] = {60 * MINUTE, -60 * MINUTE};

	(void)replace(7);
	world_run(w, 1000);
	w->offset_ms += shifts[_i % 2];
	world_run(w, COUNTS_AGE_MS - 3500);
	ck_assert_uint_eq(count_spread(3), 0);
	world_run(w, 2500);
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

/* WaitingReadiness names no reason.  An Event that names one takes
 * precedence. */
START_TEST(a_reason_stands_above_none)
{
	struct thing *c;

	disrupt();
	controller_disruption_event(w->s, "c7", "unknown", world_now(w));
	controller_disruption_event(w->s, "c7", "drifted", world_now(w));
	controller_disruption_event(w->s, "c7", "unknown", world_now(w));
	controller_disruption_event(w->s, "c7", "empty", world_now(w));
	c = replace(7);
	world_run(w, 1000);
	ck_assert_str_eq(c->o.replaces, "drifted");
}
END_TEST

/* More Events come than there is room for.  The oldest is dropped, and nothing
 * else. */
START_TEST(more_signs_than_there_is_room)
{
	char uid[UID_BYTES];
	struct thing *c;

	disrupt();
	event("c7");
	for (int i = 0; i < 2 * DISRUPTION_EVENTS_MAX; i++) {
		snprintf(uid, sizeof(uid), "x%d", i);
		event(uid);
	}
	event("c8");
	c = replace(8);
	world_run(w, SLACK);
	ck_assert_str_eq(c->o.replaces, "drifted");
	c = replace(7);
	world_run(w, SLACK);
	ck_assert_uint_eq(c->o.replaces[0], '\0');
}
END_TEST

/* A scope that was held stays held while a new leader has yet to decide about
 * a claim. */
START_TEST(another_leader_before_it_counts)
{
	char text[4096] = "";
	struct buf b;

	disrupt();
	(void)replace(7);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_spread(3), 3);	/* its Event is lost */
	buf_init(&b, text, sizeof(text));
	ck_assert(controller_soft(w->s, &b, false, world_now(w)));
	world_restart(w, 9);
	controller_restore(w->s, text, STAMP_NONE, world_now(w));
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	for (int i = 0; i < 300; i++) {
		world_run(w, 100);
		ck_assert_uint_eq(count_spread(3), 3);
	}
}
END_TEST

/* What the same replica saw in an earlier lead does not count, because the
 * disrupted claim is gone by now. */
START_TEST(disrupted_in_an_earlier_lead)
{
	disrupt();
	world_run(w, 1000);
	controller_lead(w->s, false, world_now(w));
	machine_delete(w, 0);
	controller_lead(w->s, true, world_now(w));
	world_open(w);
	(void)replace(7);
	event("c7");
	world_run(w, MINUTE);
	ck_assert_uint_eq(ignored(), 1);
	ck_assert(thing_held(node_at(w, 1)));
}
END_TEST

/* A new lead waits for the list of Events, for 10 s at most. */
START_TEST(events_are_waited_for)
{
	struct thing *c;
	struct note n;
	bool told = false;

	disrupt();
	c = replace(7);

	world_run(w, MINUTE);
	controller_lead(w->s, false, world_now(w));
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		t->o.hold = HOLD_ABSENT, t->o.mark = MARK_ABSENT;
	controller_lead(w->s, true, world_now(w));
	world_list_empty(w, KIND_NODEPOOL);
	controller_listing(w->s, KIND_EVENT);
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	world_run(w, 9900);
	ck_assert_uint_eq(count_marked(w), 0);
	if (_i == 0) {
		event("c7");
		controller_listed(w->s, KIND_EVENT, true, world_now(w));
	}
	world_run(w, SLACK);
	ck_assert_uint_eq(count_spread(3), _i == 0 ? 0 : 3);
	while (controller_note(w->s, &n)) {
		told |= n.type == NOTE_WITHOUT;
		if (n.type == NOTE_WITHOUT)
			ck_assert_str_eq(n.name, "Event");
	}
	ck_assert(told == (_i == 1));
	(void)c;
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: replacements");
	TCase *c = run_case(s, "class");

	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_test(c, the_event_a_second_later);
	tcase_add_test(c, the_first_reason);
	tcase_add_loop_test(c, the_event_before_the_claim, 0, 2);
	tcase_add_loop_test(c, where_a_sign_is_believed, 0,
			    sizeof(disruptions) / sizeof(disruptions[0]));
	tcase_add_test(c, a_forged_sign);
	tcase_add_test(c, a_sign_judged_again);
	tcase_add_loop_test(c, a_class_is_not_overridden, 0, 2);
	tcase_add_test(c, before_the_claims_are_listed);
	tcase_add_test(c, the_event_late);
	tcase_add_test(c, the_event_lost);
	tcase_add_test(c, the_replaced_is_seen_later);
	tcase_add_loop_test(c, a_hold_does_not_end_before_it_counts, 0, 2);
	tcase_add_test(c, count_takes_no_notice);
	tcase_add_test(c, the_class_outlives_the_leader);
	tcase_add_test(c, the_class_cannot_be_written);
	tcase_add_test(c, a_refused_class_holds_nothing_up);
	tcase_add_loop_test(c, the_class_is_written_and_not_shown, 0, 2);
	tcase_add_test(c, no_class_in_an_excluded_pool);
	tcase_add_test(c, karpenters_clock_ahead);
	tcase_add_test(c, clock_back_before_it_counts);
	tcase_add_loop_test(c, clock_is_set_before_it_counts, 0, 2);
	tcase_add_test(c, a_reason_stands_above_none);
	tcase_add_test(c, another_leader_before_it_counts);
	tcase_add_test(c, disrupted_in_an_earlier_lead);
	tcase_add_loop_test(c, events_are_waited_for, 0, 2);
	tcase_add_test(c, more_signs_than_there_is_room);
	return suite_run(s);
}
