/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "scene.h"

/* A machine that takes over the pods of one that expired, was interrupted or
 * was deleted by hand is no scale-up (docs/rules.md#substitutes).  A boot that
 * failed and is tried again belongs to the same scale-up
 * (docs/rules.md#boots-that-are-tried-again). */

#define OLD 6		/* machines of long ago: 0 … 3 web, 4 and 5 batch */

static void
open_world(void)
{
	w = world_new(&rules, THINGS, 1);
	for (int i = 0; i < OLD; i++)
		machine_add(w, i, i < 4 ? "web" : "batch",
			    server_ms(w) - DAY);
	world_open(w);
	ck_assert_uint_eq(count_marked(w), 0);
	world_run(w, 955);	/* on a whole second */
	world_run(w, 1000 - server_ms(w) % 1000);
}

static void
setup(void)
{
	rules = rules_default();
	rules.replacements = REPLACEMENTS_IGNORE;
	rules.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	open_world();
}

static void
again(void)
{
	scene_teardown();
	open_world();
}

static struct thing *
launched(int n, const char *nodepool)
{
	struct thing *c = claim_make(n, nodepool);

	world_run(w, 1000);
	claim_launch(c);
	world_run(w, SLACK);
	return c;
}

static void
is_substitute(const struct thing *c, const char *deleted)
{
	char want[CLASS_BYTES];

	snprintf(want, sizeof(want), CLASS_SUBSTITUTE "%s", deleted);
	ck_assert_str_eq(c->o.replaces, want);
}

static void
is_scale_up(const struct thing *c)
{
	ck_assert_str_eq(c->o.replaces, "");
	ck_assert_uint_gt(count_spread(OLD), 0);
}

/* --- substitutes ---------------------------------------------------------- */

