/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <stdio.h>
#include <string.h>

#include "scene.h"

#define SETTLE_MS 100000	/* the longest backoffs, and a write */
#define MACHINES 14		/* at once */

static uint64_t seed;
static int step, made;

/* What a person has chosen, and how often one stripped it. */
static struct choice {
	bool chosen;
	enum hold hold;
	int strips;
} choices[THINGS];

#define SAYS(cond, t)                                                          \
	ck_assert_msg(cond, "seed %llu step %d: %s hold %d mark %d",           \
		      (unsigned long long)seed, step, (t)->o.name,             \
		      (t)->o.hold, (t)->o.mark)

static struct choice *
choice_of(const struct thing *t)
{
	return &choices[t - w->at];
}

/* --- the naive model ------------------------------------------------------ */

static struct thing *
node_of(const struct thing *claim)
{
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && t->o.kind == KIND_NODE &&
		    strcmp(t->o.owner_uid, claim->o.uid) == 0)
			return t;
	return NULL;
}

static struct thing *
claim_of(const struct thing *node)
{
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && t->o.kind == KIND_NODECLAIM &&
		    strcmp(t->o.uid, node->o.owner_uid) == 0)
			return t;
	return NULL;
}

static int64_t
deadline_of(const struct thing *t)
{
	if (t->o.kind == KIND_NODE)
		return t->o.created_ms + rules.hold_ms;
	if (t->o.ready_ms != STAMP_NONE)
		return t->o.ready_ms + rules.hold_ms;
	return t->o.created_ms + rules.startup_ms + rules.hold_ms;
}

static bool
counts_at(const struct thing *t, int64_t at)
{
	const struct thing *node = node_of(t);

	if (t->o.kind == KIND_NODE || t->o.deleting ||
	    (node != NULL && node->o.deleting) ||
	    !rules_nodepool_included(&rules, t->o.nodepool))
		return false;
	return (t->o.launched || !t->o.launch_known) &&
	       t->o.created_ms + COUNTS_AGE_MS <= at;
}

static bool
scope_held_at(const struct thing *head, int64_t at)
{
	if (rules.scope == SCOPE_NODE)
		return false;
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && counts_at(t, at) && deadline_of(t) > at &&
		    (rules.scope == SCOPE_CLUSTER ||
		     strcmp(t->o.nodepool, head->o.nodepool) == 0))
			return true;
	return false;
}

static enum goal
wish_at(const struct thing *head, const struct thing *node, int64_t at)
{
	if (head->o.deleting || (node != NULL && node->o.deleting))
		return GOAL_LEAVE;
	if (!rules_nodepool_included(&rules, head->o.nodepool))
		return GOAL_CLEAR;
	if (deadline_of(head) > at)
		return GOAL_HOLD;
	if (!scope_held_at(head, at))
		return GOAL_CLEAR;
	return head->o.kind == KIND_NODECLAIM ? GOAL_HOLD : GOAL_LEAVE;
}

static bool
person_on(const struct thing *t)
{
	enum tenure tenure;

	if (t == NULL)
		return false;
	tenure = object_tenure(t->o.hold, t->o.mark);
	return tenure == TENURE_PERSON || tenure == TENURE_YIELDED;
}

/* `head` is the claim, or a Node that has none; `node` is the machine's
 * Node. */
static void
check_machine(const struct thing *head, const struct thing *node)
{
	int64_t now = server_ms(w);
	enum goal wish = wish_at(head, node, now);

	/* It must have been the same for as long as there was to settle in. */
	if (wish != wish_at(head, node, now - SETTLE_MS + 1000))
		return;
	if (wish == GOAL_CLEAR) {	/* I2 */
		SAYS(head->o.mark == MARK_ABSENT, head);
		if (node != NULL)
			SAYS(node->o.mark == MARK_ABSENT, node);
	}
	if (wish != GOAL_HOLD || person_on(head) || person_on(node))
		return;
	if (node != NULL)		/* I3 */
		SAYS(thing_held(node), node);
	if (node == NULL || !node->o.registered)
		SAYS(thing_held(head), head);
}

