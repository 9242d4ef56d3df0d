/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/table/nodepools.h"
#include "scene.h"

/* What each annotation of a NodePool does, and which takes precedence:
 * docs/rules.md#nodepool-annotations. */

static void
use_scope(enum scope_kind scope, int64_t max_ms)
{
	rules.scope = scope;
	rules.cap = (struct cap_rules){max_ms, 5 * MINUTE};
	scene_again();
}

/* Two old machines in each of two pools; nothing is held. */
static void
old_pools(void)
{
	for (int i = 0; i < 4; i++)
		machine_add(w, i, i < 2 ? "web" : "batch",
			    server_ms(w) - DAY);
	world_open(w);
	ck_assert_uint_eq(count_marked(w), 0);
}

static struct nodepool
pool_of(const char *name, enum nodepool_key k, const char *value)
{
	struct nodepool p;

	nodepool_init(&p);
	strcpy(p.name, name);
	snprintf(p.uid, sizeof(p.uid), "u-%s", name);
	nodepool_set(&p, k, value);
	return p;
}

static void
says(const char *name, enum nodepool_key k, const char *value)
{
	struct nodepool p = pool_of(name, k, value);

	world_pool(w, &p);
}

static void
says_at(const char *name, enum nodepool_key k, int64_t at_ms)
{
	char stamp[STAMP_BYTES];

	stamp_format(at_ms, stamp);
	says(name, k, stamp);
}

static void
says_nothing(const char *name)
{
	says(name, NODEPOOL_ENABLED, NULL);
}

static unsigned
held_in(const char *nodepool)
{
	unsigned n = 0;

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		n += t->used && t->o.kind == KIND_NODE && thing_held(t) &&
		     strcmp(t->o.nodepool, nodepool) == 0;
	return n;
}

