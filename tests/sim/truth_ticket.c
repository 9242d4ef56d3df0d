/* SPDX-License-Identifier: Apache-2.0 */
#include "truth_parts.h"

/*
 * Which NodePools people and tickets hold by hand (docs/rules.md#tickets).  A
 * ticket holds until the moment of its renewal, or until that at which the
 * leader first saw the renewal if this is earlier, plus its duration.  A renewal
 * that is more than ten minutes ahead when the leader first sees it holds
 * nothing, and neither does a version that cannot be read or that is being
 * deleted.
 * Once tickets hold a NodePool, they do so for a minute at least.
 */

#define MINUTE_MS 60000

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
	bool whole = ticket_is_whole(ticket);
	int64_t fresh = (ticket->renewed_ms < now ? ticket->renewed_ms : now) +
			ticket->lasts_ms;
	bool current = s != NULL &&
		       s->renewed_ms == (whole ? ticket->renewed_ms : -1) &&
		       s->lasts_ms == ticket->lasts_ms;
	struct ends e = {STAMP_NONE, whole ? fresh : STAMP_NONE};

	if (s == NULL || s->renewed_ms == 0)
		return e;	/* the leader is yet to hear of it */
	e.lo = ticket_seen_until(t->leader, s);
	e.hi = current ? e.lo : later_of(e.hi, e.lo);
	if (!current || !is_heard(t, ticket))
		e.lo = s->was_until < e.lo ? s->was_until : e.lo;
	if (!is_heard(t, ticket))
		e.hi = later_of(e.hi, s->was_until);
	/* Before the leader has seen everything, a jump of its clock makes it
	 * look at the times of tickets again. */
	if (s->renewed_ms > s->renewed_clock)
		by += truth_clocks_apart(t, t->leader->led_since);
	if (e.lo != STAMP_NONE)
		e.lo -= by;
	if (e.hi != STAMP_NONE)
		e.hi += by;
	return e;
}

/* Do tickets hold the NodePool?  Sets *may_begin to whether they may begin to
 * do so now, because the leader may just hear of one of them. */
static struct maybe
by_tickets(struct truth *t, const struct pool_state *p, bool *may_begin)
{
	struct maybe by = {false, false};

	*may_begin = !t->calm;
	for (int i = 0; i < t->w->things_n; i++) {
		const struct thing *o = &t->w->things[i];
		struct ends e;

		if (o->kind != KIND_TICKET || !ticket_holds(o, p->name))
			continue;
		if (!o->used && is_heard(t, o))
			continue;
		e = ends_of(t, o);
		if (e.hi != STAMP_NONE && !has_passed(t, e.hi)) {
			by.hi = true;
			*may_begin |= o->used && !is_heard(t, o);
		}
		if (e.lo != STAMP_NONE && !has_passed(t, e.lo) && o->used &&
		    is_heard(t, o))
			by.lo = true;
		turns_at(t, later_of(o->touched, o->gone_at) + LAG_MS + 1);
	}
	return by;
}

/* Has the leader listed tickets and NodePools?  What it finds in these lists
 * has begun before. */
static bool
has_listed(const struct holder *h)
{
	return h != NULL && h->streams[KIND_TICKET].listed >= h->led_since &&
	       h->streams[KIND_NODEPOOL].listed >= h->led_since;
}

/* How far the leader's clock may have jumped since that moment. */
static int64_t
apart(const struct truth *t, int64_t since)
{
	const struct holder *h = t->leader;

	return truth_clocks_apart(t, since) +
	       (h != NULL && h->jumped_at + LAG_MS >= since
			? LAG_MS + h->jitter + 8000
			: 0);
}

/* In trouble the leader may hear late, and one after the other, of all versions
 * of a ticket that were written meanwhile.  Each of them may begin a hold. */
static bool
hears_late(const struct truth *t)
{
	for (int i = 0; !t->calm && i < t->w->things_n; i++) {
		const struct thing *o = &t->w->things[i];

		if (o->kind == KIND_TICKET &&
		    later_of(o->touched, o->gone_at) >
			    t->trouble_began - LAG_MS)
			return true;
	}
	return false;
}

void
truth_tickets(struct truth *t)
{
	int64_t now = t->w->now;
	bool late = hears_late(t);

	for (int i = 0; i < t->w->pools_n; i++) {
		const struct pool_state *p = &t->w->nodepools[i];
		struct hand_truth *x = &t->hands[i];
		struct maybe by = {false, false};
		bool may_begin = false;

		if (p->thing < 0 || p->disabled) {
			x->out = true;
			x->least = 0;
		} else {
			by = by_tickets(t, p, &may_begin);
			/* The leader may still hear of the NodePool. */
			may_begin |= x->out;
			by.lo &= !x->out;
			x->out &= !t->calm ||
				  now <= t->w->things[p->thing].touched + LAG_MS;
			turns_at(t, t->w->things[p->thing].touched + LAG_MS + 1);
		}
		if (by.hi && !x->by.hi) {
			x->since = now;
			x->begins = has_listed(t->leader) &&
				    now > later_of(x->least, x->least_hi);
		}
		x->begins &= t->calm && by.hi;
		if (by.hi || x->by.hi)
			x->last = now;
		if (((by.hi && !by.lo && may_begin) || late) &&
		    now >= x->least && has_listed(t->leader))
			x->least_hi = now + MINUTE_MS;
		if (by.lo && x->begins) {
			x->least = x->since + MINUTE_MS;
			x->begins = false;
		}
		x->by = by;
		turns_at(t, x->least - apart(t, x->since));
		turns_at(t, x->least_hi + apart(t, x->since));
	}
}

int64_t
truth_hand_until(const struct truth *t, int nodepool)
{
	const struct pool_state *p = &t->w->nodepools[nodepool];
	const struct hand_truth *x = &t->hands[nodepool];
	int64_t at = later_of(x->last, x->least_hi), until = p->until;

	if (at > 0)
		until = later_of(until, t->clock + at - t->w->now);
	for (int i = 0; i < t->w->things_n; i++) {
		const struct thing *o = &t->w->things[i];

		if (o->kind == KIND_TICKET && p->thing >= 0 &&
		    (o->used || !is_heard(t, o)) && ticket_holds(o, p->name))
			until = later_of(until, ends_of(t, o).hi);
	}
	return until;
}

struct maybe
truth_by_hand(struct truth *t, int nodepool)
{
	const struct pool_state *p = &t->w->nodepools[nodepool];
	const struct hand_truth *x = &t->hands[nodepool];
	bool hand = p->until != STAMP_NONE && !has_passed(t, p->until);

	int64_t by = apart(t, x->since);

	return (struct maybe){hand || x->by.lo || t->w->now < x->least - by,
			      hand || x->by.hi || t->w->now < x->least_hi + by};
}
