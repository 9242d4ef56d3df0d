/* SPDX-License-Identifier: Apache-2.0 */
#include "replacements.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/sort.h"

/*
 * This file decides which NodeClaims replace others.  Karpenter's Events name
 * some of them (disruption_events.h).  An Event is believed if another claim
 * was marked for disruption before.  Other replacements are matched with a
 * deletion (deletions.h).  The result is the claim's class, which the
 * controller writes on the claim, so that the class outlives the lead.  All
 * else that this file remembers is forgotten when the lead ends.
 */

int
replacements_init(struct replacements *r, uint64_t seed)
{
	return deletions_init(&r->deletions, DELETIONS_MAX) ||
			       disruption_events_init(&r->disruption_events,
						      DISRUPTION_EVENTS_MAX,
						      seed)
		       ? -1
		       : 0;
}

void
replacements_done(struct replacements *r)
{
	disruption_events_done(&r->disruption_events);
	deletions_done(&r->deletions);
}

void
replacements_forget(struct replacements *r)
{
	r->disruptions_n = 0;
	disruption_events_forget(&r->disruption_events);
	deletions_forget(&r->deletions);
}

static bool
ignores(const struct replacements *r)
{
	return rules_tell_replacements(r->rules);
}

bool
replacements_is_one(const struct replacements *r, const struct entry *claim)
{
	return ignores(r) && claim->replaces != 0;
}

int64_t
replacements_counts_ms(const struct replacements *r, const struct entry *claim)
{
	if (replacements_is_one(r, claim) ||
	    (!claim->launched && claim->launch_known))
		return STAMP_NONE;
	if (!claim->judged && !views_settled(r->views))
		return COUNTS_LATER;
	return claim->created_ms + COUNTS_AGE_MS;
}

/* Returns whether another claim was marked for disruption shortly before this
 * claim was created. */
static bool
after_disruption(const struct replacements *r, const struct entry *claim)
{
	for (uint32_t i = 0; i < r->disruptions_n; i++) {
		const struct disruption *d = &r->disruptions[i];
		int64_t age = claim->created_stamp_ms - d->ms;

		if (age >= -STAMPS_MS && age <= DISRUPTION_EVENT_MS &&
		    (d->several ||
		     !machines_uid_is(r->machines, claim, d->uid)))
			return true;
	}
	return false;
}

/* --- disruptions ---------------------------------------------------------- */

/* Remembers when a claim was disrupted.  Only the latest moments are kept.
 * Returns whether this moment was not remembered before. */
static bool
remember(struct replacements *r, const char *uid, int64_t ms)
{
	struct disruption *oldest = &r->disruptions[0];

	for (uint32_t i = 0; i < r->disruptions_n; i++) {
		struct disruption *d = &r->disruptions[i];

		if (d->ms == ms && (d->several || strcmp(d->uid, uid) == 0))
			return false;
		if (d->ms == ms) {
			d->several = true;
			return true;
		}
		if (d->ms < oldest->ms)
			oldest = d;
	}
	if (r->disruptions_n < DISRUPTIONS_MAX)
		oldest = &r->disruptions[r->disruptions_n++];
	else if (oldest->ms > ms)
		return false;
	*oldest = (struct disruption){.ms = ms};
	memcpy(oldest->uid, uid, sizeof(oldest->uid));
	return true;
}

/* Returns the uid of the deleted claim that a class names, or NULL if the class
 * is not that of a substitute. */
static const char *
substitutes(const char *class)
{
	size_t n = strlen(CLASS_SUBSTITUTE);

	return strncmp(class, CLASS_SUBSTITUTE, n) == 0 ? class + n : NULL;
}

/* If Karpenter has named the claim as a replacement, takes one deletion that
 * has its replacement by that. */
static void
close_place(struct replacements *r, struct entry *e)
{
	if (e->kind == KIND_NODECLAIM && e->replaces != 0 && !e->closed &&
	    substitutes(machines_replaces(r->machines, e)) == NULL)
		e->closed = deletions_close(&r->deletions, r->rules->scope,
					    machines_nodepool(r->machines, e),
					    e->created_stamp_ms);
}

