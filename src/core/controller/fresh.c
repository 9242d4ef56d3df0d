/* SPDX-License-Identifier: Apache-2.0 */
#include "core/controller/controller.h"

#include "core/base/limits.h"
#include "controller_parts.h"

/*
 * This file handles the items of the fresh lists before a release, and the
 * objects that a GET has read.
 */

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
 * of a claim that is not ready.  If the list or the watch has left out a claim
 * of which not even the metadata could be read, a claim that the table does not
 * know may be this one.  It is put into the table by its metadata, so that the
 * next fresh list shows nothing new. */
void
controller_fresh(struct controller *s, const struct object *claim,
		 struct now now)
{
	const struct view *v = &s->views.at[KIND_NODECLAIM];
	uint32_t id = machines_find_claim(&s->machines, claim->uid);
	struct object unread = *claim;

	/* If the table is full, a claim that it lacks is no news. */
	if (claim->deleting || (id == NO_ID && v->full) ||
	    (id != NO_ID && !is_behind(s, id, claim)))
		return;
	release_unknown(&s->release);
	unread.unread = true;
	if (id == NO_ID && v->skipped)
		controller_track(s, &unread, now);
}

void
controller_fresh_done(struct controller *s, enum kind kind,
		      const struct controller_outcome *o, struct now now)
{
	const struct view *v = &s->views.at[kind];
	bool ok = o->code == CONTROLLER_OK ||
		  (o->code == CONTROLLER_GONE && v->listed && !v->served);
	uint32_t id;

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
		 const struct object *o, struct now now)
{
	const struct entry *e = machines_at(&s->machines, a->id);
	bool fits, kept;

	if (!writes_awaits(&s->writes, a) || !e->used)
		return;
	fits = a->act == ACT_READ
		       ? machines_rv_is(&s->machines, e, a->rv)
		       : s->views.at[o->kind].forgotten == a->forgotten;
	if (fits)
		controller_track(s, o, now);
	if (a->act != ACT_READ_CLAIM)
		return;
	kept = o->mark == MARK_ABSENT && o->hold == HOLD_SAME &&
	       machines_find_claim(&s->machines, o->uid) == NO_ID;
	writes_owner_found(&s->writes, a->id, kept);
}
