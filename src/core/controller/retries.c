/* SPDX-License-Identifier: Apache-2.0 */
#include "retries.h"

#include <string.h>

#include "core/base/str.h"
#include "deadline.h"

static uint32_t
timer_of(const struct retries *t, const struct retry *r)
{
	return t->first_id + (uint32_t)(r - t->at);
}

void
retries_end(struct retries *t, struct retry *r)
{
	timers_drop(t->timers, timer_of(t, r));
	r->used = false;
}

/* Returns the deadline that the machine would have if it still booted, or the
 * end of the boot's minute (until_ms) if that is earlier. */
static int64_t
deadline_of(const struct retries *t, const struct retry *r,
	    const struct nodepool_terms *terms)
{
	int64_t own_ms =
		deadline_ms(t->rules, r->own_created_ms,
			    r->own_created_ms + t->rules->startup_ms, terms);

	return own_ms < r->until_ms ? own_ms : r->until_ms;
}

static void
retry_refresh(struct retries *t, struct retry *r, int64_t now_ms)
{
	struct nodepool_terms terms =
		nodepools_terms(t->nodepools, r->nodepool, now_ms);
	int64_t deadline_ms = deadline_of(t, r, &terms);
	struct timer_facts f = {
		.nodepool = r->nodepool,
		.deadline_ms = deadline_ms,
		.own_ms = deadline_ms,
		.counts_ms = COUNTS_ALWAYS,
		.created_ms = r->own_created_ms,
		.first_ms = r->created_ms,
		.hold_ms = terms.hold_ms,
		.least = r->least,
		.booting = true,
	};

	if (r->until_ms <= now_ms)
		retries_end(t, r);
	else if (terms.uncounted || r->created_stamp_ms < terms.released_ms ||
		 f.deadline_ms <= now_ms)
		/* The boot does not count now, but a change of NodePool
		 * annotations may change that. */
		timers_drop(t->timers, timer_of(t, r));
	else if (timers_put(t->timers, timer_of(t, r), &f, now_ms))
		retries_end(t, r);
}

/* Returns how many machines minScaleUp required when the boot began to count.
 * If the boot begins to count only now, the function computes the number. */
static uint32_t
least_of(const struct retries *t, const struct entry *claim)
{
	const struct timer *own =
		timers_at(t->timers, machines_id(t->machines, claim));
	uint32_t least = own->least > 0 ? own->least : claim->least;

	return least == 0 && own->used && own->counted && own->scope != NO_SCOPE
		       ? timers_min_scale_up(t->timers, own->scope)
		       : least;
}

/* Returns the place of this claim's boot, or else a free place, or else NULL.
 * A claim that was found gone can be shown once more, by a watch that is
 * behind, and then be deleted again. */
static struct retry *
place_for(struct retries *t, const char *uid, int64_t now_ms)
{
	struct retry *free = NULL;

	for (struct retry *r = t->at; r < t->at + RETRIES_MAX; r++) {
		if (r->used && strcmp(r->uid, uid) == 0)
			return r;
		if (free == NULL && (!r->used || r->until_ms <= now_ms))
			free = r;
	}
	return free;
}

void
retries_put(struct retries *t, const struct entry *claim, int64_t deleted_ms,
	    int64_t now_ms)
{
	int64_t until_ms =
		(deleted_ms < now_ms ? deleted_ms : now_ms) + RETRY_MS;
	uint32_t least = least_of(t, claim);
	char uid[UID_BYTES];
	struct retry *r;

	machines_uid(t->machines, claim, uid);
	r = place_for(t, uid, now_ms);
	if (r == NULL)
		return;
	if (r->used && strcmp(r->uid, uid) == 0) {
		until_ms = r->until_ms < until_ms ? r->until_ms : until_ms;
		least = r->least;
	}
	*r = (struct retry){
		.used = true,
		.created_ms = machines_entry_tried_ms(claim),
		.own_created_ms = claim->created_ms,
		.until_ms = until_ms,
		.created_stamp_ms = claim->created_stamp_ms,
		.deleted_stamp_ms = deleted_ms,
		.least = least,
	};
	(void)str_copy(r->nodepool, sizeof(r->nodepool),
		       machines_nodepool(t->machines, claim));
	(void)str_copy(r->name, sizeof(r->name),
		       machines_name(t->machines, claim));
	memcpy(r->uid, uid, sizeof(r->uid));
	retry_refresh(t, r, now_ms);
}

/* Returns whether this boot can have a next try.  It cannot have one after it
 * was released by hand or after its own deadline; a later claim is then a new
 * scale-up. */
static bool
goes_on(const struct retries *t, const struct retry *r, int64_t now_ms)
{
	return r->used && r->until_ms > now_ms &&
	       timers_at(t->timers, timer_of(t, r))->used;
}

/* Takes the claim as the next try of one of the boots, preferably of its own
 * NodePool.  Towards minScaleUp the claim then also counts with the machines
 * around the first try, and needs as many machines as the first try did. */
void
retries_take(struct retries *t, struct entry *claim, int64_t now_ms)
{
	const char *nodepool = machines_nodepool(t->machines, claim);
	struct retry *best = NULL;

	for (struct retry *r = t->at; r < t->at + RETRIES_MAX; r++) {
		bool own = strcmp(r->nodepool, nodepool) == 0;

		if (!goes_on(t, r, now_ms) ||
		    claim->created_stamp_ms < r->deleted_stamp_ms - STAMPS_MS ||
		    (t->rules->scope != SCOPE_CLUSTER && !own))
			continue;
		if (best == NULL ||
		    (own && strcmp(best->nodepool, nodepool) != 0))
			best = r;
	}
	if (best == NULL)
		return;
	claim->tried_before_ms =
		stamp_gap_ms(best->created_ms, claim->created_ms);
	claim->least = timers_at(t->timers, timer_of(t, best))->least;
	retries_end(t, best);
}

void
retries_due(struct retries *t, uint32_t id, int64_t now_ms)
{
	retry_refresh(t, &t->at[id - t->first_id], now_ms);
}

void
retries_refresh(struct retries *t, int64_t now_ms)
{
	for (struct retry *r = t->at; r < t->at + RETRIES_MAX; r++)
		if (r->used)
			retry_refresh(t, r, now_ms);
}

void
retries_forget(struct retries *t)
{
	for (struct retry *r = t->at; r < t->at + RETRIES_MAX; r++)
		if (r->used)
			retries_end(t, r);
}

void
retries_shift(struct retries *t, int64_t by_ms)
{
	for (struct retry *r = t->at; r < t->at + RETRIES_MAX; r++) {
		r->created_ms += by_ms;
		r->own_created_ms += by_ms;
		r->until_ms += by_ms;
	}
}
