/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/controller/status.h"
#include "scene.h"

/* The reports for /status, beside what the world knows. */

#define SCOPES_SEEN 9

static struct figures *f;

static void
setup(void)
{
	rules = rules_default();
	rules.cap = (struct cap_rules){60 * MINUTE, 10 * MINUTE};
	w = world_new(&rules, THINGS, 1);
	f = figures_new();
	ck_assert_ptr_nonnull(f);
}

static void
teardown(void)
{
	figures_free(f);
	scene_teardown();
}

/* Returns in how many slices. */
static unsigned
count_all(void)
{
	unsigned slices = 1;

	figures_begin(f);
	while (figures_count(w->s, f, world_now(w)))
		slices++;
	return slices;
}

static struct scope_status
the_scope(void)
{
	struct scope_status sc;
	uint32_t i = 0;

	(void)count_all();
	ck_assert(controller_scope_status(w->s, f, &i, world_now(w), &sc));
	return sc;
}

static struct nodepool_status
the_pool(const char *name)
{
	struct nodepool_status p;

	(void)count_all();
	for (uint32_t i = 0;
	     controller_nodepool_status(w->s, f, &i, world_now(w), &p);)
		if (strcmp(p.nodepool.name, name) == 0)
			return p;
	ck_abort_msg("no NodePool %s", name);
}

static struct status_report
the_whole(void)
{
	struct status_report r;

	controller_status(w->s, world_now(w), &r);
	return r;
}

static struct machine_status
the_machine(const char *name)
{
	struct machine_status m;

	ck_assert_msg(controller_machine(w->s, name, world_now(w), &m), "%s",
		      name);
	return m;
}

static bool
waits_for(const struct status_waits *waits, enum status_wait why)
{
	for (unsigned i = 0; i < waits->n; i++)
		if (waits->at[i].why == why)
			return true;
	return false;
}

static struct turn
latest_turn(void)
{
	uint64_t before = UINT64_MAX;
	struct turn t;

	ck_assert(controller_turn(w->s, &before, &t));
	return t;
}

static void
pool(const char *name, int64_t until, int64_t released)
{
	struct nodepool p;

	nodepool_init(&p);
	strcpy(p.name, name);
	snprintf(p.uid, sizeof(p.uid), "u-%s", name);
	strcpy(p.rv, "1");
	p.hold_until_ms = until;
	p.released_at_ms = released;
	strcpy(p.reason, "an audit");
	world_pool(w, &p);
}

/* Microseconds of this thread for one NodePool, when all of n are asked for; the
 * best of some. */
static double
cost_of_one(unsigned n)
{
	struct nodepool_status p;
	struct timespec from, to;
	double best = 1e9;

	for (int tries = 0; tries < 5; tries++) {
		unsigned seen = 0;
		double us;

		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		for (uint32_t i = 0; controller_nodepool_status(
			     w->s, f, &i, world_now(w), &p);)
			seen++;
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		ck_assert_uint_eq(seen, n);
		us = (double)(to.tv_sec - from.tv_sec) * 1e6 +
		     (double)(to.tv_nsec - from.tv_nsec) / 1e3;
		if (us / n < best)
			best = us / n;
	}
	return best;
}

/* --- figures ------------------------------------------------------------------- */

START_TEST(many_nodepools)
{
	double few = 0, many;
	struct nodepool p;

	nodepool_init(&p);
	for (unsigned n = 0; n < 4000; n++) {
		(void)snprintf(p.name, sizeof(p.name), "a-rather-long-name-%u",
			       n);
		controller_nodepool(w->s, &p, world_now(w));
		if (n == 99)
			few = cost_of_one(100);
	}
	many = cost_of_one(4000);
	/* Nobody who has a probe to answer looks for each among all. */
	ck_assert_msg(many < 5 * few, "%.2f us, and of 100 %.2f us", many, few);
}
END_TEST


