/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/controller/controller.h"
#include "objects.h"
#include "run.h"

/*
 * In which order a hold spreads
 * (docs/rules.md#machines-that-karpenter-could-disrupt-come-first).
 * The API server serves one write after the other, so the moment at which a
 * machine is held is the number of writes before.
 */

#define NOW 1767225600000	/* 2026-01-01 */
#define MACHINES 10000
#define LANES 64

static struct controller *s;
static struct counters counters;
static struct now now;
static struct dice dice;
static uint64_t version;

/* The machines that were there before: whom Karpenter could take, and when each
 * was held; -1: it is not. */
static bool exposed[MACHINES];
static int held_at[MACHINES];
static int n;

static struct object
claim_at(int i)
{
	struct object o = object_new(KIND_NODECLAIM, "", "", NOW - 7200000);

	snprintf(o.name, sizeof(o.name), "c%d", i);
	snprintf(o.uid, sizeof(o.uid), "u%d", i);
	snprintf(o.node_name, sizeof(o.node_name), "n%d", i);
	snprintf(o.rv, sizeof(o.rv), "%lu", (unsigned long)++version);
	o.ready_ms = NOW - 7100000;
	o.launched = o.launch_known = o.registered = true;
	return o;
}

static struct object
node_at(int i)
{
	struct object c = claim_at(i);
	struct object o = node_new(c.node_name, c.uid, NOW - 7150000);

	memcpy(o.rv, c.rv, sizeof(o.rv));
	o.registered = true;
	return o;
}

static void
track(struct object o)
{
	controller_track(s, &o, now);
}

static void
track_claim(int i, bool shows)
{
	struct object o = claim_at(i);

	o.exposed = shows && exposed[i];
	track(o);
}

/* The cluster is listed: `machines` of them, of which a share is exposed.
 * shows: the claims have the condition. */
static void
list(int machines, unsigned percent, bool shows)
{
	struct rules rules = {
		.hold_ms = 600000,
		.startup_ms = 900000,
		.min_scale_up = 1,
		.cap = {.max_ms = 3600000, .window_ms = 300000},
		.hold = {DEFAULT_HOLD_KEY, DEFAULT_HOLD_VALUE},
		.include = {.n = 1, .at = {"*"}},
	};

	dice = dice_new(7);
	version = 0;
	n = machines;
	now = (struct now){.server_ms = NOW, .boot_ms = 1000000};
	s = controller_new(&rules, MACHINES + 1, 1, &counters);
	ck_assert_ptr_nonnull(s);
	for (int k = 0; k < VIEW_COUNT; k++)
		controller_listing(s, (enum kind)k);
	for (int i = 0; i < n; i++) {
		exposed[i] = roll(&dice, 100) < percent;
		held_at[i] = -1;
		track(node_at(i));
		track_claim(i, shows);
	}
	for (int k = 0; k < VIEW_COUNT; k++) {
		controller_listed(s, (enum kind)k, true, now);
		controller_watch(s, (enum kind)k, true);
	}
	ck_assert_int_eq(controller_next(s, now).step, CONTROLLER_WAIT);
}

/* A machine is launched, and the hold is about to spread. */
static void
scale_up(void)
{
	struct object o = claim_at(n);

	o.created_ms = now.server_ms - COUNTS_AGE_MS;
	o.ready_ms = STAMP_NONE;
	o.registered = false;
	o.node_name[0] = '\0';
	object_hold(&o, o.created_ms);
	track(o);
}

static void
answer(const struct action *a)
{
	struct controller_outcome out = {.code = CONTROLLER_OK,
					 .action = a,
					 .retry_after_ms = -1};
	struct object o = node_at(atoi(a->name + 1));

	object_hold(&o, now.server_ms);
	memcpy(out.rv, o.rv, sizeof(out.rv));
	controller_done(s, &out, now);
	track(o);
}

/* Everybody is held, LANES writes at a time, whose answers come in any
 * order. */
static void
spread(void)
{
	static struct action flying[LANES];
	unsigned lanes = 0, one;
	int writes = 0;

	for (;;) {
		struct controller_todo t = controller_next(s, now);

		if (t.step == CONTROLLER_ACT) {
			int i = atoi(t.action.name + 1);

			ck_assert(t.action.act == ACT_HOLD &&
				  t.action.kind == KIND_NODE && i < n);
			ck_assert_int_eq(held_at[i], -1);
			held_at[i] = writes++;
			flying[lanes++] = t.action;
			if (lanes < LANES)
				continue;
		}
		if (lanes == 0)
			break;
		one = roll(&dice, lanes);
		answer(&flying[one]);
		flying[one] = flying[--lanes];
	}
	ck_assert_int_eq(writes, n);
}

/* The time in which an exposed machine is not held, summed up. */
static int64_t
exposure(void)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += exposed[i] ? held_at[i] : 0;
	return sum;
}

static const struct {
	int machines;
	unsigned percent;
} clusters[] = {{100, 20}, {1000, 2}, {1000, 10}, {1000, 20}, {10000, 20}};

/* At most a quarter of what it is where the order has nothing to do with it, as
 * when no claim shows the condition. */
START_TEST(a_quarter_of_the_exposure)
{
	int64_t before, after;

	list(clusters[_i].machines, clusters[_i].percent, false);
	scale_up();
	spread();
	before = exposure();
	controller_free(s);
	list(clusters[_i].machines, clusters[_i].percent, true);
	scale_up();
	spread();
	after = exposure();
	controller_free(s);
	ck_assert_int_gt(before, 0);
	ck_assert_int_le(4 * after, before);
}
END_TEST

/* However many are exposed, one action in 16 is for the others, and no more
 * while anybody exposed waits. */
START_TEST(nobody_starves)
{
	int order[1000];
	int others = 0, waiting = 0;

	list(1000, 90, true);
	scale_up();
	spread();
	for (int i = 0; i < n; i++) {
		order[held_at[i]] = i;
		waiting += exposed[i];
	}
	for (int at = 0; waiting > 0; at++) {
		waiting -= exposed[order[at]];
		others += !exposed[order[at]];
		if (waiting > 0)
			ck_assert_int_eq(others, (at + 1) / 16);
	}
	controller_free(s);
}
END_TEST

/* The condition counts as it is when the hold begins to spread. */
START_TEST(conditions_come_and_go)
{
	int first = 0;

	list(100, 50, true);
	for (int i = 0; i < n; i++) {
		exposed[i] = !exposed[i];
		track_claim(i, true);
	}
	scale_up();
	spread();
	for (int i = 0; i < n; i++)
		first += exposed[i] && held_at[i] < 30;
	ck_assert_int_eq(first, 29);
	controller_free(s);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("controller: exposed");
	TCase *c = run_case(suite, "exposed");

	tcase_add_loop_test(c, a_quarter_of_the_exposure, 0,
			    sizeof(clusters) / sizeof(clusters[0]));
	tcase_add_test(c, nobody_starves);
	tcase_add_test(c, conditions_come_and_go);
	return suite_run(suite);
}
