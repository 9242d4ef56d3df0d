/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/sweep.h"

#include <string.h>

#include "core/base/buf.h"
#include "sweep_parts.h"

/*
 * Boots that failed.  Karpenter deletes a claim that does not get ready and
 * makes another: the same scale-up, tried again.  So that its scope is not
 * released in between, the machine goes on counting until a claim that was
 * created after its deletion has come to count, or for a minute.  Its timer
 * stands in the table under an id behind those of the machines.
 */

static uint32_t
timer_of(const struct sweep *s, const struct retry *r)
{
	return s->machines.cap + (uint32_t)(r - s->retries);
}

static void
retry_end(struct sweep *s, struct retry *r)
{
	timers_drop(&s->timers, timer_of(s, r));
	r->used = false;
}

/* Its own deadline, as that of a machine that boots, and its minute. */
static int64_t
deadline_of(const struct sweep *s, const struct retry *r,
	    const struct nodepool_terms *terms)
{
	int64_t own_ms = sweep_deadline_ms(
		s, r->own_created_ms, r->own_created_ms + s->rules.startup_ms,
		terms);

	return own_ms < r->until_ms ? own_ms : r->until_ms;
}

static void
retry_refresh(struct sweep *s, struct retry *r, int64_t now_ms)
{
	struct nodepool_terms terms =
		nodepools_terms(&s->nodepools, r->pool, now_ms);
	struct timer_facts f = {
		.pool = r->pool,
		.deadline_ms = deadline_of(s, r, &terms),
		.counts_ms = COUNTS_ALWAYS,
		.created_ms = r->own_created_ms,
		.first_ms = r->created_ms,
		.hold_ms = terms.hold_ms,
		.booting = true,
	};

	if (r->until_ms <= now_ms)
		retry_end(s, r);
	else if (terms.out || r->created_stamp_ms < terms.released_ms ||
		 f.deadline_ms <= now_ms)
		timers_drop(&s->timers, timer_of(s, r));	/* as it stands now */
	else if (timers_put(&s->timers, timer_of(s, r), &f, now_ms))
		retry_end(s, r);
}

void
sweep_retry(struct sweep *s, const struct entry *claim, int64_t deleted_ms,
	    int64_t now_ms)
{
	int64_t counts_ms = sweep_counts_ms(s, claim);
	int64_t undecided_ms = sweep_undecided_ms(s, claim);
	struct retry *r = s->retries;

	if (counts_ms == STAMP_NONE || counts_ms > now_ms ||
	    (undecided_ms > now_ms && undecided_ms != COUNTS_LATER))
		return;		/* while a list is under way: nobody knows yet */
	while (r < s->retries + RETRIES_MAX && r->used && r->until_ms > now_ms)
		r++;
	if (r == s->retries + RETRIES_MAX)
		return;
	*r = (struct retry){
		.used = true,
		.created_ms = claim->tried_ms,
		.own_created_ms = claim->created_ms,
		.until_ms = deleted_ms + RETRY_MS,
		.created_stamp_ms = claim->created_stamp_ms,
		.deleted_stamp_ms = deleted_ms,
	};
	memcpy(r->pool, claim->pool, sizeof(r->pool));
	memcpy(r->name, claim->name, sizeof(r->name));
	memcpy(r->uid, claim->uid, sizeof(r->uid));
	retry_refresh(s, r, now_ms);
}

/* One that has been released, or whose own time is over, is not tried again:
 * what comes is new. */
static bool
goes_on(const struct sweep *s, const struct retry *r, int64_t now_ms)
{
	return r->used && r->until_ms > now_ms &&
	       s->timers.at[timer_of(s, r)].used;
}

/* The next try of one of them, of its own pool before others: to minScaleUp it
 * is also as old as the first. */
void
sweep_retried(struct sweep *s, struct entry *claim, int64_t now_ms)
{
	struct retry *best = NULL;

	for (struct retry *r = s->retries; r < s->retries + RETRIES_MAX; r++) {
		bool own = strcmp(r->pool, claim->pool) == 0;

		if (!goes_on(s, r, now_ms) ||
		    claim->created_stamp_ms < r->deleted_stamp_ms - STAMPS_MS ||
		    (s->rules.scope != SCOPE_CLUSTER && !own))
			continue;
		if (best == NULL ||
		    (own && strcmp(best->pool, claim->pool) != 0))
			best = r;
	}
	if (best == NULL)
		return;
	claim->tried_ms = best->created_ms;
	retry_end(s, best);
}

void
sweep_retry_due(struct sweep *s, uint32_t id, int64_t now_ms)
{
	retry_refresh(s, &s->retries[id - s->machines.cap], now_ms);
}

void
sweep_retries_refresh(struct sweep *s, int64_t now_ms)
{
	for (struct retry *r = s->retries; r < s->retries + RETRIES_MAX; r++)
		if (r->used)
			retry_refresh(s, r, now_ms);
}

/* One that was undecided when it was deleted never counted. */
void
sweep_retries_judge(struct sweep *s, int64_t now_ms)
{
	for (struct retry *r = s->retries; r < s->retries + RETRIES_MAX; r++) {
		uint32_t id;

		if (!r->used)
			continue;
		id = machines_find_claim(&s->machines, r->uid);
		if (id != NO_ID &&
		    sweep_undecided_ms(s, &s->machines.at[id]) > now_ms)
			retry_end(s, r);
	}
}

void
sweep_retries_forget(struct sweep *s)
{
	for (struct retry *r = s->retries; r < s->retries + RETRIES_MAX; r++)
		if (r->used)
			retry_end(s, r);
}

void
sweep_retries_shift(struct sweep *s, int64_t by_ms)
{
	for (struct retry *r = s->retries; r < s->retries + RETRIES_MAX; r++) {
		r->created_ms += by_ms;
		r->own_created_ms += by_ms;
		r->until_ms += by_ms;
	}
}