START_TEST(counts)
{
	struct nodepool_status p;
	struct thing *t;

	pool("web", STAMP_NONE, STAMP_NONE);
	pool("batch", STAMP_NONE, STAMP_NONE);
	add_old(5);
	machine_add(w, 5, "batch", server_ms(w) - DAY);
	t = node_at(w, 0);	/* a person holds it */
	t->o.hold = HOLD_SAME;
	(void)thing_keep(w, t);
	t = node_at(w, 4);	/* … and keeps that one from being held */
	t->o.hold = HOLD_OTHER;
	(void)thing_keep(w, t);
	world_open(w);
	p = the_pool("web");
	ck_assert_uint_eq(p.n.machines, 5);
	ck_assert_uint_eq(p.n.held, 0);
	ck_assert_uint_eq(p.n.by_people, 1);
	ck_assert_uint_eq(p.n.opted_out, 1);
	ck_assert_uint_eq(p.n.unheld, 3);
	machine_now(9, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(the_pool("web").n.held, 4);
	t = node_at(w, 1);	/* a person takes our hold off it */
	t->o.hold = HOLD_ABSENT;
	thing_changed(w, t);
	world_run(w, SLACK);
	p = the_pool("web");
	ck_assert_uint_eq(p.n.machines, 6);
	ck_assert_uint_eq(p.n.held, 3);
	ck_assert_uint_eq(p.n.by_people, 1);
	ck_assert_uint_eq(p.n.opted_out, 2);
	ck_assert_uint_eq(p.n.waiting, 0);
	p = the_pool("batch");
	ck_assert_uint_eq(p.n.machines, 1);
	ck_assert_uint_eq(p.n.held, 1);
	machine_delete(w, 5);
	world_run(w, SLACK);
	ck_assert_uint_eq(the_pool("batch").n.machines, 0);
}
END_TEST

/* A machine that is being deleted is not held, and nothing is missing there. */
START_TEST(counts_what_is_being_deleted)
{
	pool("web", STAMP_NONE, STAMP_NONE);
	add_old(4);
	for (int i = 0; i < 2; i++) {
		struct thing *t = i == 0 ? node_at(w, 0) : claim_at(w, 1);

		t->o.deleting = true;
		(void)thing_keep(w, t);
	}
	world_open(w);
	ck_assert_uint_eq(the_pool("web").n.machines, 4);
	ck_assert_uint_eq(the_pool("web").n.unheld, 2);
	machine_now(9, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(the_pool("web").n.held, 3);
	ck_assert_uint_eq(the_pool("web").n.unheld, 0);
}
END_TEST

/* However many there are, each is counted once, and a slice is bounded. */
START_TEST(counts_in_slices)
{
	struct nodepool_status p;

	pool("web", STAMP_NONE, STAMP_NONE);
	add_old(390);
	world_open(w);
	/* One for the NodePools. */
	ck_assert_uint_eq(count_all(), 780 / STATUS_SLICE + 1 + 1);
	p = the_pool("web");
	ck_assert_uint_eq(p.n.machines, 390);
	machine_now(391, "web");
	world_run(w, MINUTE);
	p = the_pool("web");
	ck_assert_uint_eq(p.n.machines, 391);
	ck_assert_uint_eq(p.n.held, count_held(w, KIND_NODE));
	ck_assert_uint_eq(p.n.held, 391);
	ck_assert_str_eq(the_scope().machine, "c391");
}
END_TEST

START_TEST(a_write_that_waits)
{
	pool("web", STAMP_NONE, STAMP_NONE);
	open_old(3);
	go_wrong("n1", ACT_HOLD, REPLY_REFUSED, -1);
	machine_now(9, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(the_pool("web").n.waiting, 1);
	ck_assert_uint_eq(the_pool("web").n.held, 3);
}
END_TEST

/* --- scopes -------------------------------------------------------------------- */

START_TEST(a_hold)
{
	struct scope_status sc;
	int64_t begun, quiet;
	struct turn t;

	open_old(3);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_QUIET);
	ck_assert_int_eq(sc.since_ms, STAMP_NONE);
	ck_assert_int_eq(sc.until_ms, STAMP_NONE);
	begun = server_ms(w);
	quiet = machine_now(9, "web");
	world_run(w, SLACK);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_HELD);
	ck_assert_int_ge(sc.since_ms, begun);
	ck_assert_int_le(sc.since_ms, begun + SLACK);
	ck_assert_int_eq(sc.until_ms, quiet);
	ck_assert(!sc.earliest && !sc.until_cap && !sc.booting);
	ck_assert_str_eq(sc.machine, "c9");
	ck_assert_int_eq(sc.restarted_ms, quiet - rules.hold_ms);
	ck_assert_uint_eq(sc.machines, 4);
	ck_assert_int_eq(sc.cap_max_ms, 60 * MINUTE);
	ck_assert_int_ge(sc.cap_used_ms, SLACK / 2);
	t = latest_turn();
	ck_assert(t.what == TURN_HELD && t.cause == TURN_BY_SCALE_UP);
	ck_assert_str_eq(t.machine, "c9");
	ck_assert_int_eq(t.at_ms, sc.since_ms);
	ck_assert_int_eq(t.held_ms, -1);

	world_run_until(w, quiet + SLACK);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_QUIET);
	ck_assert_int_ge(sc.since_ms, quiet);
	ck_assert_int_eq(sc.until_ms, STAMP_NONE);
	ck_assert_str_eq(sc.machine, "c9");	/* it was the last */
	t = latest_turn();
	ck_assert(t.what == TURN_RELEASED && t.cause == TURN_BY_QUIET);
	ck_assert_str_eq(t.machine, "c9");
	ck_assert_int_ge(t.held_ms, rules.hold_ms - SLACK);
	ck_assert_uint_eq(the_whole().turns, 2);
}
END_TEST

