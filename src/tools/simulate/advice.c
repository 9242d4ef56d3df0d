/* SPDX-License-Identifier: Apache-2.0 */
#include "advice.h"

#include <string.h>

#define DOLLAR 1000000.0

/* How a setting keeps the limits.  FAILS: it exceeds the limit of regret.
 * FITS: it keeps the limit of regret, but not the limit of price.
 * FITS_AND_IS_CHEAP: it keeps both. */
enum rank { FAILS, FITS, FITS_AND_IS_CHEAP };

struct candidate {
	enum rank rank;
	size_t setting;
	uint64_t left;
	int64_t node_s, hold_ms;
	double dollars;
	bool unpriced;
};

/* Returns whether the limit allows that `regret` of the decisions, whose number
 * is `decisions`, are regretted.  If the limit is a number, it is for `all`
 * decisions, and this function scales it by `decisions` / `all`. */
static bool
is_little(const struct advice_setup *asked, uint64_t regret, uint64_t decisions,
	  uint64_t all)
{
	return asked->percent ? 100 * regret <= asked->regret * decisions
			      : regret * all <= asked->regret * decisions;
}

/* Returns whether a is better than b.  Of two settings that exceed the limit of
 * regret, the one with less regret is better.  Of two settings with the same
 * number of node-seconds, the one with the shorter hold is better. */
static bool
is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->rank == FAILS && a->left != b->left)
		return a->left < b->left;
	if (a->node_s != b->node_s)
		return a->node_s < b->node_s;
	return a->hold_ms < b->hold_ms;
}

/* Judges setting i by the decisions numbered `from` to `to` - 1. */
static struct candidate
judge(const struct simulate_setup *s, const struct history *h, size_t i,
      uint64_t from, uint64_t to, const struct span *alone, uint64_t all)
{
	const struct advice_setup *asked = &s->advice;
	struct candidate c = {.setting = i,
			      .hold_ms = s->settings[i].rules.hold_ms};
	struct span sum;

	spans_sum(replay_spans(h->replays[i]), from, to, &sum);
	c.left = alone->regret - sum.spared;
	c.node_s = (int64_t)(sum.hours_high * 3600 + 0.5);
	c.dollars = sum.dollars_high * (double)all / (double)alone->decisions;
	c.unpriced = sum.unpriced > 0;
	if (!is_little(asked, c.left, alone->decisions, all))
		return c;
	c.rank = FITS;
	if (asked->price < 0 ||
	    (!c.unpriced && c.dollars * DOLLAR <= (double)asked->price))
		c.rank = FITS_AND_IS_CHEAP;
	return c;
}

/* Finds the verdict for the decisions numbered `from` to `to` - 1.  `all` is
 * the number of decisions in the whole log. */
static void
pick(const struct simulate_setup *s, const struct history *h, uint64_t from,
     uint64_t to, uint64_t all, struct advice_pick *p)
{
	struct candidate best = {.rank = FAILS};
	struct span alone;

	spans_sum(waits_spans(h->alone), from, to, &alone);
	*p = (struct advice_pick){.decisions = alone.decisions,
				  .regret = alone.regret,
				  .left = alone.regret};
	if (alone.decisions == 0)
		return;
	for (size_t i = 0; i < h->replays_n; i++) {
		struct candidate c = judge(s, h, i, from, to, &alone, all);

		p->fit += c.rank >= FITS;
		p->cheap += c.rank == FITS_AND_IS_CHEAP;
		if (i == 0 || is_better(&c, &best))
			best = c;
	}
	if (is_little(&s->advice, alone.regret, alone.decisions, all)) {
		p->verdict = ADVICE_ALONE;
		return;
	}
	p->verdict = p->cheap > 0 ? ADVICE_SETTING : ADVICE_NONE;
	p->setting = best.setting;
	p->left = best.left;
	p->dollars = best.dollars;
	p->unpriced = best.unpriced;
}

static bool
same(const struct advice_pick *a, const struct advice_pick *b)
{
	return a->verdict == b->verdict &&
	       (a->verdict != ADVICE_SETTING || a->setting == b->setting);
}

/* Returns the number of the decision at which the second half begins: the
 * boundary of spans (spans.h) that is nearest to the middle of the
 * decisions. */
static uint64_t
middle(const struct history *h, uint64_t decisions)
{
	uint64_t length = waits_spans(h->alone)->length, nearest = 0, off = 0;

	for (size_t i = 0; i < h->replays_n; i++)
		if (replay_spans(h->replays[i])->length > length)
			length = replay_spans(h->replays[i])->length;
	for (uint64_t n = 0; n <= SIMULATE_SPANS_MAX; n++) {
		uint64_t twice, away;
		struct span sum;

		spans_sum(waits_spans(h->alone), 0, n * length, &sum);
		twice = 2 * sum.decisions;
		away = twice > decisions ? twice - decisions
					 : decisions - twice;
		if (n == 0 || away < off) {
			off = away;
			nearest = n * length;
		}
	}
	return nearest;
}

void
advice_make(const struct simulate_setup *s, const struct history *h,
	    struct advice *out)
{
	struct span alone;
	uint64_t at;

	spans_sum(waits_spans(h->alone), 0, UINT64_MAX, &alone);
	*out = (struct advice){
		.early = alone.early,
		.unread = h->tally->what[READ_UNDECIDED],
		.gaps = h->tally->undecided_nodes + h->tally->late > 0,
		.no_makers = h->tally->makers[MAKER_PROVISIONER] == 0 &&
			     h->tally->makers[MAKER_UNKNOWN] > 0};
	at = middle(h, alone.decisions);
	pick(s, h, 0, UINT64_MAX, alone.decisions, &out->all);
	pick(s, h, 0, at, alone.decisions, &out->half[0]);
	pick(s, h, at, UINT64_MAX, alone.decisions, &out->half[1]);
	if (out->no_makers || alone.decisions < ADVICE_DECISIONS)
		out->all.verdict = ADVICE_LITTLE;
	out->sure = out->unread == 0 && !out->gaps &&
		    out->all.verdict != ADVICE_LITTLE &&
		    same(&out->all, &out->half[0]) &&
		    same(&out->all, &out->half[1]);
}
