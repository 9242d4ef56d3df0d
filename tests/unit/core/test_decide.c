/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/rules/decide.h"
#include "run.h"

/*
 * decide() is a function of two halves and a goal.  These tests run it on every
 * combination there is, against properties of
 * docs/rules.md#what-people-may-do-while-we-hold and docs/rules.md#writes.
 */

#define HALVES (1 + 2 * 2 * 2 * 4 * 3 * 2)	/* absent, and all fields */

static struct half
half_at(int i)
{
	struct half h = {0};

	if (i-- == 0)
		return h;
	h.present = true;
	h.busy = i % 2 != 0;
	h.spent = (i /= 2) % 2 != 0;
	h.tenure = (enum tenure)((i /= 2) % 4);
	h.hold = (enum hold)((i /= 4) % 3);
	h.registered = (i /= 3) % 2 != 0;
	return h;
}

/* Can an object be like this? (core/base/object.c) */
static bool
possible(const struct half *h)
{
	if (!h->present)
		return true;
	switch (h->tenure) {
	case TENURE_FREE:
		return h->hold == HOLD_ABSENT;
	case TENURE_PERSON:
		return h->hold != HOLD_ABSENT;
	case TENURE_OURS:
		return h->hold == HOLD_SAME;
	default:
		return h->hold != HOLD_SAME;
	}
}

static const char *
half_name(const struct half *h, char out[80])
{
	static const char *const tenures[] = {"free", "person", "ours",
					      "yielded"};
	static const char *const holds[] = {"absent", "same", "other"};

	if (!h->present)
		return "absent";
	snprintf(out, 80, "%s hold=%s%s%s%s", tenures[h->tenure],
		 holds[h->hold], h->busy ? " busy" : "",
		 h->spent ? " spent" : "",
		 h->registered ? " registered" : "");
	return out;
}

struct state {
	struct half claim, node;
	enum goal wish;
};

static const char *
state_name(const struct state *s)
{
	static const char *const wishes[] = {"leave", "hold", "clear"};
	static char out[240];
	char a[80], b[80];

	snprintf(out, sizeof(out), "claim (%s) node (%s) wish %s",
		 half_name(&s->claim, a), half_name(&s->node, b),
		 wishes[s->wish]);
	return out;
}

typedef void property(const struct state *s, struct decision d);

static void
for_all(property *p)
{
	for (int i = 0; i < HALVES; i++) {
		for (int k = 0; k < HALVES; k++) {
			struct state s = {half_at(i), half_at(k), GOAL_LEAVE};

			if (!possible(&s.claim) || !possible(&s.node))
				continue;
			for (int w = 0; w < 3; w++) {
				s.wish = (enum goal)w;
				p(&s, decide(&s.claim, &s.node, s.wish));
			}
		}
	}
}

#define HOLDS_THAT(cond, s) ck_assert_msg(cond, "%s", state_name(s))

static const struct half *
target(const struct state *s, struct decision d)
{
	return d.on == KIND_NODE ? &s->node : &s->claim;
}

static bool
marked(const struct half *h)
{
	return h->present &&
	       (h->tenure == TENURE_OURS || h->tenure == TENURE_YIELDED);
}

/* --- properties ----------------------------------------------------------- */

static void
is_sane(const struct state *s, struct decision d)
{
	HOLDS_THAT(d.act == ACT_NONE || d.act == ACT_HOLD ||
			   d.act == ACT_CLEAR || d.act == ACT_UNMARK,
		   s);
	if (d.act == ACT_NONE)
		return;
	HOLDS_THAT(target(s, d)->present, s);
	HOLDS_THAT(!target(s, d)->busy, s);
	HOLDS_THAT(s->wish != GOAL_LEAVE, s);
}

