/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "scene.h"

/* What people may do (docs/rules.md#what-people-may-do-while-we-hold), and
 * whose marks are ours (docs/rules.md#our-annotations). */

static int64_t quiet;

static void
setup(void)
{
	scene_setup();
	add_old(5);
}

/* Opens the world and keeps the scope held for settle_ms by machine 9. */
static void
hold_for(int64_t settle_ms)
{
	quiet = busy_until(9, settle_ms);
	world_open(w);
}

static void
person_holds(struct thing *t, enum hold hold)
{
	t->o.hold = hold;
	t->o.mark = MARK_ABSENT;
	thing_changed(w, t);
}

static void
strip(struct thing *t)
{
	t->o.hold = HOLD_ABSENT;
	t->o.mark = MARK_ABSENT;
	thing_changed(w, t);
}

/* --- the rows ------------------------------------------------------------- */

START_TEST(had_set_the_hold_before_us)
{
	struct thing *n = node_at(w, 0);

	n->o.hold = _i == 0 ? HOLD_SAME : HOLD_OTHER;
	hold_for(MINUTE);
	world_run_until(w, quiet + MINUTE);
	ck_assert_int_eq(n->o.hold, _i == 0 ? HOLD_SAME : HOLD_OTHER);
	ck_assert_int_eq(n->o.mark, MARK_ABSENT);
	ck_assert_uint_eq(n->writes, 0);
	ck_assert(thing_clear(node_at(w, 1)));
}
END_TEST

/* The claim has a person's hold from the template.  The Node got our hold at
 * admission, and theirs when Karpenter copied the claim's annotations. */
START_TEST(template_hold)
{
	struct thing *c = claim_at(w, 0), *n = node_at(w, 0);

	c->o.hold = HOLD_SAME;
	object_hold(&n->o, server_ms(w) - 1000);
	if (_i == 0)
		hold_for(MINUTE);
	else
		world_open(w);
	world_run(w, SLACK);
	ck_assert_int_eq(n->o.mark, MARK_ABSENT);	/* at once */
	world_run(w, 5 * MINUTE);
	ck_assert_int_eq(c->o.hold, HOLD_SAME);
	ck_assert_int_eq(n->o.hold, HOLD_SAME);
	ck_assert_uint_eq(c->writes, 0);
	ck_assert_uint_eq(n->writes, 1);
}
END_TEST

/* The template's "false" stands beside our mark on the Node.  We have yielded,
 * and at the end only the mark is removed. */
START_TEST(template_other_value)
{
	struct thing *c = claim_at(w, 0), *n = node_at(w, 0);

	c->o.hold = HOLD_OTHER;
	object_hold(&n->o, server_ms(w) - 1000);
	n->o.hold = HOLD_OTHER;
	hold_for(MINUTE);
	world_run_until(w, quiet + MINUTE);
	ck_assert_int_eq(n->o.hold, HOLD_OTHER);
	ck_assert_int_eq(n->o.mark, MARK_ABSENT);
	ck_assert_int_eq(c->o.hold, HOLD_OTHER);
}
END_TEST

START_TEST(removes_our_mark)
{
	struct thing *n = node_at(w, 0);

	hold_for(MINUTE);
	ck_assert(thing_held(n));
	person_holds(n, HOLD_SAME);
	world_run_until(w, quiet + MINUTE);
	ck_assert_int_eq(n->o.hold, HOLD_SAME);
	ck_assert_int_eq(n->o.mark, MARK_ABSENT);
	ck_assert_uint_eq(n->writes, 1);
}
END_TEST

/* While the Node is not registered, the claim's hold becomes the person's,
 * too. */