START_TEST(a_boot)
{
	struct scope_status sc;

	open_old(3);
	(void)claim_boot(9);
	world_run(w, COUNTS_AGE_MS + SLACK);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_HELD && sc.earliest && sc.booting);
	ck_assert_int_eq(sc.until_ms, server_ms(w) + rules.hold_ms);
	ck_assert_str_eq(sc.machine, "c9");
}
END_TEST

START_TEST(a_cap)
{
	struct scope_status sc;
	struct turn t;

	open_old(3);
	for (int i = 0; i < 11; i++) {
		machine_now(10 + i, "web");
		world_run(w, 5 * MINUTE);
	}
	machine_now(30, "web");
	world_run(w, SLACK);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_HELD && sc.until_cap && !sc.earliest);
	ck_assert_int_ge(sc.until_ms, server_ms(w) + 4 * MINUTE);
	ck_assert_int_le(sc.until_ms, server_ms(w) + 6 * MINUTE);
	world_run(w, 6 * MINUTE);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_CAPPED);
	ck_assert_int_gt(sc.until_ms, server_ms(w));
	ck_assert_int_le(sc.until_ms, server_ms(w) + 10 * MINUTE);
	t = latest_turn();
	ck_assert(t.what == TURN_CAPPED && t.cause == TURN_BY_CAP);
	ck_assert_int_ge(t.held_ms, 59 * MINUTE);
}
END_TEST

/* A person releases the NodePool: the history says so. */
START_TEST(released_by_hand)
{
	struct turn t;

	pool("web", STAMP_NONE, STAMP_NONE);
	open_old(3);
	machine_now(9, "web");
	world_run(w, MINUTE);
	ck_assert(the_scope().state == SCOPE_HELD);
	pool("web", STAMP_NONE, server_ms(w) - 20000);
	world_run(w, SLACK);
	ck_assert(the_scope().state == SCOPE_QUIET);
	t = latest_turn();
	ck_assert(t.what == TURN_RELEASED && t.cause == TURN_BY_RELEASE);
	/* The next hold ends early, but not because of that. */
	world_run(w, 5 * MINUTE);
	machine_now(10, "web");
	world_run(w, MINUTE);
	ck_assert(the_scope().state == SCOPE_HELD);
	machine_delete(w, 10);
	world_run(w, SLACK);
	ck_assert(the_scope().state == SCOPE_QUIET);
	t = latest_turn();
	ck_assert(t.what == TURN_RELEASED && t.cause == TURN_BY_QUIET);
}
END_TEST