/* Takes over the reason in Karpenter's Event if the Event can be believed.
 * Returns whether it can. */
static bool
believe(struct replacements *r, struct entry *e)
{
	if (e->said == 0 || !after_disruption(r, e))
		return false;
	/* The first reason that is not DISRUPTION_UNKNOWN stands. */
	if (e->replaces == 0 ||
	    strcmp(machines_replaces(r->machines, e), DISRUPTION_UNKNOWN) == 0)
		machines_set_replaces(r->machines, e,
				      machines_said(r->machines, e));
	close_place(r, e);
	return true;
}

/* Judges the Event again, because a claim may be seen before the claim that it
 * replaces. */
bool
replacements_look_back(struct replacements *r, uint32_t id,
		       int64_t disrupted_ms)
{
	struct entry *e = &r->machines->at[id];

	if (!e->used || e->kind != KIND_NODECLAIM ||
	    e->created_stamp_ms < disrupted_ms - STAMPS_MS ||
	    e->created_stamp_ms > disrupted_ms + DISRUPTION_EVENT_MS)
		return false;
	(void)believe(r, e);
	return true;
}

/* --- what the watches say ------------------------------------------------- */

static void
ignored(struct replacements *r)
{
	counter_add(r->counters, COUNTER_DISRUPTION_EVENTS_IGNORED);
}

bool
replacements_track(struct replacements *r, uint32_t id, const struct object *o)
{
	struct entry *e = &r->machines->at[id];
	const char *said;

	if (!ignores(r) || e->kind != KIND_NODECLAIM)
		return false;
	/* With MODE_OBSERVE the class is not written, so the object does not
	 * show that the class was reported. */
	e->classed = o->replaces[0] != '\0' ||
		     (e->classed && r->rules->mode == MODE_OBSERVE);
	said = disruption_events_take(&r->disruption_events, o->uid);
	if (said != NULL)
		machines_set_said(r->machines, e, said);
	if (o->replaces[0] != '\0') {
		machines_set_replaces(r->machines, e, o->replaces);
		if (substitutes(o->replaces) != NULL)
			deletions_spend(&r->deletions,
					substitutes(o->replaces));
	}
	close_place(r, e);
	/* While the claims are being listed, the list may still show the claim
	 * that was marked for disruption, so the Event does not count as
	 * ignored yet. */
	if (said != NULL && !believe(r, e) && !e->classed &&
	    views_settled(r->views))
		ignored(r);
	/* If this claim is repaired before it was ready, the next claim is a
	 * scale-up, even if Karpenter says that the next claim replaces it.  So
	 * the disruption is not remembered, unless this claim was itself a
	 * replacement. */
	return o->disrupted_ms != STAMP_NONE &&
	       (!o->repaired || e->replaces != 0) &&
	       remember(r, o->uid, o->disrupted_ms);
}

uint32_t
replacements_said(struct replacements *r, const char *claim_uid,
		  const char *reason)
{
	uint32_t id = machines_find_claim(r->machines, claim_uid);
	struct entry *e;

	if (!ignores(r))
		return NO_ID;
	if (id == NO_ID) {
		disruption_events_put(&r->disruption_events, claim_uid, reason);
		return NO_ID;
	}
	e = &r->machines->at[id];
	if (e->said == 0 ||
	    strcmp(machines_said(r->machines, e), DISRUPTION_UNKNOWN) == 0)
		machines_set_said(r->machines, e, reason);
	if (believe(r, e))
		return id;
	if (!e->classed)
		ignored(r);
	return NO_ID;
}

/* --- substitutes ---------------------------------------------------------- */

/* Handles the deletion of a claim that was not ready and was no substitute.  If
 * the claim was never launched, it may have been made for the pods of a deleted
 * machine, and that deletion may still get a substitute. */
static void
launch_failed(struct replacements *r, const struct entry *e, int64_t deleted_ms)
{
	if (!e->launched && e->replaces == 0)
		deletions_extend(&r->deletions, r->rules->scope,
				 machines_nodepool(r->machines, e),
				 e->created_stamp_ms, deleted_ms);
}

