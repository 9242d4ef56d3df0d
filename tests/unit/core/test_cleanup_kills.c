/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cleanup_cluster.h"

/* `uninstall` in random small clusters, in which people, faults and kills come
 * in between.  Afterwards nothing of ours is left. */

#define SEEDS 1000
#define STORMY 400	/* steps with people, faults and kills */
#define CALM 2000	/* after them it ends */

struct storm {
	struct dice dice;
	bool calm, led;
	bool shown;		/* the list under way shows a mark or a class */
	int64_t clean_ms[2];	/* when the last two lists were complete; -1:
				   the list showed a mark or a class */
	unsigned kills, ends[CLEANUP_BROKEN + 1];
};

static void
people(struct storm *s)
{
	uint32_t i = roll(&s->dice, (uint32_t)cluster.n);
	struct thing *t = &cluster.at[i];

	cluster.at[i / 2 * 2].ours = cluster.at[i / 2 * 2 + 1].ours = false;
	switch (roll(&s->dice, 7)) {
	case 0:
		t->o.hold = HOLD_OTHER;
		t->persons = true;
		break;
	case 1:
		t->o.mark = MARK_ABSENT;
		t->persons = t->o.hold != HOLD_ABSENT;
		break;
	case 2:
		cluster_put(t, BARE);
		break;
	case 3:			/* deleted, and perhaps created again */
		t->there = roll(&s->dice, 2) != 0;
		(void)snprintf(t->o.uid, sizeof(t->o.uid), "new-%u-%u", i,
			       t->version);
		cluster_put(t, roll(&s->dice, 2) != 0 ? BARE : PERSONS);
		break;
	case 4:			/* Karpenter copies at registration */
		t->o.registered = true;
		break;
	default:
		break;		/* something of no interest to us */
	}
	cluster_changed(t);
}

static void
storm_answer(struct storm *s, unsigned i)
{
	struct thing *t = cluster_find(cluster.sent[i].object.kind,
				       cluster.sent[i].name);
	static const enum cleanup_code faults[] = {
		CLEANUP_REFUSED, CLEANUP_UNANSWERED, CLEANUP_CHANGED};

	if (t != NULL && !s->calm && roll(&s->dice, 4) == 0) {
		t->answer = faults[roll(&s->dice, 3)];
		t->times = 1;
		/* The write may have been done all the same. */
		if (t->answer == CLEANUP_UNANSWERED && roll(&s->dice, 2) == 0)
			(void)cluster_apply(&cluster.sent[i]);
	}
	cluster_answer(i);
}

static void
storm_list(struct storm *s, enum kind kind, struct cleanup_outcome *o)
{
	if (kind == KIND_NODE) {
		ck_assert_msg(s->led, "a list without a lead");
		s->led = s->shown = false;
		if (!s->calm && roll(&s->dice, 8) == 0)
			cluster_list(kind);
	}
	cluster_list(kind);
	for (int i = 0; i < cluster.n; i++)
		if (cluster.at[i].there && cluster.at[i].o.kind == kind &&
		    (cluster.at[i].o.mark != MARK_ABSENT ||
		     cluster.at[i].o.has_class))
			s->shown = true;
	if (!s->calm && roll(&s->dice, 20) == 0) {
		o->code = CLEANUP_FAILED;
	} else if (kind == KIND_NODECLAIM) {
		s->clean_ms[0] = s->clean_ms[1];
		s->clean_ms[1] = s->shown ? -1 : cluster.now;
	}
}

static void
storm_ask(struct storm *s, const struct cleanup_todo *t)
{
	struct cleanup_outcome o = {.led = true};

	ck_assert_uint_eq(cluster.sent_n, 0);
	if (t->step == CLEANUP_LIST)
		storm_list(s, t->kind, &o);
	else if (t->step == CLEANUP_LEAD)
		s->led = true;
	cluster_done(&o);
}

/* The API server may or may not do what is under way. */
static void
killed(struct storm *s)
{
	for (unsigned i = 0; i < cluster.sent_n; i++)
		if (roll(&s->dice, 2) == 0)
			(void)cluster_apply(&cluster.sent[i]);
	s->kills++;
	s->led = false;
	s->clean_ms[0] = s->clean_ms[1] = -1;
	cluster_start(&cluster_plain);
}

