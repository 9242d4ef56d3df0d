/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sweep.h"

#include "sweep_parts.h"

/* What a machine is to the timer table: its deadline, and from when it counts
 * (design §4). */

static int64_t
counts_from(const struct sweep *s, const struct entry *claim)
{
	if (claim == NULL)
		return sweep_claimless(s) ? COUNTS_ALWAYS : STAMP_NONE;
	if (sweep_replaces(s, claim))
		return STAMP_NONE;
	if (claim->launched)
		return COUNTS_ALWAYS;
	return claim->launch_known ? STAMP_NONE
				   : claim->created_ms + LAUNCH_GRACE_MS;
}

static bool
being_deleted(const struct entry *claim, const struct entry *node)
{
	return (claim != NULL && claim->deleting) ||
	       (node != NULL && node->deleting);
}

/* A machine by itself is not held beyond the cap either.  A pool's own cap
 * counts where no other pool shares its scope. */
static int64_t
own_ms(const struct rules *r, const struct pool_terms *t)
{
	int64_t max_ms = r->scope == SCOPE_CLUSTER ? r->cap.max_ms : t->max_ms;

	return max_ms > 0 && max_ms < t->hold_ms ? max_ms : t->hold_ms;
}

/* Since when the machine is: its claim, or a Node without one. */
static int64_t
activity_ms(const struct sweep *s, const struct entry *e)
{
	if (e->kind == KIND_NODE)
		return e->created_ms;
	return e->ready_ms != STAMP_NONE ? e->ready_ms
					 : e->created_ms + s->rules.startup_ms;
}

/* The machine's deadline and from when it counts (design §4). */
static struct timer_facts
facts_of(const struct sweep *s, uint32_t head, const struct pool_terms *terms,
	 int64_t now_ms)
{
	const struct entry *claim = machines_claim(&s->machines, head);
	const struct entry *e = &s->machines.at[head];
	struct timer_facts f = {
		.pool = e->pool,
		.deadline_ms = activity_ms(s, e) + own_ms(&s->rules, terms),
		.counts_ms = counts_from(s, claim),
	};
	int64_t until = claim == NULL ? STAMP_NONE
				      : sweep_undecided_ms(s, claim);

	/* It is still its scope's: what others hold spreads to it. */
	if (e->created_stamp_ms < terms->released_ms) {
		f.deadline_ms = f.counts_ms = STAMP_NONE;
	} else if (until > now_ms) {
		f.undecided = true;
		f.counts_ms = until;	/* to be looked at again */
	}
	return f;
}

static void
set_timer(struct sweep *s, uint32_t head, int64_t now_ms)
{
	const struct machines *m = &s->machines;
	struct pool_terms terms = pools_terms(&s->pools, m->at[head].pool,
					      now_ms);
	struct timer_facts f = facts_of(s, head, &terms, now_ms);

	if (terms.out || being_deleted(machines_claim(m, head),
				       machines_node(m, head)))
		holds_drop(&s->holds, head);
	else if (holds_put(&s->holds, head, &f, now_ms))
		counter_add(s->counters, COUNTER_TABLE_FULL);
}

/* id's facts changed: its machine's timer follows, and it is looked at. */
void
sweep_refresh(struct sweep *s, uint32_t id, int64_t now_ms)
{
	uint32_t head = machines_head(&s->machines, id);

	if (!s->machines.at[id].used)
		return;
	if (head != id) {
		/* No head any more: nothing of that time is left. */
		holds_drop(&s->holds, id);
		sweep_want_hold(s, id, false);
		s->work[id].due_boot_ms = 0;
	}
	set_timer(s, head, now_ms);
	sweep_queue(s, head);
}

/* The soft state is lost: the oldest mark tells since when. */
static void
guess_since(struct sweep *s, uint32_t head, int64_t now_ms)
{
	const struct pool_terms t = pools_terms(
		&s->pools, s->machines.at[head].pool, now_ms);
	const struct entry *halves[] = {machines_claim(&s->machines, head),
					machines_node(&s->machines, head)};

	/* Held by hand, it tells nothing of its scope. */
	for (int i = 0; i < 2 && t.until_ms == STAMP_NONE; i++) {
		const struct entry *e = halves[i];

		if (e == NULL || entry_tenure(e) != TENURE_OURS)
			continue;
		/* A copied mark may be older than what it stands on. */
		holds_since(&s->holds, head,
			    e->mark == MARK_TIME && e->mark_ms > e->created_ms
				    ? e->mark_ms
				    : e->created_ms);
	}
}

void
sweep_guess(struct sweep *s, struct now now)
{
	for (uint32_t id = 0; id < s->machines.top; id++)
		if (s->machines.at[id].used &&
		    machines_head(&s->machines, id) == id)
			guess_since(s, id, now.server_ms);
	s->guess = false;
}