static void
hold_is_right(const struct state *s, struct decision d)
{
	if (d.act != ACT_HOLD)
		return;
	HOLDS_THAT(s->wish == GOAL_HOLD, s);
	HOLDS_THAT(!decide_person(&s->claim, &s->node), s);
	HOLDS_THAT(target(s, d)->tenure == TENURE_FREE, s);
	HOLDS_THAT(!target(s, d)->spent, s);
	HOLDS_THAT(d.on == KIND_NODE ||
			   !(s->claim.registered ||
			     (s->node.present && s->node.registered)),
		   s);
	HOLDS_THAT(!d.release, s);
}

static bool
yielded(const struct half *h)
{
	return h->present && h->tenure == TENURE_YIELDED;
}

/* Only what carries our mark beside its hold loses the hold; what is yielded
 * or a person's loses at most the mark. */
static void
clear_is_of_ours(const struct state *s, struct decision d)
{
	if (d.act == ACT_CLEAR)
		HOLDS_THAT(target(s, d)->tenure == TENURE_OURS, s);
	if (d.act == ACT_UNMARK)
		HOLDS_THAT(marked(target(s, d)), s);
	if (d.act == ACT_CLEAR && s->wish == GOAL_HOLD)
		HOLDS_THAT(d.on == KIND_NODE && yielded(&s->claim), s);
	if (d.act == ACT_CLEAR && s->wish == GOAL_CLEAR)
		HOLDS_THAT(d.release, s);
}

/* Until its Node is registered: Karpenter may copy what stands there. */
static void
claim_goes_first(const struct state *s, struct decision d)
{
	if (s->wish != GOAL_CLEAR || d.act == ACT_NONE ||
	    d.on != KIND_NODE || s->node.registered)
		return;
	HOLDS_THAT(!marked(&s->claim), s);
	HOLDS_THAT(!(s->claim.present && s->claim.busy), s);
}

/* A claim that cannot be patched never keeps its Node held. */
static void
registered_node_waits_for_none(const struct state *s, struct decision d)
{
	if (s->wish != GOAL_CLEAR || !marked(&s->node) || s->node.busy ||
	    !s->node.registered)
		return;
	HOLDS_THAT(d.act == ACT_CLEAR || d.act == ACT_UNMARK, s);
	if (!marked(&s->claim) || s->claim.busy)
		HOLDS_THAT(d.on == KIND_NODE, s);
}

/* Mark without hold on the claim counts for the Node: what is ours there goes,
 * and does not come back. */
static void
opted_out_counts_for_the_node(const struct state *s, struct decision d)
{
	if (s->wish != GOAL_HOLD || !yielded(&s->claim))
		return;
	HOLDS_THAT(d.act != ACT_HOLD, s);
	if (!s->node.present || s->node.busy ||
	    s->node.tenure != TENURE_OURS)
		return;
	HOLDS_THAT(d.act == ACT_CLEAR && d.on == KIND_NODE, s);
}

/* A hold without mark on the claim and both on the Node: only the mark is
 * removed.  A person's hold on the unregistered Node would be copied over
 * (docs/rules.md#what-people-may-do-while-we-hold). */
static void
taken_over_is_unmarked(const struct state *s, struct decision d)
{
	if (s->wish == GOAL_LEAVE || d.act == ACT_NONE)
		return;
	if (s->claim.present && s->claim.tenure == TENURE_PERSON &&
	    s->claim.hold == HOLD_SAME && d.on == KIND_NODE)
		HOLDS_THAT(d.act == ACT_UNMARK, s);
	if (s->node.present && s->node.tenure == TENURE_PERSON &&
	    s->node.hold == HOLD_SAME && !s->node.registered &&
	    d.on == KIND_NODECLAIM)
		HOLDS_THAT(d.act == ACT_UNMARK, s);
	if (d.act == ACT_UNMARK)
		HOLDS_THAT(!d.release, s);
}

/* Nothing that could be done is left undone. */
static void
clear_is_live(const struct state *s, struct decision d)
{
	if (s->wish != GOAL_CLEAR || s->claim.busy || s->node.busy)
		return;
	HOLDS_THAT((d.act != ACT_NONE) ==
			   (marked(&s->claim) || marked(&s->node)),
		   s);
}