START_TEST(removes_our_mark_before_registration)
{
	struct thing *n, *c;

	hold_for(5 * MINUTE);
	c = claim_at(w, 9);
	n = node_at(w, 9);
	n->o.registered = false;
	thing_changed(w, n);
	world_run(w, SLACK);
	ck_assert(thing_held(c) && thing_held(n));
	person_holds(n, HOLD_SAME);
	world_run(w, SLACK);
	ck_assert_int_eq(c->o.hold, HOLD_SAME);
	ck_assert_int_eq(c->o.mark, MARK_ABSENT);
	world_run_until(w, quiet + MINUTE);
	ck_assert_int_eq(c->o.hold, HOLD_SAME);
	ck_assert_int_eq(n->o.hold, HOLD_SAME);
}
END_TEST

START_TEST(removes_or_changes_the_hold)
{
	struct thing *n = node_at(w, 0);
	enum hold hold = _i == 0 ? HOLD_ABSENT : HOLD_OTHER;

	hold_for(5 * MINUTE);
	n->o.hold = hold;
	thing_changed(w, n);
	world_run(w, MINUTE);
	ck_assert_int_eq(n->o.hold, hold);	/* respected */
	ck_assert_int_ne(n->o.mark, MARK_ABSENT);
	world_run_until(w, quiet + MINUTE);
	ck_assert_int_eq(n->o.hold, hold);
	ck_assert_int_eq(n->o.mark, MARK_ABSENT);
	/* In the next period it is held again, unless the person has set
	 * another value. */
	machine_add(w, 10, "web", server_ms(w));
	world_run(w, SLACK);
	ck_assert(thing_held(n) == (_i == 0));
}
END_TEST

/* Held once by the controller, then at most REHOLDS_MAX times again.  The count
 * is the same whether the watch line or the reply to our write comes first. */
START_TEST(strips_hold_and_mark)
{
	struct thing *n = node_at(w, 0);

	w->watch_ms = _i == 0 ? 1 : 200;
	w->reply_ms = _i == 0 ? 200 : 1;
	hold_for(10 * MINUTE - MINUTE);
	for (int i = 0; i < 8; i++) {
		strip(n);
		world_run(w, 20000);
	}
	ck_assert_msg(n->writes == 1 + REHOLDS_MAX,
		      "held %u times, %s first", n->writes,
		      _i == 0 ? "line" : "reply");
	world_run_until(w, quiet + MINUTE);
	machine_add(w, 10, "web", server_ms(w));	/* a new period */
	world_run(w, SLACK);
	ck_assert(thing_held(n));
}
END_TEST

START_TEST(new_machine_stripped)
{
	struct thing *c, *n;

	world_open(w);
	w->frozen[KIND_NODE] = w->frozen[KIND_NODECLAIM] = true;
	machine_add(w, 8, "web", server_ms(w));
	c = claim_at(w, 8);
	n = node_at(w, 8);
	object_hold(&c->o, server_ms(w));	/* by the webhook */
	object_hold(&n->o, server_ms(w));
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	w->frozen[KIND_NODE] = w->frozen[KIND_NODECLAIM] = false;
	world_run(w, 2000);
	ck_assert_uint_eq(n->writes, 0);
	for (int i = 0; i < 8; i++) {
		strip(n);
		world_run(w, 10000);
	}
	ck_assert_msg(n->writes == REHOLDS_MAX, "held again %u times",
		      n->writes);
}
END_TEST

/* --- opting out on the claim ---------------------------------------------- */

/* Machine 8 as the webhook leaves it: a claim with hold and mark, launched. */
static struct thing *
new_claim(void)
{
	struct object o = claim_new("c8", server_ms(w));

	o.launched = o.launch_known = true;
	object_hold(&o, server_ms(w));
	return thing_add(w, &o);
}

/* Its Node, held by the webhook as well. */
static struct thing *
join_node(bool registered)
{
	struct object o = node_new("n8", "c8", server_ms(w));

	object_hold(&o, server_ms(w));
	o.registered = registered;
	return thing_add(w, &o);
}

static void
registers(struct thing *c, struct thing *n)
{
	strcpy(c->o.node_name, n->o.name);
	c->o.registered = true;
	n->o.registered = true;
	thing_changed(w, c);
	thing_changed(w, n);
}

