/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "scene.h"

/* Scenarios of when something is held and when it is released:
 * docs/rules.md#a-scale-up-holds-its-scope and the sections after it. */

/* A claim as Karpenter makes it.  Its conditions say nothing yet. */
static struct thing *
claim_add(int n, const char *nodepool)
{
	char uid[16];
	struct object o;

	snprintf(uid, sizeof(uid), "c%d", n);
	o = claim_new(uid, server_ms(w));
	strcpy(o.nodepool, nodepool);
	return thing_add(w, &o);
}

static void
node_join(int n, const char *nodepool)
{
	char name[16], owner[16];
	struct object o;

	snprintf(name, sizeof(name), "n%d", n);
	snprintf(owner, sizeof(owner), "c%d", n);
	o = node_new(name, owner, server_ms(w));
	strcpy(o.nodepool, nodepool);
	o.registered = true;
	thing_add(w, &o);
}

/* A scale-up by one machine.  Returns when its hold ends. */
static int64_t
scale_up(int n, const char *nodepool)
{
	struct thing *c = claim_add(n, nodepool);

	world_run(w, 2000);
	claim_launch(c);
	world_run(w, 30000);
	node_join(n, nodepool);
	world_run(w, 30000);
	return become_ready(c);
}

/* --- the main job --------------------------------------------------------- */

START_TEST(held_by_one_and_released_when_quiet)
{
	int64_t quiet;

	open_old(300);
	quiet = scale_up(300, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 301);
	held_until(quiet, 301);
	for (int i = 0; i <= 300; i++) {
		ck_assert_int_ge(node_at(w, i)->cleared_ms, quiet);
		ck_assert_uint_eq(node_at(w, i)->writes, 2);
	}
	/* And then there is nothing to do, for ever. */
	memset(w->acts, 0, sizeof(w->acts));
	world_run(w, DAY);
	for (int i = 0; i <= ACT_LIST_NODEPOOLS; i++)
		ck_assert_uint_eq(w->acts[i], 0);
}
END_TEST