static void
hold_is_live(const struct state *s, struct decision d)
{
	const struct half *n = &s->node, *c = &s->claim;
	bool node_free = n->present && n->tenure == TENURE_FREE;
	bool claim_free = c->present && c->tenure == TENURE_FREE;

	if (s->wish != GOAL_HOLD || c->busy || n->busy || c->spent ||
	    n->spent || decide_person(c, n))
		return;
	if (node_free || (claim_free && !c->registered &&
			  !(n->present && n->registered)))
		HOLDS_THAT(d.act != ACT_NONE, s);
}

/* A person has decided: docs/rules.md#words. */
static void
person_is_told(const struct state *s, struct decision d)
{
	bool say = false;

	(void)d;
	for (int i = 0; i < 2; i++) {
		const struct half *h = i == 0 ? &s->claim : &s->node;

		say = say || (h->present && (h->tenure == TENURE_PERSON ||
					     h->tenure == TENURE_YIELDED));
	}
	HOLDS_THAT(decide_person(&s->claim, &s->node) == say, s);
}

/* What the write brings about. */
static void
apply(struct state *s, struct decision d)
{
	struct half *h = d.on == KIND_NODE ? &s->node : &s->claim;

	switch (d.act) {
	case ACT_HOLD:
		h->tenure = TENURE_OURS;
		h->hold = HOLD_SAME;
		break;
	case ACT_CLEAR:
		h->hold = HOLD_ABSENT;
		break;
	default:
		break;
	}
	if (d.act == ACT_HOLD)
		return;
	h->tenure = h->hold == HOLD_ABSENT ? TENURE_FREE : TENURE_PERSON;
}

/* Few writes, and then no more: no ping-pong. */
static void
ends(const struct state *s, struct decision d)
{
	struct state now = *s;
	int writes = 0;

	(void)d;
	now.claim.busy = now.node.busy = false;
	for (;;) {
		d = decide(&now.claim, &now.node, now.wish);
		if (d.act == ACT_NONE)
			break;
		apply(&now, d);
		HOLDS_THAT(++writes <= 4, s);
	}
	if (now.wish == GOAL_CLEAR)
		HOLDS_THAT(!marked(&now.claim) && !marked(&now.node), s);
	if (now.wish == GOAL_HOLD && now.node.present && !now.node.spent &&
	    !decide_person(&now.claim, &now.node))
		HOLDS_THAT(now.node.tenure == TENURE_OURS, s);
}

/* A person's hold survives every course of writes. */
static void
person_survives(const struct state *s, struct decision d)
{
	struct state now = *s;

	now.claim.busy = now.node.busy = false;
	for (int i = 0; i < 10; i++) {
		d = decide(&now.claim, &now.node, now.wish);
		if (d.act == ACT_NONE)
			break;
		apply(&now, d);
	}
	if (s->claim.present && s->claim.tenure == TENURE_PERSON)
		HOLDS_THAT(s->claim.hold == now.claim.hold, s);
	if (s->node.present && s->node.tenure == TENURE_PERSON)
		HOLDS_THAT(s->node.hold == now.node.hold, s);
}

static const struct {
	const char *name;
	property *p;
} properties[] = {
	{"sane, and nothing on a busy half", is_sane},
	{"hold only where nobody has a say", hold_is_right},
	{"clear only what is ours", clear_is_of_ours},
	{"claim before Node, until it is registered", claim_goes_first},
	{"a registered Node waits for none", registered_node_waits_for_none},
	{"opted out on the claim", opted_out_counts_for_the_node},
	{"taken over: the mark alone", taken_over_is_unmarked},
	{"every mark is cleared", clear_is_live},
	{"what can be held is held", hold_is_live},
	{"who has a say", person_is_told},
	{"a fixed point is reached", ends},
	{"a person's hold survives", person_survives},
};