/* A person removes the hold from the claim, and the mark stays.  It happens
 * before the Node is there (0), while it is not registered (1), or afterwards
 * (2).  A leader that has not seen it (3 to 5) knows it as well. */
START_TEST(opts_out_on_the_claim)
{
	struct thing *c, *n = NULL;

	world_open(w);
	c = new_claim();
	world_run(w, COUNTS_AGE_MS + SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	if (_i % 3 > 0)
		n = join_node(_i % 3 == 2);
	if (_i % 3 == 2)
		registers(c, n);
	world_run(w, SLACK);
	c->o.hold = HOLD_ABSENT;
	thing_changed(w, c);
	if (_i < 3)
		world_run(w, SLACK);
	if (_i % 3 == 0)
		n = join_node(false);
	if (_i >= 3) {
		registers(c, n);
		world_restart(w, 9);
		world_open(w);
	}
	world_run(w, SLACK);
	ck_assert(!thing_held(n));
	registers(c, n);
	world_run(w, 5 * MINUTE);
	ck_assert_int_eq(n->o.hold, HOLD_ABSENT);
	ck_assert_int_eq(c->o.hold, HOLD_ABSENT);
	/* The others are held because of it all the same. */
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	become_ready(c);
	world_run(w, rules.hold_ms + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	/* Until the next period. */
	machine_add(w, 10, "web", server_ms(w));
	world_run(w, SLACK);
	ck_assert(thing_held(n));
}
END_TEST

/* The same person puts the hold back on the claim, which is no longer opted
 * out then. */
START_TEST(opts_in_again)
{
	struct thing *c, *n;

	world_open(w);
	c = new_claim();
	world_run(w, SLACK);
	c->o.hold = HOLD_ABSENT;
	thing_changed(w, c);
	world_run(w, SLACK);
	c->o.hold = HOLD_SAME;
	thing_changed(w, c);
	world_run(w, SLACK);
	n = join_node(false);
	world_run(w, SLACK);
	ck_assert(thing_held(n));
	registers(c, n);
	world_run(w, MINUTE);
	ck_assert(thing_held(n));
}
END_TEST

/* --- whatever carries our mark is ours to clear --------------------------- */

START_TEST(excluded_pool_is_cleared_at_once)
{
	struct thing *n;

	machine_add(w, 8, "excluded", server_ms(w));
	n = node_at(w, 8);
	object_hold(&n->o, server_ms(w));
	object_hold(&claim_at(w, 8)->o, server_ms(w));
	hold_for(10 * MINUTE - MINUTE);
	ck_assert(thing_clear(n));
	ck_assert(thing_clear(claim_at(w, 8)));
	ck_assert(thing_held(node_at(w, 0)));
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(n->writes, 1);
}
END_TEST

START_TEST(excluded_pool_moves_nothing)
{
	world_open(w);
	machine_add(w, 8, "excluded", server_ms(w));
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(person_in_an_excluded_pool)
{
	machine_add(w, 8, "excluded", server_ms(w));
	node_at(w, 8)->o.hold = HOLD_SAME;
	world_open(w);
	world_run(w, MINUTE);
	ck_assert_uint_eq(node_at(w, 8)->writes, 0);
}
END_TEST

/* Its mark stands for another hold, so nothing is written on it, in a hold or
 * after it. */
START_TEST(a_mark_for_another_hold)
{
	struct thing *n = node_at(w, 0);

	n->o.hold = HOLD_OTHER;
	n->o.has_held_key = n->o.is_other = true;
	n->o.other_hold = hold_other;
	n->o.mark_ms = server_ms(w) - DAY;
	hold_for(5 * MINUTE);
	ck_assert(thing_held(node_at(w, 1)));
	world_run_until(w, quiet + MINUTE);
	ck_assert(thing_clear(node_at(w, 1)));
	ck_assert_uint_eq(n->writes, 0);
}
END_TEST

START_TEST(odd_mark_is_cleared)
{
	struct thing *n = node_at(w, 0);

	object_hold(&n->o, 0);
	n->o.mark = MARK_ODD;
	n->o.mark_ms = 0;
	world_open(w);
	world_run(w, MINUTE);
	ck_assert(thing_clear(n));
}
END_TEST

/* Karpenter's late copy puts back what was just cleared.  It is cleared each
 * time it is seen. */
START_TEST(copied_back_after_the_clear)
{
	struct thing *n = node_at(w, 0);

	hold_for(MINUTE);
	world_run_until(w, quiet + SLACK);
	ck_assert(thing_clear(n));
	for (int i = 0; i < 3; i++) {
		object_hold(&n->o, quiet - MINUTE);
		thing_changed(w, n);
		world_run(w, SLACK);
		ck_assert(thing_clear(n));
	}
}
END_TEST

/* --- being deleted -------------------------------------------------------- */

/* Registration may put a person's hold beside our mark and leave the mark as
 * it was.  Until registration is over, a clear therefore tests the version and
 * not the mark's text. */
START_TEST(a_joining_node_is_cleared_by_version)
{
	struct thing *n = node_at(w, 0);
	struct action a;

	n->o.registered = _i == 1;
	object_hold(&n->o, stamp_now() - MINUTE);
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	(void)act_done(ACT_LIST_CLAIMS, CONTROLLER_OK);
	(void)act_done(ACT_LIST_NODEPOOLS, CONTROLLER_OK);
	a = act_next(ACT_CLEAR);
	ck_assert_str_eq(a.name, n->o.name);
	ck_assert(a.mark_exact == (_i == 1));
}
END_TEST

START_TEST(deleting_is_not_patched)
{
	struct thing *n = node_at(w, 0), *c = claim_at(w, 1);

	n->o.deleting = true;
	c->o.deleting = true;
	object_hold(&n->o, server_ms(w) - DAY);
	object_hold(&node_at(w, 1)->o, server_ms(w) - DAY);
	hold_for(MINUTE);
	world_run_until(w, quiet + MINUTE);
	ck_assert_uint_eq(n->writes, 0);
	ck_assert_uint_eq(c->writes, 0);
	ck_assert_uint_eq(node_at(w, 1)->writes, 0);
	ck_assert_uint_eq(node_at(w, 2)->writes, 2);
}
END_TEST

/* An object that is no longer Karpenter's is no longer ours to hold. */
START_TEST(no_longer_karpenters)
{
	struct thing *n = node_at(w, 0);

	hold_for(MINUTE);
	n->o.karpenter = false;
	strip(n);
	world_run(w, 30000);
	ck_assert_uint_eq(n->writes, 1);
	ck_assert_int_eq(n->o.hold, HOLD_ABSENT);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: people");
	TCase *c = run_case(s, "people");

	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_loop_test(c, had_set_the_hold_before_us, 0, 2);
	tcase_add_loop_test(c, template_hold, 0, 2);
	tcase_add_test(c, template_other_value);
	tcase_add_test(c, removes_our_mark);
	tcase_add_test(c, removes_our_mark_before_registration);
	tcase_add_loop_test(c, removes_or_changes_the_hold, 0, 2);
	tcase_add_loop_test(c, strips_hold_and_mark, 0, 2);
	tcase_add_test(c, new_machine_stripped);
	tcase_add_loop_test(c, opts_out_on_the_claim, 0, 6);
	tcase_add_test(c, opts_in_again);
	tcase_add_test(c, excluded_pool_is_cleared_at_once);
	tcase_add_test(c, excluded_pool_moves_nothing);
	tcase_add_test(c, person_in_an_excluded_pool);
	tcase_add_test(c, a_mark_for_another_hold);
	tcase_add_test(c, odd_mark_is_cleared);
	tcase_add_test(c, copied_back_after_the_clear);
	tcase_add_loop_test(c, a_joining_node_is_cleared_by_version, 0, 2);
	tcase_add_test(c, deleting_is_not_patched);
	tcase_add_test(c, no_longer_karpenters);
	return suite_run(s);
}