START_TEST(held_by_hand)
{
	int64_t until, since;
	struct nodepool_status p;
	struct nodepool off;
	struct scope_status sc;
	struct turn t;

	pool("web", STAMP_NONE, STAMP_NONE);
	open_old(3);
	until = server_ms(w) + 30 * MINUTE;
	pool("web", until, STAMP_NONE);
	world_run(w, SLACK);
	t = latest_turn();
	ck_assert(t.what == TURN_HELD && t.cause == TURN_BY_HAND);
	ck_assert_str_eq(t.scope, "web");
	ck_assert_int_eq(t.until_ms, until);
	since = t.at_ms;
	p = the_pool("web");
	ck_assert(p.by_hand && p.out == NODEPOOL_IN);
	ck_assert_uint_eq(p.n.held, 3);
	ck_assert_int_eq(the_machine("n1").manual_ms, until);
	ck_assert_str_eq(the_machine("n1").why, "hold-until");
	ck_assert_str_eq(the_machine("n1").reason, "an audit");
	/* That is all of the scope. */
	sc = the_scope();
	ck_assert(sc.state == SCOPE_HELD && sc.hand_alone && sc.until_hand);
	ck_assert_int_eq(sc.until_ms, until);
	ck_assert_int_eq(sc.since_ms, since);
	ck_assert_uint_eq(figures_by_hand(f, KIND_NODE), 3);
	/* The last of the NodePools that are held counts, and no other. */
	pool("batch", until, STAMP_NONE);
	world_run(w, MINUTE);
	ck_assert_int_gt(the_scope().since_ms, since);
	ck_assert_int_eq(the_scope().since_ms, latest_turn().at_ms);
	nodepool_init(&off);
	strcpy(off.name, "batch");
	strcpy(off.uid, "u-batch");
	off.disabled = true;
	off.hold_until_ms = until;
	world_pool(w, &off);
	world_run(w, SLACK);
	ck_assert(the_scope().hand_alone);
	ck_assert_int_eq(the_scope().since_ms, since);
	world_run_until(w, until + SLACK);
	ck_assert(!the_pool("web").by_hand);
	ck_assert_int_eq(the_machine("n1").manual_ms, STAMP_NONE);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_QUIET && !sc.hand_alone);
	ck_assert_uint_eq(figures_by_hand(f, KIND_NODE), 0);
}
END_TEST

/* A scope is held by hand if all of its NodePools are that may be held. */
START_TEST(held_by_hand_in_part)
{
	int64_t until = server_ms(w) + 30 * MINUTE, quiet;
	struct scope_status sc;
	struct nodepool off;

	pool("web", until, STAMP_NONE);
	pool("batch", STAMP_NONE, STAMP_NONE);
	nodepool_init(&off);
	strcpy(off.name, "off");
	strcpy(off.uid, "u-off");
	off.disabled = true;
	off.hold_until_ms = until + DAY;
	world_pool(w, &off);
	add_old(3);
	world_open(w);
	world_run(w, SLACK);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_QUIET && !sc.hand_alone && !sc.until_hand);
	ck_assert_uint_eq(sc.by_hand.nodepools, 2);
	ck_assert_uint_eq(sc.by_hand.held, 1);
	ck_assert_int_eq(sc.by_hand.last_ms, until);
	ck_assert(!the_pool("off").by_hand);
	/* The first hold-until that ends makes a part of it. */
	pool("batch", until - MINUTE, STAMP_NONE);
	world_run(w, SLACK);
	sc = the_scope();
	ck_assert(sc.hand_alone);
	ck_assert_int_eq(sc.until_ms, until - MINUTE);
	ck_assert_int_eq(sc.by_hand.first_ms, until - MINUTE);
	ck_assert_int_eq(sc.by_hand.last_ms, until);
	/* What the scope does besides is told too, and the later end. */
	quiet = machine_now(9, "web");
	world_run(w, SLACK);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_HELD && !sc.hand_alone && sc.until_hand);
	ck_assert_int_ne(sc.since_ms, STAMP_NONE);
	ck_assert_int_eq(sc.until_ms, until - MINUTE);
	pool("web", quiet - MINUTE, STAMP_NONE);
	world_run(w, SLACK);
	sc = the_scope();
	ck_assert(sc.state == SCOPE_HELD && !sc.until_hand);
	ck_assert_int_eq(sc.until_ms, quiet);
}
END_TEST

