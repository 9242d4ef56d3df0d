/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "scene.h"

/* Nothing is cleared on half a view
 * (docs/rules.md#nothing-is-released-on-half-a-view).  A release begins with a
 * fresh list. */

/* --- half a view ---------------------------------------------------------- */

static const struct {
	const char *name;
	bool listed[KIND_COUNT], up[KIND_COUNT];
	bool clears;
} views[] = {
	{"nothing listed", {false, false}, {false, false}, false},
	{"Nodes only", {true, false}, {true, false}, false},
	{"NodeClaims only", {false, true}, {false, true}, false},
	{"both listed, no watch", {true, true}, {false, false}, false},
	{"watch of Nodes only", {true, true}, {true, false}, false},
	{"watch of NodeClaims only", {true, true}, {false, true}, false},
	{"both watches, Nodes not listed", {false, true}, {true, true},
	 false},
	{"both watches, NodeClaims not listed", {true, false}, {true, true},
	 false},
	{"both", {true, true}, {true, true}, true},
};

START_TEST(half_a_view)
{
	add_due(5);
	for (int k = 0; k < KIND_COUNT; k++) {
		enum kind kind = (enum kind)k;

		if (views[_i].listed[k])
			world_list(w, kind);
		else	/* it is being listed; items come */
			controller_listing(w->s, kind);
		world_watch(w, kind, views[_i].up[k]);
	}
	world_run(w, 10 * MINUTE);
	ck_assert_msg((count_marked(w) == 0) == views[_i].clears &&
			      (count_marked(w) == 5) == !views[_i].clears,
		      "%s: %u marks", views[_i].name, count_marked(w));
}
END_TEST