static void
machine(struct storm *s, uint32_t i)
{
	enum what on_claim = roll(&s->dice, PERSONS + 1);
	enum what on_node = roll(&s->dice, PERSONS + 1);
	struct thing *claim, *node;
	char names[2][16];

	(void)snprintf(names[0], sizeof(names[0]), "c%u", i);
	(void)snprintf(names[1], sizeof(names[1]), "n%u", i);
	claim = cluster_add(KIND_NODECLAIM, names[0], "", on_claim);
	node = cluster_add(KIND_NODE, names[1], names[0], on_node);
	claim->o.has_class = roll(&s->dice, 3) == 0;
	claim->o.registered = node->o.registered = roll(&s->dice, 2) == 0;
	claim->ours = on_claim <= ODD && on_node <= ODD;
	node->ours = claim->ours;
}

static void
storm_begin(struct storm *s, uint64_t seed)
{

	*s = (struct storm){.dice = dice_new(seed), .clean_ms = {-1, -1}};
	cluster_init();
	cluster.lanes = 2 + roll(&s->dice, LANES - 1);
	for (uint32_t i = 0, n = 1 + roll(&s->dice, 8); i < n; i++)
		machine(s, i);
	cluster_start(&cluster_plain);
}

static void
nothing_is_left(const struct storm *s)
{
	ck_assert_msg(s->clean_ms[0] >= 0 &&
			      s->clean_ms[1] >= s->clean_ms[0] + SETTLE,
		      "two lists have to show nothing");
	for (int i = 0; s->calm && i < cluster.n; i++) {
		const struct thing *t = &cluster.at[i];

		if (!t->there)
			continue;
		ck_assert_int_eq(t->o.mark, MARK_ABSENT);
		ck_assert(!t->o.has_class);
		if (t->ours)
			ck_assert_int_eq(t->o.hold, HOLD_ABSENT);
	}
}

/* Returns false when the command has ended. */
static bool
storm_step(struct storm *s)
{
	struct cleanup_todo t = cleanup_next(cluster.x, cluster_now());

	cluster.walk[0] = '\0';
	switch (t.step) {
	case CLEANUP_END:
		s->ends[t.verdict]++;
		ck_assert(!s->calm || t.verdict == CLEANUP_CLEAN);
		if (t.verdict == CLEANUP_CLEAN)
			nothing_is_left(s);
		return false;
	case CLEANUP_WAIT:
		if (cluster.sent_n > 0)
			storm_answer(s, roll(&s->dice, cluster.sent_n));
		else
			cluster.now += t.wait_ms;
		break;
	case CLEANUP_WRITE:
		ck_assert(t.write.object->mark != MARK_ABSENT ||
			  t.write.act == CLEANUP_DECLASSIFY);
		cluster_send(&t.write);
		while (cluster.sent_n == cluster.lanes)
			storm_answer(s, roll(&s->dice, cluster.sent_n));
		break;
	default:
		storm_ask(s, &t);
		break;
	}
	return true;
}

START_TEST(killed_at_any_moment)
{
	struct storm s, all = {.kills = 0};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		storm_begin(&s, seed);
		for (int i = 0; i < STORMY; i++) {
			cluster.now += roll(&s.dice, 300);
			if (roll(&s.dice, 12) == 0)
				people(&s);
			if (!storm_step(&s) || roll(&s.dice, 40) == 0)
				killed(&s);
		}
		s.calm = true;
		killed(&s);
		for (int i = 0; storm_step(&s); i++)
			ck_assert_msg(i < CALM, "seed %d: no end", (int)seed);
		cleanup_free(cluster.x);
		all.kills += s.kills;
		for (int i = 0; i <= CLEANUP_BROKEN; i++)
			all.ends[i] += s.ends[i];
	}
	ck_assert_uint_gt(all.kills, SEEDS);
	ck_assert_uint_gt(all.ends[CLEANUP_CLEAN], SEEDS);
	ck_assert_uint_gt(all.ends[CLEANUP_DENIED], 0);
	ck_assert_uint_gt(all.ends[CLEANUP_BROKEN], 0);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("cleanup_kills");

	tcase_add_test(run_case(s, "kills"), killed_at_any_moment);
	return suite_run(s);
}
