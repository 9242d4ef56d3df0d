/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/limits.h"
#include "core/controller/status.h"
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

/* Whatever was known of it, also a reboot (1): for the next leader it is the
 * same. */
START_TEST(a_ready_claim_counts_as_not_ready)
{
	int64_t quiet;

	add_due(5);
	quiet = busy_until(5, 5 * MINUTE);
	world_open(w);
	if (_i == 1) {
		claim_at(w, 5)->o.rebooted = true;
		claim_at(w, 5)->o.ready_ms = stamp_now();
		thing_changed(w, claim_at(w, 5));
		world_run(w, 1000);
	}
	claim_at(w, 5)->large = true;
	thing_changed(w, claim_at(w, 5));
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	ck_assert_uint_eq(claims_known(), 6);
	world_run_until(w, quiet_of(claim_at(w, 5)) - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	world_run_until(w, quiet_of(claim_at(w, 5)) + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Nobody can see that it has drifted. */
START_TEST(a_drifted_claim_is_held)
{
	rules.drift = DRIFT_ALLOW;
	scene_again();
	add_old(4);
	claim_at(w, 3)->o.drifted = true;
	claim_at(w, 3)->large = _i == 1;
	world_open(w);
	(void)claim_boot(4);
	world_run(w, COUNTS_AGE_MS + 5000);
	ck_assert_uint_eq(count_spread(4), 3 + (uint32_t)_i);
}
END_TEST

START_TEST(a_claim_that_is_gone_goes)
{
	open_old(3);
	claim_at(w, 2)->large = true;
	world_list(w, KIND_NODECLAIM);
	world_run(w, 5000);
	ck_assert_uint_eq(claims_known(), 3);
	thing_delete(w, claim_at(w, 2));
	world_run(w, 1000);
	ck_assert_uint_eq(claims_known(), 2);
	ck_assert_uint_eq(lists_wanted(KIND_NODECLAIM), 0);
}
END_TEST

/* --- claims of which nothing can be read ---------------------------------- */

static void
list_with_unknown(void)
{
	controller_listing(w->s, KIND_NODECLAIM);
	controller_skipped(w->s, KIND_NODECLAIM, world_now(w));
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && t->o.kind == KIND_NODECLAIM)
			controller_track(w->s, &t->o, world_now(w));
	controller_listed(w->s, KIND_NODECLAIM, true, world_now(w));
	world_watch(w, KIND_NODECLAIM, true);
}

/* It holds all scopes, but only once, though each list meets it again. */
START_TEST(an_unknown_claim_holds_all_scopes_once)
{
	int64_t over;

	rules.scope = _i == 0 ? SCOPE_CLUSTER : SCOPE_NODEPOOL;
	rules.cap.max_ms = 0;
	scene_again();
	open_old(3);
	machine_add(w, 3, "other", server_ms(w) - DAY);
	world_run(w, 1000);
	list_with_unknown();
	over = server_ms(w) + rules.startup_ms + rules.hold_ms;
	world_run(w, 10000);
	ck_assert_uint_eq(count_spread(4), 4);
	machine_add(w, 4, "new", server_ms(w) - DAY);
	world_run(w, 1000);
	ck_assert_uint_eq(count_spread(5), 5);
	while (server_ms(w) < over - MINUTE) {
		list_with_unknown();
		world_run(w, MINUTE);
	}
	world_run_until(w, over - 1000);
	ck_assert_uint_eq(w->acts[ACT_CLEAR], 0);
	world_run_until(w, over + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	list_with_unknown();
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Another claim that can be read does not hide the name of the one that
 * cannot. */
START_TEST(the_status_names_it)
{
	struct status_report r;
	struct thing *c;

	open_old(3);
	c = claim_at(w, 1);
	c->large = true;
	thing_changed(w, c);
	world_run(w, SLACK);
	thing_changed(w, claim_at(w, 2));
	world_run(w, SLACK);
	controller_status(w->s, world_now(w), &r);
	ck_assert_uint_eq(r.waits.n, 1);
	ck_assert_int_eq(r.waits.at[0].why, WAIT_UNREAD);
	ck_assert_str_eq(r.waits.at[0].name, c->o.name);
}
END_TEST

/* It may be about no object at all, so a list decides. */
START_TEST(a_line_without_an_object_holds_nothing)
{
	open_old(3);
	controller_skipped(w->s, KIND_NODECLAIM, world_now(w));
	world_run(w, 10000);
	ck_assert_uint_eq(count_spread(3), 0);
	ck_assert_uint_eq(lists_wanted(KIND_NODECLAIM), 1);
}
END_TEST

/* A clock that is set does not end its time, nor lengthens it. */
START_TEST(a_clock_is_set_beside_an_unknown_claim)
{
	int64_t over;

	open_old(3);
	list_with_unknown();
	over = w->boot_ms + rules.startup_ms + rules.hold_ms;
	world_run(w, 10000);
	w->offset_ms += 60 * MINUTE;
	world_run(w, over - 1000 - w->boot_ms);
	ck_assert_uint_eq(count_spread(3), 3);
	world_run(w, 1000 + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* A list shows that it is gone (0), or a person releases all (1). */
START_TEST(an_unknown_claim_holds_no_longer)
{
	struct nodepool p;

	nodepool_init(&p);
	strcpy(p.name, "web");
	world_pool(w, &p);
	open_old(3);
	list_with_unknown();
	world_run(w, 10000);
	ck_assert_uint_eq(count_spread(3), 3);
	p.released_at_ms = server_ms(w);
	if (_i == 0)
		world_list(w, KIND_NODECLAIM);
	else
		world_pool(w, &p);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Which of them the list has left out nobody knows, so none goes.  One that only
 * a fresh list shows is known by its metadata. */
START_TEST(a_list_with_an_unknown_claim)
{
	struct status_report r;
	struct thing *gone;

	open_old(3);
	gone = claim_at(w, 2);
	gone->used = false;
	list_with_unknown();
	ck_assert_uint_eq(claims_known(), 3);
	gone->used = true;
	(void)claim_boot(5);
	world_lose_lines(w, KIND_NODECLAIM);
	world_run_until(w, server_ms(w) + rules.startup_ms + rules.hold_ms +
				   SLACK);
	ck_assert_uint_eq(claims_known(), 4);
	controller_status(w->s, world_now(w), &r);
	ck_assert_str_eq(r.waits.at[0].name, "c5");
	ck_assert_uint_eq(count_marked(w), 0);
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

/* It is rebooted while it is large.  When it is small again, its first deadline
 * counts for the scope, as if it had never been large. */
START_TEST(a_claim_that_was_rebooted_meanwhile)
{
	struct thing *c;
	int64_t ends;

	open_old(3);
	c = claim_boot(5);
	ends = become_ready(c);
	world_run(w, 20000);
	c->large = true;
	thing_changed(w, c);
	world_run(w, MINUTE);
	c->large = false;
	c->o.rebooted = true;
	c->o.ready_ms = stamp_now();
	thing_changed(w, c);
	world_run_until(w, ends - 1000);
	ck_assert_uint_eq(count_spread(3), 3);
	world_run_until(w, ends + SLACK);
	ck_assert_uint_eq(count_spread(3), 0);
}
END_TEST

/* It is not written to for ever. */
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

/* The watch left its change out: no release waits for it. */
START_TEST(a_nodepool_that_cannot_be_read_stops_nothing)
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
	if (_i == 1)
		controller_skipped(w->s, KIND_NODEPOOL, world_now(w));
	world_run_until(w, quiet + SLACK);
	ck_assert_int_eq(count_marked(w) == 0, _i);
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

/* Its metadata counts, and its spec as it was. */
START_TEST(an_unread_nodepool_keeps_its_spec)
{
	struct nodepool p, unread;

	add_old(2);
	nodepool_init(&p);
	strcpy(p.name, "web");
	p.spec_known = p.inert = true;
	world_pool(w, &p);
	world_open(w);
	unread = p;
	unread.unread = true;
	unread.spec_known = unread.inert = false;
	unread.hold_until_ms = server_ms(w) + 10 * MINUTE;
	world_pool(w, &unread);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 2);
	world_run(w, 10 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	(void)claim_boot(5);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);	/* still left alone */
	ck_assert_uint_eq(w->counters.at[COUNTER_SKIPPED_NODEPOOLS], 1);
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
	tcase_add_loop_test(c, a_ready_claim_counts_as_not_ready, 0, 2);
	tcase_add_loop_test(c, a_drifted_claim_is_held, 0, 2);
	tcase_add_test(c, a_claim_that_is_gone_goes);
	tcase_add_loop_test(c, an_unknown_claim_holds_all_scopes_once, 0, 2);
	tcase_add_test(c, the_status_names_it);
	tcase_add_test(c, a_line_without_an_object_holds_nothing);
	tcase_add_test(c, a_clock_is_set_beside_an_unknown_claim);
	tcase_add_loop_test(c, an_unknown_claim_holds_no_longer, 0, 2);
	tcase_add_test(c, a_list_with_an_unknown_claim);
	tcase_add_test(c, a_claim_that_is_small_again);
	tcase_add_test(c, a_claim_that_was_rebooted_meanwhile);
	tcase_add_test(c, a_claim_is_held_and_cleared);
	tcase_add_test(c, a_nodes_owner_is_taken_by_its_metadata);
	tcase_add_test(c, a_node_is_released_by_what_was_known);
	tcase_add_loop_test(c, a_nodepool_that_cannot_be_read_stops_nothing, 0,
			    2);
	tcase_add_test(c, a_nodepool_that_a_list_leaves_out_stays);
	tcase_add_test(c, an_unread_nodepool_keeps_its_spec);
	return suite_run(s);
}
