/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/sweep.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/sort.h"
#include "sweep_parts.h"

/*
 * Which claims Karpenter made to replace others (docs/rules.md#replacements).
 *
 * Its Event says so of consolidation and drift, whenever it comes; what it said
 * is then written on the claim.  It is believed only where another claim was
 * marked for disruption shortly before, as anybody who may create Events could
 * write one.  Until it comes a claim may be undecided.
 *
 * A claim for the pods of a machine that expired, was interrupted or was deleted
 * by hand looks like any other: it is matched with the deletion (core/controller/deletions)
 * when it comes to count, once and for all.
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

/* Was another claim marked so shortly before this one was created? */
static bool
after_disruption(const struct sweep *s, const struct entry *claim,
		 int64_t within_ms)
{
	for (uint32_t i = 0; i < s->disruptions_n; i++) {
		const struct disruption *d = &s->disruptions[i];
		int64_t age = claim->created_stamp_ms - d->ms;

		if (age >= -STAMPS_MS && age <= within_ms &&
		    (d->several || strcmp(d->uid, claim->uid) != 0))
			return true;
	}
	return false;
}

/* 5 s after it was first seen and after it was seen launched, 30 s at most; and
 * until all NodeClaims are known. */
int64_t
sweep_undecided_ms(const struct sweep *s, const struct entry *claim)
{
	int64_t until = claim->seen_ms + UNDECIDED_MAX_MS, launched;

	if (!ignores(s) || claim->replaces[0] != '\0')
		return STAMP_NONE;
	if (!claim->judged && !sweep_settled(s))
		return COUNTS_LATER;
	if (!after_disruption(s, claim, DISRUPTION_MS))
		return STAMP_NONE;
	launched = claim->launch_seen_ms;
	if (launched != STAMP_NONE && launched + UNDECIDED_MS < until)
		until = launched + UNDECIDED_MS;
	return until;
}

/* --- disruptions --------------------------------------------------------------- */

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

static void
take(struct entry *e, const char *class)
{
	(void)str_copy(e->replaces, sizeof(e->replaces), class);
}

/* What Karpenter said, where it can be believed. */
static bool
believe(const struct sweep *s, struct entry *e)
{
	if (e->said[0] == '\0' || !after_disruption(s, e, DISRUPTION_SIGN_MS))
		return false;
	/* The first that names a reason stands. */
	if (e->replaces[0] == '\0' ||
	    strcmp(e->replaces, DISRUPTION_UNKNOWN) == 0)
		take(e, e->said);
	return true;
}

/* A claim that was seen before the one it replaces. */
static void
look_back(struct sweep *s, int64_t ms, int64_t now_ms)
{
	for (uint32_t id = 0; id < s->machines.top; id++) {
		struct entry *e = &s->machines.at[id];

		if (!e->used || e->kind != KIND_NODECLAIM ||
		    e->created_stamp_ms < ms - STAMPS_MS ||
		    e->created_stamp_ms > ms + DISRUPTION_SIGN_MS)
			continue;
		(void)believe(s, e);
		sweep_refresh(s, id, now_ms);
	}
}

/* --- what the watches say ------------------------------------------------------- */

static void
ignored(struct sweep *s)
{
	counter_add(s->counters, COUNTER_EVENTS_IGNORED);
}