START_TEST(items_seen_but_list_not_complete)
{
	add_due(5);
	controller_listing(w->s, KIND_NODECLAIM);
	for (int i = 0; i < 5; i++)
		controller_track(w->s, &claim_at(w, i)->o, world_now(w));
	world_list(w, KIND_NODE);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 5);
	controller_listed(w->s, KIND_NODECLAIM, true, world_now(w));
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 5);
	world_watch(w, KIND_NODECLAIM, true);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(watch_down_at_the_release)
{
	enum kind kind = (enum kind)_i;
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	world_watch(w, kind, false);
	world_run_until(w, quiet + 10 * MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	world_watch(w, kind, true);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(holding_goes_on_with_a_watch_down)
{
	add_old(5);
	world_open(w);
	world_watch(w, KIND_NODE, false);
	busy_until(5, 5 * MINUTE);
	world_run(w, SLACK);
	ck_assert(thing_held(node_at(w, 0)));
}
END_TEST

START_TEST(relist_stops_clearing_until_complete)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	world_run_until(w, quiet - 1000);
	controller_listing(w->s, KIND_NODECLAIM);
	w->frozen[KIND_NODECLAIM] = true;
	world_run(w, 5 * MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	w->frozen[KIND_NODECLAIM] = false;
	world_list(w, KIND_NODECLAIM);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(claims_gone_unserved_later)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	w->unserved = true;
	world_list(w, KIND_NODECLAIM);	/* the last state stands */
	world_run_until(w, quiet + 10 * MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	w->unserved = false;
	world_list(w, KIND_NODECLAIM);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(list_drops_what_it_did_not_show)
{
	int64_t quiet;

	add_due(3);
	quiet = busy_until(3, 20 * MINUTE);
	world_open(w);
	world_watch(w, KIND_NODECLAIM, false);
	thing_delete(w, claim_at(w, 3));	/* nobody hears of it */
	world_list(w, KIND_NODECLAIM);
	world_run(w, SLACK);
	ck_assert_int_lt(server_ms(w), quiet);
	ck_assert(thing_clear(node_at(w, 0)));
}
END_TEST

/* --- the fresh list ------------------------------------------------------- */

/* Both watches are open, but one is silent.  A new claim is shown by a list
 * only. */
START_TEST(unknown_claim_stops_the_release)
{
	struct note n;
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	w->frozen[KIND_NODECLAIM] = true;
	world_run_until(w, quiet - 1000);
	machine_add(w, 6, "web", server_ms(w));
	world_run(w, 3000);
	ck_assert_uint_ge(count_held(w, KIND_NODE), 6);
	ck_assert_uint_ge(w->acts[ACT_LIST_CLAIMS], 1);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	ck_assert_uint_ge(notes(NOTE_STOPPED, &n), 1);
	ck_assert_int_eq(n.as.objects, 1);
	w->frozen[KIND_NODECLAIM] = false;
	world_run(w, 5 * MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 7);	/* busy again */
}
END_TEST

/* The watch does not show that a claim which is not ready goes. */
START_TEST(a_claim_that_goes_stops_nothing)
{
	struct note n;
	struct thing *c;
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	c = claim_make(6, "web");
	world_open(w);
	world_run_until(w, quiet - 1000);
	w->frozen[KIND_NODECLAIM] = true;
	claim_deleting(c);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(notes(NOTE_STOPPED, &n), 0);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 0);
}
END_TEST

/* The watch never shows the claim.  After FRESH_TRIES lists the watch is no
 * longer trusted, and claims are listed anew. */
START_TEST(silent_watch_is_listed_anew)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	w->frozen[KIND_NODECLAIM] = true;
	machine_add(w, 6, "web", server_ms(w) - DAY);
	world_run_until(w, quiet + MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_ge(w->acts[ACT_LIST_CLAIMS], FRESH_TRIES);
	ck_assert_uint_le(w->acts[ACT_LIST_CLAIMS], FRESH_TRIES + 3);
}
END_TEST

START_TEST(one_fresh_list_for_many)
{
	int64_t quiet;

	add_due(200);
	quiet = busy_until(200, MINUTE);
	world_open(w);
	memset(w->acts, 0, sizeof(w->acts));
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 1);
}
END_TEST

/* A machine falls due while the fresh list is under way.  A claim may have
 * been created since that the list does not show, so another list is
 * needed. */
START_TEST(another_list_for_what_falls_due_meanwhile)
{
	int64_t quiet;

	rules.scope = SCOPE_NODE;
	scene_again();
	(void)busy_until(0, MINUTE - 1000);
	quiet = busy_until(1, MINUTE);
	world_open(w);
	memset(w->acts, 0, sizeof(w->acts));
	world_run_until(w, quiet - 990);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 1);
	world_delay_replies(w, 1500);
	world_run_until(w, quiet + 509);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	while (w->acts[ACT_CLEAR] == 0)
		world_run(w, 1);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 1);
	world_run(w, 3 * SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 2);
}
END_TEST

/* A Node was the head of its machine and quiet, long ago.  Then its claim
 * came, which goes now, and the Node carries our mark.  This is another
 * release, so it begins with another list. */
START_TEST(head_again)
{
	struct thing *n;

	add_due(1);
	machine_add(w, 1, "web", server_ms(w) - DAY);
	w->watch_ms = 1;
	world_list(w, KIND_NODE);
	world_run(w, MINUTE);	/* no claim is seen yet */
	world_list(w, KIND_NODECLAIM);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 1);
	n = node_at(w, 1);
	object_hold(&n->o, server_ms(w));
	w->frozen[KIND_NODE] = true;
	thing_changed(w, n);
	thing_delete(w, claim_at(w, 1));
	world_run(w, MINUTE);
	w->frozen[KIND_NODE] = false;
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 2);
}
END_TEST

/* A machine that has our mark still takes the place of one that was quiet. */
START_TEST(in_the_place_of_another)
{
	add_due(1);
	world_open(w);
	world_run(w, MINUTE);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 1);
	thing_delete(w, claim_at(w, 0));
	thing_delete(w, node_at(w, 0));
	world_run(w, MINUTE);
	machine_add(w, 1, "web", server_ms(w) - DAY);
	object_hold(&node_at(w, 1)->o, server_ms(w) - DAY);
	thing_changed(w, node_at(w, 1));
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(w->acts[ACT_LIST_CLAIMS], 2);
}
END_TEST