START_TEST(second_creation_moves_the_release)
{
	int64_t first, second;

	open_old(10);
	first = scale_up(10, "web");
	world_run(w, 5 * MINUTE);
	second = scale_up(11, "web");
	world_run_until(w, first + SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 12);
	world_run_until(w, second - 1);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 12);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(never_launched_moves_nothing)
{
	open_old(5);
	for (int i = 0; i < 20; i++) {
		struct thing *c = claim_add(100 + i, "web");

		c->o.launch_known = true;
		thing_changed(w, c);
		world_run(w, 3000 + i * 1000);
		ck_assert_uint_eq(count_held(w, KIND_NODE), 0);
		thing_delete(w, c);
	}
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(grace_of_five_seconds)
{
	int64_t created;

	open_old(5);
	created = server_ms(w);
	claim_add(5, "web");
	world_run_until(w, created + COUNTS_AGE_MS - 1);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 0);
	ck_assert_uint_eq(count_held(w, KIND_NODECLAIM), 1);	/* itself */
	world_run(w, 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
}
END_TEST

START_TEST(launch_that_fails_after_the_grace)
{
	struct thing *c;

	open_old(5);
	c = claim_add(5, "web");
	world_run(w, 10000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	c->o.launch_known = true;	/* the condition came: False */
	thing_changed(w, c);
	world_run(w, 10000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 0);
	/* still a machine of its own: held until it has settled or is gone */
	ck_assert(thing_held(c));
}
END_TEST

START_TEST(deleted_machine_is_gone)
{
	struct thing *c;

	open_old(5);
	c = claim_add(5, "web");
	claim_launch(c);
	world_run(w, 10000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	if (_i == 0) {
		thing_delete(w, c);
	} else {
		c->o.deleting = true;
		c->o.deleted_ms = stamp_now();
		thing_changed(w, c);
	}
	/* It never got ready, so the scope stays held for a minute: Karpenter
	 * may try again. */
	world_run(w, FAILED_BOOT_MS - 2000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	world_run(w, 2000 + SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 0);
	ck_assert_uint_eq(count_marked(w), _i == 0 ? 0 : 1);
	world_run(w, DAY);	/* being deleted, it is not patched */
	ck_assert_uint_eq(count_marked(w), _i == 0 ? 0 : 1);
}
END_TEST

START_TEST(startup_timeout)
{
	int64_t end;

	open_old(5);
	claim_launch(claim_add(5, "web"));
	end = server_ms(w) + rules.startup_ms + rules.hold_ms;
	world_run_until(w, end - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	world_run(w, 1000 + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(ready_ends_the_startup)
{
	struct thing *c;
	int64_t quiet;

	open_old(5);
	c = claim_add(5, "web");
	claim_launch(c);
	world_run(w, rules.startup_ms + rules.hold_ms - MINUTE);
	quiet = become_ready(c);
	held_until(quiet, 5);
}
END_TEST

/* --- the two halves ------------------------------------------------------- */

START_TEST(node_before_claim)
{
	int64_t quiet;
	struct thing *c;

	open_old(2);
	w->frozen[KIND_NODECLAIM] = true;
	c = claim_add(7, "web");
	claim_launch(c);
	node_join(7, "web");
	world_run(w, 2000);
	ck_assert(thing_held(node_at(w, 7)));	/* its own deadline */
	ck_assert(!thing_held(node_at(w, 0)));	/* moves no scope */
	w->frozen[KIND_NODECLAIM] = false;
	world_run(w, COUNTS_AGE_MS);
	ck_assert(thing_held(node_at(w, 0)));
	quiet = become_ready(c);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(unregistered_node_is_held_with_its_claim)
{
	struct thing *c;

	open_old(0);
	c = claim_add(1, "web");
	claim_launch(c);
	node_join(1, "web");
	node_at(w, 1)->o.registered = false;
	world_run(w, 2000);
	ck_assert(thing_held(c));
	ck_assert(thing_held(node_at(w, 1)));
}
END_TEST

START_TEST(registered_node_alone_is_held)
{
	open_old(1);
	scale_up(1, "web");
	world_run(w, 2000);
	ck_assert(thing_held(node_at(w, 0)));
	ck_assert(thing_clear(claim_at(w, 0)));
}
END_TEST

START_TEST(orphan_node)
{
	int64_t end;

	open_old(2);
	end = server_ms(w) + rules.hold_ms;
	node_join(7, "web");	/* its claim is not there */
	world_run_until(w, end - 1);
	ck_assert(thing_held(node_at(w, 7)));
	ck_assert_uint_eq(count_held(w, KIND_NODE), 1);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(w->acts[ACT_READ_CLAIM], 1);
}
END_TEST

/* Karpenter disrupts no Node that has no NodeClaim.  A held scope therefore
 * does not spread to such a Node, and one that is held is not released before
 * the scope is. */
START_TEST(orphan_in_a_held_scope)
{
	int64_t quiet;

	for (int i = 7; i < 9; i++) {
		node_join(i, "web");
		node_at(w, i)->o.created_ms -= DAY;
	}
	object_hold(&node_at(w, 7)->o, server_ms(w) - DAY);
	machine_add(w, 1, "web", server_ms(w));
	quiet = claim_at(w, 1)->o.ready_ms + rules.hold_ms;
	world_open(w);
	world_run_until(w, quiet - 1);
	ck_assert(thing_held(node_at(w, 7)));
	ck_assert(thing_clear(node_at(w, 8)));
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* --- scopes --------------------------------------------------------------- */

static void
scoped_world(enum scope_kind kind)
{
	rules.scope = kind;
	scene_again();
	for (int i = 0; i < 10; i++)
		machine_add(w, i, i < 5 ? "web" : "api", server_ms(w) - DAY);
	world_open(w);
}

START_TEST(scope_nodepool)
{
	int64_t quiet;

	scoped_world(SCOPE_NODEPOOL);
	quiet = scale_up(20, "api");
	world_run_until(w, quiet - 1);
	for (int i = 0; i < 10; i++)
		ck_assert(thing_held(node_at(w, i)) == (i >= 5));
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(scope_node)
{
	int64_t quiet;

	scoped_world(SCOPE_NODE);
	quiet = scale_up(20, "api");
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 1);
	ck_assert(thing_held(node_at(w, 20)));
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(claims_not_served)
{
	int64_t created;

	w->unserved = true;
	for (int i = 0; i < 5; i++) {
		struct object o = node_new("", "", server_ms(w) - DAY);

		snprintf(o.name, sizeof(o.name), "n%d", i);
		memcpy(o.uid, o.name, UID_BYTES);
		thing_add(w, &o);
	}
	world_open(w);
	created = server_ms(w);
	node_join(5, "web");
	node_at(w, 5)->o.owner_uid[0] = '\0';
	thing_changed(w, node_at(w, 5));
	world_run_until(w, created + rules.hold_ms - 1);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* The Nodes are listed before it is known that claims are not served. */
START_TEST(claims_found_unserved)
{
	int64_t created = server_ms(w);

	w->unserved = true;
	for (int i = 0; i < 5; i++) {
		node_join(i, "web");
		node_at(w, i)->o.created_ms -= i == 0 ? 0 : DAY;
		node_at(w, i)->o.owner_uid[0] = '\0';
	}
	world_list(w, KIND_NODE);
	world_run(w, MINUTE);
	/* A NodeClaim might still show that the machine does not count. */
	ck_assert_uint_eq(count_held(w, KIND_NODE), 0);
	world_list(w, KIND_NODECLAIM);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	world_run_until(w, created + rules.hold_ms + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(crd_installed_later)
{
	int64_t quiet;

	w->unserved = true;
	world_open(w);
	world_run(w, MINUTE);
	w->unserved = false;
	add_old(5);
	world_list(w, KIND_NODECLAIM);
	world_run(w, 2000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 0);
	quiet = scale_up(5, "web");
	held_until(quiet, 6);
}
END_TEST

/* --- the clock ------------------------------------------------------------ */

START_TEST(clock_trembles)
{
	int64_t quiet;

	open_old(5);
	quiet = scale_up(5, "web");
	world_run_until(w, quiet - 500);
	for (int i = 0; i < 100; i++) {
		w->offset_ms += i % 2 == 0 ? -400 : 400;
		world_run(w, 35);
	}
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	for (int i = 0; i <= 5; i++)	/* no ping-pong */
		ck_assert_uint_eq(node_at(w, i)->writes, 2);
}
END_TEST

/* All moments in memory move with the clock, so nothing is held again because
 * of it. */
START_TEST(clock_goes_back_after_the_release)
{
	int64_t quiet;

	open_old(5);
	quiet = scale_up(5, "web");
	world_run_until(w, quiet + 10 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	w->offset_ms -= 15 * MINUTE;
	world_run(w, 30 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	for (int i = 0; i <= 5; i++)
		ck_assert_uint_eq(node_at(w, i)->writes, 2);
}
END_TEST

static const int64_t shifts[] = {
	-60 * MINUTE, 60 * MINUTE, -6000, 6000, -DAY,
};

/* A quiet time that runs is neither cut short nor prolonged. */
START_TEST(clock_is_set_while_held)
{
	int64_t end;

	open_old(5);
	end = scale_up(5, "web") - server_ms(w) + w->boot_ms;
	world_run(w, MINUTE);
	w->offset_ms += shifts[_i];
	world_run(w, end - 1000 - w->boot_ms);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	world_run(w, 1000 + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	for (int i = 0; i <= 5; i++)
		ck_assert_uint_eq(node_at(w, i)->writes, 2);
}
END_TEST

/* Two API servers answer in turn, and their clocks differ.  Each step of the
 * clock moves all moments in memory; a difference that is too small for a step
 * does not add up. */
START_TEST(clocks_by_turns)
{
	int64_t apart = _i == 0 ? 6000 : 4000, end;

	open_old(5);
	end = scale_up(5, "web") - server_ms(w) + w->boot_ms;
	for (int i = 0; w->boot_ms < end - 2 * MINUTE; i++) {
		w->offset_ms += i % 2 == 0 ? -apart : apart;
		world_run(w, 7000);
		ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	}
	world_run(w, end - 1000 - w->boot_ms);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	world_run(w, 1000 + SLACK + (_i == 0 ? 0 : apart));
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* The first answers come from a clock that is wrong.  Before everything has
 * been seen nothing has begun, so the stamps count as they are written. */
START_TEST(clock_was_wrong_at_the_start)
{
	int64_t quiet, wrong = shifts[_i];

	add_old(3);
	machine_add(w, 9, "web", server_ms(w));
	quiet = claim_at(w, 9)->o.ready_ms + rules.hold_ms;
	w->offset_ms += wrong;
	world_list(w, KIND_NODECLAIM);
	world_run(w, 20000);
	w->offset_ms -= wrong;
	world_list(w, KIND_NODE);
	held_until(quiet, 4);
}
END_TEST

/* While a machine boots, the rest of its time stays the same. */
START_TEST(clock_is_set_while_booting)
{
	int64_t end;

	open_old(2);
	claim_launch(claim_add(2, "web"));
	end = w->boot_ms + rules.startup_ms + rules.hold_ms;
	world_run(w, 5 * MINUTE);
	w->offset_ms += shifts[_i];
	world_run(w, end - 2000 - w->boot_ms);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 2);
	world_run(w, 2000 + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* The stamps of a claim that is first seen after the clock was set count as
 * they are written. */
START_TEST(a_claim_after_the_clock_was_set)
{
	int64_t quiet;

	open_old(2);
	w->offset_ms += shifts[_i];
	world_run(w, MINUTE);
	quiet = scale_up(2, "web");
	held_until(quiet, 3);
}
END_TEST

START_TEST(restart_in_the_middle)
{
	int64_t quiet;

	open_old(20);
	quiet = scale_up(20, "web");
	world_run(w, _i * 200);	/* also while the holds are being written */
	world_restart(w, 9);
	world_open(w);
	held_until(quiet, 21);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller");
	TCase *c = run_case(s, "controller");

	tcase_add_checked_fixture(c, scene_setup, scene_teardown);
	tcase_add_test(c, held_by_one_and_released_when_quiet);
	tcase_add_test(c, second_creation_moves_the_release);
	tcase_add_test(c, never_launched_moves_nothing);
	tcase_add_test(c, grace_of_five_seconds);
	tcase_add_test(c, launch_that_fails_after_the_grace);
	tcase_add_loop_test(c, deleted_machine_is_gone, 0, 2);
	tcase_add_test(c, startup_timeout);
	tcase_add_test(c, ready_ends_the_startup);
	tcase_add_test(c, node_before_claim);
	tcase_add_test(c, unregistered_node_is_held_with_its_claim);
	tcase_add_test(c, registered_node_alone_is_held);
	tcase_add_test(c, orphan_node);
	tcase_add_test(c, orphan_in_a_held_scope);
	tcase_add_test(c, scope_nodepool);
	tcase_add_test(c, scope_node);
	tcase_add_test(c, claims_not_served);
	tcase_add_test(c, claims_found_unserved);
	tcase_add_test(c, crd_installed_later);
	tcase_add_test(c, clock_trembles);
	tcase_add_loop_test(c, clock_is_set_while_held, 0, 5);
	tcase_add_loop_test(c, clock_is_set_while_booting, 0, 5);
	tcase_add_loop_test(c, a_claim_after_the_clock_was_set, 0, 5);
	tcase_add_loop_test(c, clocks_by_turns, 0, 2);
	tcase_add_loop_test(c, clock_was_wrong_at_the_start, 0, 5);
	tcase_add_test(c, clock_goes_back_after_the_release);
	tcase_add_loop_test(c, restart_in_the_middle, 0, 4);
	return suite_run(s);
}