START_TEST(disabled_is_cleared_and_does_not_count)
{
	old_pools();
	machine_now(4, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(held_in("batch"), 2);
	says("web", NODEPOOL_ENABLED, "false");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	says_nothing("web");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(held_in("batch"), 2);
}
END_TEST

START_TEST(disabled_is_stronger_than_hold_until)
{
	struct nodepool p;

	old_pools();
	nodepool_init(&p);
	strcpy(p.name, "web");
	p.disabled = true;
	p.hold_until_ms = server_ms(w) + 60 * MINUTE;
	world_pool(w, &p);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* --- NodePools for which a hold can do nothing ---------------------------- */

static struct nodepool
inert(const char *name)
{
	struct nodepool p = pool_of(name, NODEPOOL_ENABLED, NULL);

	p.spec_known = p.inert = true;
	return p;
}

static struct nodepool_report
report_of(const char *name)
{
	struct nodepool_report out;

	for (uint32_t i = 0; controller_nodepool_at(w->s, &i, &out);)
		if (strcmp(out.name, name) == 0)
			return out;
	ck_abort_msg("no NodePool %s", name);
}

/* Its new machine holds nobody, and others do not hold it. */
START_TEST(inert_is_left_alone)
{
	struct nodepool p = inert("web");

	old_pools();
	world_pool(w, &p);
	ck_assert(report_of("web").out);
	machine_now(4, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(notes(NOTE_SCOPE_HELD, NULL), 0);
	machine_now(5, "batch");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 0);
	ck_assert_uint_eq(held_in("batch"), 3);
}
END_TEST

/* A change of the spec takes effect at once, either way. */
START_TEST(inert_for_a_while)
{
	struct nodepool p = inert("web");

	old_pools();
	machine_now(4, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(held_in("batch"), 2);
	world_pool(w, &p);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	p.inert = false;
	world_pool(w, &p);
	ck_assert(!report_of("web").out);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(held_in("batch"), 2);
}
END_TEST

/* A person's hold-until still holds it, but its machines count for nobody, and
 * no scope speaks of it.  enabled: "false" is stronger. */
START_TEST(inert_and_hold_until)
{
	struct nodepool p = inert("web");

	old_pools();
	p.hold_until_ms = stamp_now() + 30 * MINUTE;
	world_pool(w, &p);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, NULL), 1);
	machine_now(4, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(held_in("batch"), 0);
	ck_assert(report_of("web").out);
	p.disabled = true;
	world_pool(w, &p);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	p.disabled = false;
	world_pool(w, &p);
	world_run_until(w, p.hold_until_ms - 1);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	p.hold_until_ms = STAMP_NONE;
	world_pool(w, &p);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Metadata alone says nothing of the spec, so what was known of it stays, but
 * not for another NodePool with the same name. */
START_TEST(inert_as_last_known)
{
	struct nodepool p = inert("web");

	old_pools();
	world_pool(w, &p);
	p.spec_known = p.inert = false;
	p.hold_ms = 2 * rules.hold_ms;
	world_pool(w, &p);
	machine_now(4, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	strcpy(p.uid, "another");
	world_pool(w, &p);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
}
END_TEST

/* --- the other annotations ------------------------------------------------ */

START_TEST(hold_until_holds_this_pool_alone)
{
	int64_t until;
	struct note n;

	old_pools();
	until = stamp_now() + 30 * MINUTE;
	says_at("web", NODEPOOL_HOLD_UNTIL, until);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.name, "web");
	ck_assert_str_eq(n.as.manual.uid, "u-web");
	ck_assert_int_eq(n.as.manual.until_ms, until);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 2);
	ck_assert_uint_eq(held_in("batch"), 0);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	says_at("web", NODEPOOL_HOLD_UNTIL, until);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 0);
}
END_TEST

START_TEST(no_cap_ends_hold_until)
{
	int64_t until;

	use_scope(SCOPE_NODEPOOL, 10 * MINUTE);
	old_pools();
	until = stamp_now() + 120 * MINUTE;
	says_at("web", NODEPOOL_HOLD_UNTIL, until);
	for (int i = 0; i < 11; i++) {
		world_run(w, 10 * MINUTE);
		ck_assert_uint_eq(held_in("web"), 2);
	}
	world_run_until(w, until + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(released_at_ends_what_was_created_before)
{
	int64_t quiet;

	use_scope(SCOPE_NODEPOOL, 0);
	old_pools();
	machine_now(4, "web");
	machine_now(5, "batch");
	world_run(w, SLACK);
	says_at("web", NODEPOOL_RELEASED_AT, server_ms(w));
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 0);
	ck_assert_uint_eq(held_in("batch"), 3);
	/* A machine that is created later counts as usual. */
	world_run(w, 2 * MINUTE);
	quiet = machine_now(6, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 4);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* In scope `cluster` the activity of other NodePools still spreads to it. */
START_TEST(released_at_leaves_the_spread)
{
	int64_t quiet;

	old_pools();
	machine_now(4, "web");
	world_run(w, 2 * MINUTE);
	quiet = machine_now(5, "batch");
	world_run(w, SLACK);
	says_at("web", NODEPOOL_RELEASED_AT, server_ms(w));
	world_run_until(w, quiet - 1);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(released_at_while_a_machine_boots)
{
	struct object o;
	struct thing *t;

	old_pools();
	o = claim_new("c9", server_ms(w));
	strcpy(o.nodepool, "web");
	o.launched = o.launch_known = true;
	t = thing_add(w, &o);
	world_run(w, MINUTE);
	ck_assert(thing_held(t));
	ck_assert_uint_eq(count_held(w, KIND_NODE), 4);
	says_at("web", NODEPOOL_RELEASED_AT, server_ms(w));
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	become_ready(t);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* It is reported as invalid, and counts once its moment has come. */
START_TEST(released_at_in_the_future)
{
	int64_t at;
	struct note n;

	old_pools();
	at = stamp_now() + 5 * MINUTE;
	machine_now(4, "web");
	says_at("web", NODEPOOL_RELEASED_AT, at);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_INVALID, &n), 1);
	ck_assert_int_eq(n.as.invalid.key, NODEPOOL_RELEASED_AT);
	world_run_until(w, at - 1);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(durations_of_the_pool)
{
	int64_t ready;

	use_scope(SCOPE_NODEPOOL, 0);
	old_pools();
	says("web", NODEPOOL_HOLD_DURATION, "2m");
	ready = machine_now(4, "web") - rules.hold_ms;
	machine_now(5, "batch");
	world_run_until(w, ready + 2 * MINUTE - 1);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 0);
	ck_assert_uint_eq(held_in("batch"), 3);
	/* The duration becomes longer while it still runs, so the NodePool is
	 * held again. */
	says("web", NODEPOOL_HOLD_DURATION, "1h");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
}
END_TEST

START_TEST(bad_value_is_told_once_and_does_not_count)
{
	struct note n;

	old_pools();
	says("web", NODEPOOL_HOLD_DURATION, "fast");
	says("web", NODEPOOL_HOLD_DURATION, "fast");
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_INVALID, &n), 1);
	ck_assert_int_eq(n.as.invalid.key, NODEPOOL_HOLD_DURATION);
	ck_assert_str_eq(n.as.invalid.value, "fast");
	ck_assert_str_eq(n.as.invalid.uid, "u-web");
	says("web", NODEPOOL_HOLD_DURATION, "faster");
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_INVALID, &n), 1);
	machine_now(4, "web");
	world_run(w, rules.hold_ms - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
}
END_TEST

