/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

/* design §4, NodePool annotations: what each does, and which is stronger. */

#define MINUTE 60000
#define SLACK 5000

static struct rules rules;
static struct world *w;

static void
setup(void)
{
	rules = rules_default();
	w = world_new(&rules, THINGS, 1);
}

static void
teardown(void)
{
	world_free(w);
	w = NULL;
}

static void
use_scope(enum scope_kind scope, int64_t max_ms)
{
	teardown();
	rules.scope = scope;
	rules.cap = (struct cap_rules){max_ms, 5 * MINUTE};
	w = world_new(&rules, THINGS, 1);
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

static struct pool
pool_of(const char *name, enum pool_key k, const char *value)
{
	struct pool p;

	pool_init(&p);
	strcpy(p.name, name);
	snprintf(p.uid, sizeof(p.uid), "u-%s", name);
	pool_set(&p, k, value);
	return p;
}

static void
says(const char *name, enum pool_key k, const char *value)
{
	struct pool p = pool_of(name, k, value);

	world_pool(w, &p);
}

static void
says_at(const char *name, enum pool_key k, int64_t at_ms)
{
	char stamp[STAMP_BYTES];

	stamp_format(at_ms, stamp);
	says(name, k, stamp);
}

static void
says_nothing(const char *name)
{
	says(name, POOL_ENABLED, NULL);
}

/* A machine that has just become ready. */
static int64_t
new_machine(int n, const char *pool)
{
	machine_add(w, n, pool, server_ms(w) / 1000 * 1000);
	return claim_at(w, n)->o.ready_ms;
}

static unsigned
held_in(const char *pool)
{
	unsigned n = 0;

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		n += t->used && t->o.kind == KIND_NODE && thing_held(t) &&
		     strcmp(t->o.pool, pool) == 0;
	return n;
}

static unsigned
notes(enum note_type type, struct note *last)
{
	struct note n;
	unsigned count = 0;

	while (sweep_note(w->s, &n)) {
		if (n.type != type)
			continue;
		count++;
		*last = n;
	}
	return count;
}

START_TEST(disabled_is_cleared_and_does_not_count)
{
	old_pools();
	new_machine(4, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
	ck_assert_uint_eq(held_in("batch"), 2);
	says("web", POOL_ENABLED, "false");
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
	struct pool p;

	old_pools();
	pool_init(&p);
	strcpy(p.name, "web");
	p.disabled = true;
	p.hold_until_ms = server_ms(w) + 60 * MINUTE;
	world_pool(w, &p);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

START_TEST(hold_until_holds_this_pool_alone)
{
	int64_t until;
	struct note n;

	old_pools();
	until = server_ms(w) / 1000 * 1000 + 30 * MINUTE;
	says_at("web", POOL_HOLD_UNTIL, until);
	ck_assert_uint_eq(notes(NOTE_POOL_MANUAL, &n), 1);
	ck_assert_str_eq(n.name, "web");
	ck_assert_str_eq(n.uid, "u-web");
	ck_assert_int_eq(n.a, until);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 2);
	ck_assert_uint_eq(held_in("batch"), 0);
	world_run_until(w, until - 1);
	ck_assert_uint_eq(held_in("web"), 2);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	says_at("web", POOL_HOLD_UNTIL, until);
	ck_assert_uint_eq(notes(NOTE_POOL_MANUAL, &n), 0);
}
END_TEST

START_TEST(no_cap_ends_hold_until)
{
	int64_t until;

	use_scope(SCOPE_NODEPOOL, 10 * MINUTE);
	old_pools();
	until = server_ms(w) / 1000 * 1000 + 120 * MINUTE;
	says_at("web", POOL_HOLD_UNTIL, until);
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
	new_machine(4, "web");
	new_machine(5, "batch");
	world_run(w, SLACK);
	says_at("web", POOL_RELEASED_AT, server_ms(w));
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 0);
	ck_assert_uint_eq(held_in("batch"), 3);
	/* One that is made later counts as ever. */
	world_run(w, 2 * MINUTE);
	quiet = new_machine(6, "web") + rules.hold_ms;
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 4);
	world_run_until(w, quiet + SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* In scope `cluster` the others' activity still spreads to it. */
START_TEST(released_at_leaves_the_spread)
{
	int64_t quiet;

	old_pools();
	new_machine(4, "web");
	world_run(w, 2 * MINUTE);
	quiet = new_machine(5, "batch") + rules.hold_ms;
	world_run(w, SLACK);
	says_at("web", POOL_RELEASED_AT, server_ms(w));
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
	strcpy(o.pool, "web");
	o.launched = o.launch_known = true;
	t = thing_add(w, &o);
	world_run(w, MINUTE);
	ck_assert(thing_held(t));
	ck_assert_uint_eq(count_held(w, KIND_NODE), 4);
	says_at("web", POOL_RELEASED_AT, server_ms(w));
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	t->o.ready_ms = server_ms(w) / 1000 * 1000;
	thing_changed(w, t);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* It is told as bad, and counts when its moment has come. */
START_TEST(released_at_in_the_future)
{
	int64_t at;
	struct note n;

	old_pools();
	at = server_ms(w) / 1000 * 1000 + 5 * MINUTE;
	new_machine(4, "web");
	says_at("web", POOL_RELEASED_AT, at);
	ck_assert_uint_eq(notes(NOTE_POOL_INVALID, &n), 1);
	ck_assert_int_eq(n.a, POOL_RELEASED_AT);
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
	says("web", POOL_HOLD_DURATION, "2m");
	ready = new_machine(4, "web");
	(void)new_machine(5, "batch");
	world_run_until(w, ready + 2 * MINUTE - 1);
	ck_assert_uint_eq(held_in("web"), 3);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 0);
	ck_assert_uint_eq(held_in("batch"), 3);
	/* Longer, while it still runs: held again. */
	says("web", POOL_HOLD_DURATION, "1h");
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 3);
}
END_TEST

/* A machine every 5 minutes; the pool's cap ends it, or the config's does. */
static int64_t
first_release(const char *pool)
{
	for (int i = 0; i < 40; i++) {
		new_machine(10 + i, pool);
		world_run(w, 5 * MINUTE);
		if (held_in(pool) < 3)
			return (i + 1) * 5;
	}
	return -1;
}

static const struct {
	enum scope_kind scope;
	const char *max;
	int64_t minutes;
} caps[] = {
	{SCOPE_NODEPOOL, NULL, 65},
	{SCOPE_NODEPOOL, "30m", 35},
	{SCOPE_NODEPOOL, "2h", 125},
	{SCOPE_NODEPOOL, "0", -1},
	{SCOPE_CLUSTER, "30m", 65},	/* the config's */
};

START_TEST(cap_of_the_pool)
{
	int64_t minutes;

	use_scope(caps[_i].scope, 60 * MINUTE);
	old_pools();
	says("web", POOL_MAX_HOLD_DURATION, caps[_i].max);
	minutes = first_release("web");
	ck_assert_msg(llabs(minutes - caps[_i].minutes) <= 5,
		      "released after %lld min", (long long)minutes);
}
END_TEST

START_TEST(bad_value_is_told_once_and_does_not_count)
{
	struct note n;

	old_pools();
	says("web", POOL_HOLD_DURATION, "fast");
	says("web", POOL_HOLD_DURATION, "fast");
	ck_assert_uint_eq(notes(NOTE_POOL_INVALID, &n), 1);
	ck_assert_int_eq(n.a, POOL_HOLD_DURATION);
	ck_assert_str_eq(n.value, "fast");
	ck_assert_str_eq(n.uid, "u-web");
	says("web", POOL_HOLD_DURATION, "faster");
	ck_assert_uint_eq(notes(NOTE_POOL_INVALID, &n), 1);
	new_machine(4, "web");
	world_run(w, rules.hold_ms - 1000);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
}
END_TEST

/* Gone with the watch, or missing from the next list: nothing it said is left.
 * Nothing is held before the NodePools are listed. */
START_TEST(pool_gone_or_not_listed)
{
	old_pools();
	says_at("web", POOL_HOLD_UNTIL, server_ms(w) + 60 * MINUTE);
	world_run(w, SLACK);
	ck_assert_uint_eq(held_in("web"), 2);
	if (_i == 0) {
		world_pool_gone(w, "web");
		sweep_pool_gone(w->s, "web", world_now(w));
	} else {
		world_pool_gone(w, "web");
		sweep_listing(w->s, KIND_NODEPOOL);
		sweep_listed(w->s, KIND_NODEPOOL, true, world_now(w));
		world_run(w, SLACK);
		ck_assert_uint_eq(held_in("web"), 2);	/* half a view */
		sweep_watch(w->s, KIND_NODEPOOL, true);
	}
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
}
END_TEST

/* Deleted and made anew while nobody watched: what the old one said is gone. */
START_TEST(pool_made_anew)
{
	struct pool p;

	old_pools();
	new_machine(4, "web");
	world_run(w, SLACK);
	if (_i == 0)
		says("web", POOL_ENABLED, "false");
	else
		says_at("web", POOL_RELEASED_AT, server_ms(w) + 1000);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	sweep_listing(w->s, KIND_NODEPOOL);
	pool_init(&p);
	strcpy(p.name, "web");
	strcpy(p.uid, "another");
	world_pool(w, &p);
	sweep_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	sweep_watch(w->s, KIND_NODEPOOL, true);
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
}
END_TEST

/* hold-until is told where it counts, and when it comes to. */
START_TEST(manual_hold_told)
{
	struct note n;
	struct pool p;

	old_pools();
	says_at("excluded", POOL_HOLD_UNTIL, server_ms(w) + 60 * MINUTE);
	ck_assert_uint_eq(notes(NOTE_POOL_MANUAL, &n), 0);
	pool_init(&p);
	strcpy(p.name, "web");
	strcpy(p.uid, "u-web");
	p.hold_until_ms = server_ms(w) + 60 * MINUTE;
	p.disabled = true;
	world_pool(w, &p);
	ck_assert_uint_eq(notes(NOTE_POOL_MANUAL, &n), 0);
	p.disabled = false;
	world_pool(w, &p);
	ck_assert_uint_eq(notes(NOTE_POOL_MANUAL, &n), 1);
}
END_TEST

/* Marks of a hold by hand tell nothing of the scope, nor does a state that
 * says "none". */
START_TEST(manual_hold_is_no_past_of_the_scope)
{
	char text[200];
	struct buf b;
	int64_t until;
	struct note n;

	use_scope(SCOPE_CLUSTER, 60 * MINUTE);
	old_pools();
	until = server_ms(w) + 600 * MINUTE;
	says_at("batch", POOL_HOLD_UNTIL, until);
	new_machine(4, "web");
	world_run(w, 120 * MINUTE);
	ck_assert_uint_eq(held_in("batch"), 2);
	ck_assert_uint_eq(held_in("web"), 0);
	buf_init(&b, text, sizeof(text));
	ck_assert(sweep_soft(w->s, &b, false, world_now(w)));
	ck_assert_str_eq(text, "none");
	world_restart(w, 5);
	says_at("batch", POOL_HOLD_UNTIL, until);
	sweep_restore(w->s, _i == 0 ? "" : text, STAMP_NONE, world_now(w));
	world_open(w);
	new_machine(9, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(notes(NOTE_SCOPE_CAPPED, &n), 0);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 6);
}
END_TEST

START_TEST(many_bad_values)
{
	char name[16];
	struct note n;
	struct pool p;

	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		p = pool_of(name, POOL_ENABLED, "no");
		sweep_pool(w->s, &p, world_now(w));
	}
	ck_assert_uint_eq(notes(NOTE_POOL_INVALID, &n), 500);
}
END_TEST

