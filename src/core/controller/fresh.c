/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include <stdio.h>

#include "core/base/limits.h"
#include "controller_parts.h"

/*
 * This file handles the items of the fresh lists before a release, and the
 * objects that a GET has read.  Both may show only the metadata of a NodeClaim.
 * A claim that lists and watches leave out is known by its metadata only, and
 * counts as a machine that is not ready
 * (docs/rules.md#objects-that-are-too-large).
 */

/* Adds to the metadata what else the table knows of the claim.  If the table
 * has it as not launched, launch_known becomes false, because the claim may
 * have been launched since. */
static void
add_known(const struct controller *s, struct object *claim)
{
	uint32_t id = machines_find_claim(&s->machines, claim->uid);
	const struct entry *e;

	if (id == NO_ID)
		return;
	e = machines_at(&s->machines, id);
	claim->launched = claim->launch_known = e->launched;
	claim->ready_ms = e->ready_stamp_ms;
	claim->rebooted = e->rebooted;
	claim->disrupted = e->disrupted;
	claim->exposed = e->exposed;
	claim->drifted = e->drifted;
	claim->registered = e->registered;
	snprintf(claim->node_name, sizeof(claim->node_name), "%s",
		 machines_other_name(&s->machines, e));
}

/* Puts an unread claim into the table.  If the claim is in the table already,
 * updates its entry from the metadata. */
static void
take_unread(struct controller *s, const struct object *metadata, struct now now)
{
	struct object claim = *metadata;
	uint32_t id;

	add_known(s, &claim);
	controller_track(s, &claim, now);
	id = machines_find_claim(&s->machines, claim.uid);
	if (id != NO_ID) /* else the table is full */
		unread_put(&s->unread, id);
}

/* Returns whether the table has another version of the claim, in which the
 * claim is not ready.  The claim's deadline may have moved since that
 * version. */
static bool
is_behind(const struct controller *s, uint32_t id, const struct object *claim)
{
	const struct entry *e = machines_at(&s->machines, id);

	return e->ready_stamp_ms == STAMP_NONE &&
	       !machines_rv_is(&s->machines, e, claim->rv);
}

/* A claim that the table does not know stops the release, and so does a change
 * of a claim that is not ready.  A claim that lists and watches leave out is
 * put into the table here, so that the next fresh list shows nothing new. */
void
controller_fresh(struct controller *s, const struct object *claim,
		 struct now now)
{
	const struct view *v = &s->views.at[KIND_NODECLAIM];
	uint32_t id = machines_find_claim(&s->machines, claim->uid);

	if (id != NO_ID && unread_has(&s->unread, id)) {
		take_unread(s, claim, now);
		return;
	}
	/* If the table is full, a claim that it lacks is no news. */
	if (claim->deleting || (id == NO_ID && v->full) ||
	    (id != NO_ID && !is_behind(s, id, claim)))
		return;
	release_unknown(&s->release);
	if (id == NO_ID && v->skipped)
		take_unread(s, claim, now);
}

void
controller_fresh_skipped(struct controller *s, enum kind kind)
{
	controller_count_skipped(s, kind);
	if (kind == KIND_NODECLAIM)
		unread_list_incomplete(&s->unread);
}

/* Drops the unread claims that the complete list did not show. */
static void
drop_gone(struct controller *s, struct now now)
{
	for (uint32_t id = 0; s->unread.n > 0 && id < s->machines.top; id++) {
		if (!machines_at(&s->machines, id)->used ||
		    !unread_is_gone(&s->unread, id))
			continue;
		views_gone(&s->views, KIND_NODECLAIM);
		controller_drop(s, id, now);
		views_room(&s->views, KIND_NODECLAIM);
	}
}

void
controller_fresh_done(struct controller *s, enum kind kind,
		      const struct controller_outcome *o, struct now now)
{
	const struct view *v = &s->views.at[kind];
	bool ok = o->code == CONTROLLER_OK ||
		  (o->code == CONTROLLER_GONE && v->listed && !v->served);
	uint32_t id;

	if (o->code == CONTROLLER_OK && kind == KIND_NODECLAIM)
		drop_gone(s, now);
	if (o->code == CONTROLLER_OK && kind == KIND_NODECLAIM &&
	    views_settle(&s->views))
		controller_claims_known(s, now);
	switch (release_done(&s->release, kind, ok, now.boot_ms, &s->pace,
			     &s->notes)) {
	case RELEASE_GOOD:
		while ((id = release_take(&s->release)) != NO_ID)
			controller_queue(s, id);
		break;
	case RELEASE_MISTRUSTS:
		views_want_list(&s->views, kind);
		break;
	case RELEASE_WAITS:
		break;
	}
}

/* Puts the object that a GET has read into the table.  The object is ignored if
 * the watch has shown a change since the GET was sent, because the table may
 * then be newer.  In either case controller_done queues the machine again. */
void
controller_found(struct controller *s, const struct action *a,
		 const struct object *o, bool whole, struct now now)
{
	const struct entry *e = machines_at(&s->machines, a->id);
	bool fits, alone;

	if (!writes_awaits(&s->writes, a) || !e->used)
		return;
	fits = a->act == ACT_READ
		       ? machines_rv_is(&s->machines, e, a->rv)
		       : s->views.at[o->kind].forgotten == a->forgotten;
	if (fits && whole)
		controller_track(s, o, now);
	else if (fits)
		take_unread(s, o, now);
	if (a->act != ACT_READ_CLAIM)
		return;
	alone = o->mark == MARK_ABSENT &&
		machines_find_claim(&s->machines, o->uid) == NO_ID;
	writes_owner_found(&s->writes, a->id, alone ? o : NULL);
}