/* The NodePool is deleted under the watch (0), or missing from the next list
 * (1).  Its annotations count no more. */
START_TEST(pool_gone_or_not_listed)
{
	old_pools();
	says_at("web", NODEPOOL_HOLD_UNTIL, server_ms(w) + 60 * MINUTE);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 2);
	if (_i == 0) {
		world_pool_gone(w, "web");
		controller_nodepool_gone(w->s, "web", world_now(w));
	} else {
		world_pool_gone(w, "web");
		world_list_empty(w, KIND_NODEPOOL);
		world_run(w, SLACK);
		ck_assert_uint_eq(held_in("web"), 2);	/* half a view */
		controller_watch(w->s, KIND_NODEPOOL, true);
	}
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* The NodePool is deleted and created anew while nobody watches.  The old
 * one's annotations count no more. */
START_TEST(pool_made_anew)
{
	struct nodepool p;

	old_pools();
	machine_now(4, "web");
	world_run(w, SLACK);
	if (_i == 0)
		says("web", NODEPOOL_ENABLED, "false");
	else
		says_at("web", NODEPOOL_RELEASED_AT, server_ms(w) + 1000);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	controller_listing(w->s, KIND_NODEPOOL);
	nodepool_init(&p);
	strcpy(p.name, "web");
	strcpy(p.uid, "another");
	world_pool(w, &p);
	controller_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	controller_watch(w->s, KIND_NODEPOOL, true);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
}
END_TEST

/* hold-until is reported only where it counts, and once it begins to count. */
START_TEST(manual_hold_told)
{
	struct note n;
	struct nodepool p;

	old_pools();
	says_at("excluded", NODEPOOL_HOLD_UNTIL, server_ms(w) + 60 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 0);
	nodepool_init(&p);
	strcpy(p.name, "web");
	strcpy(p.uid, "u-web");
	p.hold_until_ms = server_ms(w) + 60 * MINUTE;
	p.disabled = true;
	world_pool(w, &p);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 0);
	p.disabled = false;
	world_pool(w, &p);
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_MANUAL, &n), 1);
}
END_TEST

/* The marks of a hold by hand do not show how long the scope was held, and
 * neither does a state that says "none". */
START_TEST(manual_hold_is_no_past_of_the_scope)
{
	char text[200];
	struct buf b;
	int64_t until;
	struct note n;

	use_scope(SCOPE_CLUSTER, 60 * MINUTE);
	old_pools();
	until = server_ms(w) + 600 * MINUTE;
	says_at("batch", NODEPOOL_HOLD_UNTIL, until);
	machine_now(4, "web");
	world_run(w, 120 * MINUTE);
	ck_assert_uint_eq(held_in("batch"), 2);
	ck_assert_uint_eq(held_in("web"), 0);
	buf_init(&b, text, sizeof(text));
	ck_assert(controller_soft(w->s, &b, false, world_now(w)));
	ck_assert_str_eq(text, "none");
	world_restart(w, 5);
	says_at("batch", NODEPOOL_HOLD_UNTIL, until);
	controller_restore(w->s, _i == 0 ? "" : text, STAMP_NONE, world_now(w));
	world_open(w);
	machine_now(9, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(notes(NOTE_SCOPE_CAPPED, &n), 0);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
}
END_TEST

START_TEST(many_bad_values)
{
	char name[16];
	struct note n;
	struct nodepool p;

	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		p = pool_of(name, NODEPOOL_ENABLED, "no");
		controller_nodepool(w->s, &p, world_now(w));
	}
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_INVALID, &n), 500);
}
END_TEST

