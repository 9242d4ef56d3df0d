/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/limits.h"
#include "scene.h"

/* Objects that lists and watches leave out, because they are too large
 * (docs/rules.md#objects-that-are-too-large).  Nothing is released too early
 * because of one, and nothing is held for ever. */

static uint32_t
claims_known(void)
{
	struct controller_report r;

	controller_report(w->s, &r);
	return r.objects[KIND_NODECLAIM];
}

/* --- lines that were left out --------------------------------------------- */

/* How many lists has the controller wanted since the last call? */
static unsigned
lists_wanted(enum kind kind)
{
	unsigned n;

	/* The world lists these only once. */
	if (kind == KIND_NODEPOOL || kind == KIND_EVENT)
		return controller_wants_list(w->s, kind);
	n = w->relists[kind];
	w->relists[kind] = 0;
	return n;
}

START_TEST(a_line_asks_for_a_list_once_a_minute)
{
	enum kind kind = (enum kind)_i;
	unsigned lists = 0;

	if (kind == KIND_TICKET)
		scene_tickets();
	open_old(2);
	for (int s = 0; s <= 300; s++) {
		controller_skipped(w->s, kind, world_now(w));
		world_run(w, 1000);
		lists += lists_wanted(kind);
	}
	ck_assert_uint_eq(lists, kind == KIND_EVENT ? 0 : 6);
	/* One for the lines since the last list, and no more. */
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(lists_wanted(kind), kind != KIND_EVENT);
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(lists_wanted(kind), 0);
}
END_TEST

START_TEST(a_replica_that_does_not_lead_asks_as_well)
{
	world_open(w);
	controller_lead(w->s, false, world_now(w));
	controller_listing(w->s, KIND_NODEPOOL);
	controller_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	controller_watch(w->s, KIND_NODEPOOL, true);
	controller_skipped(w->s, KIND_NODEPOOL, world_now(w));
	ck_assert(controller_wants_list(w->s, KIND_NODEPOOL));
	controller_skipped(w->s, KIND_NODEPOOL, world_now(w));
	world_run(w, RELIST_LEFT_OUT_MS - 1000);
	ck_assert(!controller_wants_list(w->s, KIND_NODEPOOL));
	world_run(w, 2000);
	ck_assert(controller_wants_list(w->s, KIND_NODEPOOL));
}
END_TEST

START_TEST(an_item_of_a_list_asks_for_nothing)
{
	add_old(2);
	claim_at(w, 1)->large = true;
	world_open(w);
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(lists_wanted(KIND_NODECLAIM), 0);
	ck_assert_uint_eq(w->counters.at[COUNTER_SKIPPED_CLAIMS], 1);
}
END_TEST

START_TEST(events_stop_nothing)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	for (int i = 0; i < 60; i++) {
		controller_skipped(w->s, KIND_EVENT, world_now(w));
		world_run(w, 900);
	}
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(w->counters.at[COUNTER_SKIPPED_EVENTS], 60);
}
END_TEST

/* --- claims --------------------------------------------------------------- */

/* Claim 5 has just been created, is launched, and is left out. */
static struct thing *
add_large(void)
{
	struct thing *c = claim_boot(5);

	c->large = true;
	return c;
}

static int64_t
quiet_of(const struct thing *claim)
{
	return claim->o.created_ms + rules.startup_ms + rules.hold_ms;
}