static void
check_world(void)
{
	for (struct thing *t = w->at; t < w->at + THINGS; t++) {
		const struct choice *c = choice_of(t);

		if (!t->used)
			continue;
		if (c->chosen) {	/* I1 */
			SAYS(t->o.hold == c->hold, t);
			SAYS(t->o.mark == MARK_ABSENT, t);
		}
		if (t->o.kind == KIND_NODECLAIM)
			check_machine(t, node_of(t));
		else if (claim_of(t) == NULL)
			check_machine(t, t);
	}
}

/* --- what happens --------------------------------------------------------- */

static struct thing *
random_thing(enum kind kind)
{
	uint32_t skip = roll(&w->dice, 2 * MACHINES);

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && t->o.kind == kind && skip-- == 0)
			return t;
	return NULL;
}

static void
webhook(struct object *o)
{
	bool included = rules_nodepool_included(&rules, o->nodepool);

	if (included && o->hold == HOLD_ABSENT && roll(&w->dice, 4) > 0)
		object_hold(o, server_ms(w));
}

static struct thing *
add(const struct object *o)
{
	struct thing *t = thing_add(w, o);

	*choice_of(t) = (struct choice){0};
	if (o->hold != HOLD_ABSENT && o->mark == MARK_ABSENT)
		*choice_of(t) = (struct choice){true, o->hold, 0};
	return t;
}

static void
make_claim(void)
{
	static const char *const nodepools[] = {"web", "web", "api",
						"excluded"};
	struct object o;
	char uid[20];
	int alive = 0;

	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		alive += t->used && t->o.kind == KIND_NODECLAIM;
	if (alive >= MACHINES)
		return;
	snprintf(uid, sizeof(uid), "c%d", made++);
	o = claim_new(uid, server_ms(w));
	strcpy(o.nodepool, nodepools[roll(&w->dice, 4)]);
	o.launch_known = roll(&w->dice, 2) == 0;
	if (roll(&w->dice, 8) == 0)	/* from the template */
		o.hold = roll(&w->dice, 3) == 0 ? HOLD_OTHER : HOLD_SAME;
	webhook(&o);
	add(&o);
}

static void
make_node(struct thing *claim)
{
	char name[20];
	struct object o;

	snprintf(name, sizeof(name), "n-%.16s", claim->o.uid);
	o = node_new(name, claim->o.uid, server_ms(w));
	strcpy(o.nodepool, claim->o.nodepool);
	webhook(&o);
	add(&o);
}

/* Karpenter copies the claim's annotations at registration. */
static void
register_node(struct thing *claim, struct thing *node)
{
	node->o.registered = true;
	if (claim->o.hold != HOLD_ABSENT) {
		node->o.hold = claim->o.hold;
		choice_of(node)->chosen = false;
	}
	if (claim->o.mark != MARK_ABSENT) {
		node->o.mark = claim->o.mark;
		node->o.mark_ms = claim->o.mark_ms;
		choice_of(node)->chosen = false;
	}
	thing_changed(w, node);
}

static void
karpenter(void)
{
	struct thing *claim = random_thing(KIND_NODECLAIM), *node;

	if (claim == NULL || claim->o.deleting) {
		make_claim();
		return;
	}
	node = node_of(claim);
	if (!claim->o.launched) {
		claim->o.launched = claim->o.launch_known = true;
		thing_changed(w, claim);
	} else if (node == NULL) {
		if (claim->o.ready_ms == STAMP_NONE)
			make_node(claim);
	} else if (!node->o.registered) {
		register_node(claim, node);
	} else if (claim->o.ready_ms == STAMP_NONE) {
		become_ready(claim);
	}
}

static void
deletions(void)
{
	struct thing *t = random_thing((enum kind)roll(&w->dice, 2));

	if (t == NULL)
		return;
	if (!t->o.deleting && roll(&w->dice, 2) == 0) {
		t->o.deleting = true;
		thing_changed(w, t);
		return;
	}
	thing_delete(w, t);
}