/* A substitute is held for its own time, and holds no other machine. */
START_TEST(a_substitute_holds_itself)
{
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	world_run(w, 10000);
	c = launched(10, "web");
	is_substitute(c, "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
	ck_assert(thing_held(c));
	machine_delete(w, 0);
	world_run(w, MINUTE);
	become_ready(c);
	world_run(w, rules.hold_ms - 1000);
	ck_assert(thing_held(c));
	ck_assert_uint_eq(count_spread(OLD), 0);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(c->writes, 3);
	ck_assert_uint_eq(w->counters.at[COUNTER_REPLACEMENTS], 1);
}
END_TEST

/* The new machine is created that long after the deletion began; the deleted
 * one is gone after `gone` seconds. */
static const struct {
	const char *name;
	int64_t created, gone;	/* seconds; -1: it is draining still */
	bool substitute;
} ages[] = {
	{"at once", 0, -1, true},
	{"60 s, gone", 60, 20, true},
	{"61 s, gone", 61, 20, false},
	{"10 min, draining", 600, -1, true},
	{"15 min, draining", 900, -1, true},
	{"over 15 min, draining", 901, -1, false},
	{"10 min, gone after 9", 600, 540, false},
};

START_TEST(age)
{
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	if (ages[_i].gone >= 0) {
		world_run(w, ages[_i].gone * 1000);
		machine_delete(w, 0);
		world_run(w, (ages[_i].created - ages[_i].gone) * 1000);
	} else {
		world_run(w, ages[_i].created * 1000);
	}
	c = launched(10, "web");
	if (ages[_i].substitute)
		is_substitute(c, "c0");
	else
		is_scale_up(c);
}
END_TEST

/* The new machine is created while the old one drains, and launched long after
 * that is gone. */
START_TEST(launched_later)
{
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	world_run(w, 10 * MINUTE);
	c = claim_make(10, "web");
	world_run(w, MINUTE);
	machine_delete(w, 0);
	world_run(w, 3 * MINUTE);
	claim_launch(c);
	world_run(w, SLACK);
	is_substitute(c, "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
}
END_TEST

START_TEST(own_pool_first)
{
	struct thing *a, *b;

	claim_deleting(claim_at(w, 4));	/* batch: the earlier one */
	world_run(w, 5000);
	claim_deleting(claim_at(w, 1));
	world_run(w, 5000);
	a = launched(10, "web");
	is_substitute(a, "c1");
	b = launched(11, "web");
	is_substitute(b, "c4");	/* spot replaced by another pool */
	ck_assert_uint_eq(count_spread(OLD), 0);
	is_scale_up(launched(12, "web"));
}
END_TEST

/* In scope `nodepool` the deletion of another NodePool's machine does not
 * count. */
START_TEST(no_other_pool_in_scope_nodepool)
{
	struct thing *c;

	rules.scope = SCOPE_NODEPOOL;
	again();
	claim_deleting(claim_at(w, 4));
	world_run(w, 5000);
	is_scale_up(launched(10, "web"));
	claim_deleting(claim_at(w, 5));
	c = launched(11, "batch");
	is_substitute(c, "c4");
}
END_TEST

/* One deletion has one substitute, which is the first that counts. */
START_TEST(the_first_that_counts_takes_it)
{
	struct thing *a, *b;

	claim_deleting(claim_at(w, 0));
	world_run(w, 5000);
	a = claim_make(10, "web");
	world_run(w, 1000);
	b = claim_make(11, "web");
	world_run(w, 2000);
	claim_launch(b);
	world_run(w, COUNTS_AGE_MS);
	ck_assert_uint_eq(count_spread(OLD), 0);
	is_substitute(b, "c0");
	claim_launch(a);
	world_run(w, SLACK);
	is_scale_up(a);
}
END_TEST

/* A launch that fails in between does not use up the deletion. */
START_TEST(a_launch_that_fails_takes_nothing)
{
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	world_run(w, 2000);
	c = claim_make(10, "web");
	world_run(w, 20000);
	thing_delete(w, c);
	world_run(w, 20000);
	c = launched(11, "web");
	is_substitute(c, "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
}
END_TEST

/* After the deletion, which is gone after 30 s, claims are made and deleted
 * without a launch, and then the last one is launched.  All in seconds after the
 * deletion. */
static const struct {
	const char *name;
	struct {
		int made, deleted;
	} failed[3];
	int made;
	bool substitute;
} extended[] = {
	{"none failed", {{0, 0}}, 70, false},
	{"60 s from the one that failed", {{5, 50}}, 110, true},
	{"and no longer", {{5, 50}}, 111, false},
	{"one after the other", {{5, 50}, {100, 150}, {200, 250}}, 310, true},
	{"15 min at most", {{5, 20}, {70, 890}}, 900, true},
	{"and no longer, either", {{5, 20}, {70, 890}}, 901, false},
	{"one that was made too late", {{65, 80}}, 90, false},
};

/* Machine 0 is gone 30 s after the start. */
static void
run_to(int64_t start, int seconds)
{
	if (seconds > 30 && thing_find(w, KIND_NODECLAIM, "c0") != NULL) {
		world_run(w, start + 30000 - server_ms(w));
		machine_delete(w, 0);
	}
	world_run(w, start + seconds * 1000 - server_ms(w));
}

START_TEST(launches_that_fail_extend)
{
	int64_t start = server_ms(w);
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	for (int i = 0; i < 3 && extended[_i].failed[i].made > 0; i++) {
		run_to(start, extended[_i].failed[i].made);
		c = claim_make(10 + i, "web");
		run_to(start, extended[_i].failed[i].deleted);
		thing_delete(w, c);
	}
	run_to(start, extended[_i].made);
	c = launched(20, "web");
	ck_assert_msg((c->o.replaces[0] != '\0') == extended[_i].substitute,
		      "%s", extended[_i].name);
}
END_TEST

/* Of two that fail at the same time each extends one deletion. */
START_TEST(each_extends_one)
{
	struct thing *a, *b;

	claim_deleting(claim_at(w, 0));
	world_run(w, 2000);
	claim_deleting(claim_at(w, 1));
	a = claim_make(10, "web");
	b = claim_make(11, "web");
	world_run(w, 20000);
	machine_delete(w, 0);
	machine_delete(w, 1);
	thing_delete(w, a);
	world_run(w, 10000);
	if (_i == 0)
		thing_delete(w, b);
	world_run(w, 48000);
	is_substitute(launched(12, "web"), "c0");
	if (_i == 0)
		is_substitute(launched(13, "web"), "c1");
	else
		is_scale_up(launched(13, "web"));
}
END_TEST

/* What comes for a substitute that does not boot is a substitute, too. */
START_TEST(a_substitute_that_does_not_boot)
{
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	world_run(w, 2000);
	c = launched(10, "web");
	is_substitute(c, "c0");
	machine_delete(w, 0);
	world_run(w, rules.startup_ms);
	if (_i == 1) {		/* another leader knows it by its class */
		world_restart(w, 9);
		world_open(w);
	}
	claim_deleting(c);
	world_run(w, 2000);
	thing_delete(w, c);
	world_run(w, 2000);
	is_substitute(launched(11, "web"), "c10");
	ck_assert_uint_eq(count_spread(OLD), 0);
}
END_TEST

/* --- reboots -------------------------------------------------------------- */

static void
reboot(struct thing *c)
{
	c->o.ready_ms = STAMP_NONE;
	c->o.rebooted = true;
	thing_changed(w, c);
	world_run(w, MINUTE);
}

/* A machine that Karpenter reboots has its own quiet time anew, though it is
 * older than the cap, and holds nobody else.  Another leader, which comes while
 * it reboots (1) or afterwards (2), knows it as well. */
START_TEST(a_reboot_holds_itself)
{
	struct thing *c = claim_at(w, 0);

	reboot(c);
	ck_assert_uint_eq(count_marked(w), 0);
	if (_i == 1) {
		world_restart(w, 9);
		world_open(w);
	}
	become_ready(c);
	if (_i == 2) {
		world_restart(w, 9);
		world_open(w);
	}
	world_run(w, rules.hold_ms - MINUTE);
	ck_assert(thing_held(node_at(w, 0)));
	ck_assert_uint_eq(count_marked(w), 1);
	world_run(w, MINUTE + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Neither a reboot (0) nor two (1) end or extend the hold that the machine keeps
 * up. */
START_TEST(a_reboot_in_a_hold)
{
	struct thing *c = launched(10, "web");
	int64_t quiet = become_ready(c);

	world_run(w, MINUTE);
	for (int i = 0; i <= _i; i++) {
		reboot(c);
		become_ready(c);
	}
	world_run(w, quiet - 5000 - server_ms(w));
	ck_assert_uint_eq(count_spread(OLD), OLD);
	world_run(w, 5000 + SLACK);
	ck_assert_uint_eq(count_spread(OLD), 0);
	ck_assert(thing_held(c));
	world_run(w, 4 * MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* It was ready before, so what comes when it is deleted is a substitute. */
START_TEST(deleted_while_it_reboots)
{
	reboot(claim_at(w, 0));
	if (_i == 1) {
		world_restart(w, 9);
		world_open(w);
	}
	claim_deleting(claim_at(w, 0));
	world_run(w, 2000);
	is_substitute(launched(10, "web"), "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
}
END_TEST

/* Deletions that have no substitutes: Karpenter's own disruptions, for
 * whatever reason, and machines that were never ready. */
START_TEST(what_matches_nothing)
{
	struct thing *old = claim_at(w, 0);

	if (_i == 0) {
		old->o.disrupted = true;
		old->o.disrupted_ms = server_ms(w) - 3600000;
	} else if (_i == 1) {
		old->o.disrupted = true;	/* Empty */
	} else {
		old->o.ready_ms = STAMP_NONE;
	}
	thing_changed(w, old);
	world_run(w, 26 * 60 * MINUTE);	/* nobody is held for its sake */
	world_run(w, 1000 - server_ms(w) % 1000);
	ck_assert_uint_eq(count_marked(w), 0);
	claim_deleting(claim_at(w, 0));
	world_run(w, 10000);
	is_scale_up(launched(10, "web"));
}
END_TEST

/* The line that shows the deletion shows the disruption as well. */
START_TEST(disrupted_and_deleted_at_once)
{
	claim_at(w, 0)->o.disrupted = true;
	claim_deleting(claim_at(w, 0));
	world_run(w, 1000);
	is_scale_up(launched(10, "web"));
}
END_TEST

START_TEST(count_takes_no_notice)
{
	rules.replacements = REPLACEMENTS_COUNT;
	again();
	claim_deleting(claim_at(w, 0));
	world_run(w, 1000);
	is_scale_up(launched(10, "web"));
}
END_TEST

/* The machine is gone before anybody saw that it was being deleted. */
START_TEST(a_deletion_never_seen)
{
	machine_delete(w, 0);
	world_run(w, 1000);
	is_scale_up(launched(10, "web"));
}
END_TEST

/* A claim that was there before the deletion began is no substitute. */
START_TEST(deleted_after_the_creation)
{
	struct thing *c = claim_make(10, "web");

	world_run(w, 3000);
	claim_deleting(claim_at(w, 0));
	world_run(w, 1000);
	claim_launch(c);
	world_run(w, SLACK);
	is_scale_up(c);
}
END_TEST

/* Deletions in a NodePool do not count that is excluded (0) or inert, though
 * held by hand (1). */
START_TEST(a_pool_left_out)
{
	struct nodepool p;

	nodepool_init(&p);
	strcpy(p.name, "inert");
	p.spec_known = p.inert = true;
	p.hold_until_ms = server_ms(w) + 60 * MINUTE;
	world_pool(w, &p);
	machine_add(w, 20, _i == 0 ? "excluded" : "inert", server_ms(w) - DAY);
	world_run(w, SLACK);
	claim_deleting(claim_at(w, 20));
	world_run(w, 1000);
	is_scale_up(launched(10, "web"));
}
END_TEST

/* A machine of an inert NodePool, though held by hand, takes nobody's place. */
START_TEST(an_inert_pool_takes_no_deletion)
{
	struct nodepool p;
	struct thing *c;

	nodepool_init(&p);
	strcpy(p.name, "inert");
	p.spec_known = p.inert = true;
	p.hold_until_ms = server_ms(w) + 60 * MINUTE;
	world_pool(w, &p);
	claim_deleting(claim_at(w, 0));
	world_run(w, 1000);
	c = launched(10, "inert");
	world_run(w, 10000);
	ck_assert_str_eq(c->o.replaces, "");
	c = launched(11, "web");
	world_run(w, 10000);
	is_substitute(c, claim_at(w, 0)->o.uid);
}
END_TEST

/* Six machines expire one after the other.  Only the new ones are held. */
START_TEST(six_expire)
{
	for (int i = 0; i < OLD; i++) {
		struct thing *c;

		claim_deleting(claim_at(w, i));
		world_run(w, 20000);
		c = launched(10 + i, i < 4 ? "web" : "batch");
		world_run(w, 40000);
		become_ready(c);
		world_run(w, 20000);
		machine_delete(w, i);
		world_run(w, MINUTE);
		ck_assert_uint_eq(count_spread(OLD), 0);
	}
	ck_assert_uint_eq(w->counters.at[COUNTER_REPLACEMENTS], OLD);
}
END_TEST

/* A deletion that no substitute follows lets one machine of a scale-up in the
 * next minute pass as a substitute, and no more than one. */
START_TEST(a_leftover_deletion)
{
	claim_deleting(claim_at(w, 0));
	world_run(w, 2000);
	machine_delete(w, 0);
	world_run(w, 40000);
	is_substitute(launched(10, "web"), "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
	is_scale_up(launched(11, "web"));
}
END_TEST

/* Load that comes back right after a consolidation still holds. */
START_TEST(load_after_a_consolidation)
{
	struct thing *old = claim_at(w, 0);

	old->o.disrupted = true;
	old->o.disrupted_ms = stamp_now();
	thing_changed(w, old);
	world_run(w, 12000);
	claim_deleting(claim_at(w, 0));
	world_run(w, 3000);
	machine_delete(w, 0);
	world_run(w, 30000);
	is_scale_up(launched(10, "web"));
}
END_TEST

/* --- other leaders -------------------------------------------------------- */

static void
list_claims(const int *order, int n)
{
	controller_listing(w->s, KIND_NODECLAIM);
	world_lose_lines(w, KIND_NODECLAIM);
	for (int i = 0; i < n; i++) {
		controller_track(w->s, &claim_at(w, order[i])->o, world_now(w));
		world_run(w, 3000);	/* page by page */
	}
	for (int i = 1; i < OLD; i++)
		controller_track(w->s, &claim_at(w, i)->o, world_now(w));
	controller_listed(w->s, KIND_NODECLAIM, true, world_now(w));
	world_watch(w, KIND_NODECLAIM, true);
}

static void
failover(const int *order, int n)
{
	world_restart(w, 9);
	controller_restore(w->s, "none", STAMP_NONE, world_now(w));
	world_list(w, KIND_NODE);
	list_claims(order, n);
	world_run(w, SLACK);
}

/* Another replica leads between the deletion and the new machine. */
START_TEST(a_failover_in_between)
{
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	world_run(w, MINUTE);
	failover((int[]){0}, 1);
	world_run(w, MINUTE);
	c = launched(10, "web");
	is_substitute(c, "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
}
END_TEST

/* The new machine is there and has no class yet.  The pages of the list come
 * in either order. */
START_TEST(a_failover_behind_both)
{
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	world_run(w, 10000);
	w->frozen[KIND_NODECLAIM] = true;
	c = claim_make(10, "web");
	claim_launch(c);
	world_run(w, 1000);
	w->frozen[KIND_NODECLAIM] = false;
	failover(_i == 0 ? (int[]){10, 0} : (int[]){0, 10}, 2);
	is_substitute(c, "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
}
END_TEST

/* A class that was written before has used up the deletion.  The list shows
 * that class before or after another machine that might match. */
START_TEST(spent_by_a_class)
{
	static const int orders[][3] = {{10, 0, 11}, {11, 0, 10}, {0, 11, 10},
					{11, 10, 0}};
	struct thing *a, *b;

	claim_deleting(claim_at(w, 0));
	world_run(w, 10000);
	b = claim_make(11, "web");	/* the older one, launched later */
	a = launched(10, "web");
	is_substitute(a, "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
	w->frozen[KIND_NODECLAIM] = true;
	claim_launch(b);
	world_run(w, 1000);
	w->frozen[KIND_NODECLAIM] = false;
	failover(orders[_i], 3);
	is_scale_up(b);
	is_substitute(a, "c0");
}
END_TEST

/* The former leader's write of the class was late, and its line comes when we
 * lead. */
START_TEST(spent_by_a_late_class)
{
	struct thing *a;

	claim_deleting(claim_at(w, 0));
	world_run(w, 10000);
	failover((int[]){0}, 1);
	a = claim_make(10, "web");
	strcpy(a->o.replaces, CLASS_SUBSTITUTE "c0");
	thing_changed(w, a);
	world_run(w, 1000);
	is_scale_up(launched(11, "web"));
}
END_TEST

/* Two machines that one deletion would fit are first seen together.  The one
 * that was created first is the substitute, whoever leads. */
START_TEST(judged_in_order_of_creation)
{
	struct thing *a, *b;

	claim_deleting(claim_at(w, 0));
	world_run(w, 10000);
	w->frozen[KIND_NODECLAIM] = true;
	a = claim_make(10, "web");
	world_run(w, 1000);
	b = claim_make(11, "web");
	claim_launch(b);
	claim_launch(a);
	w->frozen[KIND_NODECLAIM] = false;
	failover(_i == 0 ? (int[]){11, 10, 0} : (int[]){0, 10, 11}, 3);
	is_substitute(a, "c0");
	is_scale_up(b);
}
END_TEST

/* A machine that was gone before this replica came to lead has no
 * substitute. */
START_TEST(deleted_before_the_lead)
{
	claim_deleting(claim_at(w, 0));
	world_run(w, 5000);
	thing_delete(w, claim_at(w, 0));
	world_run(w, 1000);
	failover(NULL, 0);
	is_scale_up(launched(10, "web"));
}
END_TEST

/* The same replica saw the deletion in an earlier lead, and it ended while
 * another one led.  Nobody knows whether it has been used up. */
START_TEST(deleted_in_an_earlier_lead)
{
	claim_deleting(claim_at(w, 0));
	world_run(w, 5000);
	controller_lead(w->s, false, world_now(w));
	thing_delete(w, claim_at(w, 0));
	world_run(w, 20000);
	controller_lead(w->s, true, world_now(w));
	world_list_others(w);
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
	world_run(w, SLACK);
	is_scale_up(launched(10, "web"));
}
END_TEST

/* The deleted machine is missing from a later list.  It counts as there until
 * then. */
START_TEST(a_deletion_over_while_nobody_watched)
{
	struct thing *c;

	claim_deleting(claim_at(w, 0));
	world_run(w, 10000);
	world_watch(w, KIND_NODECLAIM, false);
	thing_delete(w, claim_at(w, 0));
	c = claim_make(10, "web");
	claim_launch(c);
	world_run(w, 30000);
	world_list(w, KIND_NODECLAIM);
	world_run(w, SLACK);
	is_substitute(c, "c0");
	ck_assert_uint_eq(count_spread(OLD), 0);
}
END_TEST

/* --- boots that fail ------------------------------------------------------ */

/* Karpenter gives up after 15 min and creates another machine.  The hold has
 * no gap, and ends by the second machine's time. */
START_TEST(tried_again)
{
	struct thing *c = launched(10, "web");
	int64_t quiet;

	ck_assert_uint_eq(count_spread(OLD), OLD);
	world_run(w, 15 * MINUTE - 6000);
	thing_delete(w, c);
	world_run(w, 3000);
	c = claim_make(11, "web");
	world_run(w, 20000);
	claim_launch(c);
	world_run(w, MINUTE);
	quiet = become_ready(c);
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(count_spread(OLD), OLD);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	for (int i = 0; i < OLD; i++)
		ck_assert_uint_eq(node_at(w, i)->writes, 2);
	ck_assert_str_eq(c->o.replaces, "");
}
END_TEST

/* No other machine follows, so the hold ends 60 s after the deletion. */
START_TEST(never_tried_again)
{
	struct thing *c = launched(10, "web");
	int64_t deleted;

	world_run(w, 5 * MINUTE);
	deleted = server_ms(w);
	if (_i == 1) {	/* … from when it began, not when it was over */
		claim_deleting(claim_at(w, 10));
		world_run(w, 30000);
	}
	thing_delete(w, c);
	world_run_until(w, deleted / 1000 * 1000 + FAILED_BOOT_MS - 1000);
	ck_assert_uint_eq(count_spread(OLD), OLD);
	world_run(w, 1000 + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* A machine that Karpenter disrupted, or one that never counted, is no boot
 * that failed. */
START_TEST(no_boot_that_failed)
{
	struct thing *c = claim_make(10, "web");

	if (_i == 0) {
		world_run(w, 20000);	/* its launch fails */
	} else {
		claim_launch(c);
		world_run(w, COUNTS_AGE_MS + SLACK);
		ck_assert_uint_eq(count_spread(OLD), OLD);
		c->o.disrupted = true;
		thing_changed(w, c);
		world_run(w, 1000);
	}
	thing_delete(w, c);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Karpenter 1.15 repairs a machine that was never ready: it marks and deletes it,
 * and another comes 20 s later (0), or it names the other one and waits for it
 * (1).  Neither is a replacement. */
START_TEST(repaired_before_it_was_ready)
{
	struct thing *c = launched(10, "web"), *next;
	int64_t quiet;

	world_run(w, 5 * MINUTE);
	c->o.repaired = true;
	c->o.disrupted_ms = stamp_now();
	thing_changed(w, c);
	world_run(w, 1000);
	if (_i == 0) {
		thing_delete(w, c);
		world_run(w, 20000);
		ck_assert_uint_eq(count_spread(OLD), OLD);
	}
	next = claim_make(11, "web");
	if (_i == 1)
		controller_disruption_event(w->s, "c11", "unhealthy",
					    world_now(w));
	world_run(w, 1000);
	claim_launch(next);
	world_run(w, 2 * MINUTE);
	quiet = become_ready(next);
	world_run(w, 1000);
	if (_i == 1)
		thing_delete(w, c);
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(count_spread(OLD), OLD);
	ck_assert_str_eq(next->o.replaces, "");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* It replaces another, so what Karpenter names in its place replaces it, too. */
START_TEST(a_replacement_is_repaired)
{
	struct thing *old = claim_at(w, 0), *c;

	old->o.disrupted = true;
	old->o.disrupted_ms = stamp_now();
	thing_changed(w, old);
	world_run(w, 1000);
	c = claim_make(10, "web");
	controller_disruption_event(w->s, "c10", "drifted", world_now(w));
	world_run(w, 1000);
	claim_launch(c);
	world_run(w, 5 * MINUTE);
	c->o.repaired = true;
	c->o.disrupted_ms = stamp_now();
	thing_changed(w, c);
	world_run(w, 1000);
	c = claim_make(11, "web");
	controller_disruption_event(w->s, "c11", "unhealthy", world_now(w));
	world_run(w, 1000);
	claim_launch(c);
	world_run(w, MINUTE);
	ck_assert_str_eq(c->o.replaces, "unhealthy");
	ck_assert_uint_eq(count_spread(OLD), 0);
}
END_TEST

/* A machine that is rebooted before it was ever ready boots on.  Whoever saw it
 * boot knows that; a leader that first sees it afterwards (1) does not. */
START_TEST(rebooted_before_it_was_ready)
{
	struct thing *c = launched(10, "web");
	int64_t quiet;

	world_run(w, 5 * MINUTE);
	if (_i == 1)
		world_restart(w, 9);
	c->o.rebooted = true;
	quiet = become_ready(c);
	if (_i == 1)
		world_open(w);
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(count_spread(OLD), _i == 1 ? 0 : OLD);
	ck_assert(thing_held(c));
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Two boots fail, and a third one later.  The hold lasts for a minute after the
 * last. */
START_TEST(each_counts_for_a_minute)
{
	struct thing *a = launched(10, "web"), *b = launched(11, "web"), *c;

	world_run(w, 5 * MINUTE);
	thing_delete(w, a);
	thing_delete(w, b);
	world_run(w, 10000);
	c = launched(12, "web");
	world_run(w, COUNTS_AGE_MS);
	thing_delete(w, c);
	world_run(w, FAILED_BOOT_MS - 2000);
	ck_assert_uint_eq(count_spread(OLD), OLD);
	world_run(w, 2000 + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Another machine goes by choice, and the minute of the boot that failed goes
 * on. */
START_TEST(the_minute_goes_on)
{
	struct thing *a = launched(10, "web"), *b;

	world_run(w, 5 * MINUTE);
	b = claim_make(11, "web");
	world_run(w, 3000);
	thing_delete(w, a);
	world_run(w, 10000);
	claim_launch(b);
	world_run(w, 1000);
	b->o.disrupted = true;	/* gone by choice: it leaves nothing */
	thing_changed(w, b);
	world_run(w, 1000);
	thing_delete(w, b);
	world_run(w, 40000);
	ck_assert_uint_eq(count_spread(OLD), OLD);
	world_run(w, 10000 + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Its NodePool is disabled (0), released by hand (1) or inert, though held by
 * hand (2): the rest of the scope is released after the minute. */
START_TEST(of_a_pool_released_meanwhile)
{
	struct thing *c = launched(10, "web");
	struct nodepool p;

	world_run(w, MINUTE);
	thing_delete(w, c);
	world_run(w, 10000);
	ck_assert_uint_eq(count_spread(OLD), OLD);
	nodepool_init(&p);
	strcpy(p.name, "web");
	p.disabled = _i == 0;
	if (_i == 1)
		p.released_at_ms = server_ms(w);
	p.spec_known = p.inert = _i == 2;
	if (_i == 2)
		p.hold_until_ms = server_ms(w) + 60 * MINUTE;
	world_pool(w, &p);
	world_run(w, MINUTE + SLACK);
	/* Held by hand are the four old ones of web. */
	ck_assert_uint_eq(count_marked(w), _i == 2 ? 4 : 0);
}
END_TEST

/* The minute is as long as ever when the API server's clock is set. */
START_TEST(the_clock_is_set)
{
	static const int64_t shifts[] = {-60 * MINUTE, 60 * MINUTE, -6000,
					 6000};
	struct thing *c = launched(10, "web");

	world_run(w, 5 * MINUTE);
	thing_delete(w, c);
	world_run(w, 10000);
	w->offset_ms += shifts[_i];
	world_run(w, 48000);
	ck_assert_uint_eq(count_spread(OLD), OLD);
	world_run(w, 3000 + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Every 15 minutes a boot fails, for ever.  Only the cap ends the hold, once
 * an hour. */
START_TEST(a_loop_of_failed_boots)
{
	int64_t start = w->boot_ms;
	struct thing *c = launched(10, "web");

	for (int i = 1; i < 10; i++) {
		world_run(w, start + i * 15 * MINUTE - 2000 - w->boot_ms);
		thing_delete(w, c);
		world_run(w, 2000);
		c = launched(10 + i, "web");
	}
	/* They are held, released at 60 min, held again at 70 and released at
	 * 130. */
	for (int i = 0; i < OLD; i++)
		ck_assert_uint_eq(node_at(w, i)->writes, 4);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: substitutes");
	TCase *c = run_case(s, "substitutes"), *l = run_case(s, "leaders");
	TCase *r = run_case(s, "failed boots");

	tcase_add_checked_fixture(c, setup, scene_teardown);
	tcase_add_test(c, a_substitute_holds_itself);
	tcase_add_loop_test(c, age, 0, sizeof(ages) / sizeof(ages[0]));
	tcase_add_test(c, launched_later);
	tcase_add_test(c, own_pool_first);
	tcase_add_test(c, no_other_pool_in_scope_nodepool);
	tcase_add_test(c, the_first_that_counts_takes_it);
	tcase_add_test(c, a_launch_that_fails_takes_nothing);
	tcase_add_loop_test(c, launches_that_fail_extend, 0,
			    (int)(sizeof(extended) / sizeof(extended[0])));
	tcase_add_loop_test(c, each_extends_one, 0, 2);
	tcase_add_loop_test(c, a_substitute_that_does_not_boot, 0, 2);
	tcase_add_loop_test(c, a_reboot_holds_itself, 0, 3);
	tcase_add_loop_test(c, a_reboot_in_a_hold, 0, 2);
	tcase_add_loop_test(c, deleted_while_it_reboots, 0, 2);
	tcase_add_loop_test(c, what_matches_nothing, 0, 3);
	tcase_add_test(c, disrupted_and_deleted_at_once);
	tcase_add_test(c, count_takes_no_notice);
	tcase_add_test(c, a_deletion_never_seen);
	tcase_add_test(c, deleted_after_the_creation);
	tcase_add_loop_test(c, a_pool_left_out, 0, 2);
	tcase_add_test(c, an_inert_pool_takes_no_deletion);
	tcase_add_test(c, six_expire);
	tcase_add_test(c, a_leftover_deletion);
	tcase_add_test(c, load_after_a_consolidation);
	tcase_add_checked_fixture(l, setup, scene_teardown);
	tcase_add_test(l, a_failover_in_between);
	tcase_add_loop_test(l, a_failover_behind_both, 0, 2);
	tcase_add_loop_test(l, spent_by_a_class, 0, 4);
	tcase_add_test(l, spent_by_a_late_class);
	tcase_add_loop_test(l, judged_in_order_of_creation, 0, 2);
	tcase_add_test(l, deleted_before_the_lead);
	tcase_add_test(l, deleted_in_an_earlier_lead);
	tcase_add_test(l, a_deletion_over_while_nobody_watched);
	tcase_add_checked_fixture(r, setup, scene_teardown);
	tcase_add_test(r, tried_again);
	tcase_add_loop_test(r, never_tried_again, 0, 2);
	tcase_add_loop_test(r, no_boot_that_failed, 0, 2);
	tcase_add_loop_test(r, repaired_before_it_was_ready, 0, 2);
	tcase_add_test(r, a_replacement_is_repaired);
	tcase_add_loop_test(r, rebooted_before_it_was_ready, 0, 2);
	tcase_add_test(r, each_counts_for_a_minute);
	tcase_add_test(r, the_minute_goes_on);
	tcase_add_loop_test(r, of_a_pool_released_meanwhile, 0, 3);
	tcase_add_loop_test(r, the_clock_is_set, 0, 4);
	tcase_add_test(r, a_loop_of_failed_boots);
	return suite_run(s);
}
