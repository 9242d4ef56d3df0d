/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

/*
 * Which NodePools people and tickets hold by hand (docs/rules.md#tickets).  A
 * ticket holds until the moment of its renewal, or until that at which the leader
 * first saw the renewal if this is earlier, plus its duration.
 */

/* Has the leader surely heard of what last became of the ticket? */
static bool
is_heard(const struct truth *t, const struct thing *ticket)
{
	int64_t at = later_of(ticket->touched, ticket->gone_at);

	return t->calm && t->leader != NULL && t->w->now > at + LAG_MS;
}

/* Until when it holds, at the earliest and at the latest. */
struct ends {
	int64_t lo, hi;
};

static struct ends
ends_of(const struct truth *t, const struct thing *ticket)
{
	const struct sight *s =
		t->leader == NULL ? NULL : &t->leader->sights[ticket->index];
	int64_t by = truth_jumped_by(t, ticket), now = t->clock;
	int64_t fresh = (ticket->renewed_ms < now ? ticket->renewed_ms : now) +
			ticket->lasts_ms;
	bool current = s != NULL && s->renewed_ms == ticket->renewed_ms &&
		       s->lasts_ms == ticket->lasts_ms;
	struct ends e = {STAMP_NONE, fresh};

	if (s == NULL || s->renewed_ms == 0)
		return e;	/* the leader is yet to hear of it */
	e.lo = ticket_seen_until(t->leader, s);
	e.hi = current ? e.lo : later_of(fresh, e.lo);
	if (!current || !is_heard(t, ticket))
		e.lo = s->was_until < e.lo ? s->was_until : e.lo;
	if (!is_heard(t, ticket))
		e.hi = later_of(e.hi, s->was_until);
	if (e.lo != STAMP_NONE)
		e.lo -= by;
	e.hi += by;
	return e;
}

int64_t
truth_hand_until(const struct truth *t, int nodepool)
{
	const struct pool_state *p = &t->w->nodepools[nodepool];
	int64_t until = p->until;

	for (int i = 0; i < t->w->things_n; i++) {
		const struct thing *o = &t->w->things[i];

		if (o->kind == KIND_TICKET && p->thing >= 0 &&
		    ticket_holds(o, p->name))
			until = later_of(until,
					 later_of(ends_of(t, o).hi,
						  o->gone_at >= 0 &&
								  o->gone_at +
										  SERVER_START <
									  ends_of(t, o).hi
							  ? o->gone_at +
								    SERVER_START
							  : STAMP_NONE));
	}
	return until;
}

struct maybe
truth_by_hand(struct truth *t, int nodepool)
{
	const struct pool_state *p = &t->w->nodepools[nodepool];
	bool hand = p->until != STAMP_NONE && !has_passed(t, p->until);
	struct maybe by = {hand, hand};

	for (int i = 0; p->thing >= 0 && i < t->w->things_n; i++) {
		const struct thing *o = &t->w->things[i];
		struct ends e;

		if (o->kind != KIND_TICKET || !ticket_holds(o, p->name))
			continue;
		if (!o->used && is_heard(t, o))
			continue;
		e = ends_of(t, o);
		if (e.hi != STAMP_NONE && !has_passed(t, e.hi))
			by.hi = true;
		if (e.lo != STAMP_NONE && !has_passed(t, e.lo) && o->used &&
		    is_heard(t, o))
			by.lo = true;
		turns_at(t, later_of(o->touched, o->gone_at) + LAG_MS + 1);
	}
	return by;
}