/* It counts as a machine that is not ready. */
START_TEST(a_claim_counts_by_its_metadata)
{
	struct thing *c;

	add_due(5);
	c = add_large();
	world_list_others(w);
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	world_run(w, 10000);
	ck_assert_uint_eq(claims_known(), 6);
	world_run_until(w, quiet_of(c) - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	world_run_until(w, quiet_of(c) + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* No release is due, and still it is known within seconds. */
START_TEST(a_claim_that_a_watch_leaves_out_starts_a_hold)
{
	open_old(3);
	(void)add_large();
	world_run(w, 16000);
	ck_assert_uint_eq(claims_known(), 4);
	ck_assert_uint_eq(count_spread(3), 3);
}
END_TEST

/* Is it launched?  Nobody can see that, so the release waits until it counts
 * either way. */
START_TEST(a_young_claim_stops_the_release)
{
	int64_t quiet, began;
	struct thing *c;

	add_due(5);
	quiet = busy_until(6, MINUTE);
	world_open(w);
	world_run_until(w, quiet - 300);
	c = add_large();
	w->watch_ms = 1;
	world_run(w, 2);
	began = c->o.created_ms;
	world_run_until(w, began + COUNTS_AGE_MS - 1);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	world_run_until(w, quiet + MINUTE);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	world_run_until(w, quiet_of(c) + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* What was known of it still holds: it was ready. */
static bool overloaded, blind;

static enum reply_fault
clears_or_lists(struct world *world, const struct action *a)
{
	(void)world;
	if (a->act == ACT_CLEAR && overloaded)
		return REPLY_BUSY;
	return a->act == ACT_LIST_CLAIMS && blind ? REPLY_ERROR : REPLY_WHOLE;
}

/* The fresh lists were made, and the releases have to be tried again.  A list
 * that leaves out a claim comes in between, and no fresh list shows the
 * claim. */
START_TEST(a_list_stops_a_release_that_is_tried_again)
{
	unsigned clears;
	int64_t ends;

	add_old(2);
	world_open(w);
	ends = become_ready(claim_boot(9));
	w->fault = clears_or_lists;
	w->retry_after_ms = 2000;
	overloaded = true;
	blind = false;
	world_run_until(w, ends + 1000);
	clears = w->acts[ACT_CLEAR];
	ck_assert_uint_gt(clears, 0);
	overloaded = false;
	blind = true;
	claim_at(w, 1)->large = true;
	world_list(w, KIND_NODECLAIM);
	world_run(w, 5000);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], clears);
	blind = false;
	world_run(w, 20 * 1000);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(a_known_claim_stays_as_it_was)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, 5 * MINUTE);
	world_open(w);
	claim_at(w, 5)->large = true;
	thing_changed(w, claim_at(w, 5));
	world_run(w, 1000);
	ck_assert_uint_eq(lists_wanted(KIND_NODECLAIM), 1);
	for (int i = 0; i < 3; i++) {
		world_run(w, 1000);
		world_list(w, KIND_NODECLAIM);	/* it does not vanish */
		ck_assert_uint_eq(claims_known(), 6);
	}
	world_run_until(w, quiet - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* A list left it out after it had shown that Karpenter could take the machine,
 * and its metadata does not say so. */
START_TEST(a_claim_stays_exposed)
{
	int64_t first = INT64_MAX;

	add_old(4 * FLIGHTS);
	claim_at(w, 3 * FLIGHTS)->o.exposed = true;
	world_open(w);
	claim_at(w, 3 * FLIGHTS)->large = true;
	world_list(w, KIND_NODECLAIM);
	world_run(w, 5000);
	ck_assert_uint_eq(claims_known(), 4 * FLIGHTS);
	(void)claim_boot(4 * FLIGHTS);
	world_run(w, COUNTS_AGE_MS + 5000);
	ck_assert_uint_eq(count_spread(4 * FLIGHTS), 4 * FLIGHTS);
	for (int i = 0; i < 4 * FLIGHTS; i++)
		if (node_at(w, i)->held_ms < first)
			first = node_at(w, i)->held_ms;
	ck_assert_int_eq(node_at(w, 3 * FLIGHTS)->held_ms, first);
}
END_TEST

/* The same where it has drifted, and drift goes on. */
START_TEST(a_claim_stays_drifted)
{
	rules.drift = DRIFT_ALLOW;
	scene_again();
	add_old(4);
	claim_at(w, 3)->o.drifted = true;
	world_open(w);
	claim_at(w, 3)->large = true;
	world_list(w, KIND_NODECLAIM);
	world_run(w, 5000);
	(void)claim_boot(4);
	world_run(w, 5000);
	ck_assert_uint_eq(count_spread(4), 3);
}
END_TEST

START_TEST(a_claim_that_is_gone_goes)
{
	open_old(3);
	claim_at(w, 1)->large = claim_at(w, 2)->large = true;
	world_list(w, KIND_NODECLAIM);
	world_run(w, 5000);
	ck_assert_uint_eq(claims_known(), 3);
	thing_delete(w, claim_at(w, 2));	/* that line is left out, too */
	ck_assert_uint_eq(claims_known(), 3);
	world_run(w, 5000);
	ck_assert_uint_eq(lists_wanted(KIND_NODECLAIM), 1);
	ck_assert_uint_eq(claims_known(), 2);
}
END_TEST

/* Which one the fresh list has left out nobody knows. */
START_TEST(a_fresh_list_that_leaves_something_out_shows_nobody_gone)
{
	struct action a;
	struct object o;

	open_old(2);
	claim_at(w, 1)->large = true;
	world_list(w, KIND_NODECLAIM);
	a = act_next(ACT_LIST_CLAIMS);
	o = claim_at(w, 0)->o;
	controller_fresh(w->s, &o, world_now(w));
	if (_i == 0)
		controller_fresh_skipped(w->s, KIND_NODECLAIM);
	act_answer(&a, CONTROLLER_OK);
	ck_assert_uint_eq(claims_known(), _i == 0 ? 2 : 1);
}
END_TEST

START_TEST(a_claim_that_is_small_again)
{
	struct thing *c;

	add_due(5);
	c = add_large();
	world_open(w);
	world_run(w, 10000);
	c->o.ready_ms = stamp_now();
	c->large = false;
	thing_changed(w, c);
	world_run_until(w, c->o.ready_ms + rules.hold_ms - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	world_run_until(w, c->o.ready_ms + rules.hold_ms + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* No line shows what is written on it, so it is read after each write, and is
 * not written to for ever. */
START_TEST(a_claim_is_held_and_cleared)
{
	struct thing *c = add_large();

	world_open(w);
	world_run(w, 15000);
	ck_assert(thing_held(c));
	ck_assert_uint_eq(c->writes, 1);
	world_run_until(w, quiet_of(c) + SLACK);
	ck_assert(thing_clear(c));
	ck_assert_uint_eq(c->writes, 2);
	ck_assert_uint_le(w->acts[ACT_READ], 4);
}
END_TEST

/* A Node's hold goes, although its claim cannot be read whole. */
START_TEST(a_nodes_owner_is_taken_by_its_metadata)
{
	add_due(2);
	claim_at(w, 1)->large = true;
	claim_at(w, 1)->o.deleting = true;	/* the fresh list says nothing */
	world_open(w);
	world_run(w, MINUTE);
	ck_assert(thing_clear(node_at(w, 0)));
	ck_assert_uint_le(w->acts[ACT_READ_CLAIM], 2);
	ck_assert_uint_eq(claims_known(), 2);
	claim_at(w, 1)->o.deleting = false;
	api_version(++w->rv, claim_at(w, 1)->o.rv);
	world_list(w, KIND_NODECLAIM);
	world_run(w, MINUTE);
	ck_assert(thing_clear(node_at(w, 1)));
}
END_TEST

/* --- Nodes and NodePools -------------------------------------------------- */

START_TEST(a_node_is_released_by_what_was_known)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, 5 * MINUTE);
	world_open(w);
	node_at(w, 2)->large = true;
	thing_changed(w, node_at(w, 2));
	world_run(w, 1000);
	ck_assert_uint_eq(lists_wanted(KIND_NODE), 1);
	world_run_until(w, quiet - 1000);
	ck_assert(thing_held(node_at(w, 2)));
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 6);
	ck_assert(thing_clear(node_at(w, 2)));
}
END_TEST

/* The watch left its change out, and the fresh list shows it. */
START_TEST(a_nodepool_is_taken_from_the_fresh_list)
{
	struct nodepool p;
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	world_open(w);
	world_run_until(w, quiet - 1000);
	nodepool_init(&p);
	strcpy(p.name, "web");
	strcpy(p.uid, "u-web");
	p.hold_until_ms = quiet + 30 * MINUTE;
	world_pool_quietly(w, &p);
	controller_skipped(w->s, KIND_NODEPOOL, world_now(w));
	world_run_until(w, quiet + 30 * MINUTE - 1000);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
	world_run_until(w, quiet + 30 * MINUTE + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* A list that leaves one out says of none that it is gone. */
START_TEST(a_nodepool_that_a_list_leaves_out_stays)
{
	struct nodepool p;
	int64_t until;

	add_due(2);
	nodepool_init(&p);
	strcpy(p.name, "web");
	p.hold_until_ms = until = server_ms(w) + 30 * MINUTE;
	world_pool(w, &p);
	world_open(w);
	controller_listing(w->s, KIND_NODEPOOL);
	controller_skipped(w->s, KIND_NODEPOOL, world_now(w));
	controller_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	controller_watch(w->s, KIND_NODEPOOL, true);
	world_run_until(w, until - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 2);
	world_run_until(w, until + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

static void
list_without_nodepools(void)
{
	controller_listing(w->s, KIND_NODEPOOL);
	controller_skipped(w->s, KIND_NODEPOOL, world_now(w));
	controller_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	controller_watch(w->s, KIND_NODEPOOL, true);
}

/* Its spec changes when the list has left it out (0): nobody can see how, and
 * the release goes on with what was known.  While the list has shown it (1),
 * something else is what was left out, and the watch is about to show the new
 * spec. */
START_TEST(a_nodepools_spec_stays_as_it_was)
{
	struct nodepool p, other;
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, MINUTE);
	nodepool_init(&p);
	strcpy(p.name, "web");
	p.spec_known = true;
	p.generation = 1;
	other = p;
	strcpy(other.name, "batch");
	other.inert = true;
	world_pool(w, &p);
	world_pool(w, &other);
	machine_add(w, 6, "batch", server_ms(w) - rules.hold_ms + 5 * MINUTE);
	world_open(w);
	if (_i == 0)
		list_without_nodepools();
	else
		controller_skipped(w->s, KIND_NODEPOOL, world_now(w));
	world_run_until(w, quiet - 1000);
	p.generation = other.generation = 2;
	p.hold_ms = 60000;	/* the annotations count at once */
	world_pool_quietly(w, &p);
	world_pool_quietly(w, &other);
	world_run_until(w, quiet + SLACK);
	ck_assert_int_eq(count_marked(w) == 0, _i == 0);
	if (_i == 0)
		return;
	list_without_nodepools();
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: large");
	TCase *c = run_case(s, "large");

	tcase_add_checked_fixture(c, scene_setup, scene_teardown);
	tcase_add_loop_test(c, a_line_asks_for_a_list_once_a_minute, 0,
			    VIEW_COUNT);
	tcase_add_test(c, a_replica_that_does_not_lead_asks_as_well);
	tcase_add_test(c, an_item_of_a_list_asks_for_nothing);
	tcase_add_test(c, events_stop_nothing);
	tcase_add_test(c, a_claim_counts_by_its_metadata);
	tcase_add_test(c, a_claim_that_a_watch_leaves_out_starts_a_hold);
	tcase_add_test(c, a_young_claim_stops_the_release);
	tcase_add_test(c, a_list_stops_a_release_that_is_tried_again);
	tcase_add_test(c, a_known_claim_stays_as_it_was);
	tcase_add_test(c, a_claim_stays_exposed);
	tcase_add_test(c, a_claim_stays_drifted);
	tcase_add_test(c, a_claim_that_is_gone_goes);
	tcase_add_loop_test(
		c, a_fresh_list_that_leaves_something_out_shows_nobody_gone, 0,
		2);
	tcase_add_test(c, a_claim_that_is_small_again);
	tcase_add_test(c, a_claim_is_held_and_cleared);
	tcase_add_test(c, a_nodes_owner_is_taken_by_its_metadata);
	tcase_add_test(c, a_node_is_released_by_what_was_known);
	tcase_add_test(c, a_nodepool_is_taken_from_the_fresh_list);
	tcase_add_test(c, a_nodepool_that_a_list_leaves_out_stays);
	tcase_add_loop_test(c, a_nodepools_spec_stays_as_it_was, 0, 2);
	return suite_run(s);
}