/* Another replica led meanwhile.  Of what this one knew only the NodePools are
 * left. */
static void
new_lead(void)
{
	controller_lead(w->s, false, world_now(w));
	world_watch(w, KIND_NODE, false);
	world_watch(w, KIND_NODECLAIM, false);
	controller_lead(w->s, true, world_now(w));
	world_list_empty(w, KIND_EVENT);
	world_list(w, KIND_NODE);
	world_list(w, KIND_NODECLAIM);
}

/* A lead waits for the first list of NodePools, for 10 s at most. */
START_TEST(nothing_before_the_pools_are_listed)
{
	struct note n;

	old_pools();
	machine_now(4, "web");
	new_lead();
	world_run(w, BEGIN_WAIT_MS - 100);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, &n), 0);
	controller_listing(w->s, KIND_NODEPOOL);
	says("web", NODEPOOL_ENABLED, "false");
	controller_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, &n), 0);
	says_nothing("web");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
}
END_TEST

/* The list of NodePools is refused.  After 10 s the configuration alone
 * decides what is held, which is reported once.  Nothing is released while the
 * NodePools are not seen. */
START_TEST(the_pools_are_never_listed)
{
	struct controller_report r;
	struct note n;
	int64_t quiet;

	old_pools();
	quiet = machine_now(4, "web");
	new_lead();
	world_run(w, BEGIN_WAIT_MS - 100);
	ck_assert_uint_eq(count_marked(w), 0);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, &n), 1);
	ck_assert_str_eq(n.name, "NodePool");
	world_run_until(w, quiet + 10 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, &n), 0);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	controller_report(w->s, &r);
	ck_assert(r.blocked);
	world_list_empty(w, KIND_NODEPOOL);
	controller_watch(w->s, KIND_NODEPOOL, true);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* What counts then is what this replica knew of the NodePools before it led,
 * or has learned since from a list that never ended. */
START_TEST(pools_known_from_before_the_lead)
{
	struct nodepool p;
	struct note n;

	old_pools();
	machine_now(4, "web");
	machine_now(5, "batch");
	if (_i == 0) {
		says("web", NODEPOOL_ENABLED, "false");
		new_lead();
	} else {
		/* A replica that does not lead watches the NodePools, too. */
		controller_lead(w->s, false, world_now(w));
		p = pool_of("web", NODEPOOL_ENABLED, "false");
		if (_i == 1) {
			controller_listing(w->s, KIND_NODEPOOL);
			controller_nodepool(w->s, &p, world_now(w));
			controller_listed(w->s, KIND_NODEPOOL, true,
					  world_now(w));
		} else {
			controller_nodepool(w->s, &p, world_now(w));
		}
		new_lead();
	}
	world_run(w, BEGIN_WAIT_MS + SLACK);
	ck_assert_uint_eq(notes(NOTE_WITHOUT, &n), 1);
	ck_assert_uint_eq(held_in("web"), 0);
	ck_assert_uint_eq(held_in("batch"), 3);
}
END_TEST

/* By a clock that was set back, in this lead or before the next one, the end of
 * a hold-until comes a second time. */
START_TEST(a_moment_that_comes_twice)
{
	int64_t until = stamp_now() + MINUTE;

	old_pools();
	says_at("web", NODEPOOL_HOLD_UNTIL, until);
	world_run(w, MINUTE + SLACK);
	ck_assert_uint_eq(held_in("web"), 0);
	w->offset_ms -= 10 * MINUTE;
	if (_i == 1) {
		new_lead();
		controller_listing(w->s, KIND_NODEPOOL);
		says_at("web", NODEPOOL_HOLD_UNTIL, until);
		says_nothing("batch");
		controller_listed(w->s, KIND_NODEPOOL, true, world_now(w));
		world_watch(w, KIND_NODEPOOL, true);
	}
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 2);
	world_run_until(w, until + SLACK);
	ck_assert_uint_eq(held_in("web"), 0);
}
END_TEST

