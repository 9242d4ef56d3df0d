/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/sweep.h"

#include "sweep_parts.h"

/* What sweep_next asks of the whole: is all of it seen, and how long is there
 * nothing to do? */

static void
sooner(int64_t *wait_ms, int64_t at, int64_t now)
{
	int64_t ms = at > now ? at - now : 0;

	if (ms < *wait_ms)
		*wait_ms = ms;
}

const char *
sweep_unseen(const struct sweep *s)
{
	/* An Event can only shorten a hold. */
	for (int k = 0; k < VIEW_COUNT; k++)
		if (k != KIND_EVENT && (!s->view[k].listed || !s->view[k].up))
			return kind_name((enum kind)k);
	return NULL;
}

bool
sweep_whole(const struct sweep *s)
{
	return sweep_unseen(s) == NULL;
}

/* Holds that nobody can take away: worth a word, now and then. */
static void
tell_blocked(struct sweep *s, struct now now, int64_t *wait_ms)
{
	const char *unseen = sweep_unseen(s);
	uint32_t marked = 0;

	if (unseen == NULL)
		unseen = s->fresh.failed;
	for (int k = 0; k < KIND_COUNT; k++)
		marked += s->machines.marked[k];
	if (unseen == NULL || marked == 0) {
		s->blocked_boot_ms = 0;
		s->blocked = false;
		return;
	}
	if (s->blocked_boot_ms == 0)
		s->blocked_boot_ms = now.boot_ms + BLOCKED_MS;
	if (now.boot_ms >= s->blocked_boot_ms) {
		(void)notes_put(&s->notes, NOTE_BLOCKED, unseen, marked);
		s->blocked = true;
		s->blocked_boot_ms = now.boot_ms + BLOCKED_EVERY_MS;
	}
	sooner(wait_ms, s->blocked_boot_ms, now.boot_ms);
}

static bool
needs(const struct sweep *s, enum kind kind)
{
	if (s->view[kind].listed)
		return false;
	return kind == KIND_NODEPOOL ||
	       (kind == KIND_EVENT && rules_tell_replacements(&s->rules));
}

/* A person's say may stand on a NodePool, and where Karpenter's Events are not
 * listed what it replaced counts as scaled up.  But holding goes on whatever is
 * not seen, so neither is waited for without end. */
bool
sweep_begins(struct sweep *s, struct now now, int64_t *wait_ms)
{
	tell_blocked(s, now, wait_ms);
	if (s->begun)
		return false;
	if (s->begin_boot_ms == 0)
		s->begin_boot_ms = now.boot_ms + BEGIN_WAIT_MS;
	if ((needs(s, KIND_NODEPOOL) || needs(s, KIND_EVENT)) &&
	    now.boot_ms < s->begin_boot_ms) {
		sooner(wait_ms, s->begin_boot_ms, now.boot_ms);
		return true;
	}
	s->begun = true;
	for (int k = 0; k < VIEW_COUNT; k++)
		if (needs(s, (enum kind)k))
			(void)notes_put(&s->notes, NOTE_WITHOUT,
					kind_name((enum kind)k), 0);
	return false;
}

void
sweep_latency(struct sweep *s, struct now now)
{
	if (s->wanting_hold > 0 || s->in_flight > 0)
		return;
	for (uint32_t i = 0; i < s->timers.scopes_top; i++) {
		struct scope *sc = &s->timers.scopes[i];

		if (!sc->held || !sc->latency_open)
			continue;
		sc->latency_open = false;
		counters_hold_latency(s->counters,
				      (uint64_t)(now.boot_ms -
						 sc->since_boot_ms));
	}
}

int64_t
sweep_wait(const struct sweep *s, struct now now)
{
	int64_t wait = INT64_MAX, key, next = timers_next_ms(&s->timers);
	uint32_t id;

	if (next != STAMP_NONE)
		sooner(&wait, next, now.server_ms);
	next = timers_cap_next_ms(&s->timers);
	if (next != STAMP_NONE)
		sooner(&wait, next, now.boot_ms);
	for (uint32_t i = 0; i < s->timers.scopes_top; i++)
		if (s->timers.scopes[i].held && s->timers.scopes[i].moved &&
		    !s->timers.scopes[i].untold)
			sooner(&wait, s->timers.scopes[i].told_boot_ms +
					      MOVED_EVERY_MS, now.boot_ms);
	next = nodepools_next_ms(&s->nodepools, now.server_ms);
	if (next != STAMP_NONE)
		sooner(&wait, next, now.server_ms);
	if (heap_top(&s->later, &id, &key))
		sooner(&wait, key, now.boot_ms);
	if (s->fresh.wanted && !s->fresh.in_flight && sweep_whole(s)) {
		if (now.boot_ms < s->hint_until_ms)
			sooner(&wait, s->hint_until_ms, now.boot_ms);
		else
			sooner(&wait, s->fresh.not_before_boot_ms, now.boot_ms);
	}
	for (int k = 0; k < VIEW_COUNT; k++)
		if (s->view[k].room)
			sooner(&wait, s->view[k].ask_boot_ms, now.boot_ms);
	/* Nothing is written before the pause is over. */
	if (!queue_is_empty(&s->queue))
		sooner(&wait, s->paused_boot_ms, now.boot_ms);
	if (s->blocked_boot_ms != 0)
		sooner(&wait, s->blocked_boot_ms, now.boot_ms);
	if (wait < s->paused_boot_ms - now.boot_ms)
		wait = s->paused_boot_ms - now.boot_ms;
	return wait;
}