START_TEST(nothing_before_the_pools_are_listed)
{
	old_pools();
	sweep_lead(w->s, false, world_now(w));
	sweep_lead(w->s, true, world_now(w));
	new_machine(4, "web");
	world_open(w);
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	sweep_listing(w->s, KIND_NODEPOOL);
	says("web", POOL_ENABLED, "false");
	sweep_listed(w->s, KIND_NODEPOOL, true, world_now(w));
	world_run(w, MINUTE);
	ck_assert_uint_eq(count_marked(w), 0);
	says_nothing("web");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 5);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("sweep: NodePools");
	TCase *c = run_case(s, "pools");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, disabled_is_cleared_and_does_not_count);
	tcase_add_test(c, disabled_is_stronger_than_hold_until);
	tcase_add_test(c, hold_until_holds_this_pool_alone);
	tcase_add_test(c, no_cap_ends_hold_until);
	tcase_add_test(c, released_at_ends_what_was_created_before);
	tcase_add_test(c, released_at_leaves_the_spread);
	tcase_add_test(c, released_at_while_a_machine_boots);
	tcase_add_test(c, released_at_in_the_future);
	tcase_add_test(c, durations_of_the_pool);
	tcase_add_loop_test(c, cap_of_the_pool, 0,
			    (int)(sizeof(caps) / sizeof(caps[0])));
	tcase_add_test(c, bad_value_is_told_once_and_does_not_count);
	tcase_add_loop_test(c, pool_gone_or_not_listed, 0, 2);
	tcase_add_loop_test(c, pool_made_anew, 0, 2);
	tcase_add_test(c, manual_hold_told);
	tcase_add_loop_test(c, manual_hold_is_no_past_of_the_scope, 0, 2);
	tcase_add_test(c, many_bad_values);
	tcase_add_test(c, nothing_before_the_pools_are_listed);
	return run_suite(s);
}