/* A list during the lead shows that the NodePool is gone.  Its annotations
 * count no more. */
START_TEST(pool_gone_since_before_the_lead)
{
	old_pools();
	machine_now(4, "web");
	says("web", NODEPOOL_ENABLED, "false");
	new_lead();
	world_pool_gone(w, "web");
	world_list_empty(w, KIND_NODEPOOL);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
}
END_TEST

/* The same, with a list that ended while this replica did not lead. */
START_TEST(pool_gone_while_another_led)
{
	old_pools();
	machine_now(4, "web");
	says("web", NODEPOOL_ENABLED, "false");
	controller_lead(w->s, false, world_now(w));
	world_pool_gone(w, "web");
	world_list_empty(w, KIND_NODEPOOL);
	new_lead();
	world_run(w, BEGIN_WAIT_MS + SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
}
END_TEST

/* Each leader reports anew what is wrong in NodePools, and nobody else
 * does. */
START_TEST(told_by_each_leader)
{
	struct nodepool p;
	struct note n;

	old_pools();
	says("web", NODEPOOL_HOLD_DURATION, "fast");
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_INVALID, &n), 1);
	controller_lead(w->s, false, world_now(w));
	says("web", NODEPOOL_HOLD_DURATION, "faster");
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_INVALID, &n), 0);
	new_lead();
	controller_listing(w->s, KIND_NODEPOOL);
	p = pool_of("web", NODEPOOL_HOLD_DURATION, "faster");
	controller_nodepool(w->s, &p, world_now(w));
	controller_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_INVALID, &n), 1);
	controller_nodepool(w->s, &p, world_now(w));
	ck_assert_uint_eq(notes(NOTE_NODEPOOL_INVALID, &n), 0);
}
END_TEST

/* --- own deadlines -------------------------------------------------------- */

/* A machine's own deadline is min(ready + hold, created + max).  A hold
 * duration at or above the cap opens no window for the whole scope.
 * machine_add creates a machine a minute before it is ready. */
static const struct {
	const char *name;
	enum scope_kind scope;
	const char *hold;		/* of the pool */
	int64_t config_max, minutes;	/* quiet so long after it is ready */
} owns[] = {
	{"hold above the cap", SCOPE_NODEPOOL, "3h", 120, 119},
	{"hold as long as the cap", SCOPE_NODEPOOL, "1h", 60, 59},
	{"hold below it", SCOPE_NODEPOOL, "30m", 60, 30},
	{"no cap", SCOPE_NODEPOOL, "3h", 0, 180},
	{"in scope cluster", SCOPE_CLUSTER, "3h", 60, 59},
	{"in scope node", SCOPE_NODE, "3h", 120, 119},
};

START_TEST(own_deadline)
{
	struct note n;
	struct nodepool p;
	int64_t ready;

	use_scope(owns[_i].scope, owns[_i].config_max * MINUTE);
	old_pools();
	p = pool_of("web", NODEPOOL_HOLD_DURATION, owns[_i].hold);
	world_pool(w, &p);
	ready = machine_now(4, "web") - rules.hold_ms;
	world_run_until(w, ready + owns[_i].minutes * MINUTE - 2000);
	ck_assert_msg(thing_held(node_at(w, 4)), "%s", owns[_i].name);
	ck_assert(thing_held(node_at(w, 0)) == (owns[_i].scope != SCOPE_NODE));
	world_run(w, 2000 + SLACK);
	ck_assert_msg(count_marked(w) == 0, "%s: not released", owns[_i].name);
	while (controller_note(w->s, &n))
		ck_assert_msg(n.type != NOTE_SCOPE_CAPPED, "%s: capped",
			      owns[_i].name);
}
END_TEST

/* --- minScaleUp ----------------------------------------------------------- */