/* In scope nodepool each is held by its own hold-until. */
START_TEST(held_by_hand_alone)
{
	struct scope_status sc;
	uint32_t i = 0;

	rules.scope = SCOPE_NODEPOOL;
	scene_again();
	pool("web", server_ms(w) + 30 * MINUTE, STAMP_NONE);
	pool("batch", STAMP_NONE, STAMP_NONE);
	add_old(2);
	machine_add(w, 5, "batch", server_ms(w) - DAY);
	world_open(w);
	(void)count_all();
	while (controller_scope_status(w->s, f, &i, world_now(w), &sc))
		ck_assert_int_eq(sc.hand_alone, strcmp(sc.name, "web") == 0);
	ck_assert_uint_eq(figures_by_hand(f, KIND_NODE), 2);
	/* What the scope of the other holds is not held by hand. */
	machine_now(7, "batch");
	world_run(w, SLACK);
	ck_assert_uint_eq(the_pool("batch").n.held, 2);
	ck_assert_uint_eq(figures_by_hand(f, KIND_NODE), 2);
}
END_TEST

/* In scope nodepool each has its own. */
START_TEST(two_scopes)
{
	struct scope_status sc;
	unsigned n = 0;
	uint32_t i = 0;

	world_free(w);
	rules.scope = SCOPE_NODEPOOL;
	w = world_new(&rules, THINGS, 1);
	add_old(2);
	machine_add(w, 5, "batch", server_ms(w) - DAY);
	world_open(w);
	machine_now(9, "batch");
	world_run(w, SLACK);
	(void)count_all();
	while (controller_scope_status(w->s, f, &i, world_now(w), &sc)) {
		bool batch = strcmp(sc.name, "batch") == 0;

		n++;
		ck_assert(batch || strcmp(sc.name, "web") == 0);
		ck_assert(sc.state == (batch ? SCOPE_HELD : SCOPE_QUIET));
		ck_assert_uint_eq(sc.machines, 2);
	}
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(latest_turn().scope, "batch");
}
END_TEST

/* A scope that takes the place of another has not turned. */
START_TEST(a_place_that_is_used_again)
{
	struct scope_status sc;
	struct thing *claim;

	world_free(w);
	rules.scope = SCOPE_NODEPOOL;
	rules.cap.max_ms = 0;	/* a debt would keep the place */
	w = world_new(&rules, THINGS, 1);
	world_open(w);
	claim = claim_boot(1);
	world_run(w, COUNTS_AGE_MS + SLACK);
	ck_assert_str_eq(the_scope().name, "web");
	ck_assert_int_ne(the_scope().since_ms, STAMP_NONE);
	thing_delete(w, claim);
	world_run(w, DAY);
	machine_add(w, 2, "batch", server_ms(w) - DAY);
	world_run(w, SLACK);
	sc = the_scope();
	ck_assert_str_eq(sc.name, "batch");
	ck_assert(sc.state == SCOPE_QUIET);
	ck_assert_int_eq(sc.since_ms, STAMP_NONE);
}
END_TEST

/* --- what a release waits for ---------------------------------------------------- */

START_TEST(not_seen)
{
	struct status_report r;

	add_due(2);
	world_open(w);
	r = the_whole();
	ck_assert(r.leads && r.listed[KIND_NODE] && r.table.up[KIND_NODE]);
	ck_assert_uint_eq(r.waits.n, 0);
	world_watch(w, KIND_NODECLAIM, false);
	r = the_whole();
	ck_assert_uint_eq(r.waits.n, 1);
	ck_assert(r.waits.at[0].why == WAIT_UNSEEN);
	ck_assert(r.waits.at[0].kind == KIND_NODECLAIM);
	world_watch(w, KIND_NODECLAIM, true);
	ck_assert_uint_eq(the_whole().waits.n, 0);
}
END_TEST