START_TEST(holds_for_all)
{
	for_all(properties[_i].p);
}
END_TEST

/* --- single rows of docs/rules.md#what-people-may-do-while-we-hold -------- */

#define FREE {.present = true}
#define OURS {.present = true, .tenure = TENURE_OURS, .hold = HOLD_SAME}
#define THEIRS {.present = true, .tenure = TENURE_PERSON, .hold = HOLD_SAME}
#define STRIPPED {.present = true, .tenure = TENURE_YIELDED}
#define ABSENT {.present = false}

static const struct {
	const char *row;
	struct state s;
	enum act act;
	enum kind on;
} rows[] = {
	{"hold on claim, both on Node", {THEIRS, OURS, GOAL_HOLD}, ACT_UNMARK,
	 KIND_NODE},
	{"the same when quiet", {THEIRS, OURS, GOAL_CLEAR}, ACT_UNMARK,
	 KIND_NODE},
	{"mark removed from the unregistered Node",
	 {OURS, THEIRS, GOAL_HOLD}, ACT_UNMARK, KIND_NODECLAIM},
	{"mark removed from the registered Node",
	 {OURS, {.present = true, .tenure = TENURE_PERSON, .hold = HOLD_SAME,
		 .registered = true}, GOAL_CLEAR}, ACT_CLEAR, KIND_NODECLAIM},
	{"hold removed: respected", {FREE, STRIPPED, GOAL_HOLD}, ACT_NONE,
	 KIND_NODE},
	{"hold removed: mark dropped at release",
	 {FREE, STRIPPED, GOAL_CLEAR}, ACT_UNMARK, KIND_NODE},
	{"stripped both: held again", {FREE, FREE, GOAL_HOLD}, ACT_HOLD,
	 KIND_NODECLAIM},
	{"Node alone", {ABSENT, FREE, GOAL_HOLD}, ACT_HOLD, KIND_NODE},
	{"claim alone", {FREE, ABSENT, GOAL_HOLD}, ACT_HOLD, KIND_NODECLAIM},
	{"hold removed from the claim of an unregistered Node",
	 {STRIPPED, OURS, GOAL_HOLD}, ACT_CLEAR, KIND_NODE},
	{"… and of a registered one",
	 {STRIPPED, {.present = true, .tenure = TENURE_OURS, .hold = HOLD_SAME,
		     .registered = true}, GOAL_HOLD}, ACT_CLEAR, KIND_NODE},
	{"the claim's clear is under way, its Node not registered",
	 {{.present = true, .tenure = TENURE_OURS, .hold = HOLD_SAME,
	   .busy = true}, OURS, GOAL_CLEAR}, ACT_NONE, KIND_NODE},
	{"… and registered",
	 {{.present = true, .tenure = TENURE_OURS, .hold = HOLD_SAME,
	   .busy = true},
	  {.present = true, .tenure = TENURE_OURS, .hold = HOLD_SAME,
	   .registered = true}, GOAL_CLEAR}, ACT_CLEAR, KIND_NODE},
	{"nothing there", {ABSENT, ABSENT, GOAL_CLEAR}, ACT_NONE, KIND_NODE},
};

START_TEST(row)
{
	const struct state *s = &rows[_i].s;
	struct decision d = decide(&s->claim, &s->node, s->wish);

	ck_assert_msg(d.act == rows[_i].act, "%s: act %d", rows[_i].row,
		      d.act);
	if (d.act != ACT_NONE)
		ck_assert_msg(d.on == rows[_i].on, "%s", rows[_i].row);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("decide");
	TCase *c = run_case(s, "all"), *r = run_case(s, "rows");

	tcase_add_loop_test(c, holds_for_all, 0,
			    sizeof(properties) / sizeof(properties[0]));
	tcase_add_loop_test(r, row, 0, sizeof(rows) / sizeof(rows[0]));
	return suite_run(s);
}