static void
put_deletion(struct replacements *r, const char *uid, const char *nodepool,
	     int64_t deleted_ms, int64_t disrupted_ms)
{
	deletions_put(&r->deletions, uid, nodepool, deleted_ms, disrupted_ms);
	for (uint32_t id = 0;
	     disrupted_ms != STAMP_NONE && id < r->machines->top; id++)
		if (r->machines->at[id].used)
			close_place(r, &r->machines->at[id]);
}

void
replacements_deleted(struct replacements *r, uint32_t id, int64_t deleted_ms,
		     int64_t disrupted_ms, bool gone, int64_t now_ms)
{
	struct entry *e = &r->machines->at[id];
	const char *nodepool = machines_nodepool(r->machines, e);
	char uid[UID_BYTES];

	if (!ignores(r) || e->kind != KIND_NODECLAIM)
		return;
	machines_uid(r->machines, e, uid);
	if (e->deletion_seen) {
		if (gone)
			deletions_gone(&r->deletions, uid, now_ms);
		return;
	}
	e->deletion_seen = true;
	if (deleted_ms == STAMP_NONE)
		deleted_ms = now_ms;
	/* Karpenter has chosen to remove a disrupted claim, so no later claim
	 * is a substitute for it.  If the NodePool's machines do not count, the
	 * claim belongs to no scope. */
	if (e->disrupted ||
	    nodepools_terms(r->nodepools, nodepool, now_ms).uncounted)
		return;
	if (!machines_entry_was_ready(e) &&
	    substitutes(machines_replaces(r->machines, e)) == NULL)
		launch_failed(r, e, deleted_ms);
	/* If the claim was gone when the deletion was first seen, we cannot
	 * know the reason for the deletion, so it is not remembered. */
	else if (!gone)
		put_deletion(r, uid, nodepool, deleted_ms, disrupted_ms);
}

void
replacements_judge(struct replacements *r, struct entry *claim, int64_t now_ms)
{
	const struct deletion *d;
	int64_t counts_ms = replacements_counts_ms(r, claim);
	char class[CLASS_BYTES];
	struct buf b;

	if (claim->judged || claim->deleting || counts_ms == STAMP_NONE ||
	    counts_ms > now_ms)
		return;
	claim->judged = true;
	d = ignores(r) ? deletions_match(&r->deletions, r->rules->scope,
					 machines_nodepool(r->machines, claim),
					 claim->created_stamp_ms)
		       : NULL;
	if (d == NULL) {
		claim->again = timers_again(
			r->timers, machines_nodepool(r->machines, claim),
			claim->created_ms, claim->seen_ms);
		return;
	}
	buf_init(&b, class, sizeof(class));
	buf_puts(&b, CLASS_SUBSTITUTE);
	buf_puts(&b, d->uid);
	machines_set_replaces(r->machines, claim, class);
	deletions_spend(&r->deletions, d->uid);
}

static bool
created_before(const void *ctx, uint32_t a, uint32_t b)
{
	const struct machines *m = ctx;

	if (m->at[a].created_stamp_ms != m->at[b].created_stamp_ms)
		return m->at[a].created_stamp_ms < m->at[b].created_stamp_ms;
	return packed_uid_compare(&m->strings, m->at[a].uid, m->at[b].uid) < 0;
}

/* Claims are judged in the order of their creation, so every leader would come
 * to the same result. */
void
replacements_judge_all(struct replacements *r, int64_t now_ms)
{
	struct machines *m = r->machines;
	uint32_t *ids = r->timers->order, n = 0;

	if (!ignores(r))
		return;
	for (uint32_t id = 0; id < m->top; id++) {
		const struct entry *e = &m->at[id];
		const char *of;

		if (!e->used || e->kind != KIND_NODECLAIM)
			continue;
		of = substitutes(machines_replaces(m, e));
		if (e->classed && of != NULL)
			deletions_spend(&r->deletions, of);
		else if (!e->judged)
			ids[n++] = id;
	}
	sort_ids(ids, n, created_before, m);
	for (uint32_t i = 0; i < n; i++)
		replacements_judge(r, &m->at[ids[i]], now_ms);
}