START_TEST(a_list_that_fails)
{
	struct status_report r;
	int64_t quiet;

	open_old(2);
	quiet = machine_now(9, "web");
	world_run(w, SLACK);
	go_wrong(NULL, ACT_LIST_CLAIMS, REPLY_ERROR, -1);
	world_run_until(w, quiet + SLACK);
	r = the_whole();
	ck_assert(waits_for(&r.waits, WAIT_LIST_FAILED));
	ck_assert(r.waits.at[0].kind == KIND_NODECLAIM);
	ck_assert_uint_eq(count_held(w, KIND_NODE), 3);
}
END_TEST

START_TEST(a_pause)
{
	struct status_report r;

	open_old(2);
	w->retry_after_ms = 30000;
	go_wrong(NULL, ACT_HOLD, REPLY_BUSY, 1);
	machine_now(9, "web");
	world_run(w, SLACK);
	r = the_whole();
	ck_assert(waits_for(&r.waits, WAIT_PAUSED));
	ck_assert_int_gt(r.waits.at[0].until_ms, server_ms(w));
	world_run(w, 40000);
	ck_assert_uint_eq(the_whole().waits.n, 0);
}
END_TEST

/* --- one machine ------------------------------------------------------------------ */

START_TEST(found_by_both_names)
{
	struct machine_status m;
	int64_t quiet;

	open_old(2);
	quiet = machine_now(9, "web");
	world_run(w, SLACK);
	for (int i = 0; i < 2; i++) {
		m = the_machine(i == 0 ? "n9" : "c9");
		ck_assert_str_eq(m.node.name, "n9");
		ck_assert_str_eq(m.claim.name, "c9");
		ck_assert_str_eq(m.nodepool, "web");
		ck_assert(m.goal == GOAL_HOLD && !m.booting && m.registered);
		ck_assert_str_eq(m.why, "machine-settling");
		ck_assert_int_eq(m.own_ms, quiet);
		ck_assert(m.node.tenure == TENURE_OURS);
		ck_assert(m.node.written && m.node.last.act == ACT_HOLD &&
			  m.node.last.how == WRITTEN_OK);
		ck_assert_int_eq(m.node.again_ms, STAMP_NONE);
		ck_assert(m.claim.present);
	}
	m = the_machine("n0");
	ck_assert_str_eq(m.why, "scale-up");
	ck_assert_int_lt(m.own_ms, server_ms(w));
	world_run_until(w, quiet + SLACK);
	m = the_machine("n9");
	ck_assert(m.goal == GOAL_CLEAR);
	ck_assert_str_eq(m.why, "quiet");
	ck_assert(m.node.tenure == TENURE_FREE);
	ck_assert(m.node.last.act == ACT_CLEAR);
}
END_TEST

/* Returns the names of the machines of this rank, in one text. */
static const char *
ranked(enum machine_rank rank, const char *nodepool)
{
	static char names[4000];
	struct machine_status m;
	int found;

	names[0] = '\0';
	for (uint32_t i = 0; (found = controller_machine_next(
				      w->s, &i, rank, nodepool, world_now(w),
				      &m)) >= 0;)
		if (found > 0)
			snprintf(names + strlen(names),
				 sizeof(names) - strlen(names), "%s ",
				 m.node.present ? m.node.name : m.claim.name);
	return names;
}

