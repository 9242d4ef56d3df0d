/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

/*
 * How many machines it takes to hold a scope where minScaleUp is a share of its
 * machines (docs/rules.md#a-scale-up-may-need-several-machines).  The leader
 * takes the share when it sees that a machine comes to count, and knows the
 * world of a moment ago.  So there is a fewest and a most for each machine: they
 * go apart until every leader has taken the share, and stand from then on.
 */

bool
truth_takes_several(const struct truth *t)
{
	return t->rules.min_scale_up > 1 || t->rules.min_scale_up_percent > 0;
}

/* Returns the moment up to which the leader knows everything. */
static int64_t
known_until(const struct truth *t)
{
	return (t->calm ? t->w->now : t->trouble_began) - LAG_MS;
}

/* Is its Node being deleted, gone or replaced, or was it since then? */
static bool
loses_node(const struct world *w, const struct machine *m, int64_t since)
{
	const struct thing *node = m->node < 0 ? NULL : &w->things[m->node];

	return node != NULL && (node->deleting || node->born >= since ||
				(!node->used && node->gone_at >= since));
}

/* Does the leader know of no NodePool yet?  It waits for them for a moment only,
 * and until they are listed it takes none for disabled or left alone. */
static bool
knows_no_nodepool(const struct truth *t)
{
	return t->leader != NULL &&
	       !t->leader->streams[KIND_NODEPOOL].complete;
}

/* Does the leader take this for a machine of its scope?  It may know what was
 * so at any moment since then. */
static struct maybe
is_machine(const struct truth *t, const struct machine *m, int64_t since)
{
	const struct world *w = t->w;
	const struct pool_state *p = &w->nodepools[m->pool_id];
	const struct thing *claim = m->claim < 0 ? NULL : &w->things[m->claim];
	bool out = truth_uncounted(w, &t->rules, m), there;
	bool turned = p->changed >= since || p->respecified >= since ||
		      knows_no_nodepool(t);

	if (claim == NULL)
		return (struct maybe){false, false};
	there = claim->used && !claim->deleting;
	return (struct maybe){
		.lo = there && !out && !turned &&
		      claim->born < since && !loses_node(w, m, since),
		.hi = (!out || turned) &&
		      (there || claim->deleted_at >= since ||
		       claim->gone_at >= since),
	};
}

struct bounds {
	uint32_t fewest, most;
};

static uint32_t
share_of(const struct truth *t, uint32_t machines)
{
	uint32_t takes = 1;

	while (takes * 100 < machines * t->rules.min_scale_up_percent)
		takes++;
	return takes;
}

/* Returns what the leader would take for this machine now. */
static struct bounds
takes_now(const struct truth *t, int machine)
{
	const struct world *w = t->w;
	uint32_t fewest = 1, most = 1;	/* the machine itself */

	if (w->full || (t->leader != NULL &&
			t->leader->streams[KIND_NODECLAIM].unserved))
		return (struct bounds){1, MACHINES};
	for (int i = 0; i < w->machines_n; i++) {
		struct maybe is = is_machine(t, &w->machines[i], known_until(t));

		if (i == machine ||
		    truth_scope_of(t, &w->machines[i]) !=
			    truth_scope_of(t, &w->machines[machine]))
			continue;
		fewest += is.lo;
		most += is.hi;
	}
	return (struct bounds){share_of(t, fewest), share_of(t, most)};
}

static void
widen(struct share *s, uint32_t fewest, uint32_t most)
{
	if (s->most == 0 || fewest < s->fewest)
		s->fewest = fewest;
	if (most > s->most)
		s->most = most;
}

/* It surely counts from `since` on, or the leader has seen that end. */
static void
look(struct truth *t, int machine, struct maybe counts)
{
	const struct machine *m = &t->w->machines[machine];
	const struct thing *claim = &t->w->things[m->claim];
	struct share *s = &t->machines[machine].share;
	bool alive = claim->used && !claim->deleting;
	bool sure = counts.lo && !(alive && loses_node(t->w, m, known_until(t)));
	struct bounds now;

	if (!counts.hi && !s->lost)
		s->lost_at = t->w->now;
	s->lost = !counts.hi;
	if (!counts.hi) {
		s->taken = false;
		return;
	}
	/* The leader has seen that it did not count. */
	if (s->lost_at >= 0 && s->lost_at < known_until(t))
		s->fewest = s->most = 0;
	if (s->lost_at >= 0)
		s->sure_since = t->w->now;
	s->lost_at = -1;
	if (s->taken && sure)
		return;
	s->taken = false;
	if (!sure || !t->calm || t->leader == NULL)
		s->sure_since = t->w->now;
	now = takes_now(t, machine);
	widen(s, now.fewest, now.most);
	s->taken = t->w->now > s->sure_since + LAG_MS;
	turns_at(t, s->sure_since + LAG_MS + 1);
}

void
truth_share(struct truth *t, int machine, struct maybe counts)
{
	if (t->rules.min_scale_up_percent > 0 &&
	    t->w->machines[machine].claim >= 0)
		look(t, machine, counts);
}

uint32_t
truth_takes(const struct truth *t, int machine, bool fewest)
{
	const struct share *s = &t->machines[machine].share;

	if (t->rules.min_scale_up_percent == 0)
		return t->rules.min_scale_up;
	return fewest ? s->fewest : s->most;
}