static void
use_least(uint32_t least)
{
	rules.min_scale_up = least;
	scene_again();
	old_pools();
}

/* Fewer machines than minScaleUp hold only themselves.  The third within the
 * hold period holds the cluster. */
START_TEST(fewer_hold_only_themselves)
{
	int64_t quiet;

	use_least(3);
	machine_now(4, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 1);
	machine_now(5, "web");
	world_run(w, 2 * MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 2);
	quiet = machine_now(6, "batch");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 7);
	held_until(quiet, 7);
}
END_TEST

/* A third machine that comes more than a hold period after the first counts
 * together with the second only. */
START_TEST(too_far_apart)
{
	use_least(3);
	machine_now(4, "web");
	world_run(w, 5 * MINUTE);
	machine_now(5, "web");
	world_run(w, 5 * MINUTE + 1000 * (_i + 1));
	machine_now(6, "web");
	world_run(w, SLACK);
	/* The second has both others within 10 min, and counts. */
	ck_assert_uint_eq(count_held(w, KIND_NODE), 7);
	/* Its own time ends 5 min later, and that of the others does not
	 * count. */
	world_run(w, 5 * MINUTE);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 1);
}
END_TEST

/* What counts is when machines were created.  The third boots for more than
 * ten minutes while the first two become quiet, and the hold does not end. */
START_TEST(does_not_end_while_the_third_boots)
{
	struct thing *third, *t;
	int64_t quiet;

	use_least(3);
	become_ready(claim_boot(20));
	become_ready(claim_boot(21));
	third = claim_boot(22);
	world_run(w, COUNTS_AGE_MS + SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 4);
	for (int i = 0; i < 14; i++) {
		world_run(w, MINUTE);
		ck_assert_uint_eq(count_held(w, KIND_NODE), 4);
	}
	quiet = become_ready(third);
	/* It ends with the third machine's own time only. */
	held_until(quiet, 4);
	for (t = w->at; t < w->at + 4; t++)
		ck_assert_uint_le(t->writes, 2);
}
END_TEST

/* What is created in the minute after a failed boot counts, although it is no
 * longer one of two. */
START_TEST(tried_again_later_than_the_hold_period)
{
	struct thing *c;
	int64_t quiet;

	use_least(2);
	become_ready(claim_boot(20));
	c = claim_boot(21);
	for (int i = 0; i < 3; i++) {
		world_run(w, 14 * MINUTE);
		ck_assert_uint_eq(count_held(w, KIND_NODE), 4);
		thing_delete(w, c);
		world_run(w, 2000);
		c = claim_boot(22 + i);
		world_run(w, 2000);
	}
	quiet = become_ready(c);
	held_until(quiet, 4);
	ck_assert_uint_eq(node_at(w, 0)->writes, 2);
}
END_TEST

/* At the threshold machines become ready and quiet one after the other.  No
 * object is written to more than twice. */