/* Each machine has one rank, whatever its halves say. */
START_TEST(listed_by_rank)
{
	struct thing *t;
	uint32_t i = 0;
	struct machine_status m;

	add_old(4);
	machine_add(w, 5, "batch", server_ms(w) - DAY);
	t = node_at(w, 0);	/* a person holds it */
	t->o.hold = HOLD_SAME;
	(void)thing_keep(w, t);
	world_open(w);
	go_wrong("n2", ACT_HOLD, REPLY_REFUSED, -1);
	ck_assert_str_eq(ranked(MACHINE_LOOK, ""), "n0 ");
	ck_assert_str_eq(ranked(MACHINE_HELD, ""), "");
	ck_assert_str_eq(ranked(MACHINE_REST, ""), "n1 n2 n3 n5 ");
	ck_assert_str_eq(ranked(MACHINE_REST, "batch"), "n5 ");
	ck_assert_str_eq(ranked(MACHINE_REST, "none"), "");
	machine_now(9, "web");
	world_run(w, SLACK);
	ck_assert_str_eq(ranked(MACHINE_LOOK, ""), "n0 n2 ");
	ck_assert_str_eq(ranked(MACHINE_HELD, ""), "n1 n3 n5 n9 ");
	ck_assert_str_eq(ranked(MACHINE_HELD, "batch"), "n5 ");
	ck_assert_str_eq(ranked(MACHINE_REST, ""), "");
	(void)count_all();
	ck_assert_uint_eq(figures_machines(w->s, f, ""), 6);
	ck_assert_uint_eq(figures_machines(w->s, f, "batch"), 1);
	ck_assert_uint_eq(figures_machines(w->s, f, "none"), 0);
	ck_assert_int_eq(controller_machine_next(w->s, &i, MACHINE_HELD, "",
						 world_now(w), &m), 1);
	ck_assert_str_eq(m.why, "scale-up");
	t = node_at(w, 1);	/* a person takes our hold off it */
	t->o.hold = HOLD_ABSENT;
	thing_changed(w, t);
	world_run(w, SLACK);
	ck_assert_str_eq(ranked(MACHINE_LOOK, ""), "n0 n1 n2 ");
}
END_TEST

/* No look is longer than a slice. */
START_TEST(listed_in_slices)
{
	struct machine_status m;
	unsigned slices = 0;
	uint32_t i = 0;

	add_old(390);
	world_open(w);
	while (controller_machine_next(w->s, &i, MACHINE_HELD, "",
				       world_now(w), &m) == 0) {
		slices++;
		ck_assert_uint_eq(i, slices * STATUS_SLICE);
	}
	ck_assert_uint_eq(slices, 780 / STATUS_SLICE);
}
END_TEST

/* A name is found wherever its claim stands in the table, or not at all. */
START_TEST(found_far_behind)
{
	struct machine_status m;

	add_old(390);
	world_open(w);
	ck_assert_str_eq(the_machine("c389").node.name, "n389");
	ck_assert_str_eq(the_machine("n389").claim.name, "c389");
	ck_assert(!controller_machine(w->s, "c", world_now(w), &m));
	/* A text that the table knows, but no object is called so. */
	ck_assert(!controller_machine(w->s, "web", world_now(w), &m));
	machine_delete(w, 389);
	world_run(w, SLACK);
	ck_assert(!controller_machine(w->s, "c389", world_now(w), &m));
}
END_TEST

/* Each kind of NodePool that is left out has a word of its own. */
static const struct {
	const char *nodepool, *why;
	bool disabled, inert;
	enum nodepool_out out;
} left_outs[] = {
	{"excluded", "excluded", true, true, NODEPOOL_EXCLUDED},
	{"off", "disabled", true, true, NODEPOOL_DISABLED},
	{"fixed", "never-consolidated", false, true, NODEPOOL_INERT},
};

START_TEST(left_out)
{
	struct nodepool p;
	struct machine_status m;

	nodepool_init(&p);
	strcpy(p.name, left_outs[_i].nodepool);
	strcpy(p.uid, "u-p");
	strcpy(p.rv, "1");
	p.disabled = left_outs[_i].disabled;
	p.spec_known = p.inert = left_outs[_i].inert;
	world_open(w);
	world_pool(w, &p);
	machine_add(w, 9, p.name, server_ms(w));
	world_run(w, SLACK);
	ck_assert(the_pool(p.name).out == left_outs[_i].out);
	m = the_machine("n9");
	ck_assert(m.goal == GOAL_CLEAR);
	ck_assert_str_eq(m.why, left_outs[_i].why);
}
END_TEST

/* The metrics' figures of each scope, whose machines lie anywhere in the
 * table. */