/* The uid of the deletion that a class names; NULL: it names none. */
static const char *
substitutes(const char *class)
{
	size_t n = strlen(CLASS_SUBSTITUTE);

	return strncmp(class, CLASS_SUBSTITUTE, n) == 0 ? class + n : NULL;
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
	said = disruption_events_take(&s->disruption_events, e->uid);
	if (said != NULL)
		(void)str_copy(e->said, sizeof(e->said), said);
	if (e->classed) {
		take(e, o->replaces);
		if (substitutes(e->replaces) != NULL)
			deletions_spend(&s->deletions,
					substitutes(e->replaces));
	}
	/* Its list may yet show what was marked. */
	if (said != NULL && !believe(s, e) && !e->classed && sweep_settled(s))
		ignored(s);
	if (o->disrupted_ms != STAMP_NONE &&
	    remember(s, e->uid, o->disrupted_ms))
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
		disruption_events_put(&s->disruption_events, claim_uid, reason);
		return;
	}
	e = &s->machines.at[id];
	if (e->said[0] == '\0' || strcmp(e->said, DISRUPTION_UNKNOWN) == 0)
		(void)str_copy(e->said, sizeof(e->said), reason);
	if (believe(s, e))
		sweep_refresh(s, id, now.server_ms);
	else if (!e->classed)
		ignored(s);
}

/* --- substitutes ----------------------------------------------------------------- */

void
sweep_deleted(struct sweep *s, uint32_t id, int64_t deleted_ms, bool gone,
	      struct now now)
{
	struct entry *e = &s->machines.at[id];

	if (!s->leads || !ignores(s) || e->kind != KIND_NODECLAIM)
		return;
	if (e->deletion_seen) {
		if (gone)
			deletions_gone(&s->deletions, e->uid, now.server_ms);
		return;
	}
	e->deletion_seen = true;
	if (deleted_ms == STAMP_NONE)
		deleted_ms = now.server_ms;
	/* By Karpenter's choice: load that comes back is new.  And what is left
	 * out is of no scope. */
	if (e->disrupted ||
	    nodepools_terms(&s->nodepools, e->pool, now.server_ms).out)
		return;
	if (e->ready_ms == STAMP_NONE)
		sweep_retry(s, e, deleted_ms, now.server_ms);
	else if (!gone)		/* else nobody knows how it went */
		deletions_put(&s->deletions, e->uid, e->pool, deleted_ms);
}

void
sweep_judge(struct sweep *s, struct entry *claim, int64_t now_ms)
{
	const struct deletion *d;
	int64_t counts_ms = sweep_counts_ms(s, claim);
	int64_t undecided_ms = sweep_undecided_ms(s, claim);

	if (!ignores(s) || claim->judged || claim->deleting ||
	    counts_ms == STAMP_NONE || counts_ms > now_ms ||
	    undecided_ms > now_ms)
		return;
	claim->judged = true;
	d = deletions_match(&s->deletions, s->rules.scope, claim->pool,
			    claim->created_stamp_ms);
	if (d == NULL) {
		sweep_retried(s, claim, now_ms);
		return;
	}
	take(claim, CLASS_SUBSTITUTE);
	(void)str_copy(claim->replaces + strlen(CLASS_SUBSTITUTE), UID_BYTES,
		       d->uid);
	deletions_spend(&s->deletions, d->uid);
}

static bool
created_before(const void *ctx, uint32_t a, uint32_t b)
{
	const struct entry *at = ctx;

	if (at[a].created_stamp_ms != at[b].created_stamp_ms)
		return at[a].created_stamp_ms < at[b].created_stamp_ms;
	return strcmp(at[a].uid, at[b].uid) < 0;
}

/* After a list: in an order that every leader would come to. */
void
sweep_judge_all(struct sweep *s, int64_t now_ms)
{
	struct machines *m = &s->machines;
	uint32_t *ids = s->timers.order, n = 0;

	if (!ignores(s))
		return;
	for (uint32_t id = 0; id < m->top; id++) {
		const struct entry *e = &m->at[id];

		if (!e->used || e->kind != KIND_NODECLAIM)
			continue;
		if (e->classed && substitutes(e->replaces) != NULL)
			deletions_spend(&s->deletions,
					substitutes(e->replaces));
		else if (!e->judged)
			ids[n++] = id;
	}
	sweep_retries_judge(s, now_ms);
	ids_sort(ids, n, created_before, m->at);
	for (uint32_t i = 0; i < n; i++)
		sweep_judge(s, &m->at[ids[i]], now_ms);
}