START_TEST(no_flapping_at_the_threshold)
{
	use_least(2);
	for (int i = 0; i < 12; i++) {
		machine_now(10 + i, "web");
		world_run(w, 9 * MINUTE);
		if (i > 0)
			ck_assert_uint_eq(node_at(w, 0)->writes, 1);
	}
	world_run(w, 2 * MINUTE + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(node_at(w, i)->writes, 2);
}
END_TEST

/* A deleted machine counts no more; one whose boot failed still counts for a
 * minute. */
START_TEST(deleted_below_the_threshold)
{
	use_least(2);
	machine_now(10, "web");
	machine_now(11, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
	if (_i == 0) {
		machine_delete(w, 11);
		world_run(w, SLACK);
		ck_assert_uint_eq(count_held(w, KIND_NODE), 1);
		return;
	}
	claim_at(w, 11)->o.ready_ms = STAMP_NONE;
	thing_changed(w, claim_at(w, 11));
	world_run(w, SLACK);
	machine_delete(w, 11);
	world_run(w, FAILED_BOOT_MS - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
	world_run(w, 2 * SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 1);
}
END_TEST

/* In scope `nodepool` each NodePool counts for itself.  Machines that were
 * created before released-at do not count for others either. */
START_TEST(the_threshold_of_each_pool)
{
	rules.scope = SCOPE_NODEPOOL;
	use_least(2);
	machine_now(10, "web");
	machine_now(11, "batch");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 2);
	machine_now(12, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 4);
	ck_assert_uint_eq(held_in("batch"), 1);
	says_at("web", NODEPOOL_RELEASED_AT, claim_at(w, 12)->o.created_ms);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 1);
}
END_TEST

/* NodePools that come and go under new names leave nothing behind. */
START_TEST(names_come_and_go)
{
	static struct nodepools table;
	struct rules r = rules_default();
	struct nodepool p;

	nodepool_init(&p);
	p.hold_until_ms = p.released_at_ms = 1;
	ck_assert_int_eq(nodepools_init(&table, &r, 8), 0);
	for (int i = 0; i < 5000; i++) {
		snprintf(p.name, sizeof(p.name), "pool-%d", i - 5);
		nodepools_drop(&table, p.name);
		ck_assert_ptr_null(nodepools_find(&table, p.name));
		snprintf(p.name, sizeof(p.name), "pool-%d", i);
		ck_assert(nodepools_put(&table, &p, 1));
		ck_assert_str_eq(nodepools_find(&table, p.name)->name, p.name);
	}
	ck_assert_uint_le(table.top, 6);
	ck_assert_uint_eq(table.by_name.n, 5);
	ck_assert_uint_eq(table.moments.n, 5);
	ck_assert_uint_eq(table.released.n, 5);
	nodepools_done(&table);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: NodePools");
	TCase *c = run_case(s, "pools"), *least = run_case(s, "minScaleUp");

	tcase_add_checked_fixture(c, scene_setup, scene_teardown);
	tcase_add_test(c, disabled_is_cleared_and_does_not_count);
	tcase_add_test(c, disabled_is_stronger_than_hold_until);
	tcase_add_test(c, inert_is_left_alone);
	tcase_add_test(c, inert_for_a_while);
	tcase_add_test(c, inert_and_hold_until);
	tcase_add_test(c, inert_as_last_known);
	tcase_add_test(c, hold_until_holds_this_pool_alone);
	tcase_add_test(c, no_cap_ends_hold_until);
	tcase_add_test(c, released_at_ends_what_was_created_before);
	tcase_add_test(c, released_at_leaves_the_spread);
	tcase_add_test(c, released_at_while_a_machine_boots);
	tcase_add_test(c, released_at_in_the_future);
	tcase_add_test(c, durations_of_the_pool);
	tcase_add_test(c, bad_value_is_told_once_and_does_not_count);
	tcase_add_loop_test(c, pool_gone_or_not_listed, 0, 2);
	tcase_add_loop_test(c, pool_made_anew, 0, 2);
	tcase_add_test(c, manual_hold_told);
	tcase_add_loop_test(c, manual_hold_is_no_past_of_the_scope, 0, 2);
	tcase_add_test(c, many_bad_values);
	tcase_add_test(c, nothing_before_the_pools_are_listed);
	tcase_add_test(c, the_pools_are_never_listed);
	tcase_add_loop_test(c, pools_known_from_before_the_lead, 0, 3);
	tcase_add_loop_test(c, a_moment_that_comes_twice, 0, 2);
	tcase_add_test(c, pool_gone_since_before_the_lead);
	tcase_add_test(c, pool_gone_while_another_led);
	tcase_add_test(c, told_by_each_leader);
	tcase_add_loop_test(c, own_deadline, 0,
			    (int)(sizeof(owns) / sizeof(owns[0])));
	tcase_add_checked_fixture(least, scene_setup, scene_teardown);
	tcase_add_test(least, fewer_hold_only_themselves);
	tcase_add_loop_test(least, too_far_apart, 0, 2);
	tcase_add_test(least, does_not_end_while_the_third_boots);
	tcase_add_test(least, tried_again_later_than_the_hold_period);
	tcase_add_test(least, no_flapping_at_the_threshold);
	tcase_add_loop_test(least, deleted_below_the_threshold, 0, 2);
	tcase_add_test(least, the_threshold_of_each_pool);
	tcase_add_test(least, names_come_and_go);
	return suite_run(s);
}