START_TEST(quiet_of_each_scope)
{
	int64_t ready[SCOPES_SEEN], boot;
	struct scope_report r;
	unsigned seen = 0;
	char name[16];

	rules.scope = SCOPE_NODEPOOL;
	scene_again();
	boot = server_ms(w) - 9 * MINUTE;
	for (int n = 0; n < 90; n++) {
		int64_t at = boot + n * 37 % 90 * 1000;
		int k = n * 7 % SCOPES_SEEN;

		(void)snprintf(name, sizeof(name), "p%d", k);
		machine_add(w, n, name, at);
		if (n < SCOPES_SEEN || at > ready[k])
			ready[k] = at;
	}
	world_open(w);
	(void)count_all();
	for (uint32_t i = 0; controller_scope(w->s, f, &i, &r); seen++)
		ck_assert_int_eq(r.quiet_ms, ready[atoi(r.name + 1)] +
						     rules.hold_ms);
	ck_assert_uint_eq(seen, SCOPES_SEEN);
}
END_TEST

START_TEST(refused_and_tried_again)
{
	struct machine_status m;

	open_old(2);
	go_wrong("n1", ACT_HOLD, REPLY_REFUSED, -1);
	machine_now(9, "web");
	world_run(w, SLACK);
	m = the_machine("n1");
	ck_assert(m.goal == GOAL_HOLD && m.node.tenure == TENURE_FREE);
	ck_assert(m.node.written && m.node.last.how == WRITTEN_REFUSED);
	ck_assert_int_gt(m.node.again_ms, server_ms(w));
}
END_TEST

/* With MODE_OBSERVE the reports say what would be, and what was not written. */
START_TEST(observed)
{
	struct machine_status m;

	world_free(w);
	rules.mode = MODE_OBSERVE;
	w = world_new(&rules, THINGS, 1);
	pool("web", STAMP_NONE, STAMP_NONE);
	open_old(2);
	machine_now(9, "web");
	world_run(w, SLACK);
	ck_assert_uint_eq(count_marked(w), 0);
	ck_assert_uint_eq(the_pool("web").n.held, 3);
	ck_assert(the_scope().state == SCOPE_HELD);
	m = the_machine("n0");
	ck_assert(m.node.tenure == TENURE_OURS);
	ck_assert(m.node.written && m.node.last.act == ACT_HOLD &&
		  m.node.last.how == WRITTEN_OBSERVED);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("controller: status");
	TCase *c = run_case(s, "figures"), *sc = run_case(s, "scopes");
	TCase *r = run_case(s, "waits"), *m = run_case(s, "machines");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, counts);
	tcase_add_test(c, counts_what_is_being_deleted);
	tcase_add_test(c, counts_in_slices);
	tcase_add_test(c, many_nodepools);
	tcase_add_test(c, a_write_that_waits);
	tcase_add_checked_fixture(sc, setup, teardown);
	tcase_add_test(sc, a_hold);
	tcase_add_test(sc, a_boot);
	tcase_add_test(sc, a_cap);
	tcase_add_test(sc, released_by_hand);
	tcase_add_test(sc, held_by_hand);
	tcase_add_test(sc, held_by_hand_in_part);
	tcase_add_test(sc, held_by_hand_alone);
	tcase_add_test(sc, two_scopes);
	tcase_add_test(sc, quiet_of_each_scope);
	tcase_add_test(sc, a_place_that_is_used_again);
	tcase_add_checked_fixture(r, setup, teardown);
	tcase_add_test(r, not_seen);
	tcase_add_test(r, a_list_that_fails);
	tcase_add_test(r, a_pause);
	tcase_add_checked_fixture(m, setup, teardown);
	tcase_add_test(m, found_by_both_names);
	tcase_add_test(m, found_far_behind);
	tcase_add_loop_test(m, left_out, 0,
			    sizeof(left_outs) / sizeof(left_outs[0]));
	tcase_add_test(m, listed_by_rank);
	tcase_add_test(m, listed_in_slices);
	tcase_add_test(m, refused_and_tried_again);
	tcase_add_test(m, observed);
	return suite_run(s);
}