static void
person(void)
{
	struct thing *t = random_thing((enum kind)roll(&w->dice, 2));
	struct choice *c;

	if (t == NULL)
		return;
	c = choice_of(t);
	switch (roll(&w->dice, 4)) {
	case 0:		/* a hold of one's own, or ours taken over */
		t->o.hold = roll(&w->dice, 3) == 0 ? HOLD_OTHER : HOLD_SAME;
		t->o.mark = MARK_ABSENT;
		*c = (struct choice){true, t->o.hold, c->strips};
		break;
	case 1:		/* all gone, ours or theirs */
		if (c->strips == 2)
			return;
		c->strips += t->o.mark != MARK_ABSENT;
		c->chosen = false;
		t->o.hold = HOLD_ABSENT;
		t->o.mark = MARK_ABSENT;
		break;
	case 2:		/* opted out */
		c->chosen = false;
		t->o.hold = HOLD_ABSENT;
		break;
	default:	/* something of no interest to us */
		break;
	}
	thing_changed(w, t);
}

static enum reply_fault
some_fault(struct world *x, const struct action *a)
{
	(void)a;
	return roll(&x->dice, 8) == 0
		       ? (enum reply_fault)(1 + roll(&x->dice, REPLY_CONFLICT))
		       : REPLY_WHOLE;
}

static void
crash(void)
{
	world_restart(w, seed + (uint64_t)step);
	world_list(w, KIND_NODE);
	if (roll(&w->dice, 2) == 0)
		world_run(w, 3000);
	world_list(w, KIND_NODECLAIM);
}

static void
trouble(void)
{
	enum kind kind = (enum kind)roll(&w->dice, 2);

	switch (roll(&w->dice, 9)) {
	case 0:
		crash();
		break;
	case 1:
		world_list(w, kind);
		break;
	case 2:
	case 3:
		world_watch(w, kind, !w->up[kind]);
		break;
	case 4:
		w->frozen[kind] = !w->frozen[kind];
		break;
	case 5:
		w->offset_ms += (int64_t)roll(&w->dice, 800) - 400;
		break;
	case 6:
		w->reply_ms = 1 + roll(&w->dice, 3000);
		break;
	default:
		w->watch_ms = 1 + roll(&w->dice, 3000);
	}
}

static void
quiesce(void)
{
	w->fault = NULL;
	w->watch_ms = w->reply_ms = 30;
	for (int k = 0; k < KIND_COUNT; k++) {
		w->frozen[k] = false;
		if (roll(&w->dice, 2) == 0)
			world_watch(w, (enum kind)k, true);
		else
			world_list(w, (enum kind)k);
	}
	world_run(w, SETTLE_MS);
	check_world();
	w->fault = some_fault;
}

static void
random_step(void)
{
	switch (roll(&w->dice, 16)) {
	case 0:
		deletions();
		break;
	case 1:
	case 2:
		person();
		break;
	case 3:
		trouble();
		break;
	case 4:
	case 5:
		make_claim();
		break;
	default:
		karpenter();
	}
	world_run(w, roll(&w->dice, 4) == 0 ? roll(&w->dice, 20000)
					    : roll(&w->dice, 500));
	if (roll(&w->dice, 40) == 0)
		quiesce();
}

/* Nothing more happens.  In the end only people's holds are left. */
static void
come_to_rest(void)
{
	world_run(w, rules.startup_ms + 2 * rules.hold_ms + SETTLE_MS);
	quiesce();
	for (struct thing *t = w->at; t < w->at + THINGS; t++)
		if (t->used && !t->o.deleting &&
		    !(node_of(t) != NULL && node_of(t)->o.deleting) &&
		    !(t->o.kind == KIND_NODE && claim_of(t) != NULL &&
		      claim_of(t)->o.deleting))
			SAYS(t->o.mark == MARK_ABSENT, t);
}

void
walk(uint64_t from, const uint8_t *bytes, size_t n, int steps)
{
	seed = from;
	made = 0;
	memset(choices, 0, sizeof(choices));
	rules = rules_default();
	rules.scope = (enum scope_kind)(from % 3);
	/* The model here knows neither substitutes nor boots that failed. */
	rules.replacements = REPLACEMENTS_COUNT;
	rules.hold_ms = 150000;
	rules.startup_ms = 120000;
	w = world_new(&rules, THINGS, seed);
	w->dice.bytes = bytes;
	w->dice.left = n;
	w->fault = some_fault;
	world_open(w);
	for (step = 0; step < steps && (n == 0 || w->dice.left > 0); step++)
		random_step();
	quiesce();
	come_to_rest();
	world_free(w);
	w = NULL;
}
