/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sweep.h"

#include <string.h>

#include "core/buf.h"
#include "sweep_parts.h"

/*
 * Which claims Karpenter made to replace another (design §4).  Its Event says
 * so, whenever it comes; what it said is then written on the claim.  Until
 * then a claim may be undecided, but only where another one's DisruptionReason
 * turned True shortly before.
 */

static bool
ignores(const struct sweep *s)
{
	return rules_tell_replacements(&s->rules);
}

bool
sweep_replaces(const struct sweep *s, const struct entry *claim)
{
	return ignores(s) && claim->replaces[0] != '\0';
}

static bool
after_disruption(const struct sweep *s, const struct entry *claim)
{
	for (uint32_t i = 0; i < s->disruptions_n; i++) {
		const struct disruption *d = &s->disruptions[i];
		int64_t age = claim->created_stamp_ms - d->ms;

		if (age >= -DISRUPTION_EARLY_MS && age <= DISRUPTION_MS &&
		    (d->several || strcmp(d->uid, claim->uid) != 0))
			return true;
	}
	return false;
}

/* 5 s after it was first seen and after it was seen launched, 30 s at most. */
int64_t
sweep_undecided_ms(const struct sweep *s, const struct entry *claim)
{
	int64_t until = claim->seen_ms + UNDECIDED_MAX_MS, launched;

	if (!ignores(s) || claim->replaces[0] != '\0' ||
	    !after_disruption(s, claim))
		return STAMP_NONE;
	launched = claim->launch_seen_ms;
	if (launched != STAMP_NONE && launched + UNDECIDED_MS < until)
		until = launched + UNDECIDED_MS;
	return until;
}

/* The latest moments are kept: of a claim as old as the others all is said.
 * Is it news? */
static bool
remember(struct sweep *s, const char *uid, int64_t ms)
{
	struct disruption *oldest = &s->disruptions[0];

	for (uint32_t i = 0; i < s->disruptions_n; i++) {
		struct disruption *d = &s->disruptions[i];

		if (d->ms == ms && (d->several || strcmp(d->uid, uid) == 0))
			return false;
		if (d->ms == ms) {
			d->several = true;
			return true;
		}
		if (d->ms < oldest->ms)
			oldest = d;
	}
	if (s->disruptions_n < DISRUPTIONS_MAX)
		oldest = &s->disruptions[s->disruptions_n++];
	else if (oldest->ms > ms)
		return false;
	*oldest = (struct disruption){.ms = ms};
	memcpy(oldest->uid, uid, sizeof(oldest->uid));
	return true;
}

/* A claim that was listed before the one it replaces. */
static void
look_back(struct sweep *s, int64_t ms, int64_t now_ms)
{
	for (uint32_t id = 0; id < s->machines.top; id++) {
		const struct entry *e = &s->machines.at[id];

		if (e->used && e->kind == KIND_NODECLAIM &&
		    e->created_stamp_ms >= ms - DISRUPTION_EARLY_MS &&
		    e->created_stamp_ms <= ms + DISRUPTION_MS)
			sweep_refresh(s, id, now_ms);
	}
}

static void
take(struct entry *e, const char *reason)
{
	(void)str_copy(e->replaces, sizeof(e->replaces), reason);
}

void
sweep_classify(struct sweep *s, uint32_t id, const struct object *o,
	       struct now now)
{
	struct entry *e = &s->machines.at[id];
	const char *said;

	if (!ignores(s) || e->kind != KIND_NODECLAIM)
		return;
	e->classed = o->replaces[0] != '\0';
	said = e->classed ? o->replaces : signs_take(&s->signs, e->uid);
	if (said != NULL)
		take(e, said);
	if (o->disrupted_ms != STAMP_NONE && remember(s, e->uid, o->disrupted_ms))
		look_back(s, o->disrupted_ms, now.server_ms);
}

void
sweep_sign(struct sweep *s, const char *claim_uid, const char *reason,
	   struct now now)
{
	uint32_t id = machines_find_claim(&s->machines, claim_uid);
	struct entry *e;

	if (!s->leads || !ignores(s))
		return;
	now = sweep_steady(s, now);
	if (id == NO_ID) {
		signs_put(&s->signs, claim_uid, reason);
		return;
	}
	e = &s->machines.at[id];
	/* The first that names a reason stands. */
	if (e->classed || (e->replaces[0] != '\0' &&
			   strcmp(e->replaces, SIGN_UNKNOWN) != 0))
		return;
	take(e, reason);
	sweep_refresh(s, id, now.server_ms);
}