START_TEST(fresh_list_fails)
{
	add_due(5);
	go_wrong(NULL, ACT_LIST_CLAIMS, REPLY_ERROR, -1);
	world_open(w);
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 5);
	ck_assert_uint_le(w->acts[ACT_LIST_CLAIMS], 60);
	w->fault = NULL;
	world_run(w, 70000);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

static void
pool_named(struct nodepool *p, const char *name)
{
	nodepool_init(p);
	strcpy(p->name, name);
	snprintf(p->uid, sizeof(p->uid), "u-%s", name);
}

/* The watch of NodePools is half open, so only a list shows a change of an
 * annotation.  Nothing is released, and after FRESH_TRIES the NodePools are
 * listed anew. */
START_TEST(pools_that_differ_stop_the_release)
{
	struct note n;
	struct nodepool p;
	unsigned told = 0;
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	world_run_until(w, quiet - 1000);
	pool_named(&p, "web");
	if (_i == 0)
		p.hold_until_ms = quiet + 60 * MINUTE;
	else
		p.hold_ms = 2 * rules.hold_ms;
	world_pool_quietly(w, &p);
	world_run_until(w, quiet + 3000);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	ck_assert_uint_ge(w->acts[ACT_LIST_NODEPOOLS], 2);
	while (controller_note(w->s, &n)) {
		if (n.type != NOTE_STOPPED)
			continue;
		ck_assert_str_eq(n.name, "NodePool");
		ck_assert_int_eq(n.as.objects, 1);
		told++;
	}
	ck_assert_uint_ge(told, 1);
	while (!controller_wants_list(w->s, KIND_NODEPOOL)) {
		world_run(w, 100);
		ck_assert_int_lt(server_ms(w), quiet + 20000);
	}
	ck_assert_uint_eq(w->acts[ACT_LIST_NODEPOOLS], FRESH_TRIES);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	controller_nodepool(w->s, &p, world_now(w)); /* … and it says so */
	world_run(w, 5 * MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
}
END_TEST

/* The fresh list shows only that the spec has changed (0), or that another
 * NodePool has the name (1).  That stops the release until the watch shows the
 * spec. */
START_TEST(a_spec_that_differs_stops_the_release)
{
	struct nodepool p;
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	pool_named(&p, "web");
	p.generation = 1;
	p.spec_known = true;
	world_pool(w, &p);
	world_open(w);
	world_run_until(w, quiet - 1000);
	if (_i == 0)
		p.generation = 2;
	else
		strcpy(p.uid, "another");
	world_pool_quietly(w, &p);
	world_run_until(w, quiet + 3000);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	ck_assert_uint_ge(w->acts[ACT_LIST_NODEPOOLS], 2);
	controller_nodepool(w->s, &p, world_now(w));
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* A 403 to the fresh list of NodePools stops releases, and is reported. */
START_TEST(fresh_list_of_pools_fails)
{
	struct controller_report r;
	struct note n;
	unsigned told = 0;

	add_due(5);
	go_wrong(NULL, ACT_LIST_NODEPOOLS, REPLY_REFUSED, -1);
	world_open(w);
	world_run(w, 50000);
	controller_report(w->s, &r);
	ck_assert(!r.blocked);
	world_run(w, 2 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 5);
	controller_report(w->s, &r);
	ck_assert(r.blocked);
	while (controller_note(w->s, &n)) {
		if (n.type != NOTE_BLOCKED)
			continue;
		ck_assert_str_eq(n.name, "NodePool");
		ck_assert_int_eq(n.as.objects, 5);
		told++;
	}
	ck_assert_uint_eq(told, 1);
	ck_assert_uint_le(w->acts[ACT_LIST_NODEPOOLS], 40);
	w->fault = NULL;
	world_run(w, 30000);
	ck_assert_uint_eq(count_marked(w), 0);
	controller_report(w->s, &r);
	ck_assert(!r.blocked);
}
END_TEST

/* Both lists of a release are made anew where the view was lost between
 * them. */
START_TEST(view_lost_between_the_lists)
{
	struct flight *f = w->flights;

	add_due(3);
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	while (w->acts[ACT_LIST_NODEPOOLS] == 0)
		world_run(w, 1);
	while (!f->used || f->a.act != ACT_LIST_NODEPOOLS)
		f++;
	f->reply_at = w->boot_ms + 2000;
	world_run(w, 1);
	world_watch(w, KIND_NODECLAIM, false);
	world_run(w, 100);
	world_watch(w, KIND_NODECLAIM, true);
	w->frozen[KIND_NODECLAIM] = true;
	machine_add(w, 9, "web", server_ms(w));	/* nobody has seen it */
	world_run(w, 3000);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	ck_assert_uint_ge(w->acts[ACT_LIST_CLAIMS], 2);
}
END_TEST

/* Every release begins with both lists, NodeClaims first. */
START_TEST(both_lists_and_claims_first)
{
	struct action a;

	add_due(1);
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	a = act_done(ACT_LIST_CLAIMS, CONTROLLER_OK);
	ck_assert_int_eq(a.kind, KIND_NODECLAIM);
	a = act_next(ACT_LIST_NODEPOOLS);
	ck_assert_int_eq(a.kind, KIND_NODEPOOL);
	ck_assert(act_waits());
	act_answer(&a, CONTROLLER_OK);
	(void)act_done(ACT_CLEAR, CONTROLLER_FAILED);
}
END_TEST

/* A page may have been too large for the time that a call is given. */
START_TEST(smaller_pages_after_a_failure)
{
	add_due(1);
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	ck_assert_uint_eq(act_done(ACT_LIST_CLAIMS, CONTROLLER_OK).page,
			  LIST_FRESH_PAGE);
	ck_assert_uint_eq(act_done(ACT_LIST_NODEPOOLS, CONTROLLER_FAILED).page,
			  LIST_FRESH_PAGE);
	w->boot_ms += BACKOFF_MAX_MS;
	ck_assert_uint_eq(act_done(ACT_LIST_CLAIMS, CONTROLLER_OK).page,
			  LIST_METADATA_PAGE);
	ck_assert_uint_eq(act_done(ACT_LIST_NODEPOOLS, CONTROLLER_OK).page,
			  LIST_METADATA_PAGE);
	(void)act_done(ACT_CLEAR, CONTROLLER_GONE);
	node_at(w, 0)->used = false;
	w->boot_ms += FRESH_RETRY_MS;
	machine_add(w, 1, "web", server_ms(w) - DAY);	/* another is due */
	object_hold(&node_at(w, 1)->o, server_ms(w) - DAY);
	world_list(w, KIND_NODECLAIM);
	world_list(w, KIND_NODE);
	ck_assert_uint_eq(act_next(ACT_LIST_CLAIMS).page, LIST_FRESH_PAGE);
}
END_TEST

/* A NodePool list that is not served counts as an empty one, if it was listed
 * so before. */
START_TEST(pools_not_served)
{
	add_due(1);
	if (_i == 0) {	/* a new lead; at the birth they were served */
		controller_lead(w->s, false, world_now(w));
		controller_lead(w->s, true, world_now(w));
		world_list_empty(w, KIND_EVENT);
		controller_listing(w->s, KIND_NODEPOOL);
		controller_listed(w->s, KIND_NODEPOOL, false, world_now(w));
	}
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	(void)act_done(ACT_LIST_CLAIMS, CONTROLLER_OK);
	(void)act_done(ACT_LIST_NODEPOOLS, CONTROLLER_GONE);
	if (_i == 0)
		(void)act_done(ACT_CLEAR, CONTROLLER_FAILED);
	else
		ck_assert(act_waits());
}
END_TEST

/* A release does not wait for the watch of Events. */
START_TEST(events_are_not_watched)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	if (_i == 0)
		controller_watch(w->s, KIND_EVENT, false);
	else
		controller_listing(w->s, KIND_EVENT);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(pools_are_not_watched)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	controller_watch(w->s, KIND_NODEPOOL, false);
	world_run_until(w, quiet + 10 * MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	controller_watch(w->s, KIND_NODEPOOL, true);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* We do not see a Node's claim, and the fresh list skips it because it is
 * being deleted.  The claim is read before the Node is touched, and the Node
 * is then left alone. */
START_TEST(owner_that_only_a_get_shows)
{
	add_due(2);
	claim_at(w, 1)->o.deleting = true;
	w->watch_ms = 1;
	w->frozen[KIND_NODECLAIM] = true;
	world_list(w, KIND_NODE);
	controller_listing(w->s, KIND_NODECLAIM);
	controller_track(w->s, &claim_at(w, 0)->o, world_now(w));
	controller_listed(w->s, KIND_NODECLAIM, true, world_now(w));
	world_lose_lines(w, KIND_NODECLAIM);
	world_watch(w, KIND_NODECLAIM, true);
	world_run(w, 10 * MINUTE);
	ck_assert(thing_clear(node_at(w, 0)));
	ck_assert(thing_held(node_at(w, 1)));
	ck_assert_uint_ge(w->acts[ACT_READ_CLAIM], 1);
	ck_assert_uint_le(w->acts[ACT_READ_CLAIM], 30);
}
END_TEST

/* Holds that cannot be released are reported after a minute, and again at
 * intervals. */
START_TEST(blocked_is_told)
{
	struct controller_report r;
	struct note n;
	unsigned told = 0;

	add_due(5);
	world_open(w);
	world_watch(w, KIND_NODE, false);
	for (int i = 0; i < 5; i++) {
		struct thing *t = node_at(w, i);

		object_hold(&t->o, stamp_now());
		thing_changed(w, t);
	}
	world_list(w, KIND_NODECLAIM);
	w->up[KIND_NODE] = true;	/* lines come, but it does not count */
	world_run(w, 59000);
	ck_assert_uint_eq(notes(NOTE_BLOCKED, NULL), 0);
	controller_report(w->s, &r);
	ck_assert(!r.blocked);
	world_run(w, 12 * MINUTE);
	while (controller_note(w->s, &n)) {
		told += n.type == NOTE_BLOCKED;
		if (n.type == NOTE_BLOCKED)
			ck_assert_str_eq(n.name, "Node");
	}
	ck_assert_uint_eq(told, 3);
	controller_report(w->s, &r);
	ck_assert(r.blocked);
	world_watch(w, KIND_NODE, true);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	controller_report(w->s, &r);
	ck_assert(!r.blocked);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: views");
	TCase *c = run_case(s, "views");

	tcase_add_checked_fixture(c, scene_setup, scene_teardown);
	tcase_add_loop_test(c, half_a_view, 0,
			    sizeof(views) / sizeof(views[0]));
	tcase_add_test(c, items_seen_but_list_not_complete);
	tcase_add_loop_test(c, watch_down_at_the_release, 0, KIND_COUNT);
	tcase_add_test(c, holding_goes_on_with_a_watch_down);
	tcase_add_test(c, relist_stops_clearing_until_complete);
	tcase_add_test(c, claims_gone_unserved_later);
	tcase_add_test(c, list_drops_what_it_did_not_show);
	tcase_add_test(c, unknown_claim_stops_the_release);
	tcase_add_test(c, a_claim_that_goes_stops_nothing);
	tcase_add_test(c, silent_watch_is_listed_anew);
	tcase_add_test(c, one_fresh_list_for_many);
	tcase_add_test(c, another_list_for_what_falls_due_meanwhile);
	tcase_add_test(c, head_again);
	tcase_add_test(c, in_the_place_of_another);
	tcase_add_test(c, fresh_list_fails);
	tcase_add_loop_test(c, pools_that_differ_stop_the_release, 0, 2);
	tcase_add_loop_test(c, a_spec_that_differs_stops_the_release, 0, 2);
	tcase_add_test(c, fresh_list_of_pools_fails);
	tcase_add_test(c, view_lost_between_the_lists);
	tcase_add_test(c, both_lists_and_claims_first);
	tcase_add_test(c, smaller_pages_after_a_failure);
	tcase_add_loop_test(c, pools_not_served, 0, 2);
	tcase_add_loop_test(c, events_are_not_watched, 0, 2);
	tcase_add_test(c, pools_are_not_watched);
	tcase_add_test(c, owner_that_only_a_get_shows);
	tcase_add_test(c, blocked_is_told);
	return suite_run(s);
}
